"""Seeds of many settings whose variances are moderated by each other: plain code for what the analysis computes."""

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import digamma, polygamma
from scipy.stats import t as student

MOST = 4.0  # degrees of freedom from the other settings


class Setting(NamedTuple):
    """The mean of some seeds, its variance, the degrees of freedom, and whether all seeds are equal."""

    mean: float
    variance: float
    freedom: float
    equal: bool


def read(
    seeds: Mapping[Hashable, Sequence[float]], curves: Mapping[Hashable, Sequence[float]] | None = None
) -> dict[Hashable, Setting]:
    """Moderate the variances of settings (Smyth 2004); ``curves`` has numbers of each, whose logs they go with."""
    values = {key: np.array([one for one in own if not np.isnan(one)]) for key, own in seeds.items()}
    several = [key for key, own in values.items() if len(own) > 1]
    own = {key: float(np.var(values[key], ddof=1)) for key in several}
    freedom = {key: float(len(values[key]) - 1) for key in several}
    variance, total = dict(own), dict(freedom)
    median = np.median(list(own.values())) if own else 0.0
    if len(several) >= 4 and median > 0:
        raised = {key: max(own[key], median / 4) for key in several}
        logs = np.array(
            [np.log(raised[key]) - digamma(freedom[key] / 2) + np.log(freedom[key] / 2) for key in several]
        )
        columns = [np.ones(len(several))]
        if curves is not None and len(several) >= 12:
            columns += list(np.log([curves[key] for key in several]).T)
        design = np.array(columns).T
        fit = design @ np.linalg.pinv(design) @ logs
        excess = ((logs - fit) ** 2).sum() / (len(several) - len(columns))
        excess -= np.mean([polygamma(1, freedom[key] / 2) for key in several])
        prior = MOST
        if excess > polygamma(1, MOST / 2):
            prior = 2 * brentq(lambda half: polygamma(1, half) - excess, 1e-3, MOST)
        for key, expected in zip(several, np.exp(fit + digamma(prior / 2) - np.log(prior / 2)), strict=True):
            variance[key] = (prior * expected + freedom[key] * raised[key]) / (prior + freedom[key])
            total[key] = freedom[key] + prior
        least = np.median(list(variance.values())) / 4
        variance = {key: max(one, least) for key, one in variance.items()}
    return {
        key: Setting(
            float(own.mean()) if len(own) else np.nan,
            variance.get(key, np.nan) / max(len(own), 1),
            total.get(key, 0.0),
            bool(len(own)) and bool(np.isclose(own.max(), own.min(), rtol=1e-9, atol=0)),
        )
        for key, own in values.items()
    }


def weigh(sides: Sequence[Setting], weights: Sequence[float]) -> dict[str, float]:
    """Return the weighed mean as ``value``, with ``low``, ``high`` and ``p`` where all sides have several seeds."""
    value = sum(weight * side.mean for weight, side in zip(weights, sides, strict=True))
    if any(side.freedom == 0 for side in sides):
        return {"value": value, "low": np.nan, "high": np.nan, "p": np.nan}
    parts = [weight**2 * side.variance for weight, side in zip(weights, sides, strict=True)]
    apart = sum(part**2 / side.freedom for part, side in zip(parts, sides, strict=True))
    freedom = sum(parts) ** 2 / apart if apart > 0 else 1.0
    half = student.isf(0.025, freedom) * sum(parts) ** 0.5
    p = np.nan if all(side.equal for side in sides) else 2 * student.sf(abs(value / sum(parts) ** 0.5), freedom)
    return {"value": value, "low": value - half, "high": value + half, "p": float(p)}


def of_curve(tokens: np.ndarray, accuracy: np.ndarray, at: float) -> tuple[float, float]:
    """Return how rough and how steep a curve is around ``at`` (docs/analysis.md), both squared, on the log axis."""
    logs = np.log10(tokens)
    first, last = logs[0], logs[-1]
    half = min(1.2, last - first) / 2
    center = min(max(np.log10(at), first + half), last - half)
    off = [
        (accuracy[place] - (accuracy[place - 1] + accuracy[place + 1]) / 2) ** 2
        for place in range(1, len(logs) - 1) if abs(logs[place] - center) <= half + 1e-9
    ]  # fmt: skip
    left, right = (np.interp(np.log10(at) + side, logs, accuracy) for side in (-0.15, 0.15))
    return (np.mean(off) if off else 0.0) + 1e-6, ((right - left) / 0.3) ** 2 + 4e-4
