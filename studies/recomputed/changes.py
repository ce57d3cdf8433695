"""Change points a second time, by the rules of rules.md, without the code of the analysis.

What bends add to a line is computed from the products of hinge functions, one set of places at a time. p values and
intervals are of other draws than the program's, and are compared within four standard errors of both.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, pairwise

import numpy as np
import pandas as pd

from studies.recomputed.shape import (
    FEWEST_CLUSTERS,
    LEVEL,
    STANDARD_ERRORS,
    Array,
    Error,
    Scored,
    draw_errors,
    holm,
    spread_of,
    with_known_error,
)

ACCURACY, LOSS = "accuracy", "held-out loss"
MOST_CHANGES = 3
LEAST_APART = 0.3  # decades
CORRELATIONS = (0.0, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8)
DRAWS, _FIRST_DRAWS, _NOISE_DRAWS = 10_000, 1_000, 1_000
_UNDECIDED = 0.2
_PROGRAM_DRAWS, _PROGRAM_PLACES = 10_000, 1_000
_TAIL = 0.025
_SEED = 20_260_104
Row = dict[str, object]
Places = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Bending:
    """A curve whose bends are looked for."""

    line: str
    measure: str
    phenomenon: str
    tokens: Array
    mean: Array
    error: Error


def of_accuracy(curve: Scored) -> Bending:
    """Take the curve of a phenomenon, with what is known of its error."""
    error = with_known_error(curve.error)
    return Bending(curve.line, ACCURACY, curve.phenomenon, curve.tokens, curve.mean, error)


def of_loss(line: str, tokens: Array, losses: Array) -> Bending:
    """Take the mean of the losses of runs, [S, T]; its error is their noise beside bent lines, and the seeds."""
    runs, steps = losses.shape
    noise, freedom = _noise_of(tuple(tokens), losses)
    own = (noise + 1e-12 * np.eye(steps)) / runs
    seeds = np.cov(losses, rowvar=False) / runs
    error = Error(own, seeds, own, runs, 0, freedom, FEWEST_CLUSTERS, np.inf)
    return Bending(line, LOSS, "", tokens, losses.mean(axis=0), error)


def changes_of(curves: Sequence[Bending]) -> pd.DataFrame:
    """Return a row for each change of each curve, or one for none, as ``study_change_points.csv`` has them."""
    found = [_Changes(curve) for curve in curves]
    adjusted = {end: holm(np.array([one.p[end] for one in found])) for end in ("_least", "", "_most")}
    rows = []
    for at, one in enumerate(found):
        row: Row = {"tokenizer": one.curve.line, "measure": one.curve.measure, "phenomenon": one.curve.phenomenon}
        row |= {f"p{end}": value for end, value in one.p.items()}
        row |= {f"p_holm{end}": values[at] for end, values in adjusted.items()}
        is_change = adjusted[""][at] <= LEVEL
        row |= {"runs": one.curve.error.runs, "significant": is_change}
        row |= {"may_be_more": is_change and one.count == one.most, "change": 0}
        row["is_open"] = adjusted["_least"][at] <= LEVEL < adjusted["_most"][at] or (is_change and one.is_open)
        rows += [{**row, **change} for change in one.rows()] if is_change else [row]
    return pd.DataFrame(rows)


class _Changes:
    """What is found of one curve."""

    def __init__(self, curve: Bending) -> None:
        self.curve = curve
        self._axis = tuple(curve.tokens)
        self.most = max(count for count in range(1, MOST_CHANGES + 1) if _sets(self._axis, count))
        self._straight = _off_line(self._axis)
        _, self._freedom, self._covariance = spread_of(curve.error, self._straight)
        self._best = [_best_sets(self._axis, count, curve.mean[None]) for count in range(1, self.most + 1)]
        self._gains = [float(gain[0]) for gain, _ in self._best]
        self.p = self._test(_FIRST_DRAWS)
        if self.p[""] <= _UNDECIDED:
            self.p = self._test(DRAWS)
        self.count, self.is_open = self._count() if self.p[""] <= LEVEL else (0, False)

    def _noise(self, draws: int) -> Array:
        return draw_errors(self._covariance, self._freedom, draws, np.random.default_rng(_SEED))

    def _by_chance(self, curves: Array) -> list[Array]:
        return [_best_sets(self._axis, count, curves)[0] for count in range(1, self.most + 1)]

    def _test(self, draws: int) -> dict[str, float]:
        """Return p of the double maximum test, and what it may be with other draws."""
        by_chance = np.array(self._by_chance(self._noise(draws)))
        critical = np.quantile(by_chance, 1 - LEVEL, axis=1)
        largest = (by_chance / critical[:, None]).max(axis=0)
        p = (1 + int((largest >= (self._gains / critical).max()).sum())) / (1 + draws)
        apart = _apart(p, draws)
        return {"_least": max(0.0, p - apart), "": p, "_most": min(1.0, p + apart)}

    def _count(self) -> tuple[int, bool]:
        """Return how many changes the tests of one more than so many find, and whether draws leave that open."""
        count, is_open = 1, False
        for fewer in range(1, self.most):
            under = self._by_chance(self._noise(DRAWS) + self._fit(fewer)[1])
            more = under[fewer] - under[fewer - 1]
            p = (1 + int((more >= self._gains[fewer] - self._gains[fewer - 1]).sum())) / (1 + DRAWS)
            is_open |= abs(p - LEVEL) <= _apart(p, DRAWS)
            if p <= LEVEL:
                count = fewer + 1
        return count, is_open

    def _fit(self, count: int) -> tuple[Places, Array, Array]:
        """Return places, heights and slopes of the nearest line with so many bends."""
        places = _sets(self._axis, count)[int(self._best[count - 1][1][0])]
        logs = np.log10(self.curve.tokens)
        knots = logs[[0, *places, len(logs) - 1]]
        # A bent line is a sum of triangles, each 1 at one knot and 0 at the others.
        triangles = np.array([np.interp(logs, knots, one) for one in np.eye(len(knots))]).T
        heights = np.linalg.solve(triangles.T @ triangles, triangles.T @ self.curve.mean)
        return places, triangles @ heights, np.diff(heights) / np.diff(knots)

    def rows(self) -> Iterator[Row]:
        """Yield the changes in order, with the 95 % intervals of their places."""
        places, heights, slopes = self._fit(self.count)
        sets = np.array(_sets(self._axis, self.count))
        drawn = sets[_best_sets(self._axis, self.count, self._noise(DRAWS) + heights)[1]]
        for number, (place, (before, after)) in enumerate(zip(places, pairwise(slopes), strict=True)):
            of_place = np.sort(drawn[:, number])
            low = [self._halfway(min(int(one), place), -1) for one in _around(of_place, _TAIL)]
            high = [self._halfway(max(int(one), place), 1) for one in _around(of_place, 1 - _TAIL)]
            yield {
                "change": number + 1, "tokens": self.curve.tokens[place], "level": heights[place],
                "slope_before": before, "slope_after": after, "tokens_low": low[1], "tokens_low_least": low[0],
                "tokens_low_most": low[2], "tokens_high": high[1], "tokens_high_least": high[0],
                "tokens_high_most": high[2],
            }  # fmt: skip

    def _halfway(self, place: int, step: int) -> float:
        return float(np.sqrt(self.curve.tokens[place] * self.curve.tokens[place + step]))


def _apart(p: float, draws: int) -> float:
    return STANDARD_ERRORS * float(np.sqrt(p * (1 - p) * (1 / draws + 1 / _PROGRAM_DRAWS))) + 1 / _PROGRAM_DRAWS


def _around(values: Array, level: float) -> Array:
    """Return the quantile, and before and after it what that of other draws may be."""
    apart = STANDARD_ERRORS * np.sqrt(level * (1 - level) * (1 / len(values) + 1 / _PROGRAM_PLACES))
    return np.asarray(np.quantile(values, np.clip([level - apart, level, level + apart], 0, 1), method="nearest"))


@lru_cache
def _sets(tokens: tuple[float, ...], count: int) -> list[Places]:
    """Return the sets of checkpoints that a curve may bend at: two and .3 decades apart, and from both ends."""
    logs = np.log10(tokens)

    def is_apart(places: Places) -> bool:
        stops = (0, *places, len(tokens) - 1)
        return all(two - one > 1 and logs[two] - logs[one] >= LEAST_APART - 1e-9 for one, two in pairwise(stops))

    return [places for places in combinations(range(2, len(tokens) - 2), count) if is_apart(places)]


@lru_cache
def _off_line(tokens: tuple[float, ...]) -> Array:
    """Return what takes the nearest straight line out of a curve."""
    logs = np.log10(tokens)
    apart = logs - logs.mean()
    return np.asarray(np.eye(len(logs)) - 1 / len(logs) - np.outer(apart, apart) / (apart @ apart))


def _best_sets(tokens: tuple[float, ...], count: int, curves: Array) -> tuple[Array, np.ndarray]:
    """Return by how much the best set of bends reduces the squares of curves, [D, T], and which set it is."""
    straight = _off_line(tokens)
    logs = np.log10(tokens)
    hinges = straight @ np.maximum(0, np.subtract.outer(logs, logs))
    along, products = curves @ hinges, hinges.T @ hinges
    largest, which = np.full(len(curves), -np.inf), np.zeros(len(curves), dtype=np.int64)
    for number, places in enumerate(_sets(tokens, count)):
        own = along[:, places]
        gain = ((own @ np.linalg.inv(products[np.ix_(places, places)])) * own).sum(axis=1)
        which[gain > largest] = number
        np.maximum(largest, gain, out=largest)
    return largest, which


def _noise_of(tokens: tuple[float, ...], curves: Array) -> tuple[Array, float]:
    """Find the noise whose draws leave as much beside lines with the most bends as the runs do (docs)."""
    most = max(count for count in range(1, MOST_CHANGES + 1) if _sets(tokens, count))
    white = np.random.default_rng(_SEED).standard_normal((_NOISE_DRAWS, len(tokens)))
    left = []
    for one in CORRELATIONS:
        values, vectors = np.linalg.eigh(_fading(len(tokens), one))
        left.append(_left(tokens, most, (white * np.sqrt(values)) @ vectors.T))
    squares, products = np.array(left).T
    own_squares, own_products = _left(tokens, most, curves)
    correlation = float(np.interp(own_products / own_squares, products / squares, CORRELATIONS))
    variance = own_squares / float(np.interp(correlation, CORRELATIONS, squares))
    worth = (1 - correlation**2) / (1 + correlation**2)
    freedom = max(1.0, len(curves) * max(1, len(tokens) - 2 - 2 * most) * worth)
    return variance * _fading(len(tokens), correlation), freedom


def _fading(steps: int, correlation: float) -> Array:
    return np.asarray(correlation ** abs(np.subtract.outer(np.arange(steps), np.arange(steps))), dtype=float)


def _left(tokens: tuple[float, ...], count: int, curves: Array) -> tuple[float, float]:
    """Return the mean squares beside the best bent lines, and the mean products of neighbors."""
    logs = np.log10(tokens)
    _, which = _best_sets(tokens, count, curves)
    rest = np.empty_like(curves)
    for number in np.unique(which):
        bends = [np.maximum(0, logs - logs[place]) for place in _sets(tokens, count)[number]]
        columns = np.column_stack([np.ones(len(logs)), logs, *bends])
        own = curves[which == number].T
        rest[which == number] = (own - columns @ np.linalg.lstsq(columns, own)[0]).T
    return float((rest**2).sum(axis=1).mean()), float((rest[:, 1:] * rest[:, :-1]).sum(axis=1).mean())
