"""Measure how often two lines that learn alike are said to differ somewhere along their curves.

python -m measurements.intervals.difference_levels [--studies 400]

The curves are of 300 pairs and rise on the log axis of tokens. Each run learns earlier or later by a shift of its own
(sd in decades), has a level of its own (2 points) and noise that lasts from checkpoint to checkpoint (1 point, AR(1)).
``ratio`` is how many times the tokens one of the lines needs: 1 where nothing is to be found.
"""

import argparse
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ucurve.analysis.lines.along import compare_along

PAIRS, DECADES = 300, 4
Array = npt.NDArray[np.float64]


class Cell(NamedTuple):
    """A kind of study."""

    seeds: int
    checkpoints: int = 24
    spread: float = 0.0  # decades by which the times of runs differ
    width: float = 0.15  # decades of the rise
    end: float = 0.9
    ratio: float = 1.0


CELLS = (
    Cell(2), Cell(2, spread=0.2), Cell(3), Cell(3, spread=0.2), Cell(3, spread=0.2, width=0.05),
    Cell(3, spread=0.2, end=1.0), Cell(3, 47, 0.1), Cell(5, spread=0.2), Cell(3, end=0.5), Cell(3, ratio=2.0),
    Cell(3, spread=0.1, ratio=2.0), Cell(3, spread=0.2, ratio=2.0), Cell(5, spread=0.2, ratio=2.0),
)  # fmt: skip


def main() -> None:
    """Print a line for each kind of study."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--studies", type=int, default=400)
    studies = parser.parse_args().studies
    for cell in CELLS:
        draw, said, widths = np.random.default_rng(1), [], []
        for _ in range(studies):
            found = compare_along([(simulate(draw, cell, 1.0), simulate(draw, cell, cell.ratio))])
            assert found is not None
            _, band, _ = found
            said.append(((band["low"] > 0) | (band["high"] < 0)).any())
            widths.append(np.mean(band["high"] - band["low"]) / 2)
        print(
            f"{cell}: {100 * np.mean(said):.1f} % differ; half width {100 * np.mean(widths):.1f} points",
            flush=True,
        )


def simulate(draw: np.random.Generator, cell: Cell, ratio: float) -> list[Array]:
    """Draw the runs of a line that needs so many times the tokens, as ``compare_along`` reads them."""
    places, runs = np.linspace(0, DECADES, cell.checkpoints), []
    for _ in range(cell.seeds):
        noise = [draw.standard_normal()]
        for _ in places[1:]:
            noise.append(0.8 * noise[-1] + 0.6 * draw.standard_normal())
        middle = 2.2 + np.log10(ratio) + cell.spread * draw.standard_normal()
        rise = 0.5 + (cell.end - 0.5) / (1 + np.exp(-(places - middle) / cell.width))
        truth = np.clip(rise + 0.02 * draw.standard_normal() + 0.01 * np.array(noise), 0, 1)
        runs.append(np.stack([1000 * 10**places, draw.binomial(PAIRS, truth) / PAIRS]))
    return runs


if __name__ == "__main__":
    main()
