"""Measure the level and the power of the test of a curve that ends below chance.

python -m measurements.shapes.below_chance [--curves 1000] [--items 300 1500] [--out below.csv]

Curves stay at one accuracy from the first checkpoint on. At 50 % the share that is called below chance is the level of
the test; at 45, 40 and 30 % it is the power. The noise is that of ``shape_levels``; in addition pairs of clusters that
are wholly alike, in all runs, as those of a template whose sentences differ in one word: 300 pairs in 6, 10 or 30
clusters.

Prints one row for each noise, number of pairs and number of runs, in percent of the curves: those significant at 5 %
when each is tested alone, and at 50 % those significant at 5 % / 16, the strictest step of Holm in a family of 16.
"""

import argparse

import numpy as np
import pandas as pd

from measurements.shapes.shape_levels import (
    CLUSTER,
    FAMILY,
    LEVEL,
    NOISES,
    PARADIGMS,
    RUNS,
    TOKENS,
    Noise,
    simulate,
    wander,
)
from ucurve.analysis.shape.over_tokens import below_chance

CHANCE, LEVELS = 0.5, (0.5, 0.45, 0.4, 0.3)
FEW = (6, 10, 30)  # clusters whose pairs are wholly alike
_ALONE = NOISES[0]


def measure(noise: Noise, runs: int, items: int, alike: int, arguments: argparse.Namespace) -> dict[str, object]:
    """Test curves of every level; ``alike`` clusters of wholly alike pairs, or 0."""
    draw = np.random.default_rng([arguments.seed, items, runs, alike])
    name = f"{alike} clusters wholly alike, in all runs" if alike else noise.name
    row: dict[str, object] = {"noise": name, "pairs": items, "runs": runs}
    for level in LEVELS:
        p = np.array([_p(level, noise, runs, items, alike, draw) for _ in range(arguments.curves)])
        row[f"at {100 * level:.0f} %"] = float((p <= LEVEL).mean())
        if level == CHANCE:
            row[f"at 50 %, 5 %/{FAMILY}"] = float((p <= LEVEL / FAMILY).mean())
    return row


def _p(level: float, noise: Noise, runs: int, items: int, alike: int, draw: np.random.Generator) -> float:
    def curve(axis: np.ndarray) -> np.ndarray:
        return np.full(len(axis), level)

    drawn = alike or items
    half_points = simulate(curve, noise, wander(noise, runs, draw), drawn, draw)
    clusters = np.arange(drawn) // (CLUSTER if noise.alike else 1)
    strata = np.zeros(drawn, dtype=np.int64) if alike else np.arange(drawn) * PARADIGMS // drawn
    if alike:
        half_points, clusters, strata = (
            np.repeat(one, items // alike, axis=-1) for one in (half_points, clusters, strata)
        )
    return below_chance(TOKENS, half_points, strata, clusters)["p_below"]


def _print(row: dict[str, object]) -> None:
    cells = (f"{100 * value:.1f}" if isinstance(value, float) else str(value) for value in row.values())
    print("|", " | ".join(cells), "|", flush=True)


def main() -> None:
    """Simulate, test, and print a row for every kind."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--curves", type=int, default=1000, help="curves of each kind")
    parser.add_argument("--items", type=int, nargs="+", default=[300, 1500], help="pairs of each phenomenon")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", default=None, help="CSV file for the table")
    arguments = parser.parse_args()
    kinds = [(noise, items, 0) for noise in NOISES for items in arguments.items]
    kinds += [(_ALONE, 300, alike) for alike in FEW]
    rows = []
    for noise, items, alike in kinds:
        for runs in RUNS:
            rows.append(measure(noise, runs, items, alike, arguments))
            _print(rows[-1])
    if arguments.out:
        pd.DataFrame(rows).to_csv(arguments.out, index=False, float_format="%.4f")


if __name__ == "__main__":
    main()
