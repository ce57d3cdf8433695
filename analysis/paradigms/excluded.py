"""Paradigms kept in a benchmark against those left out of it for low agreement of people (ZhoBLiMP, Table 8)."""

from collections.abc import Iterable

import pandas as pd

from ucurve.analysis.data.study import BenchmarkScores, Study
from ucurve.analysis.linking.section import order_by_linking
from ucurve.analysis.paradigms.human import load_human_agreement
from ucurve.analysis.paradigms.phenomena import by_level, last_paradigm_rows, line_means
from ucurve.analysis.report import questions
from ucurve.analysis.report.html import Column, ReportSection, TableView, table_columns
from ucurve.eval.pairs import full_name, split_name

_SUFFIX = "-excluded"
_VIEW = table_columns(
    "model",
    "step",
    "linking",
    Column("paradigms_included", "Paradigms included", "count"),
    Column("paradigms_excluded", "excluded", "count"),
    Column("included", "Included (%)", "percent"),
    Column("excluded", "Excluded (%)", "percent"),
    Column("difference", "Difference (points)", "percent"),
)
_NOTE = (
    "Means over paradigms at the last checkpoint scored on both, where that is the same one. People: over all answers."
)


def included_excluded(included: pd.DataFrame, excluded: pd.DataFrame) -> pd.DataFrame:
    """Join means over paradigms of a benchmark and of what was left out of it (``phenomena.by_level``) at one step."""
    parts = {"included": _overall_rows(included), "excluded": _overall_rows(excluded)}
    renamed = [
        part.rename(columns={"accuracy": name, "paradigms": f"paradigms_{name}"}) for name, part in parts.items()
    ]
    table = renamed[0].merge(renamed[1], on=["model", "step", "linking"])
    table = order_by_linking(table, "model", after=())
    return table.assign(difference=table["included"] - table["excluded"])[[column.name for column in _VIEW]]


def human_row(included: pd.DataFrame, excluded: pd.DataFrame) -> pd.DataFrame:
    """Return human agreement with both as a row of ``included_excluded``, over answers as in the paper."""
    parts = {"included": included, "excluded": excluded}
    row: dict[str, object] = {"model": "people", "step": float("nan"), "linking": "agreement over answers"}
    for name, part in parts.items():
        overall = part[part["phenomenon"] == "all"].iloc[0]
        row |= {name: overall["pooled"], f"paradigms_{name}": overall["paradigms"]}
    table = pd.DataFrame([row])
    return table.assign(difference=table["included"] - table["excluded"])[[column.name for column in _VIEW]]


@questions.section(questions.PEOPLE, place=1)
def excluded_sections(study: Study) -> Iterable[ReportSection]:
    """Make the table of every benchmark whose excluded paradigms were scored too."""
    scored = {(one.benchmark, one.scorer): one for one in study.benchmarks()}
    for (benchmark, scorer), one in scored.items():
        other = scored.get((full_name(benchmark) + _SUFFIX + split_name(benchmark)[2], scorer))
        table = pd.DataFrame() if other is None else _compare_benchmarks(one, other)
        if other is not None and not table.empty:
            files = {f"excluded_{one.file_name}": table}
            ties = "; ".join(f"{each.benchmark}: ties counted {each.ties_rule}" for each in (one, other))
            view = TableView(f"{_NOTE} {ties}.", _VIEW, table, files)
            yield ReportSection(f"Excluded paradigms of {benchmark}", (view,))


def _compare_benchmarks(included: BenchmarkScores, excluded: BenchmarkScores) -> pd.DataFrame:
    linkings = sorted(set(included.rows["linking"].astype(str)))
    levels = [by_level(line_means(last_paradigm_rows(scored, linkings))) for scored in (included, excluded)]
    human = [load_human_agreement(scored) for scored in (included, excluded)]
    table = included_excluded(*levels)
    if table.empty or human[0] is None or human[1] is None:
        return table
    return pd.concat([human_row(human[0], human[1]), table], ignore_index=True)


def _overall_rows(levels: pd.DataFrame) -> pd.DataFrame:
    rows = levels[(levels["phenomenon"] == "all") & (levels["aggregate"] == "paradigms")]
    return rows.rename(columns={"line": "model"})[["model", "step", "linking", "paradigms", "accuracy"]]
