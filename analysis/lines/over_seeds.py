"""Means, differences and other contrasts over seeds, with intervals of Student's t."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import t as student

from ucurve.eval.metrics.sampling import CONFIDENCE


class Estimate(NamedTuple):
    """A number with its 95 % interval; the bounds are NaN where there are too few seeds to have one."""

    value: float
    low: float
    high: float

    def columns(self, name: str) -> dict[str, float]:
        """Lay it out as ``<name>``, ``<name>_low`` and ``<name>_high``."""
        return {name: self.value, f"{name}_low": self.low, f"{name}_high": self.high}


def mean_over_seeds(values: Sequence[float]) -> Estimate:
    """Average one number of each seed; missing values are left out."""
    return contrast_over_seeds([values], [1.0])


def difference_over_seeds(first: Sequence[float], second: Sequence[float]) -> Estimate:
    """Subtract the mean of the second seeds from that of the first ones (Welch's interval: unequal variances)."""
    return contrast_over_seeds([first, second], [1.0, -1.0])


def contrast_over_seeds(sides: Sequence[Sequence[float]], weights: Sequence[float]) -> Estimate:
    """Weigh the means of the seeds of several settings (Student's t, degrees of freedom by Welch and Satterthwaite)."""
    estimate = _weigh(sides, weights)
    half = student.ppf((1 + CONFIDENCE) / 2, estimate.freedom) * estimate.error if estimate.freedom > 0 else np.nan
    return Estimate(estimate.value, float(estimate.value - half), float(estimate.value + half))


def p_of_difference(first: Sequence[float], second: Sequence[float]) -> float:
    """Test that two settings have the same mean by Welch's t, two-sided.

    NaN without two seeds on each side, and where the seeds of neither side vary.
    """
    estimate = _weigh([first, second], [1.0, -1.0])
    if not (estimate.freedom > 0 and estimate.error > 0):
        return float("nan")
    return float(2 * student.sf(abs(estimate.value) / estimate.error, estimate.freedom))


class _Weighed(NamedTuple):
    value: float
    error: float
    freedom: float


def _weigh(sides: Sequence[Sequence[float]], weights: Sequence[float]) -> _Weighed:
    known = [np.asarray(side, dtype=np.float64) for side in sides]
    known = [side[~np.isnan(side)] for side in known]
    if not all(map(len, known)):
        return _Weighed(np.nan, np.nan, 0.0)
    value = float(sum(weight * side.mean() for weight, side in zip(weights, known, strict=True)))
    if any(len(side) < 2 for side in known):
        return _Weighed(value, np.nan, 0.0)
    parts = np.array([weight**2 * side.var(ddof=1) / len(side) for weight, side in zip(weights, known, strict=True)])
    spread = (parts**2 / np.array([len(side) - 1 for side in known])).sum()
    freedom = parts.sum() ** 2 / spread if spread > 0 else 1.0
    return _Weighed(value, float(np.sqrt(parts.sum())), float(freedom))
