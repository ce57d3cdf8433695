"""Measure how often straight lines whose noise hangs together over checkpoints are said to have a change point.

python -m measurements.shapes.change_noise [--curves 100]

Run it from the root of the project. Accuracies are those of ``dip_levels``, whose runs wander; a loss has
noise of .01 bits per byte that is autoregressive of first order.
"""

import argparse
from collections.abc import Callable
from itertools import product

import numpy as np

from measurements.shapes.dip_levels import TRUTHS, Cell, _fading, simulate
from ucurve.analysis.change_points.bends import find_changes
from ucurve.analysis.change_points.section import loss_curve
from ucurve.analysis.shape.classify import LEVEL
from ucurve.analysis.shape.pooled import estimate_curve
from ucurve.analysis.shape.smoothing import Curve

_DRAWS = 500


def main() -> None:
    """Print the share of curves with a change for every number of runs and pairs, and kind of loss."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--curves", type=int, default=100)
    count = parser.parse_args().curves
    TRUTHS["line"] = lambda place: 0.55 + 0.3 * place
    for truth, noise, pairs, runs in product(("line", "flat"), ("ar1", "ar2"), (300, 1500), (1, 3)):
        cell = Cell(truth, noise, pairs, 24, runs)
        found = _share(lambda draw, cell=cell: estimate_curve(*simulate(cell, draw)), count)
        print(f"accuracy, {truth}, {noise}, {pairs} pairs, runs {runs}: {found:.0%}", flush=True)
    for name, correlation, checkpoints, runs in product(_LOSSES, (0.0, 0.5, 0.8), (24, 47), (1, 3)):
        found = _share(
            lambda draw, name=name, of=correlation, steps=checkpoints, runs=runs: _loss(
                draw, name, of, steps, runs
            ),
            count,
        )
        print(
            f"loss, {name}, correlation {correlation}, {checkpoints} checkpoints, runs {runs}: {found:.0%}",
            flush=True,
        )


def _share(simulated: Callable[[np.random.Generator], Curve], count: int) -> float:
    p = [find_changes(simulated(np.random.default_rng(number)), number, _DRAWS).p for number in range(count)]
    return float((np.array(p) <= LEVEL).mean())


_LOSSES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "straight": lambda place: 3 - place,
    "one bend": lambda place: 3 - place + 0.6 * np.maximum(0, place - 0.5),
}


def _loss(draw: np.random.Generator, name: str, correlation: float, checkpoints: int, runs: int) -> Curve:
    place = np.linspace(0, 1, checkpoints)
    noise = 0.01 * _fading(draw, (checkpoints, runs), correlation).T
    return loss_curve(10 ** (4 + 4 * place), _LOSSES[name](place) + noise)


if __name__ == "__main__":
    main()
