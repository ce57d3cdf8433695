"""The shape of learning: is a curve rising, U-shaped, inverted-U, falling or flat, by stated tests.

The curve is smoothed, and its means over stretches of the log axis are compared, every stretch i with every k after it:
a fall where i lies above k, a rise where k lies above i, each as a studentized difference t(i, k). A curve falls
somewhere when the largest of all its falls is beyond what the largest of so many would be by chance (max-t); likewise
it rises. It is U-shaped when it lies farther from all curves that rise and then fall than its error explains
(``unimodal``), and inverted-U when its mirror image does.

A curve is flat when every one of these differences lies within a margin, both ways: two one-sided tests for each
(Schuirmann 1987), all of which have to hold. Where neither a change nor flatness is shown, it is undetermined.

The p values of many curves are adjusted by Holm's procedure, for each of the five alternatives over all curves. Lines
of one run, whose p values are over items only, are a family of their own.
"""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from scipy.stats import false_discovery_control
from scipy.stats import t as student

from ucurve.analysis.data.settings import FLAT_MARGIN
from ucurve.analysis.shape.smoothing import (
    DRAWS,
    Array,
    Curve,
    covariance_root,
    curve_draws,
    errors,
    smoothing_weights,
    with_known_error,
)
from ucurve.analysis.shape.unimodal import dip_tests
from ucurve.eval.metrics.levels import Ids
from ucurve.eval.metrics.sampling import TAIL
from ucurve.eval.metrics.significance import holm

Row = Mapping[Hashable, Any]  # of ``DataFrame.to_dict("records")``
Shape = Literal["rising", "U-shaped", "inverted-U", "falling", "flat", "undetermined"]
SHAPES: tuple[Shape, ...] = get_args(Shape)
NOT_TESTED = "not tested"
TURNS: tuple[Shape, ...] = ("U-shaped", "inverted-U")
LEVEL = 0.05
# What is taken for true where a table of tests lacks a column: lines of several runs, none of them shown to be flat.
_UNKNOWN = {"runs": np.inf, "p_flat": 1.0}
_LEAST_CHECKPOINTS = 4
_LEAST_RATIO = 10  # of the last tokens to the first
TOO_SHORT = f"fewer than {_LEAST_CHECKPOINTS} trained checkpoints or less than tenfold tokens"
# Means over short stretches find steep changes. Means over long ones have less error and find slow changes.
_WIDTHS = (0.3, 0.6)  # decades: factors of 2 and 4 in tokens
_NEAR = 1e-9
REFERENCE_DRAWS = 5000  # each counts twice
_BLOCK = 1000  # draws that are in memory at a time
TEST_OF = {"rising": "rise", "falling": "fall", "U-shaped": "u", "inverted-U": "inverted_u", "flat": "flat"}
ALTERNATIVES = tuple(TEST_OF.values())


def is_testable(tokens: Array) -> bool:
    """Say whether there are enough trained checkpoints to tell shapes apart: four, over tenfold tokens."""
    return len(tokens) >= _LEAST_CHECKPOINTS and bool(tokens[-1] >= _LEAST_RATIO * tokens[0])


def shape_test(
    curve: Curve, draws: int = REFERENCE_DRAWS, seed: int = 0, margin: float = FLAT_MARGIN / 100
) -> dict[str, float]:
    """Test the shape of a curve that ``is_testable``; ``draws`` of the error decide how small p values can be.

    Return the columns that ``classify`` takes. ``p_rise``, ``p_fall``, ``p_u`` (that it does not fall and then rise),
    ``p_inverted_u`` (that it does not rise and then fall) and ``p_flat`` (that some difference is as large as the
    margin) are not yet adjusted for the number of curves. Then the deepest dip and the highest bump of the smoothed
    curve, whether they are significant or not (``_turn``). With few clusters of pairs p values and the intervals of
    turns are over seeds alone, or with one seed NaN.
    """
    known = with_known_error(curve)
    weights = smoothing_weights(known.log_tokens)
    smooth = weights @ known.mean
    drawn = smooth + curve_draws(known, weights, DRAWS, seed)
    values = change_tests(known, draws, seed, margin)
    p = {f"p_{name}": value for name, value in zip(ALTERNATIVES, values, strict=True)}
    return p | _turn("dip", known, smooth, drawn) | _turn("bump", known, -smooth, -drawn)


