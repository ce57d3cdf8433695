"""Intervals of dips and bands of curves a second time, by rules.md, without the code of the analysis.

The program's intervals are quantiles of 1,000 draws. Other draws give other quantiles: a number agrees if it is between
those that are four standard errors, of both numbers of draws together, below and above the level of the quantile.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import digamma, polygamma
from scipy.stats import t as student

from studies.recomputed.shape import (
    STANDARD_ERRORS,
    Array,
    Error,
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
_BOUNDS = ("low", "high", "band_low", "band_high")
Row = dict[str, object]


def around(level: float) -> tuple[float, float]:
    """Return the levels between which the quantile of other draws lies."""
    apart = STANDARD_ERRORS * np.sqrt(level * (1 - level) * (1 / DRAWS + 1 / _PROGRAM_DRAWS))
    return max(0.0, level - apart), min(1.0, level + apart)


def range_of(
    name: str, drawn: Array, level: float, number_of: Callable[[float], float] = float
) -> dict[str, float]:
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
        "these_pairs": error is not whole,
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


def of_bands(curves: Sequence[Scored]) -> list[Row]:
    """Return smoothed curves with the interval of each checkpoint and the band of all; prior variances are shared."""
    errors = [with_known_error(curve.error) for curve in curves]
    smooth = [smoothing(curve.tokens) @ curve.mean for curve in curves]
    parts = [_variances(curve, error) for curve, error in zip(curves, errors, strict=True)]
    several = [at for at, error in enumerate(errors) if error.runs > 1]
    prior, expected = _expected(
        [(parts[at][1], errors[at].runs - 1, _goes_with(curves[at], smooth[at])) for at in several]
    )
    rows: list[Row] = []
    for at, (curve, error) in enumerate(zip(curves, errors, strict=True)):
        where = {"line": curve.line, "phenomenon": curve.phenomenon}
        if not error.knows_pairs:
            rows += [where | {"tokens": one} | unknown(*_BOUNDS) for one in curve.tokens]
            continue
        own, more = (expected[several.index(at)], prior) if at in several else (None, 0.0)
        rows += [where | row for row in _of_band(curve, error, smooth[at], parts[at], own, more)]
    return rows


def _variances(curve: Scored, error: Error) -> tuple[Array, Array, Array]:
    """Return the variance of each smoothed checkpoint over pairs, over seeds, and the part that both have."""
    weights = smoothing(curve.tokens)
    pairs, seeds, rest = (
        np.diag(weights @ one @ weights.T).clip(0) for one in (error.pairs, error.seeds, error.rest)
    )
    return pairs, np.maximum(seeds, 1 / (2 * error.items**2 * error.runs)), rest


def _goes_with(curve: Scored, smooth: Array) -> Array:
    """Return what the variance of seeds goes with: 1, height, steepness and its square, and whether it is of all."""
    height = smooth.clip(0, 1)
    steep = np.log(smoothing(curve.tokens) @ np.gradient(smooth, np.log10(curve.tokens)) ** 2 + 0.0009)
    ones = np.ones(len(smooth))
    return np.stack(
        [ones, np.log(height - height**2 + 0.01), steep, steep**2, ones * (curve.phenomenon == "all")], 1
    )


def _expected(settings: Sequence[tuple[Array, int, Array]]) -> tuple[float, list[Array]]:
    """Return the prior degrees of freedom (Smyth 2004, section 6.2), and the prior variances of each curve."""
    if not settings:
        return 0.0, []
    variance = np.concatenate([one for one, _, _ in settings])
    freedom = np.concatenate([np.full(len(one), float(own)) for one, own, _ in settings])
    design = np.concatenate([one for _, _, one in settings])
    logs = np.log(variance) - digamma(freedom / 2) + np.log(freedom / 2)
    fitted = design @ np.linalg.pinv(design) @ logs
    excess = ((logs - fitted) ** 2).sum() / max(1, len(logs) - design.shape[1]) - polygamma(1, freedom / 2).mean()
    prior = 4.0 if excess <= polygamma(1, 2) else 2 * brentq(lambda half: polygamma(1, half) - excess, 1e-6, 2)
    expected = np.exp(fitted + digamma(prior / 2) - np.log(prior / 2))
    return prior, np.split(expected, np.cumsum([len(one) for one, _, _ in settings])[:-1])


def _of_band(
    curve: Scored,
    error: Error,
    smooth: Array,
    parts: tuple[Array, Array, Array],
    expected: Array | None,
    prior: float,
) -> Iterator[Row]:
    pairs, seeds, rest = parts
    freedom_of_seeds = error.runs - 1 + prior
    seeds = (
        np.zeros(len(pairs))
        if expected is None
        else (prior * expected + (error.runs - 1) * seeds) / freedom_of_seeds
    )
    logs = np.log10(curve.tokens)
    distance = abs(np.subtract.outer(logs, logs))
    own, most = (
        np.array([values[near].max() for near in distance <= 0.35 + 1e-9])
        for values in ((seeds - rest).clip(0), seeds)
    )
    variance = pairs + own
    freedom = variance**2 / (pairs**2 / error.freedom + most**2 / max(1, freedom_of_seeds))
    weights = smoothing(curve.tokens)
    alike = np.sqrt(np.outer(own, own)) * np.exp(-((distance / 0.3) ** 2) / 2)
    covariance = weights @ error.pairs @ weights.T + alike
    spread = np.sqrt(np.diag(covariance))
    largest = abs(draw_errors(covariance, float(freedom.mean()), DRAWS, np.random.default_rng(_SEED)) / spread)
    band = range_of("band", largest.max(axis=1), 1 - 2 * _TAIL)
    for at, height in enumerate(smooth):
        each = float(student.isf(_TAIL, freedom[at]))
        widths = {
            "": dict.fromkeys(("_least", "", "_most"), each),
            "band_": {end: band[f"band{end}"] for end in ("_least", "", "_most")},
        }
        row: Row = {"tokens": curve.tokens[at]}
        for (name, of), (end, sign) in product(widths.items(), (("low", -1), ("high", 1))):
            error_here = float(np.sqrt(variance[at]))
            bounds = {key: float(np.clip(height + sign * width * error_here, 0, 1)) for key, width in of.items()}
            row |= {f"{name}{end}": bounds[""], f"{name}{end}_least": min(bounds.values())}
            row |= {f"{name}{end}_most": max(bounds.values())}
        yield row


def intervals(curves: Iterable[Scored]) -> pd.DataFrame:
    """Return ``of_turns`` of curves."""
    return pd.DataFrame([of_turns(curve) for curve in curves])
