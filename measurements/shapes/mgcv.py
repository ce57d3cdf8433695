"""Compare the shape test with R's mgcv: hierarchical smooths with simultaneous intervals on curves of finished runs.

python -m measurements.shapes.mgcv 'runs/demo/*' [--benchmark demo] [--phenomena classifier BA] [--out mgcv.csv]

Needs R and its package mgcv (Debian and Ubuntu: r-cran-mgcv), which are no dependency of the project. The model, its
simultaneous intervals and their sources are in mgcv.R, which shares nothing with the shape test.

Prints and stores a row for each curve: mgcv's class, the tokens from which the derivative of its smooth is surely below
and surely above 0, the lowest point of that smooth, the class of the shape test with p of the U (before Holm's
procedure) and p of the class (after it), and the scopes in which the class of the shape test is mgcv's. mgcv knows of
the pairs no more than how many there are: pairs that are alike, and the same pairs at every checkpoint, count as
independent.
"""

import argparse
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from ucurve.analysis.api import open_study, read_shapes
from ucurve.analysis.data.pair_scores import HALVES, Items
from ucurve.analysis.data.study import BenchmarkScores
from ucurve.analysis.shape.section import read_items
from ucurve.eval.metrics.clusters import EDIT

SCRIPT = Path(__file__).with_suffix(".R")
NO_MGCV = 3  # exit status of the script
# The columns of the classes of the shape test, and what they are about.
SCOPES = {"class": "other pairs and seeds", "class_these_pairs": "these pairs", "class_these_runs": "these runs"}


def count_right(items: Iterable[Items], phenomenon: str) -> pd.DataFrame:
    """Count the right answers of each run at each trained checkpoint: ``curve, run, log_tokens, right, pairs``."""
    tables = []
    for one in items:
        chosen = (one.pairs["phenomenon"] == phenomenon).to_numpy() | (phenomenon == "all")
        trained = one.tokens > 0
        right = one.half_points[trained][:, chosen].sum(axis=1) / HALVES
        logs = np.log10(one.tokens[trained])
        tables.append(pd.DataFrame({"run": one.run, "log_tokens": logs, "right": right, "pairs": chosen.sum()}))
    return pd.concat(tables, ignore_index=True).assign(curve=phenomenon)


def ask_mgcv(counts: pd.DataFrame) -> pd.DataFrame:
    """Fit the curves in R and read its answers; end with status 2 where R or mgcv is not there."""
    if shutil.which("Rscript") is None:
        _end(
            "Rscript is not there; install R and mgcv, on Debian and Ubuntu: apt-get install r-base-core r-cran-mgcv"
        )
    with TemporaryDirectory() as folder:
        given, answers = Path(folder) / "counts.csv", Path(folder) / "answers.csv"
        counts.to_csv(given, index=False)
        done = subprocess.run(
            ["Rscript", "--vanilla", str(SCRIPT), str(given), str(answers)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode == NO_MGCV:
            _end("R has no package mgcv; install it, on Debian and Ubuntu: apt-get install r-cran-mgcv")
        if done.returncode:
            _end(f"Rscript ended with status {done.returncode}:\n{done.stderr}")
        return read_answers(answers)


def _end(message: str) -> None:
    print(message, file=sys.stderr)
    sys.exit(2)


def read_answers(path: Path) -> pd.DataFrame:
    """Read what the script wrote, and name the class of each curve; places are tokens."""
    answers = pd.read_csv(path, dtype={"curve": str})
    places = ["first_fall", "last_fall", "first_rise", "last_rise", "lowest_at"]
    answers[places] = 10 ** answers[places].astype("float64")
    answers["mgcv"] = [
        name_class(row.first_fall, row.last_fall, row.first_rise, row.last_rise) for row in answers.itertuples()
    ]
    return answers


def name_class(first_fall: float, last_fall: float, first_rise: float, last_rise: float) -> str:
    """Name a shape from where the derivative surely falls and rises, NaN for nowhere, as the shape test names it."""
    turns = ["U-shaped"] * (first_fall < last_rise) + ["inverted-U"] * (first_rise < last_fall)
    if turns:
        return " and ".join(turns)
    falls, rises = pd.notna(first_fall), pd.notna(first_rise)
    return "falling" if falls else "rising" if rises else "undetermined"


def agreement(mgcv: str, classes: Mapping[str, str]) -> str:
    """List the scopes in which the class of the shape test is mgcv's; where it finds both turns, one of them counts."""
    return ", ".join(scope for scope, name in classes.items() if name in mgcv.split(" and ")) or "none"


def compare(scored: BenchmarkScores, phenomena: Sequence[str]) -> pd.DataFrame:
    """Lay out what both judges say of the curves of each line of runs."""
    shapes = read_shapes(scored)
    assert shapes is not None
    lines: dict[str, list[Items]] = {}
    for run, items in read_items(scored):
        if items is not None:
            lines.setdefault(run.line, []).append(items)
    tables = []
    for line, members in lines.items():
        chosen = phenomena or [name for of, name in shapes.estimates if of == line]
        answers = ask_mgcv(pd.concat([count_right(members, name) for name in chosen], ignore_index=True))
        tables.append(answers.assign(line=line))
    tested = ["line", "phenomenon", "shape", "p_u", "p", "dip", "dip_place", *SCOPES]
    table = pd.concat(tables).merge(
        shapes.classes[tested].rename(columns={"phenomenon": "curve", **SCOPES}), on=["line", "curve"]
    )
    scopes = table[[*SCOPES.values()]].to_dict("records")
    return table.assign(agree=[agreement(*row) for row in zip(table["mgcv"], scopes, strict=True)])


def main() -> None:
    """Compare the judges on the runs that are asked for; print and store the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", help="run folders or patterns of them")
    parser.add_argument("--benchmark", help="needed where the runs were scored on several")
    parser.add_argument(
        "--phenomena", nargs="+", default=[], help="all for the whole benchmark; without it every curve"
    )
    parser.add_argument("--cluster", default=EDIT, help="as of analyze.py")
    parser.add_argument("--out", type=Path, default=Path("mgcv.csv"))
    arguments = parser.parse_args()
    scored = open_study(arguments.runs, cluster=arguments.cluster).scored(arguments.benchmark)
    table = compare(scored, arguments.phenomena)
    table.to_csv(arguments.out, index=False)
    shown = [
        "curve",
        "mgcv",
        "first_fall",
        "first_rise",
        "lowest",
        "lowest_at",
        "dip_place",
        "shape",
        "p_u",
        "p",
        "agree",
    ]
    print(table[shown].to_string(index=False, float_format="{:.3g}".format))


if __name__ == "__main__":
    main()