def change_tests(
    curve: Curve, draws: int = REFERENCE_DRAWS, seed: int = 0, margin: float = FLAT_MARGIN / 100
) -> tuple[float, float, float, float, float]:
    """Return the p values of ``shape_test`` alone, in the order of ``ALTERNATIVES``; the margin is a fraction."""
    if not curve.has_error:
        return np.nan, np.nan, np.nan, np.nan, np.nan
    stretches = _stretches(tuple(curve.tokens))
    contrasts = stretches.contrasts
    found = errors(curve, contrasts)
    loadings = covariance_root(curve, found.seed_share).T @ contrasts.T
    difference, error = contrasts @ curve.mean, np.sqrt(found.variance)
    drawn = _largest(loadings, found.freedom, draws, seed)
    largest = _largest_changes(stretches, difference / error)
    # Bonferroni's bounds are small enough for families of many curves, where p values of draws are not.
    of_rise, of_fall, of_u, of_inverted = (
        len(contrasts) * float(student.sf(one, found.freedom)) for one in largest
    )
    rise = _p_of_largest(largest[0], drawn, of_rise)
    fall = _p_of_largest(largest[1], drawn, of_fall)
    dip, bump = dip_tests(curve, 2 * draws, seed)
    u = _p_of_turn(dip, of_u, draws)
    inverted = _p_of_turn(bump, of_inverted, draws)
    # Flat: all one-sided tests of a margin have to hold (Berger 1982), so the largest of their p values is that of all.
    nearest = (margin - np.abs(difference)) / error
    return rise, fall, u, inverted, float(student.sf(nearest.min(), found.freedom))


def classify(tests: pd.DataFrame) -> pd.DataFrame:
    """Adjust the p values of many curves and name the class of each by a test that is significant.

    A curve is U-shaped or inverted-U when that test is significant; when both are, it has the shape with the larger
    depth, and where one and the same fall limits both depths the fall is a dip in a rising curve (U-shaped), one and
    the same rise a bump in a falling one (inverted-U). Otherwise it is rising or falling by the one of these tests that
    is significant, by the smaller p where both are. Otherwise it is flat when that test is significant, and
    undetermined when it is not.

    ``tests`` has a row per curve, with the columns of ``shape_test`` and ``runs``. A curve that was not tested has NaN
    and counts in no family; one whose error is not known has NaN p, counts in no family and is undetermined. Without
    ``runs`` all are taken for curves of several runs, without ``p_flat`` none is shown to be flat. Of the new columns
    ``both`` says that both turns are significant, ``holm_rise`` and so on are adjusted p, and ``q_u`` is the q value of
    a dip in the same families (Benjamini and Hochberg 1995).
    """
    tests = tests.assign(**{name: value for name, value in _UNKNOWN.items() if name not in tests})
    adjusted = {f"holm_{name}": adjust_by_runs(tests[f"p_{name}"], tests["runs"]) for name in ALTERNATIVES}
    adjusted["q_u"] = adjust_by_runs(tests["p_u"], tests["runs"], false_discovery_control)
    table = tests.assign(**adjusted)
    both = (table["holm_u"] <= LEVEL) & (table["holm_inverted_u"] <= LEVEL)
    return table.assign(shape=[_name(row) for row in table.to_dict("records")], both=both)


def adjust_by_runs(p: pd.Series, runs: pd.Series, adjust: Callable[[Array], Array] = holm) -> Array:
    """Adjust p values, NaN where not tested; lines of one run are a family, and those of several another."""
    values, alone = p.to_numpy(np.float64), (runs == 1).to_numpy()
    adjusted = np.full(len(values), np.nan)
    for family in (alone, ~alone):
        tested = family & np.isfinite(values)
        adjusted[tested] = adjust(values[tested])
    return adjusted


