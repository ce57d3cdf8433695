"""The smallest dip that would be found, and what limits that, a second time, by rules.md, without the analysis.

The program's numbers are of 100 draws, and differ noticeably with other draws. They are computed here from several
times as many other draws, and agree within what these repetitions tell of one.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
from scipy.stats import chi2
from scipy.stats import f as fisher
from scipy.stats import t as student

from studies.recomputed.shape import (
    LEVEL,
    Array,
    Error,
    Scored,
    distances_to_unimodal,
    draw_normal,
    nearest_unimodal,
    smoothing,
    spread_of,
    with_known_error,
)

REPETITIONS, DRAWS, FITS = 8, 100, 5
POWER, WIDTH, DEEPEST = 0.8, 0.1, 0.5
FARTHEST = np.log10(2.5)  # decades between checkpoints
_TIMES = np.geomspace(0.7, 4, 7)
_CHANCE = 3e-5  # on one side: as rare as four standard errors of a normal number
_SEED = 20_260_105


class Power:
    """How often the test of a dip finds dips in the middle of a flat curve with some error."""

    def __init__(self, tokens: Array, error: Error, random: np.random.Generator) -> None:
        logs, weights = np.log10(tokens), smoothing(tokens)
        variance, self._freedom, covariance = spread_of(error, weights - weights.mean(axis=0))
        self._weights = 1 / variance / (1 / variance).mean()
        self._noise = draw_normal(weights @ covariance @ weights.T, DRAWS, random)
        from_middle = (logs - (logs[0] + logs[-1]) / 2) / (WIDTH * (logs[-1] - logs[0]))
        self.dip = weights @ np.exp(-(from_middle**2) / 2)

    def _critical(self, distances: Array, level: float) -> float:
        """Take the distances for those of a scaled chi-square (Box 1954) over the chi-square of the error."""
        mean = distances.mean()
        return float(mean * fisher.isf(level, 2 * mean**2 / distances.var(), self._freedom))

    def of_dip(self, depth: float, level: float) -> float:
        """Return how often a dip so deep is found."""
        seen = self._noise - depth * self.dip
        fits = np.array([nearest_unimodal(one, self._weights) for one in seen[:FITS]])
        null = np.tile(fits, (DRAWS // FITS, 1)) + self._noise[::-1]
        critical = self._critical(distances_to_unimodal(null, self._weights), level)
        ratio = self._freedom * distances_to_unimodal(seen, self._weights) / critical
        return float(chi2.cdf(ratio, self._freedom).mean())

    def smallest(self, level: float) -> float:
        """Return the depth of the dip that is found with power .8, NaN where none that is tried is."""
        (alone,) = distances_to_unimodal(-self.dip[None], self._weights)
        critical = self._critical(distances_to_unimodal(self._noise, self._weights), level)
        depths = np.sqrt(critical / alone) * _TIMES
        powers = np.maximum.accumulate([self.of_dip(depth, level) for depth in depths])
        return float(np.exp(np.interp(POWER, powers, np.log(depths), right=np.inf)))


def limits(curve: Scored, level: float) -> dict[str, object]:
    """Return the smallest dip with what it may be, and whether seeds or edits limit it (empty: draws do not tell)."""
    error = with_known_error(curve.error)
    where = {"line": curve.line, "phenomenon": curve.phenomenon}
    if not error.knows_pairs:
        return where | capped(np.inf, np.inf, np.inf) | {"limited_by": "edits"}
    depth, least, most = smallest_dips(curve.tokens, error, level)
    row = where | capped(depth, least, most)
    if np.median(np.diff(np.log10(curve.tokens))) > FARTHEST:
        return row | {"limited_by": "checkpoints"}
    tried = min(depth, DEEPEST)
    more = (_with_more(curve, error, 2, 1), _with_more(curve, error, 1, 2))
    apart = []
    for number in range(REPETITIONS):
        by_seeds, by_pairs = (
            Power(curve.tokens, one, np.random.default_rng(_SEED + number)).of_dip(tried, level) for one in more
        )
        apart.append(by_seeds - by_pairs)
    _, low, high = _of_repetitions(np.array(apart))
    return row | {"limited_by": "seeds" if low >= 0 else "edits" if high < 0 else ""}


def smallest_dips(tokens: Array, error: Error, level: float) -> tuple[float, float, float]:
    """Return the depth of the dip that is found with power .8, and between which numbers that of other draws is."""
    randoms = [np.random.default_rng(_SEED + number) for number in range(REPETITIONS)]
    found = np.array([Power(tokens, error, random).smallest(level) for random in randoms])
    depth, least, most = np.exp(_of_repetitions(np.log(found))).tolist()
    return depth, least, most


def _of_repetitions(values: Array) -> tuple[float, float, float]:
    """Return the mean of repetitions, and between which numbers another one is."""
    if not np.isfinite(values).all():
        known = values[np.isfinite(values)]
        return np.inf, min(known.min(initial=np.inf), np.inf), np.inf
    count = len(values)
    half = float(student.isf(_CHANCE, count - 1)) * values.std(ddof=1) * np.sqrt(1 + 1 / count)
    return float(values.mean()), float(values.mean() - half), float(values.mean() + half)


def capped(depth: float, least: float, most: float) -> dict[str, object]:
    """Name the columns; more than 50 points are said to be infinite."""
    number, low, high = (one if one <= DEEPEST else np.inf for one in (depth, least, most))
    return {"detectable_dip": number, "detectable_dip_least": low, "detectable_dip_most": high}


def _with_more(curve: Scored, error: Error, times_seeds: int, times_pairs: int) -> Error:
    """Return what the error would be with so many times the seeds, or the pairs."""
    weights = smoothing(curve.tokens)
    functions = weights - weights.mean(axis=0)
    share = _share_of_seeds(error, functions)
    rest = error.rest / times_seeds / times_pairs
    values, vectors = np.linalg.eigh(error.pairs - error.rest)
    shared = (vectors * values.clip(0)) @ vectors.T / times_pairs
    one_pair = np.eye(len(rest)) / (2 * (times_pairs * error.items) ** 2)
    return replace(
        error, runs=error.runs * times_seeds, pairs=shared + rest + one_pair, rest=rest,
        seeds=share * error.seeds / times_seeds + rest, freedom=error.freedom * times_pairs,
    )  # fmt: skip


def _share_of_seeds(error: Error, functions: Array) -> float:
    seeds, rest = (
        np.einsum("jt,tu,ju->j", functions, part, functions, optimize=True).clip(0).mean()
        for part in (error.seeds, error.rest)
    )
    return float((seeds - min(seeds, rest)) / seeds) if seeds else 0.0


def limits_of(curves: list[Scored]) -> pd.DataFrame:
    """Return ``limits`` of the curves of a table, at the level of the first step of Holm's procedure."""
    tested = sum(with_known_error(curve.error).knows_pairs for curve in curves)
    return pd.DataFrame([limits(curve, LEVEL / tested) for curve in curves])
