"""Measure how often the band of a curve holds the whole of it, and how often the interval of an onset holds the onset.

python -m measurements.curve_intervals [--curves 200] [--seeds 3]

Run it from the root of the project. The curves are those of ``measurements.dip_levels``, which has its own generator,
and abrupt rises. The truth is computed for the population of pairs and runs from which it draws.
"""

import argparse
from collections.abc import Iterator
from functools import cache, partial
from itertools import product

import numpy as np
from scipy.special import expit

from measurements.dip_levels import DECADES, NOISES, TRUTHS, Cell, _ability, simulate
from ucurve.analysis.shape.onset import ONSET_ABOVE_CHANCE, onset
from ucurve.analysis.shape.pooled import estimate_curve
from ucurve.analysis.shape.smoothing import Curve, smoothing_weights
from ucurve.analysis.shape.tables import curve_rows
from ucurve.eval.metrics.significance import CHANCE

_AXIS = np.linspace(0, 1, 4001)
_STEEPNESS = {"step": 0.001, "abrupt": 0.08, "steep": 0.2, "slow": 0.4}  # decades, of a logistic rise


def main() -> None:
    """Print a line for each kind of curve, number of checkpoints and number of pairs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--curves", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    for truth, checkpoints, pairs in product(("flat", "u5", "late"), DECADES, (300, 1500)):
        cell = Cell(truth, "ar1", pairs, checkpoints, arguments.seeds)
        held = [_band_holds(cell, number) for number in range(arguments.curves)]
        print(f"{truth:7} {checkpoints} checkpoints, {pairs} pairs: band holds {_percent(held)}", flush=True)
    for kind, checkpoints, pairs in product(_STEEPNESS, DECADES, (300, 1500)):
        found = list(_onsets(kind, checkpoints, pairs, arguments.seeds, arguments.curves))
        early, held, width = np.array(found).T
        print(
            f"{kind:7} {checkpoints} checkpoints, {pairs} pairs: of {len(found)} onsets the interval holds "
            f"{_percent(held)}; bias {early.mean():+.3f} decades, median {np.median(early):+.3f}, "
            f"width {np.median(width):.2f}",
            flush=True,
        )


def _band_holds(cell: Cell, number: int) -> bool:
    curve = _draw(cell, number)
    truth = smoothing_weights(curve.log_tokens) @ population(cell, np.linspace(0, 1, cell.checkpoints))
    rows = curve_rows("line", "all", curve, np.nan)
    return bool(((rows["band_low"] <= truth) & (truth <= rows["band_high"])).all())


def _onsets(kind: str, checkpoints: int, pairs: int, seeds: int, curves: int) -> Iterator[tuple[float, bool, float]]:
    """Yield how far each onset lies after the true one, whether its interval holds that, and how wide it is."""
    places = np.random.default_rng(0).uniform(0.45, 0.85, curves)
    for number, place in enumerate(places):
        name = f"{kind} rise at {place:.4f}"
        TRUTHS[name] = partial(_rise, at=float(place), width=_STEEPNESS[kind] / DECADES[checkpoints])
        cell = Cell(name, "ar1", pairs, checkpoints, seeds)
        curve = _draw(cell, number)
        heights = population(cell, _AXIS)
        true = _AXIS[np.flatnonzero(heights < CHANCE + ONSET_ABOVE_CHANCE)[-1]] * DECADES[checkpoints]
        found = onset(curve)
        if not np.isnan(found.tokens):
            at, low, high = np.log10([found.tokens, found.low, found.high]) - curve.log_tokens[0]
            yield at - true, low <= true <= high, high - low


def _rise(place: np.ndarray, at: float, width: float) -> np.ndarray:
    return 0.5 + 0.3 * expit((place - at) / width)


def _draw(cell: Cell, number: int) -> Curve:
    draw = np.random.default_rng([number, cell.checkpoints, cell.pairs, cell.runs])
    return estimate_curve(*simulate(cell, draw))


def population(cell: Cell, places: np.ndarray) -> np.ndarray:
    """Return the expected accuracy over all pairs and runs that ``simulate`` may draw, at some places of the axis."""
    noise = NOISES[cell.noise]
    of_runs = np.random.default_rng(2).standard_normal(200) * np.hypot(noise.level, noise.run)
    levels = TRUTHS[cell.truth](places)[:, None] + np.concatenate([of_runs, -of_runs])
    grid, accuracy = _accuracy_of_pairs(bool(noise.templates))
    return np.asarray(np.interp(_ability(np.clip(levels, 0.02, 0.98)), grid, accuracy).mean(axis=1))


@cache
def _accuracy_of_pairs(in_templates: bool) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(1)
    slope = np.exp(0.3 * draw.standard_normal(20_000))
    difficulty = np.hypot(1.5, 0.8 * in_templates) * draw.standard_normal(20_000)
    grid = np.linspace(-9, 9, 181)
    return grid, np.array([expit(slope * (ability - difficulty)).mean() for ability in grid])


def _percent(held: object) -> str:
    return f"{100 * np.mean(held):.1f} %"


if __name__ == "__main__":
    main()
