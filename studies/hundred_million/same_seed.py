"""Compare a run with one of the same seed on other hardware, beside how far runs of other seeds are apart.

python -m studies.hundred_million.same_seed --run RUN --same RUN --others RUN RUN [--docs docs] [--benchmark zhoblimp]

Writes ``data/hundred_million/same_seed.csv``: at each checkpoint the accuracies under SLLN-LP of all pairs and of the
phenomena that the paper names, in percent, and on which pairs two runs are right alike (Cohen's kappa), for the two
runs of one seed and as the mean over every two runs of different seeds. Prints the largest differences.
"""

import argparse
import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

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
    scored = [{path.stem for path in (one / "eval" / benchmark / "sentence").glob("step*.parquet")} for one in runs]
    phenomena = pd.read_parquet(run / "eval" / benchmark / "pairs.parquet")["phenomenon"]
    rows = []
    for name in sorted(set.intersection(*scored)):
        step = int(name.removeprefix("step"))
        right = [right_pairs(one, benchmark, step) for one in runs]
        row: dict[str, float] = {"step": step, "pairs": len(phenomena)}
        for part in PARTS:
            chosen = np.asarray((phenomena == part) | (part == "all"))
            row |= {f"{part}_{of}": 100 * one[chosen].mean() for of, one in zip(("run", "same"), right, strict=False)}
            row[f"{part}_sd_of_seeds"] = float(np.std([100 * one[chosen].mean() for one in right[1:]], ddof=1))
        row["kappa_same_seed"] = kappa(*right[:2])
        row["kappa_other_seeds"] = float(np.mean([kappa(*two) for two in combinations(right[1:], 2)]))
        rows.append(row)
    return pd.DataFrame(rows)


def main() -> None:
    """Write the table and print the largest differences."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, required=True, help="the run to compare")
    parser.add_argument("--same", type=Path, required=True, help="a run of the same seed")
    parser.add_argument("--others", type=Path, required=True, nargs="+", help="runs of other seeds, trained as --same")
    parser.add_argument("--docs", type=Path, default=Path("docs"), help="folder with data/hundred_million/")
    parser.add_argument("--benchmark", default="zhoblimp")
    arguments = parser.parse_args()
    table = compare(arguments.run, arguments.same, arguments.others, arguments.benchmark)
    table.to_csv(arguments.docs / "data" / "hundred_million" / "same_seed.csv", index=False, float_format="%.6g")
    for part in PARTS:
        apart = (table[f"{part}_run"] - table[f"{part}_same"]).abs()
        sd = table[f"{part}_sd_of_seeds"].max()
        sys.stdout.write(
            f"{part}: at most {apart.max():.2f} points apart, mean {apart.mean():.2f}; seeds: sd to {sd:.1f}\n"
        )
    same, others = table["kappa_same_seed"], table["kappa_other_seeds"]
    sys.stdout.write(f"kappa at least {same.min():.2f}, at the end {same.iloc[-1]:.2f}; ")
    sys.stdout.write(f"of other seeds at most {others.max():.2f}, at the end {others.iloc[-1]:.2f}\n")


if __name__ == "__main__":
    main()
