"""Compare a run with one of the same seed on other hardware, beside how far runs of other seeds are apart.

python -m studies.hundred_million.same_seed --run RUN --same RUN --others RUN RUN [--docs docs] [--benchmark zhoblimp]

Writes ``data/hundred_million/same_seed.csv``, from which the page has its paragraph. A row for each checkpoint has the
accuracies under SLLN-LP of all pairs and of the phenomena that the paper names, in percent, how far the two runs of one
seed are apart, and the standard deviation of ``--same`` and ``--others``; on which pairs two runs are right alike
(Cohen's kappa), for the two runs of one seed and as the mean over every two runs of different seeds; and how far the
held-out losses of the two runs are apart.
"""

import argparse
from itertools import combinations
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from studies.hundred_million.page import PAGE
from studies.pages import write_tables

SLLN_LP = 0.5  # the exponent of the length
PARTS = ("all", "fci_licensing", "topicalization")
Right = npt.NDArray[np.bool_]


def right_pairs(run: Path, benchmark: str, step: int) -> Right:
    """Return which pairs a run has right at a checkpoint; a tie is not right."""
    scores = pd.read_parquet(run / "eval" / benchmark / "sentence" / f"step{step:08}.parquet")
    good, bad = (scores[f"lp_{kind}"] / scores[f"n_{kind}"] ** SLLN_LP for kind in ("good", "bad"))
    return np.asarray(good > bad)


def kappa(one: Right, other: Right) -> float:
    """Return the agreement of two runs beyond chance (Cohen 1960)."""
    agreement = (one == other).mean()
    chance = one.mean() * other.mean() + (1 - one.mean()) * (1 - other.mean())
    return float((agreement - chance) / (1 - chance))


def compare(run: Path, same: Path, others: list[Path], benchmark: str) -> pd.DataFrame:
    """Return a row for each checkpoint that all runs are scored at."""
    runs = [run, same, *others]
    scored = [
        {path.stem for path in (one / "eval" / benchmark / "sentence").glob("step*.parquet")} for one in runs
    ]
    phenomena = pd.read_parquet(run / "eval" / benchmark / "pairs.parquet")["phenomenon"]
    rows = []
    for name in sorted(set.intersection(*scored)):
        step = int(name.removeprefix("step"))
        right = [right_pairs(one, benchmark, step) for one in runs]
        row: dict[str, float] = {"step": step, "pairs": len(phenomena)}
        for part in PARTS:
            chosen = np.asarray((phenomena == part) | (part == "all"))
            first, *seeds = (100 * one[chosen].mean() for one in right)
            row |= {f"{part}_run": first, f"{part}_same": seeds[0], f"{part}_apart": abs(first - seeds[0])}
            row[f"{part}_sd_of_seeds"] = float(np.std(seeds, ddof=1))
        row["kappa_same_seed"] = kappa(*right[:2])
        row["kappa_other_seeds"] = float(np.mean([kappa(*two) for two in combinations(right[1:], 2)]))
        rows.append(row)
    losses = [pd.read_csv(one / "held_out.csv", index_col="step")["bits_per_byte"] for one in (run, same)]
    return pd.DataFrame(rows).merge((losses[0] - losses[1]).abs().rename("bits_per_byte_apart"), on="step")


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, required=True, help="the run to compare")
    parser.add_argument("--same", type=Path, required=True, help="a run of the same seed")
    parser.add_argument(
        "--others", type=Path, required=True, nargs="+", help="runs of other seeds, trained as --same"
    )
    parser.add_argument("--docs", type=Path, default=Path("docs"), help="folder with data/hundred_million/")
    parser.add_argument("--benchmark", default="zhoblimp")
    arguments = parser.parse_args()
    table = compare(arguments.run, arguments.same, arguments.others, arguments.benchmark)
    write_tables({"same_seed": table}, PAGE.data_folder(arguments.docs))


if __name__ == "__main__":
    main()
