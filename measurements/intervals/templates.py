"""Measure how often intervals and tests over pairs of a few templates hold the truth.

python -m measurements.intervals.templates --out FILE [--data-sets 400]

Run it from the root of the project. The generator shares nothing with the product. A data set has 300 pairs of one
paradigm and two models of equal accuracy. Whether a pair is right follows a Gaussian copula: a template and a pair each
have a normal value, ``correlation`` is the share of the template in the variance, and a pair is right where the sum is
below a threshold. Each model has its own value of a template, of which a part may be common to both.

FILE gets a line of JSON for each cell; a cell that is there already is not simulated again. Numbers are percentages of
the data sets: how often the interval of ``accuracy.csv``, the exact one, that of ``statistics.csv``, that of the
difference of both models and that of the difference by length (each template has one length) hold the truth, and how
often McNemar's tests, over clusters and exact, find a difference at 5 %. ``width`` is in points.
"""

import argparse
import json
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import ndtri

from ucurve.eval.linking import parse_linking
from ucurve.eval.metrics.accuracy import accuracy_table
from ucurve.eval.metrics.significance import comparison_table, statistics_table

PAIRS = 300
LP = parse_linking("lp")
LEVEL = 0.05


@dataclass(frozen=True)
class Cell:
    """What is simulated."""

    templates: int
    correlation: float
    accuracy: float
    common: float = 0.0  # share of a template's value that both models have in common
    unequal: bool = False  # templates of lognormal sizes instead of equal ones


CELLS = [
    *(Cell(*one, accuracy) for one, accuracy in product([(300, 0.0), (16, 0.1), (16, 0.3)], (0.7, 0.95, 0.99))),
    *(Cell(8, 0.3, accuracy) for accuracy in (0.7, 0.95, 0.99)),
    *(Cell(4, 0.3, accuracy) for accuracy in (0.7, 0.95)),
    *(Cell(16, 0.8, accuracy) for accuracy in (0.7, 0.95)),
    *(Cell(16, 0.3, accuracy, unequal=True) for accuracy in (0.7, 0.95)),
    Cell(16, 0.3, 0.7, common=0.5),
    Cell(16, 0.3, 0.7, common=1.0),
    Cell(100, 0.3, 0.7),
]


def make_pairs(cell: Cell, data_sets: int, draw: np.random.Generator) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a pair table with a paradigm for each data set, and the template of each pair, int64[data sets, pairs]."""
    templates = np.sort(np.arange(PAIRS) % cell.templates)[None].repeat(data_sets, axis=0)
    if cell.unequal:
        share = np.exp(draw.normal(0, 1, (data_sets, cell.templates)))
        bounds = np.cumsum(share / share.sum(axis=1, keepdims=True), axis=1)
        templates = np.array([np.searchsorted(row[:-1], (np.arange(PAIRS) + 0.5) / PAIRS) for row in bounds])
    names = [f"{number:05d}" for number in range(data_sets)]
    table = pd.DataFrame({"paradigm": np.repeat(names, PAIRS), "pair": np.arange(data_sets * PAIRS)})
    words = [f"w{number}" for number in templates.ravel()]
    return table.assign(
        phenomenon=table["paradigm"] + "-", good=[f"the {word} is so" for word in words],
        bad=[f"the not-{word} is so" for word in words],
    ), templates  # fmt: skip


def make_scores(cell: Cell, templates: np.ndarray, draw: np.random.Generator) -> list[pd.DataFrame]:
    """Return the score tables of two models of equal accuracy; the length of the good sentence goes by template."""
    shape = (len(templates), cell.templates)
    both, tables = draw.normal(size=shape), []
    for _ in range(2):
        value = np.sqrt(cell.common) * both + np.sqrt(1 - cell.common) * draw.normal(size=shape)
        of_pair = np.take_along_axis(value, templates, axis=1) * np.sqrt(cell.correlation)
        of_pair += draw.normal(size=templates.shape) * np.sqrt(1 - cell.correlation)
        right = (of_pair < ndtri(cell.accuracy)).ravel()
        columns = {
            "lp_good": np.where(right, -1.0, -2.0),
            "lp_bad": -1.5,
            "n_good": 2 + templates.ravel() % 3,
            "n_bad": 3,
        }
        facts = dict.fromkeys(("unk_good", "unk_bad"), 0)
        tables.append(pd.DataFrame({"pair": np.arange(templates.size), **columns, **facts}))
    return tables


def measure(cell: Cell, data_sets: int, seed: int = 0) -> dict[str, float]:
    """Simulate the data sets of a cell."""
    draw = np.random.default_rng([seed, cell.templates, int(1000 * cell.correlation), int(1000 * cell.accuracy)])
    pairs, templates = make_pairs(cell, data_sets, draw)
    scores = make_scores(cell, templates, draw)
    accuracies = accuracy_table(pairs, scores[0], [LP]).query("split == 'all'")
    statistics = statistics_table(pairs, scores[0], [LP])
    compared = comparison_table(pairs, (scores[0], LP), (scores[1], LP))
    accuracies, statistics, compared = (
        table[table["paradigm"].isin(set(pairs["paradigm"]))] for table in (accuracies, statistics, compared)
    )
    found = {
        "cluster": _holds(accuracies, "ci", cell.accuracy), "exact": _holds(accuracies, "exact", cell.accuracy),
        "width": (accuracies["ci_high"] - accuracies["ci_low"]).mean(),
        "bootstrap": _holds(statistics, "boot", cell.accuracy), "difference": _holds(compared, "boot", 0.0),
        "by length": _holds(statistics, "good_longer_minus_equal", 0.0),
        "McNemar": (compared["p_mcnemar"] < LEVEL).mean(), "McNemar exact": (compared["p_exact"] < LEVEL).mean(),
    }  # fmt: skip
    return {name: round(100 * float(value), 1) for name, value in found.items()}


def _holds(table: pd.DataFrame, name: str, truth: float) -> float:
    known = table.dropna(subset=[f"{name}_low"])
    return float(((known[f"{name}_low"] <= truth) & (truth <= known[f"{name}_high"])).mean())


def main() -> None:
    """Simulate the cells that FILE lacks, and add a line for each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--data-sets", type=int, default=400)
    arguments = parser.parse_args()
    lines = arguments.out.read_text(encoding="utf-8").splitlines() if arguments.out.exists() else []
    facts = {**asdict(CELLS[0]), "data_sets": 0}
    done = [{name: value for name, value in json.loads(line).items() if name in facts} for line in lines]
    for cell in CELLS:
        asked = {**asdict(cell), "data_sets": arguments.data_sets}
        if asked not in done:
            line = json.dumps({**asked, **measure(cell, arguments.data_sets)})
            with arguments.out.open("a", encoding="utf-8") as file:
                file.write(f"{line}\n")
            print(line, flush=True)


if __name__ == "__main__":
    main()
