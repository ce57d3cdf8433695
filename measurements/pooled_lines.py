"""Test the mean over the three lines of the study of 100 million tokens, for these pairs in other seeds.

python -m measurements.pooled_lines

Run it from the root of the project. The eight runs are three fixed lines with one variance of seeds, which is estimated
within lines with 5 degrees of freedom. It needs the published accuracies of the runs alone,
docs/data/hundred_million/run_curves.csv, and so says nothing of other pairs. Every draw has seed 0. The table that it
prints has p values of a rise, a fall, a dip and a bump of each phenomenon, with Holm's adjustment over the phenomena,
and the deepest dip; the last lines count what is significant, and what it would be line by line.
"""

from pathlib import Path

import numpy as np
import pandas as pd

from ucurve.analysis.shape.classify import LEVEL, shape_test
from ucurve.analysis.shape.smoothing import Array, Curve, without_pair_error
from ucurve.eval.metrics.significance import holm

CURVES = Path("docs/data/hundred_million/run_curves.csv")
TESTS = {"rise": "p_rise", "fall": "p_fall", "dip": "p_u", "bump": "p_inverted_u"}
PAIRS = 300  # of a phenomenon at least: they bound the error where all runs agree
ALL_RUNS = "all runs"


def read_curves(path: Path = CURVES) -> pd.DataFrame:
    """Read the accuracies of the runs after step 0: phenomenon, line, run, tokens and accuracy."""
    table = pd.read_csv(path)
    return table[table["tokens"] > 0]


def mean_of_lines(lines: list[Array], tokens: Array) -> Curve:
    """Return the mean over lines, each float64[S, T], of equal weight, with the error over their seeds alone."""
    apart = np.concatenate([own - own.mean(axis=0) for own in lines])
    freedom = len(apart) - len(lines)
    weight = sum(1 / len(own) for own in lines) / len(lines) ** 2
    nothing = np.zeros((len(tokens), len(tokens)))
    mean = np.mean([own.mean(axis=0) for own in lines], axis=0)
    curve = Curve(tokens, mean, 1 + freedom, PAIRS, nothing, weight * apart.T @ apart / freedom, nothing, 1.0, PAIRS)
    return without_pair_error(curve)


def line_tests(table: pd.DataFrame) -> pd.DataFrame:
    """Test the mean over all lines and each line by itself: a row for each phenomenon and line."""
    rows = []
    for phenomenon, own in table.groupby("phenomenon"):
        wide = {
            str(line): rows_.pivot_table(index="tokens", columns="run", values="accuracy").dropna()
            for line, rows_ in own.groupby("line")
        }
        tokens = np.array(sorted(set.intersection(*(set(one.index) for one in wide.values()))))
        lines = {line: one.loc[tokens].to_numpy().T for line, one in wide.items()}
        sets = [(ALL_RUNS, list(lines.values())), *((line, [one]) for line, one in lines.items())]
        for name, pooled in sets:
            found = shape_test(mean_of_lines(pooled, tokens)).columns()
            p = {test: found[column] for test, column in TESTS.items()}
            rows.append({"line": name, "phenomenon": phenomenon, **p, "depth": found["dip"], "at": found["dip_place"]})
    return pd.DataFrame(rows)


def main() -> None:
    """Print the table and what is significant after Holm over phenomena, and line by line over all curves."""
    tests = line_tests(read_curves())
    tests = tests[tests["phenomenon"] != "all"]
    pooled = tests[tests["line"] == ALL_RUNS].drop(columns="line").set_index("phenomenon")
    for name in TESTS:
        pooled[f"{name}, Holm"] = holm(pooled[name].to_numpy())
    print(pooled.round(4).to_string())
    single = tests[tests["line"] != ALL_RUNS]
    for name in TESTS:
        alone = int((holm(single[name].to_numpy()) <= LEVEL).sum())
        print(f"{name}: {(pooled[f'{name}, Holm'] <= LEVEL).sum()} of {len(pooled)}; by line {alone} of {len(single)}")


if __name__ == "__main__":
    main()
