"""Means and differences over seeds, with intervals of Student's t."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import t as student

from eval.metrics.accuracy import CONFIDENCE


class Estimate(NamedTuple):
    """A number with its 95 % interval; the bounds are NaN where there are too few seeds to have one."""

    value: float
    low: float
    high: float


def mean_over_seeds(values: Sequence[float]) -> Estimate:
    """Average one number of each seed; missing values are left out."""
    known = _known(values)
    if not len(known):
        return Estimate(np.nan, np.nan, np.nan)
    variance = known.var(ddof=1) / len(known) if len(known) > 1 else np.nan
    return _estimate(float(known.mean()), variance, len(known) - 1)


def difference_over_seeds(first: Sequence[float], second: Sequence[float]) -> Estimate:
    """Subtract the mean of the second seeds from that of the first ones (Welch's interval: unequal variances)."""
    sides = [_known(first), _known(second)]
    if min(len(side) for side in sides) < 2:
        means = [side.mean() if len(side) else np.nan for side in sides]
        return Estimate(float(means[0] - means[1]), np.nan, np.nan)
    parts = np.array([side.var(ddof=1) / len(side) for side in sides])
    shares = parts**2 / np.array([len(side) - 1 for side in sides])
    freedom = parts.sum() ** 2 / shares.sum() if shares.sum() > 0 else 1.0
    return _estimate(float(sides[0].mean() - sides[1].mean()), float(parts.sum()), freedom)


def _known(values: Sequence[float]) -> np.ndarray:
    found = np.asarray(values, dtype=np.float64)
    return found[~np.isnan(found)]


def _estimate(value: float, variance: float, freedom: float) -> Estimate:
    half = float(student.ppf((1 + CONFIDENCE) / 2, freedom) * np.sqrt(variance)) if freedom > 0 else np.nan
    return Estimate(value, value - half, value + half)
