"""Compare the power that is said of a curve with how often the test finds its dip, and tabulate the smallest dips.

python -m measurements.shapes.dip_power [--curves 100]

Run it from the root of the project. The curves are those of ``dip_levels``. For each number of runs and
pairs the first table has the median over curves of the smallest dip that is found with power .8, at 5 % and at
5 % / 16. The second one has the mean power that is said for a dip of 5 points, beside how often one is found.
"""

import argparse
import json
from dataclasses import asdict
from itertools import product

import numpy as np

from measurements.shapes.dip_levels import LEVEL, Cell, measure, simulate
from ucurve.analysis.shape.pooled import estimate_curve
from ucurve.analysis.shape.power import DipPower, dip_power

CHECKPOINTS = 24
FAMILIES = (1, 16)
COMPARED = (
    Cell("u5", "ar1", 300, CHECKPOINTS, 1), Cell("u5", "ar1", 300, CHECKPOINTS, 2),
    Cell("u5", "ar1", 300, CHECKPOINTS, 3), Cell("u5", "ar2", 300, CHECKPOINTS, 3),
    Cell("u5", "ar1", 300, CHECKPOINTS, 5), Cell("u5", "ar1", 1500, CHECKPOINTS, 3),
    Cell("u5", "templates together", 300, CHECKPOINTS, 3),
)  # fmt: skip


def said(cell: Cell, curves: int) -> list[DipPower]:
    """Return what is said of the power of each curve of a cell."""
    seeds = ([number, *map(ord, json.dumps(asdict(cell)))] for number in range(curves))
    return [dip_power(estimate_curve(*simulate(cell, np.random.default_rng(seed)))) for seed in seeds]


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--curves", type=int, default=100)
    parser.add_argument("--found", type=int, default=400, help="curves that are tested")
    arguments = parser.parse_args()
    print("| runs | pairs | smallest dip at 5 % | at 5 % / 16 |\n|---|---|---|---|")
    for runs, pairs in product((1, 2, 3, 5, 10), (100, 300, 1500)):
        found = said(Cell("flat", "ar1", pairs, CHECKPOINTS, runs), arguments.curves)
        depths = [100 * float(np.median([one.smallest_dip(LEVEL / m) for one in found])) for m in FAMILIES]
        print(f"| {runs} | {pairs:,} | {depths[0]:.1f} | {depths[1]:.1f} |", flush=True)
    print(
        "\n| noise | runs | pairs | said at 5 % | found | said at 5 % / 16 | found |\n|---|---|---|---|---|---|---|"
    )
    for cell in COMPARED:
        power = [
            [one.of_dips(np.array([0.05]), LEVEL / m)[0] for m in FAMILIES]
            for one in said(cell, arguments.curves)
        ]
        first, second = 100 * np.mean(power, axis=0)
        found = measure(cell, arguments.found, 1999)
        alone, of_many = (100 * float(str(found[f"u_{m}"])) for m in FAMILIES)
        shares = " | ".join(f"{share:.0f}" for share in (first, alone, second, of_many))
        print(f"| {cell.noise} | {cell.runs} | {cell.pairs:,} | {shares} |", flush=True)


if __name__ == "__main__":
    main()
