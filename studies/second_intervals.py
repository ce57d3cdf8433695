"""Intervals of dips and bands of curves a second time, by the rules of docs/shape.md, without the code of the analysis.

The program's intervals are quantiles of 1,000 draws. Other draws give other quantiles: a number agrees if it is between
those that are four standard errors, of both numbers of draws together, below and above the level of the quantile.
"""

from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd
from scipy.stats import t as student

from studies.second_shape import (
    STANDARD_ERRORS,
    Array,
    Ids,
    Scored,
    deepest,
    draw_errors,
    smoothing,
    spread_of,
    with_known_error,
)

DRAWS = 2_000
_PROGRAM_DRAWS = 1_000
_TAIL = 0.025
_SEED = 20_260_102
Row = dict[str, object]


def around(level: float) -> tuple[float, float]:
    """Return the levels between which the quantile of other draws lies."""
    apart = STANDARD_ERRORS * np.sqrt(level * (1 - level) * (1 / DRAWS + 1 / _PROGRAM_DRAWS))
    return max(0.0, level - apart), min(1.0, level + apart)


def range_of(name: str, drawn: Array, level: float, number_of: Callable[[float], float] = float) -> dict[str, float]:
    """Return a number that is made of a quantile, and the least and the most that other draws make of it."""
    low, middle, high = (
        number_of(float(one)) for one in np.quantile(drawn, [around(level)[0], level, around(level)[1]])
    )
    return {name: middle, f"{name}_least": min(low, high), f"{name}_most": max(low, high)}


def unknown(*names: str) -> dict[str, float]:
    """Return columns of numbers that are not known."""
    return dict.fromkeys((f"{name}{end}" for name in names for end in ("", "_least", "_most")), np.nan)


def of_turns(curve: Scored) -> Row:
    """Find the 95 % intervals of depth and bottom of the deepest dip, and the peak of the highest bump."""
    weights, logs, whole = smoothing(curve.tokens), np.log10(curve.tokens), curve.error
    error = with_known_error(whole)
    smooth = weights @ curve.mean
    (depth, lowest), (bump, highest) = deepest(smooth), deepest(-smooth)
    bottom, peak = vertices(logs, np.array([smooth, -smooth]), np.array([lowest, highest])).tolist()
    row: Row = {
        "line": curve.line, "phenomenon": curve.phenomenon, "dip": depth, "bump": bump, "peak": 10**peak,
        "too_few": not whole.knows_pairs,
    }  # fmt: skip
    if not error.knows_pairs:
        return row | unknown("dip_low", "dip_high", "bottom_low", "bottom_high")
    _, freedom, covariance = spread_of(error, weights)
    random = np.random.default_rng(_SEED)
    drawn = smooth + draw_errors(covariance, freedom, DRAWS, random) @ weights.T
    depths, places = deepest_of_each(drawn)
    bottoms = vertices(logs, drawn, places)
    return {
        **row,
        **range_of("dip_low", depths, 1 - _TAIL, lambda high: float(np.clip(2 * depth - high, 0, depth))),
        **range_of("dip_high", depths, _TAIL, lambda low: float(np.clip(2 * depth - low, depth, 1))),
        **range_of("bottom_low", bottoms, _TAIL, lambda low: 10 ** min(low, bottom)),
        **range_of("bottom_high", bottoms, 1 - _TAIL, lambda high: 10 ** max(high, bottom)),
    }


def deepest_of_each(curves: Array) -> tuple[Array, Ids]:
    """Return depth and place of the deepest dip of each curve, [D, T]."""
    before, after = curves.copy(), curves.copy()
    for at in range(1, curves.shape[1]):
        before[:, at] = np.maximum(before[:, at], before[:, at - 1])
        after[:, -at - 1] = np.maximum(after[:, -at - 1], after[:, -at])
    sides = np.minimum(before, after) - curves
    sides[sides < 1e-9] = 0
    return sides.max(axis=1), sides.argmax(axis=1)


def vertices(logs: Array, curves: Array, places: Ids) -> Array:
    """Return the lowest place of the parabola through three checkpoints, no farther than the outer two."""
    inner = places.clip(1, len(logs) - 2)
    every = np.arange(len(curves))
    left, right = logs[inner] - logs[inner - 1], logs[inner + 1] - logs[inner]
    # The slopes of both sides are those of the parabola halfway between the checkpoints.
    down = (curves[every, inner] - curves[every, inner - 1]) / left
    up = (curves[every, inner + 1] - curves[every, inner]) / right
    with np.errstate(divide="ignore", invalid="ignore"):
        moved = -left / 2 - down * (left + right) / 2 / (up - down)
    moved = np.where((places == inner) & (up > down), np.clip(moved, -left, right), 0.0)
    return np.asarray(logs[places] + moved)


def of_band(curve: Scored) -> list[Row]:
    """Return the smoothed curve with the interval of each checkpoint and the band of all."""
    weights, error = smoothing(curve.tokens), with_known_error(curve.error)
    smooth = weights @ curve.mean
    rows: list[Row] = [{"line": curve.line, "phenomenon": curve.phenomenon, "tokens": one} for one in curve.tokens]
    if not error.knows_pairs:
        return [row | unknown("low", "high", "band_low", "band_high") for row in rows]
    variance, freedom, covariance = spread_of(error, weights, turns=1)
    spread, each = np.sqrt(variance), float(student.isf(_TAIL, freedom))
    drawn = draw_errors(covariance, freedom, DRAWS, np.random.default_rng(_SEED)) @ weights.T
    largest = range_of("band", (abs(drawn) / spread).max(axis=1), 1 - 2 * _TAIL)
    widths = {
        "": dict.fromkeys(("least", "", "most"), each),
        "band_": {"least": largest["band_least"], "": largest["band"], "most": largest["band_most"]},
    }
    for row, height, error_of_it in zip(rows, smooth, spread, strict=True):
        for name, of in widths.items():
            for end, sign in (("low", -1), ("high", 1)):
                bounds = {key: float(np.clip(height + sign * width * error_of_it, 0, 1)) for key, width in of.items()}
                row |= {
                    f"{name}{end}": bounds[""], f"{name}{end}_least": min(bounds.values()),
                    f"{name}{end}_most": max(bounds.values()),
                }  # fmt: skip
    return rows


def intervals(curves: Iterable[Scored]) -> pd.DataFrame:
    """Return ``of_turns`` of curves."""
    return pd.DataFrame([of_turns(curve) for curve in curves])
