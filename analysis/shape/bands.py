"""The error of smoothed curves at each checkpoint, and the band that holds a whole curve.

Seeds do not differ before anything is learned or where all pairs are right; they differ where a curve is steep, as some
learn earlier than others. Each checkpoint therefore has its own variance of the seeds. Two or three seeds say little
about it, so it is moderated (``moderate_variances``) over all checkpoints and curves of a figure, by what it goes with:
the height of the curve, since a share near 0 or 1 cannot vary much, and how steep the curve is.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import t as student

from ucurve.analysis.shape.smoothing import DRAWS, Array, Curve, smoothing_weights, with_known_error
from ucurve.eval.metrics.moderated import moderate_variances
from ucurve.eval.metrics.sampling import CONFIDENCE

# Decades within which the largest variance counts: runs that have not begun to rise do not differ yet, though others
# rise there already.
_AROUND = 0.35
_TOGETHER = 0.3  # decades over which what a run does by itself fades
_LEAST_SPREAD, _LEAST_STEEPNESS = 0.01, 0.03  # of p (1 - p), and in accuracy a decade: below, curves are alike
_NEAR_TO = 1e-9  # so that rounding of logarithms decides nothing


class _Parts(NamedTuple):
    """Variances of a smoothed curve at its checkpoints, float64[T] each, and what that of the seeds goes with."""

    smooth: Array
    items: Array
    seeds: Array
    rest: Array  # the part of the seeds' that the items' has already
    goes_with: Array  # float64[T, covariates]


def curve_bands(curves: Sequence[Curve], are_overall: Sequence[bool]) -> list[pd.DataFrame]:
    """Return ``smoothed``, ``low``, ``high``, ``band_low`` and ``band_high`` of each curve, a row for each checkpoint.

    ``low`` and ``high`` are the 95 % interval at each checkpoint by itself. The band holds the whole smoothed curve
    with 95 %: its half width is the same number of standard errors at each checkpoint, the 95 % quantile of the largest
    of all (max-t; Montiel Olea and Plagborg-Moeller 2019, "Simultaneous confidence bands", section 2). Curves over all
    pairs (``are_overall``) vary less than others. With too few clusters of pairs the intervals are over seeds alone, of
    these pairs, and with one seed NaN.
    """
    known = [with_known_error(curve) for curve in curves]
    parts = [_parts_of(curve, is_overall) for curve, is_overall in zip(known, are_overall, strict=True)]
    # A curve of one seed has no variance over seeds. It is left out here, and its band is over pairs alone.
    several = [place for place, curve in enumerate(known) if curve.seeds > 1]
    variances: dict[int, Array] = {}
    more = 0.0
    if several:
        lengths = [len(parts[place].smooth) for place in several]
        freedom = np.repeat([known[place].seeds - 1.0 for place in several], lengths)
        own = np.concatenate([parts[place].seeds for place in several])
        covariates = np.concatenate([parts[place].goes_with for place in several])
        moderated, more = moderate_variances(own, freedom, covariates)
        variances = dict(zip(several, np.split(moderated, np.cumsum(lengths)[:-1]), strict=True))
    return [
        _band(curve, one, variances.get(place, np.zeros(len(one.smooth))), more)
        for place, (curve, one) in enumerate(zip(known, parts, strict=True))
    ]


def _parts_of(curve: Curve, is_overall: bool) -> _Parts:
    """Take the variance of a smoothed curve apart, and say what that of its seeds goes with."""
    weights = smoothing_weights(curve.log_tokens)
    smooth = weights @ curve.mean
    items, seeds, rest = (
        np.maximum(0, ((weights @ part) * weights).sum(axis=1))
        for part in (curve.item_cov, curve.seed_cov, curve.rest_cov)
    )
    height = smooth.clip(0, 1)
    steepness = weights @ np.gradient(smooth, curve.log_tokens) ** 2
    steep = np.log(steepness + _LEAST_STEEPNESS**2)
    spread = np.log(height * (1 - height) + _LEAST_SPREAD)
    goes_with = np.column_stack([spread, steep, steep**2, np.full(len(smooth), float(is_overall))])
    # Seeds that agree on all pairs may still differ by one, and the logarithm of the variance has to be finite.
    one_item_more = 1 / (2 * curve.items**2 * curve.seeds)
    return _Parts(smooth, items, np.maximum(seeds, one_item_more), rest, goes_with)


def _band(curve: Curve, parts: _Parts, of_seeds: Array, more_freedom: float) -> pd.DataFrame:
    """Return the rows of one curve (``curve_bands``), from the moderated variance of its seeds."""
    between = _largest_around(curve.log_tokens, of_seeds - np.minimum(parts.rest, of_seeds))
    # The noise of runs on single pairs is in the variance over pairs and in that over seeds (Owen 2007), so of the
    # seeds only what exceeds it is added.
    variance = parts.items + between
    doubt = parts.items**2 / curve.item_freedom + _largest_around(curve.log_tokens, of_seeds) ** 2 / max(
        curve.seeds - 1 + more_freedom, 1
    )
    # The degrees of freedom are those of Satterthwaite (1946) for a sum of mean squares.
    freedom = variance**2 / doubt
    error = np.sqrt(variance)
    half = student.ppf((1 + CONFIDENCE) / 2, freedom) * error
    whole = _quantile(curve, between, float(freedom.mean())) * error
    if not curve.has_error:
        half = whole = np.full(len(error), np.nan)
    bounds = {"low": -half, "high": half, "band_low": -whole, "band_high": whole}
    columns = {name: (parts.smooth + offset).clip(0, 1) for name, offset in bounds.items()}
    return pd.DataFrame({"smoothed": parts.smooth, **columns})


def _largest_around(log_tokens: Array, variance: Array) -> Array:
    """Return the largest variance within ``_AROUND`` of each checkpoint, float64[T]."""
    near = np.abs(log_tokens[:, None] - log_tokens) <= _AROUND + _NEAR_TO
    return np.asarray(np.where(near, variance, 0).max(axis=1))


def _quantile(curve: Curve, between: Array, freedom: float) -> float:
    """Return the 95 % quantile of the largest studentized deviation of a smoothed curve, from draws."""
    weights, places = smoothing_weights(curve.log_tokens), curve.log_tokens
    alike = np.exp(-(((places[:, None] - places) / _TOGETHER) ** 2) / 2)
    covariance = weights @ curve.item_cov @ weights.T + np.sqrt(between[:, None] * between) * alike
    error = np.sqrt(np.diag(covariance))
    # Smoothed heights of close checkpoints are almost the same, so that their correlations alone have no sure root.
    root = np.linalg.cholesky(covariance / (error[:, None] * error) + 1e-6 * np.eye(len(error)))
    random = np.random.default_rng(0)
    normal = random.standard_normal((DRAWS, len(error)))
    spread = np.sqrt(random.chisquare(freedom, (DRAWS, 1)) / freedom)
    return float(np.quantile(np.abs(normal @ root.T / spread).max(axis=1), CONFIDENCE))
