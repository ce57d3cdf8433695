"""The tests of the mean over the lines of a study, a second time, from the accuracies of its runs alone.

Read are ``run_curves.csv`` and the numbers of pairs in ``shapes.csv``. Nothing of ``analysis`` is imported.

python -m studies.recomputed.lines [--docs docs]
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from studies.recomputed.compare import Comparison
from studies.recomputed.intervals import vertices
from studies.recomputed.power import capped, smallest_dips
from studies.recomputed.shape import LEVEL, Array, Error, deepest, holm, in_scope, shape_tests, smoothing

NAMED = ("fci_licensing", "topicalization")  # in ZhoBLiMP, section 5.3
_TESTS = {"rise": "p_rise", "fall": "p_fall", "u": "p_dip", "inverted_u": "p_bump"}
_ENDS = {"_least": -1, "": 0, "_most": 1}


def mean_and_error(runs: pd.DataFrame, items: int) -> tuple[Array, Array, Error]:
    """Return the checkpoints, the mean over lines and its error, from the accuracies of the runs of a phenomenon.

    The mean weighs each run by one over the runs of its line and over the lines. Its variance over seeds is the sum of
    the squares of these weights times one variance for all runs, of what is left after the means of lines.
    """
    table = runs.sort_values("tokens").set_index(["line", "run", "tokens"])["accuracy"].unstack().dropna(axis=1)
    line = table.index.get_level_values("line")
    weights = np.array([1 / (line == one).sum() / line.nunique() for one in line])
    residuals = (table - table.groupby(level="line").transform("mean")).to_numpy()
    freedom = len(table) - line.nunique()
    seeds = (weights**2).sum() * np.einsum("rt,ru->tu", residuals, residuals) / freedom
    none = np.zeros_like(seeds)
    error = Error(none, seeds, none, 1 + freedom, items, 1.0, items, items)
    return table.columns.to_numpy(float), weights @ table.to_numpy(), in_scope(error, "_these_pairs")


def test_again(curves: pd.DataFrame, items: pd.Series) -> pd.DataFrame:
    """Make the columns of ``over_lines.csv`` again; numbers that are drawn have ``_least`` and ``_most``."""
    trained = curves[curves["tokens"] > 0]
    families = [_family(own, items) for _, own in trained.groupby(trained["phenomenon"] == "all")]
    return pd.concat(families, ignore_index=True)


def _family(curves: pd.DataFrame, items: pd.Series) -> pd.DataFrame:
    """Test the phenomena over which Holm's procedure goes."""
    groups = dict(iter(curves.groupby("phenomenon")))
    table = pd.DataFrame([_row(str(name), own, int(items[name]), len(groups)) for name, own in groups.items()])
    for name in _TESTS.values():
        for end in _ENDS:
            table[f"{name}_holm{end}"] = holm(table[f"{name}{end}"].to_numpy(float))
    for end in _ENDS:
        table[f"q_dip{end}"] = q_values(table[f"p_dip{end}"].to_numpy(float))
    return table


def q_values(p: Array) -> Array:
    """Return the least false discovery rate at which each of the tests is found (Benjamini and Hochberg 1995)."""
    return np.array([min(len(p) * bound / (p <= bound).sum() for bound in p[p >= own]) for own in p])


def _row(phenomenon: str, runs: pd.DataFrame, items: int, tests: int) -> dict[str, object]:
    tokens, mean, error = mean_and_error(runs, items)
    curve = smoothing(tokens) @ mean
    (dip, lowest), (bump, highest) = deepest(curve), deepest(-curve)
    bottom, peak = 10 ** vertices(np.log10(tokens), np.array([curve, -curve]), np.array([lowest, highest]))
    found = shape_tests(tokens, mean, error)
    return {
        "phenomenon": phenomenon, "named": phenomenon in NAMED, "lines": runs["line"].nunique(),
        "runs": runs["run"].nunique(), "items": items, "start": curve[0], "end": curve[-1],
        "dip": dip, "bottom": bottom, "bump": bump, "peak": peak,
        **capped(*smallest_dips(tokens, error, LEVEL / tests)),
        **{
            f"{name}{end}": float(np.clip(found[test].p + sign * found[test].apart, 0, 1))
            for test, name in _TESTS.items()
            for end, sign in _ENDS.items()
        },
    }  # fmt: skip


def main() -> None:
    """Compare ``over_lines.csv`` with what is computed here; exit with 1 where a number differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docs", type=Path, default=Path("docs"), help="folder with data/hundred_million/")
    data = parser.parse_args().docs / "data" / "hundred_million"
    names = ("run_curves", "shapes", "over_lines")
    page = {name: pd.read_csv(data / f"{name}.csv", keep_default_na=False, na_values=[""]) for name in names}
    comparison = Comparison()
    compare_lines(page, comparison)
    comparison.end({"over_lines": page["over_lines"]})


def compare_lines(page: dict[str, pd.DataFrame], comparison: Comparison) -> None:
    """Compare ``over_lines``, unless it is empty, with what the tables of runs and shapes give."""
    items = page["shapes"].groupby("phenomenon")["items"].first()
    if len(page["over_lines"]):
        comparison.tables("over_lines", test_again(page["run_curves"], items), page["over_lines"], ["phenomenon"])


if __name__ == "__main__":
    main()
