"""Measure how often the test of a dip calls a curve U-shaped that has none, and how often it finds one.

python -m measurements.shapes.dip_levels --out FILE [--curves 400] [--draws 999]

Run it from the root of the project. Nothing here is shared with the other simulations of this folder. Each pair
follows a two-parameter logistic model: its own discrimination and difficulty, a part of the difficulty shared by the
pairs of a template, and outcomes that hang together between checkpoints (a part lasts in a run, most of it fades from
one checkpoint to the next). Each run has its own level and its own slow noise. FILE gets a line of JSON for each cell
(kind of curve, noise, pairs, checkpoints, runs); a cell that is there already is not simulated again.
"""

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
from scipy.special import expit, ndtr

from ucurve.analysis.shape.pooled import estimate_curve
from ucurve.analysis.shape.unimodal import dip_tests

PARADIGMS = 6
DECADES = {15: 3.3, 24: 4.0, 47: 5.3}
LEVEL = 0.05
Truth = Callable[[np.ndarray], np.ndarray]  # accuracy by place on the axis, 0 to 1


@dataclass(frozen=True)
class Noise:
    """What moves a curve besides its truth, in points of accuracy and in logits."""

    run: float = 0.01  # sd of the slow noise of a run; neighboring checkpoints correlate at .8
    level: float = 0.02  # sd of a run's own level
    templates: int = 0  # of each paradigm; 0: every pair by itself
    together: float = 0.0  # sd in logits by which a template moves, alike in all runs
    apart: float = 0.0  # the same in each run by itself
    transient: float = 0.0  # depth of a short dip of one run at a random place
    times: float = 0.0  # sd in decades by which runs learn earlier or later


NOISES = {
    "ar1": Noise(),
    "ar2": Noise(run=0.02),
    "transient": Noise(transient=0.06),
    "templates together": Noise(templates=5, together=0.5),
    "templates apart": Noise(templates=5, apart=0.5),
    "levels apart": Noise(level=0.08),
    "times apart": Noise(times=0.2),
}


def flat(place: np.ndarray) -> np.ndarray:
    """Return 70 % everywhere."""
    return np.full(len(place), 0.7)


def late(place: np.ndarray) -> np.ndarray:
    """Return 50 % and a rise to 80 % near the end, the hardest curve without a dip."""
    return 0.5 + 0.3 * expit((place - 0.85) / 0.02)


def plateau(place: np.ndarray) -> np.ndarray:
    """Return a rise, a stretch of no change, and another rise."""
    return 0.5 + 0.2 * expit((place - 0.25) / 0.03) + 0.2 * expit((place - 0.8) / 0.03)


def bump(place: np.ndarray) -> np.ndarray:
    """Return 70 % with a bump of 5 points in the middle."""
    return 0.7 + _bell(place, 0.5, 0.1, 0.05)


def rise(place: np.ndarray) -> np.ndarray:
    """Return a slow rise from 55 to 90 %."""
    return 0.55 + 0.35 * expit((place - 0.5) / 0.1)


def u5(place: np.ndarray) -> np.ndarray:
    """Return 70 % with a dip of 5 points in the middle."""
    return 0.7 - _bell(place, 0.5, 0.1, 0.05)


def u10(place: np.ndarray) -> np.ndarray:
    """Return 70 % with a dip of 10 points in the middle."""
    return 0.7 - _bell(place, 0.5, 0.1, 0.10)


def u5_near_the_end(place: np.ndarray) -> np.ndarray:
    """Return 70 % with a dip of 5 points at 80 % of the axis."""
    return 0.7 - _bell(place, 0.8, 0.1, 0.05)


def w(place: np.ndarray) -> np.ndarray:
    """Return 70 % with two dips of 5 points."""
    return 0.7 - _bell(place, 0.3, 0.07, 0.05) - _bell(place, 0.7, 0.07, 0.05)


def dip_then_rise(place: np.ndarray) -> np.ndarray:
    """Return a dip of 5 points, then a rise to 80 %."""
    return 0.6 - _bell(place, 0.4, 0.1, 0.05) + 0.2 * expit((place - 0.8) / 0.04)


def _bell(place: np.ndarray, middle: float, width: float, height: float) -> np.ndarray:
    return height * np.exp(-(((place - middle) / width) ** 2) / 2)


TRUTHS: dict[str, Truth] = {
    truth.__name__: truth
    for truth in (flat, late, plateau, bump, rise, u5, u10, u5_near_the_end, w, dip_then_rise)
}


@dataclass(frozen=True)
class Cell:
    """What is simulated."""

    truth: str
    noise: str
    pairs: int
    checkpoints: int
    runs: int


def cells() -> Iterator[Cell]:
    """Yield the cells of the table: every kind of curve and noise, for each number of runs, pairs and checkpoints."""
    kinds = [(truth, "ar1") for truth in TRUTHS]
    kinds += [(null, noise) for noise in list(NOISES)[1:] for null in ("flat", "late")]
    kinds += [("u5", noise) for noise in ("ar2", "templates together", "levels apart", "times apart")]
    for runs, pairs, checkpoints in product((3, 2, 5, 1), (300, 1500), (24, 15, 47)):
        for truth, noise in kinds:
            yield Cell(truth, noise, pairs, checkpoints, runs)


