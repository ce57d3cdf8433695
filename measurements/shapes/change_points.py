"""Measure how often the test of change points finds changes: in straight lines, in bends, and in curves of other form.

python -m measurements.shapes.change_points [--curves 200] [--items 300 1000] [--seeds 1 3] [--checkpoints 24]

Run it from the root of the project. A row for each curve, noise, number of pairs and number of runs gives, in percent:
how many curves have a change (p at 5 %), how many changes are found in these, and of those with the true number how
many intervals hold the true place; last, the median width of these intervals in decades.
"""

import argparse
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from measurements.shapes.simulated_curves import (
    DRIFTING,
    INDEPENDENT,
    SLOW,
    Noise,
    flat,
    rising,
    simulate,
    token_axis,
)
from ucurve.analysis.change_points.bends import MOST_CHANGES, find_changes
from ucurve.analysis.shape.classify import LEVEL
from ucurve.analysis.shape.pooled import estimate_curve

_DECADES = 3.2


@dataclass(frozen=True)
class Bent:
    """A curve over decades from the first checkpoint.

    Attributes:
        changes: where it changes, in decades; None where it has no such places.
    """

    name: str
    changes: tuple[float, ...] | None
    curve: Callable[[np.ndarray], np.ndarray]


def bent(places: tuple[float, ...], heights: tuple[float, ...]) -> Callable[[np.ndarray], np.ndarray]:
    """Return the line through heights at the first checkpoint, these places and the last one."""
    return lambda logs: np.interp(logs - logs[0], (0, *places, _DECADES), heights)


CURVES = (
    Bent("flat at 70 %", (), flat(0.7)),
    Bent("straight rise from 50 to 90 %", (), bent((), (0.5, 0.9))),
    Bent("50 %, then a rise of 20 points", (1.6,), bent((1.6,), (0.5, 0.5, 0.7))),
    Bent("50 %, then a rise of 10 points", (1.6,), bent((1.6,), (0.5, 0.5, 0.6))),
    Bent("a step of 30 points within a decade", (1.1, 2.1), bent((1.1, 2.1), (0.5, 0.5, 0.8, 0.8))),
    Bent("a dip of 15 points", (0.8, 1.6, 2.4), bent((0.8, 1.6, 2.4), (0.7, 0.7, 0.55, 0.7, 0.7))),
    Bent("an S from 50 to 90 %", None, rising(0.5, 0.9)),
)
NOISES = (INDEPENDENT, SLOW, DRIFTING)


def run(
    kind: Bent, noise: Noise, items: int, seeds: int, count: int, draws: int = 2000, checkpoints: int = 24
) -> dict[str, object]:
    """Simulate a curve many times and count what is found."""
    tokens = token_axis(checkpoints, _DECADES)
    draw = np.random.default_rng([items, seeds])
    numbers: Counter[int] = Counter()
    held, widths = [], []
    for number in range(count):
        half_points = simulate(kind.curve, tokens, noise, draw, seeds=seeds, items=items)
        curve = estimate_curve(tokens, half_points, np.arange(items) % 6)
        found = find_changes(curve, number, draws)
        if found.p > LEVEL:
            continue
        numbers[len(found.tokens)] += 1
        if kind.changes and len(found.tokens) == len(kind.changes):
            low, high = (np.log10(ends / tokens[0]) for ends in (found.low, found.high))
            held.append(np.mean((low <= kind.changes) & (kind.changes <= high)))
            widths.append(np.median(high - low))
    return {
        "curve": kind.name, "noise": noise.name, "items": items, "seeds": seeds, "found": numbers.total() / count,
        **{f"{n} changes": numbers[n] / count for n in range(1, MOST_CHANGES + 1)},
        "held": np.mean(held) if held else np.nan, "width": np.median(widths) if widths else np.nan,
    }  # fmt: skip


def main() -> None:
    """Simulate, count, and print a row for each curve, noise, number of pairs and number of runs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--curves", type=int, default=200, help="simulations of each row")
    parser.add_argument("--items", type=int, nargs="+", default=[300, 1000], help="pairs of the curve")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 3], help="runs of the line")
    parser.add_argument("--checkpoints", type=int, default=24, help="of each curve, at even distances")
    arguments = parser.parse_args()
    for items in arguments.items:
        for seeds in arguments.seeds:
            for noise in NOISES:
                for kind in CURVES:
                    row = run(kind, noise, items, seeds, arguments.curves, checkpoints=arguments.checkpoints)
                    shown = [f"{value:.3f}" if isinstance(value, float) else str(value) for value in row.values()]
                    print("  ".join(shown), flush=True)


if __name__ == "__main__":
    main()
