"""Linking functions in the report: accuracy by function and length split, with the length bias (ZhoBLiMP, Table 5)."""

import math
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from ucurve.analysis.data.frames import last_scored
from ucurve.analysis.data.study import BenchmarkScores
from ucurve.analysis.report import questions
from ucurve.analysis.report.html import Column, ReportSection, TableView, table_columns
from ucurve.eval.linking import FAMILIES
from ucurve.eval.metrics.accuracy import delta_acc, winner_by_length

# These are names of splits in accuracy.csv, in the order of ZhoBLiMP's Table 5.
SPLITS = ("equal", "good_longer", "bad_longer")
_LINKING_ORDER = ("lp", "mean_lp", "pen_lp", "slor", "morcela", "slln_lp")
_LINKING = table_columns(
    "line",
    "runs",
    "step",
    "linking",
    "ties_rule",
    "accuracy",
    Column("delta_acc", "Length bias Δacc (points)", "percent"),
    Column("equal", "Equal length (%)", "percent"),
    Column("good_longer", "Good longer (%)", "percent"),
    Column("bad_longer", "Bad longer (%)", "percent"),
    Column("accuracy_sd", "sd", "percent"),
)


def linking_by_run(scores: pd.DataFrame) -> pd.DataFrame:
    """Tabulate by linking function the last checkpoint of each run scored with it (ZhoBLiMP, Table 5).

    The columns are ``run``, ``line``, ``step``, ``tokens``, ``benchmark``, ``scorer``, ``linking``, ``ties_rule``,
    ``n`` (pairs), ``ties``, ``accuracy`` (over all pairs), those of ``equal``, ``good_longer`` and ``bad_longer``
    with their numbers of pairs (``n_equal``), and ``delta_acc``, the mean of the two absolute differences of a length
    split to the equal one (section 4.2). A split without pairs leaves NaN.
    """
    # One linking function may have been scored at other steps than another, so each is read at its own last step.
    rows = last_scored(scores[(scores["phenomenon"] == "all") & (scores["paradigm"] == "all")])
    keys = ["run", "line", "step", "tokens", "benchmark", "scorer", "linking", "ties_rule"]
    rows = rows.astype({key: str for key in keys if key not in ("step", "tokens")} | {"split": str})
    whole = rows[rows["split"] == "all"][[*keys, "n", "ties", "accuracy"]]
    on = [key for key in keys if key not in ("line", "tokens")]
    for split in SPLITS:
        part = rows[rows["split"] == split][[*on, "accuracy", "n"]]
        whole = whole.merge(part.rename(columns={"accuracy": split, "n": f"n_{split}"}), on=on, how="left")
    return order_by_linking(whole.assign(delta_acc=_length_biases(whole)), "run", ["benchmark", "scorer"])


def with_overall(cells: pd.DataFrame) -> pd.DataFrame:
    """Add ``accuracy`` over all pairs (NaN without any) and ``delta_acc`` from the splits (ZhoBLiMP, section 4.2)."""
    n = cells[[f"n_{split}" for split in SPLITS]].fillna(0).to_numpy(dtype=float)
    right = np.where(n > 0, cells[list(SPLITS)].to_numpy(dtype=float) * n, 0)
    total = n.sum(axis=1)
    accuracy = right.sum(axis=1) / np.where(total > 0, total, np.nan)
    return cells.assign(accuracy=accuracy, delta_acc=_length_biases(cells))


def linking_by_line(by_run: pd.DataFrame) -> pd.DataFrame:
    """Average ``linking_by_run`` over the runs of each line at the same step.

    The columns are ``benchmark``, ``scorer``, ``line``, ``step``, ``tokens``, ``linking``, ``ties_rule``, ``runs``
    (how many), ``accuracy`` with ``accuracy_sd`` (sample deviation; NaN for one run), ``equal``, ``good_longer``,
    ``bad_longer`` and ``delta_acc``.
    """
    keys = ["benchmark", "scorer", "line", "step", "tokens", "linking", "ties_rule"]
    means = {name: (name, "mean") for name in (*SPLITS, "delta_acc")}
    table = by_run.groupby(keys, as_index=False, dropna=False, sort=False).agg(
        runs=("run", "count"), accuracy=("accuracy", "mean"), accuracy_sd=("accuracy", "std"), **means
    )
    return order_by_linking(table, "line", ["benchmark", "scorer"])


def linking_order(name: str) -> tuple[int, float, str]:
    """Return what sorts linking functions as ZhoBLiMP's Table 5 does: by function, then by its first parameter."""
    function, *parameters = name.split(":")
    place = _LINKING_ORDER.index(function) if function in _LINKING_ORDER else len(_LINKING_ORDER)
    defaults = tuple(FAMILIES[function].defaults.values()) if function in FAMILIES else ()
    try:
        first = float(str(next(iter((*parameters, *defaults)), 0.0)))
    except ValueError:
        first = math.inf  # such as that of morcela:own
    return place, first, name


def order_by_linking(
    table: pd.DataFrame, line: str, before: Sequence[str] = (), after: Sequence[str] = ("step",)
) -> pd.DataFrame:
    """Order by the columns ``before``, by line as the lines come in, by those ``after``, then by linking function."""
    placed = table.assign(of_line=pd.factorize(table[line])[0], place=table["linking"].map(linking_order))
    ordered = placed.sort_values([*before, "of_line", *after, "place"], ignore_index=True)
    return ordered.drop(columns=["of_line", "place"])


def _length_biases(cells: pd.DataFrame) -> np.ndarray:
    equal, good_longer, bad_longer = (cells[split].to_numpy(np.float64) for split in SPLITS)
    return delta_acc(good_longer, bad_longer, equal)


@questions.section(questions.LENGTH, place=1, page="docs/length-bias.md")
def linking_sections(scored: BenchmarkScores) -> Iterator[ReportSection]:
    """Tabulate the linking functions of one benchmark, and name those under which length alone decides."""
    by_run = linking_by_run(scored.rows)
    table = linking_by_line(by_run)
    files = {f"linking_{scored.file_name}": table, f"linking_by_run_{scored.file_name}": by_run}
    note = (
        "Last checkpoint scored with each linking function, mean over the runs that differ in the seed only and stand "
        "at the same step (sd: sample standard deviation over them). Length is counted in the model's own tokens. "
        "Δacc, in percentage points, is the mean absolute difference of the two unequal splits to the equal one: the "
        "length bias, 0 is best. Where it is small, chance differences make it larger on average: see the signed "
        "differences with their intervals in eval/statistics.csv of each run."
    )
    content: list[str | TableView] = [TableView(note, _LINKING, table, files, "delta_acc")]
    splits = zip(table["good_longer"], table["bad_longer"], strict=True)
    by_length = table[[winner_by_length(*both) is not None for both in splits]]
    if len(by_length):
        lines = [
            f"{line} by {', '.join(dict.fromkeys(rows['linking']))}"
            for line, rows in by_length.groupby("line", sort=False)
        ]
        said = (
            f"Length alone decides where lengths differ, and not grammar: {'; '.join(lines)}. There nearly every pair "
            "of one unequal split is right and nearly every pair of the other wrong. A model that has learned nothing "
            "does that under lp, pen_lp and slln_lp: the shorter sentence wins, and Δacc is about 50."
        )
        content.insert(0, said)
    yield ReportSection(f"Linking functions and length on {scored.heading}", tuple(content))