def _name(row: Row) -> str:
    """Return the class of a curve (``classify``)."""
    if np.isnan(row["dip"]):
        return NOT_TESTED
    rise, fall, u, inverted, flat = (row[f"holm_{name}"] <= LEVEL for name in ALTERNATIVES)
    # Depths are equal where one fall or one rise limits both turns. It is a fall where the bump comes first.
    if u and inverted and np.isclose(row["dip"], row["bump"], rtol=0, atol=1e-9):
        return "inverted-U" if row["dip_place"] < row["bump_place"] else "U-shaped"
    if u or inverted:
        is_dip = row["dip"] > row["bump"] if inverted else True
        return "U-shaped" if u and is_dip else "inverted-U"
    # Rise and fall are tests of their own, so both may be significant although no turn is.
    if rise and fall:
        return "rising" if row["p_rise"] <= row["p_fall"] else "falling"
    if rise or fall:
        return "rising" if rise else "falling"
    return "flat" if flat else "undetermined"


@dataclass(frozen=True, eq=False)
class _Stretches:
    """Stretches of the axis, and every two of them of which one ends before the other begins."""

    count: int
    before: Ids  # int64[J]
    after: Ids  # int64[J]
    # float64[J, T], mean of the smoothed curve over the earlier stretch minus that over the later one
    contrasts: Array


@lru_cache(maxsize=8)  # the curves of a line share their axis
def _stretches(tokens: tuple[float, ...]) -> _Stretches:
    """Find the stretches: as many consecutive checkpoints as each width of the axis holds."""
    logs = np.log10(tokens)
    weights = smoothing_weights(logs)
    ends: set[tuple[int, int]] = set()
    for width in _WIDTHS:
        last = np.searchsorted(logs, logs + (width + _NEAR)) - 1
        # A stretch that lies in the one before it is none of its own.
        ends |= {(one, int(last[one])) for one in range(len(logs)) if one == 0 or last[one] > last[one - 1]}
    firsts, lasts = np.array(sorted(ends), dtype=np.int64).T
    means = np.stack([weights[first : last + 1].mean(axis=0) for first, last in sorted(ends)])
    before, after = np.nonzero(lasts[:, None] < firsts[None, :])
    return _Stretches(len(means), before, after, means[before] - means[after])


def _largest_changes(stretches: _Stretches, ratio: Array) -> tuple[float, float, float, float]:
    """Return the largest rise and fall, and of a fall then a rise, and of the reverse, the largest smaller side.

    ``ratio``, float64[J], are the studentized differences of the stretches: a fall is positive. Both sides of a turn at
    the same stretch have to be as large (intersection-union, Berger 1982).
    """
    falls = np.full((stretches.count, stretches.count), -np.inf)
    rises = falls.copy()
    falls[stretches.before, stretches.after] = ratio
    rises[stretches.before, stretches.after] = -ratio
    u = np.minimum(falls.max(axis=0), rises.max(axis=1)).max()
    inverted = np.minimum(rises.max(axis=0), falls.max(axis=1)).max()
    return float(rises.max()), float(falls.max()), float(u), float(inverted)


def _largest(loadings: Array, freedom: float, draws: int, seed: int) -> Array:
    """Draw the largest studentized difference of a curve without changes, float64[2 * draws], sorted.

    ``loadings``, float64[T, J], are the draws of the differences as sums of T independent normal numbers.
    """
    random = np.random.default_rng(seed)
    # Single precision is enough for the largest difference and takes half of the memory.
    unit = (loadings / np.sqrt((loadings**2).sum(axis=0))).astype(np.float32)
    largest = []
    for start in range(0, draws, _BLOCK):
        size = min(_BLOCK, draws - start)
        drawn = random.standard_normal((size, len(unit)), dtype=np.float32) @ unit
        spread = np.sqrt(np.maximum(random.chisquare(freedom, size), np.finfo(float).tiny) / freedom)
        # A draw and its negative are equally likely, so that each draw gives two.
        largest += [drawn.max(axis=1) / spread, -drawn.min(axis=1) / spread]
    return np.sort(np.concatenate(largest))


