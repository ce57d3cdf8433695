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

_BLOCK = 500  # draws
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
    none = np.zeros((len(curves), 1))
    rising = np.hstack([none, _prefix_squares(curves, precision)])
    falling = np.hstack([none, _prefix_squares(curves[:, ::-1], precision[::-1])])
    return np.asarray((rising + falling[:, ::-1]).min(axis=1))


def unimodal_fit(curve: Array, precision: Array) -> Array:
    """Return the curve, float64[T], that rises and then falls and is nearest to a curve by weighted squares."""
    rising = np.append(0.0, _prefix_squares(curve[None], precision)[0])
    falling = np.append(0.0, _prefix_squares(curve[None, ::-1], precision[::-1])[0])
    # The peak may belong to the rising or to the falling part, so it is enough to try every split between checkpoints.
    top = int((rising + falling[::-1]).argmin())  # checkpoints in the rising part
    fit = curve.copy()
    for part, up in ((slice(None, top), True), (slice(top, None), False)):
        if len(curve[part]):
            fit[part] = isotonic_regression(curve[part], weights=precision[part], increasing=up).x
    return fit


def _prefix_squares(curves: Array, precision: Array) -> Array:
    """Return the squares left by the rising fit of the first t values of each curve, float64[N, T], for t from 1 to T.

    Pooling adjacent violators, for all curves at a time: the blocks of a curve are a stack, and a value that lies below
    the block before it is put together with that block until the levels rise.
    """
    count, length = curves.shape
    level, weight, squares = (np.zeros((count, length)) for _ in range(3))
    top: Ids = np.full(count, -1, dtype=np.int64)
    total, prefixes = np.zeros(count), np.empty((count, length))
    everyone = np.arange(count)
    for step in range(length):
        value, of_value, left = curves[:, step].copy(), np.full(count, precision[step]), np.zeros(count)
        rows = everyone[(top >= 0) & (level[everyone, top] > value)]
        while len(rows):
            block = top[rows]
            levels, weights = level[rows, block], weight[rows, block]
            both = of_value[rows] + weights
            between = of_value[rows] * weights / both * (levels - value[rows]) ** 2
            left[rows] += squares[rows, block] + between
            total[rows] -= squares[rows, block]
            value[rows] = (value[rows] * of_value[rows] + levels * weights) / both
            of_value[rows] = both
            top[rows] -= 1
            rows = rows[(top[rows] >= 0) & (level[rows, top[rows]] > value[rows])]
        top += 1
        level[everyone, top], weight[everyone, top], squares[everyone, top] = value, of_value, left
        total += left
        prefixes[:, step] = total
    return prefixes
