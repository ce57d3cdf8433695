"""The test of a dip: how far the smoothed curve lies from every curve that rises and then falls.

A curve without a dip is unimodal: it rises up to some checkpoint and falls from there on (one of the two parts may be
empty). The statistic is the weighted sum of squares between the smoothed curve and its best unimodal fit, which a pass
of pooled adjacent violators from each end finds (Stout 2008, "Unimodal regression via prefix isotonic regression").
Its p value is that of a parametric bootstrap: draws of the curve's error around the fit, each with a fit of its own.
All of a dip counts, and not only its lowest stretch, so that the test finds more than a comparison of stretches.
"""

import numpy as np
from scipy.optimize import isotonic_regression

from ucurve.analysis.shape.smoothing import Array, Curve, covariance_root, errors, smoothing_weights
from ucurve.eval.metrics.levels import Ids

_BLOCK = 500  # draws, after which it is asked whether they are enough
_ENOUGH = 50  # draws beyond the curve, after which its p value is known well enough
ROUNDING = 1e-12  # distances below it are none


def dip_tests(curve: Curve, draws: int, seed: int = 0) -> tuple[float, float]:
    """Return the p values of a dip and of a bump, with at most ``draws`` draws of the error for each.

    A p value above .1 needs few draws: drawing ends after the block in which 50 draws have been as far from their fit
    as the curve is (Besag and Clifford 1991, "Sequential Monte Carlo p-values").
    """
    weights = smoothing_weights(curve.log_tokens)
    # A lasting distance between runs is no error of a shape, so the error is that of heights above the curve's mean.
    found = errors(curve, weights - weights.mean(axis=0))
    root = weights @ covariance_root(curve, found.seed_share)
    smooth = weights @ curve.mean
    precision = 1 / found.variance
    precision /= precision.mean()
    dip, bump = (_p_value(one, precision, root, found.freedom, draws, seed) for one in (smooth, -smooth))
    return dip, bump


def _p_value(smooth: Array, precision: Array, root: Array, freedom: float, draws: int, seed: int) -> float:
    """Return the p value of a dip (``dip_tests``), whose null is the unimodal fit."""
    distance = float(unimodal_distances(smooth[None], precision)[0])
    if distance < ROUNDING:
        return 1.0
    fit = unimodal_fit(smooth, precision)
    random = np.random.default_rng(seed)
    beyond, drawn = 0, 0
    while drawn < draws and beyond < _ENOUGH:
        size = min(_BLOCK, draws - drawn)
        spread = np.sqrt(random.chisquare(freedom, (size, 1)) / freedom)
        errors_drawn = random.standard_normal((size, len(smooth))) @ root.T / spread
        beyond += int((unimodal_distances(fit + errors_drawn, precision) >= distance).sum())
        drawn += size
    return (1 + beyond) / (1 + drawn)


def unimodal_distances(curves: Array, precision: Array) -> Array:
    """Return the weighted squares between curves, float64[N, T], and their best unimodal fits, float64[N]."""
    rising, falling = _part_squares(curves, precision)
    return np.asarray((rising + falling[:, ::-1]).min(axis=1))


def unimodal_fit(curve: Array, precision: Array) -> Array:
    """Return the curve, float64[T], that rises and then falls and is nearest to a curve by weighted squares."""
    rising, falling = (squares[0] for squares in _part_squares(curve[None], precision))
    # The peak may belong to the rising or to the falling part, so it is enough to try every split between checkpoints.
    top = int((rising + falling[::-1]).argmin())  # checkpoints in the rising part
    fit = curve.copy()
    for part, up in ((slice(None, top), True), (slice(top, None), False)):
        if len(curve[part]):
            fit[part] = isotonic_regression(curve[part], weights=precision[part], increasing=up).x
    return fit


def _part_squares(curves: Array, precision: Array) -> tuple[Array, Array]:
    """Return the squares left by rising fits of the first t values of curves, and by falling fits of the last t.

    Both are float64[N, T + 1], for t from 0 to T. A curve that falls rises when it is read from its end.
    """
    count = len(curves)
    both = np.concatenate([curves, curves[:, ::-1]])
    squares = _prefix_squares(both, np.repeat([precision, precision[::-1]], count, axis=0))
    squares = np.hstack([np.zeros((2 * count, 1)), squares])
    return squares[:count], squares[count:]


def _prefix_squares(curves: Array, precision: Array) -> Array:
    """Return the squares left by the rising fit of the first t values of each curve, float64[N, T], for t from 1 to T.

    Pooling adjacent violators, for all curves, with a precision of each value, at a time: the blocks of a curve are a
    stack, and a value that lies below the block before it is put together with that block until the levels rise.
    """
    count, length = curves.shape
    # The stacks lie one behind the other. At the bottom of each is a block that no value lies below.
    level, weight, squares = (np.full(count * (length + 1), start) for start in (-np.inf, 0.0, 0.0))
    top: Ids = (length + 1) * np.arange(count, dtype=np.int64)
    total, prefixes = np.zeros(count), np.empty((count, length))
    for step in range(length):
        value, of_value, left = curves[:, step].copy(), precision[:, step].copy(), np.zeros(count)
        rows = np.flatnonzero(level[top] > value)
        while len(rows):
            block = top[rows]
            levels, weights, values, of_values = level[block], weight[block], value[rows], of_value[rows]
            both = of_values + weights
            between = of_values * weights / both * (levels - values) ** 2
            left[rows] += squares[block] + between
            total[rows] -= squares[block]
            value[rows] = values = (values * of_values + levels * weights) / both
            of_value[rows] = both
            top[rows] = block = block - 1
            rows = rows[level[block] > values]
        top += 1
        level[top], weight[top], squares[top] = value, of_value, left
        total += left
        prefixes[:, step] = total
    return prefixes