def _p_of_largest(statistic: float, drawn: Array, bound: float) -> float:
    """Return the p value of a largest difference under no change."""
    beyond = len(drawn) - int(np.searchsorted(drawn, statistic, side="left"))
    return min(1.0, (1 + beyond) / (1 + len(drawn)), bound)


def _p_of_turn(p: float, bound: float, draws: int) -> float:
    """Return a p value that may be smaller than the draws of ``dip_tests`` can tell.

    Where none of these draws is as far from unimodal as the curve, the two sides of the turn at one stretch bound p.
    At a level below that of one draw this bound alone decides, so that the test keeps it.
    """
    return min(p, bound) if p <= 1 / (1 + 2 * draws) else p


def _turn(name: str, curve: Curve, smooth: Array, drawn: Array) -> dict[str, float]:
    """Measure the deepest dip of a smoothed curve; a bump is the dip of its negative.

    ``dip`` is the depth, the smaller of its two sides as a fraction, 0 where the curve is monotone; places are tokens.
    """
    # The deepest dip is told even where it is not significant, because a reader sees it in the figure.
    (depth,), (place,) = _deepest(smooth[None, :])
    depths, places = _deepest(drawn)
    logs = curve.log_tokens
    tails = (TAIL, 1 - TAIL)
    low, high, first, last = *np.quantile(depths, tails), *np.quantile(_vertices(logs, drawn, places), tails)
    if not curve.has_error:
        low = high = first = last = np.nan
    vertex = float(_vertices(logs, smooth[None, :], np.array([place]))[0])
    return {
        name: float(depth),
        # The highest checkpoints before and after a dip, the lowest ones beside a bump.
        f"{name}_start": float(curve.tokens[int(np.argmax(smooth[: place + 1]))]),
        f"{name}_place": 10**vertex,
        f"{name}_end": float(curve.tokens[place + int(np.argmax(smooth[place:]))]),
        # Basic bootstrap interval at 95 %: noise deepens the dip of a draw once more than that of the curve, and this
        # interval takes it back.
        f"{name}_depth_low": float(np.clip(2 * depth - high, 0, depth)),
        f"{name}_depth_high": float(np.clip(2 * depth - low, depth, 1)),
        # Percentile interval at 95 %.
        f"{name}_place_low": 10 ** float(np.minimum(vertex, first)),
        f"{name}_place_high": 10 ** float(np.maximum(vertex, last)),
    }


def _deepest(curves: Array) -> tuple[Array, Ids]:
    """Return depth and place of the deepest dip of each curve, float64[N, T]: the largest of the smaller sides."""
    before = np.maximum.accumulate(curves, axis=1) - curves
    after = np.maximum.accumulate(curves[:, ::-1], axis=1)[:, ::-1] - curves
    sides = np.minimum(before, after)
    sides[sides < _NEAR] = 0  # what rounding leaves of a monotone curve
    place = sides.argmax(axis=1)
    return sides[np.arange(len(curves)), place], place


def _vertices(logs: Array, curves: Array, places: Ids) -> Array:
    """Return where the parabola through the lowest checkpoint and its neighbors is lowest, on the log axis."""
    # The parabola needs both neighbors, so a lowest checkpoint at an end stays as it is.
    middle = np.clip(places, 1, len(logs) - 2)
    rows = np.arange(len(curves))
    left, right = logs[middle - 1] - logs[middle], logs[middle + 1] - logs[middle]
    down, up = (curves[rows, middle + step] - curves[rows, middle] for step in (-1, 1))
    determinant = left * right * (left - right)
    square = (down * right - up * left) / determinant
    slope = (left**2 * up - right**2 * down) / determinant
    with np.errstate(divide="ignore", invalid="ignore"):
        vertex = np.where(square > 0, -slope / (2 * square), 0.0)
    inner = (places == middle) & (square > 0)
    return np.asarray(np.where(inner, logs[middle] + np.clip(vertex, left, right), logs[places]))