def simulate(
    cell: Cell, draw: np.random.Generator, truths: Sequence[Truth] = ()
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return what ``estimate_curve`` takes: tokens, half points (uint8[runs, checkpoints, pairs]), strata, clusters.

    ``truths`` are those of the runs, where these do not share the truth of the cell.
    """
    noise, count = NOISES[cell.noise], cell.pairs
    place = np.linspace(0, 1, cell.checkpoints)
    paradigm = np.arange(count) % PARADIGMS
    template = (np.arange(count) // PARADIGMS) % noise.templates if noise.templates else np.arange(count)
    of_template = np.unique(np.stack([paradigm, template]), axis=1, return_inverse=True)[1].ravel()
    slope = np.exp(0.3 * draw.standard_normal(count))
    shared = 0.8 * draw.standard_normal(of_template.max() + 1)[of_template] if noise.templates else 0.0
    difficulty = 1.5 * draw.standard_normal(count) + shared
    half_points = np.empty((cell.runs, cell.checkpoints, count), dtype=np.uint8)
    together = noise.together * _fading(draw, (cell.checkpoints, of_template.max() + 1), 0.8)[:, of_template]
    for run in range(cell.runs):
        shift = noise.times / DECADES[cell.checkpoints] * draw.standard_normal() if noise.times else 0.0
        level = (truths[run] if truths else TRUTHS[cell.truth])(
            place + shift
        ) + noise.level * draw.standard_normal()
        level = level + noise.run * _fading(draw, (cell.checkpoints, 1), 0.8)[:, 0]
        if noise.transient and run == 0:
            level = level - _bell(place, draw.uniform(), 0.05, noise.transient)
        ability = _ability(np.clip(level, 0.02, 0.98))
        moved = together
        if noise.apart:
            moved = (
                moved
                + noise.apart * _fading(draw, (cell.checkpoints, of_template.max() + 1), 0.8)[:, of_template]
            )
        right = expit(slope * (ability[:, None] - difficulty) + moved)
        latent = np.sqrt(0.2) * draw.standard_normal(count) + np.sqrt(0.2) * draw.standard_normal(right.shape)
        latent = latent + np.sqrt(0.6) * _fading(draw, right.shape, 0.75)
        half_points[run] = 2 * (ndtr(latent) < right)
    return 16384 * 10 ** (DECADES[cell.checkpoints] * place), half_points, paradigm, template


def _fading(draw: np.random.Generator, shape: tuple[int, int], correlation: float) -> np.ndarray:
    """Return normal numbers of variance 1 whose neighbors along the first axis have this correlation."""
    values = draw.standard_normal(shape)
    for row in range(1, shape[0]):
        values[row] = correlation * values[row - 1] + np.sqrt(1 - correlation**2) * values[row]
    return values


def _ability(accuracy: np.ndarray) -> np.ndarray:
    """Return the ability, in logits, at which a population of pairs is right with this accuracy."""
    grid, table = _accuracy_by_ability()
    return np.interp(accuracy, table, grid)


@cache
def _accuracy_by_ability() -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(0)
    slope, difficulty = np.exp(0.3 * draw.standard_normal(20_000)), 1.6 * draw.standard_normal(20_000)
    grid = np.linspace(-9, 9, 361)
    return grid, np.array([expit(slope * (ability - difficulty)).mean() for ability in grid])


def measure(cell: Cell, curves: int, draws: int) -> dict[str, object]:
    """Return the shares of the curves of a cell that are called U-shaped at 5 %, at 5 % / 16 and at 5 % / 80."""
    found = []
    for number in range(curves):
        draw = np.random.default_rng([number, *map(ord, json.dumps(asdict(cell)))])
        found.append(dip_tests(estimate_curve(*simulate(cell, draw)), draws, number)[0])
    p = np.array(found)
    shares = {f"u_{family}": round(float((p <= LEVEL / family).mean()), 4) for family in (1, 16, 80)}
    return {**asdict(cell), "curves": curves, "draws": draws, **shares}


def main() -> None:
    """Simulate the cells that FILE lacks, and add a line for each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--curves", type=int, default=400)
    parser.add_argument("--draws", type=int, default=999)
    arguments = parser.parse_args()
    lines = arguments.out.read_text(encoding="utf-8").splitlines() if arguments.out.exists() else []
    names = list(Cell.__dataclass_fields__)
    done = {tuple(json.loads(line)[name] for name in names) for line in lines}
    for cell in cells():
        if tuple(asdict(cell).values()) not in done:
            line = json.dumps(measure(cell, arguments.curves, arguments.draws))
            with arguments.out.open("a", encoding="utf-8") as file:
                file.write(f"{line}\n")
            print(line, flush=True)


if __name__ == "__main__":
    main()
