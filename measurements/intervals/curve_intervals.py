"""Measure how often the band of a curve holds the whole of it, and how often the interval of an onset holds the onset.

python -m measurements.intervals.curve_intervals [--curves 200] [--seeds 3]

Run it from the root of the project. The curves are those of ``measurements.shapes.dip_levels``, which has its own
generator, and abrupt rises. The truth is computed for the population of pairs and runs from which it draws. Bands are
those of studies with one curve of each kind, of runs that learn at the same times and of runs that learn at other
times.
"""

import argparse
from collections.abc import Iterator
from functools import cache, partial
from itertools import product

import numpy as np
from scipy.special import expit

from measurements.shapes.dip_levels import DECADES, NOISES, TRUTHS, Cell, _ability, simulate
from ucurve.analysis.shape.bands import curve_bands
from ucurve.analysis.shape.onset import ONSET_ABOVE_CHANCE, onset
from ucurve.analysis.shape.pooled import estimate_curve
from ucurve.analysis.shape.smoothing import Curve, smoothing_weights
from ucurve.eval.metrics.significance import CHANCE

_AXIS = np.linspace(0, 1, 4001)
_KINDS = ("flat", "u5", "late", "rise", "bump", "plateau", "abrupt")  # of the curves of a study
_STEEPNESS = {"step": 0.001, "abrupt": 0.08, "steep": 0.2, "slow": 0.4}  # decades, of a logistic rise


def main() -> None:
    """Print a line for each kind of curve, number of checkpoints and number of pairs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--curves", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    for noise, checkpoints, pairs in product(("ar1", "times apart"), DECADES, (300, 1500)):
        for truth, found in _bands(noise, pairs, checkpoints, arguments.seeds, arguments.curves).items():
            whole, steepest, half = np.array(found).T
            print(
                f"{truth:7} {noise}, {checkpoints} checkpoints, {pairs} pairs: band holds {_percent(whole)}; where it "
                f"is steepest the interval holds {_percent(steepest)}; half width of the band "
                f"{100 * half.mean():.1f} points",
                flush=True,
            )
    for kind, checkpoints, pairs in product(_STEEPNESS, DECADES, (300, 1500)):
        found = list(_onsets(kind, checkpoints, pairs, arguments.seeds, arguments.curves))
        early, held, width = np.array(found).T
        print(
            f"{kind:7} {checkpoints} checkpoints, {pairs} pairs: of {len(found)} onsets the interval holds "
            f"{_percent(held)}; bias {early.mean():+.3f} decades, median {np.median(early):+.3f}, "
            f"width {np.median(width):.2f}",
            flush=True,
        )


def _bands(
    noise: str, pairs: int, checkpoints: int, seeds: int, studies: int
) -> dict[str, list[tuple[float, ...]]]:
    """Return of each kind of curve and study whether band and steepest interval hold, and the mean half width."""
    TRUTHS["abrupt"] = partial(_rise, at=0.55, width=0.05 / DECADES[checkpoints])
    cells = {truth: Cell(truth, noise, pairs, checkpoints, seeds) for truth in _KINDS}
    true = {truth: population(cell, np.linspace(0, 1, checkpoints)) for truth, cell in cells.items()}
    found: dict[str, list[tuple[float, ...]]] = {truth: [] for truth in cells}
    for number in range(studies):
        curves = [_draw(cell, number, place) for place, cell in enumerate(cells.values())]
        for truth, curve, rows in zip(cells, curves, curve_bands(curves, [False] * len(curves)), strict=True):
            heights = smoothing_weights(curve.log_tokens) @ true[truth]
            holds = (rows["band_low"] <= heights) & (heights <= rows["band_high"])
            at_each = (rows["low"] <= heights) & (heights <= rows["high"])
            steepest = int(np.abs(np.gradient(heights)).argmax())
            half = float((rows["band_high"] - rows["band_low"]).mean() / 2)
            found[truth].append((float(holds.all()), float(at_each[steepest]), half))
    return found


def _onsets(
    kind: str, checkpoints: int, pairs: int, seeds: int, curves: int
) -> Iterator[tuple[float, bool, float]]:
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


def _draw(cell: Cell, number: int, kind: int = 0) -> Curve:
    draw = np.random.default_rng([number, cell.checkpoints, cell.pairs, cell.runs, kind])
    return estimate_curve(*simulate(cell, draw))


def population(cell: Cell, places: np.ndarray) -> np.ndarray:
    """Return the expected accuracy over all pairs and runs that ``simulate`` may draw, at some places of the axis."""
    noise = NOISES[cell.noise]
    of_runs, shifts = np.random.default_rng(2).standard_normal((2, 200))
    of_runs *= np.hypot(noise.level, noise.run)
    shifts *= noise.times / DECADES[cell.checkpoints]
    truth = TRUTHS[cell.truth]
    shifted = np.stack([truth(places + one) for one in np.concatenate([shifts, -shifts])], axis=1)
    levels = shifted + np.concatenate([of_runs, of_runs]) * np.repeat([1, -1], 200)
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
