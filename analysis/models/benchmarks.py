"""Sections about several benchmarks: models by benchmark, one phenomenon across them (RuBLiMP, appendix G)."""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from ucurve.analysis.data.frames import last_scored, overall, pool_pairs, stack
from ucurve.analysis.data.study import MEANS_OVER, Study
from ucurve.analysis.report import questions
from ucurve.analysis.report.html import Column, ReportSection, TableView, table_columns
from ucurve.yaml_files import read_yaml

_MOST = 5  # languages of a benchmark with a column each, as many as CLAMS has


def benchmark_table(points: pd.DataFrame) -> pd.DataFrame:
    """Lay accuracies out by model and benchmark, with ``mean``: NaN unless scored on all (RuBLiMP, Table 11)."""
    wide = points.pivot_table(index="model", columns="benchmark", values="accuracy", sort=False, observed=True)
    table = wide.assign(mean=wide.mean(axis=1, skipna=False)).reset_index()
    table.columns.name = None
    return table


def load_matches() -> pd.DataFrame:
    """Read which phenomena of several benchmarks are about the same thing: ``match``, ``benchmark``, ``phenomenon``."""
    matches = read_yaml(Path(__file__).with_name("matches.yaml"), dict[str, dict[str, tuple[str, ...]]])
    rows = [
        (match, benchmark, phenomenon)
        for match, benchmarks in matches.items()
        for benchmark, phenomena in benchmarks.items()
        for phenomenon in phenomena
    ]
    return pd.DataFrame(rows, columns=["match", "benchmark", "phenomenon"])


def matched_phenomena(points: pd.DataFrame, matches: pd.DataFrame) -> pd.DataFrame:
    """Average accuracies over the pairs of the phenomena of a match, by model and benchmark (RuBLiMP, Table 12)."""
    rows = points.merge(matches, on=["benchmark", "phenomenon"])
    return pool_pairs(rows, ["match", "model", "benchmark"])


def largest_gaps(matched: pd.DataFrame) -> pd.DataFrame:
    """Tabulate how far the benchmarks of a match are apart for each model (RuBLiMP, G.2): ``benchmarks``, ``gap``."""
    grouped = matched.groupby(["match", "model"], sort=False, observed=True)["accuracy"]
    table = grouped.agg(["count", "max", "min"]).reset_index().rename(columns={"count": "benchmarks"})
    return table.assign(gap=table["max"] - table["min"]).drop(columns=["max", "min"])


@questions.section(questions.MODELS, place=1)
def benchmark_sections(study: Study) -> Iterator[ReportSection]:
    """Tabulate models by benchmark; nothing where there is one benchmark."""
    if study.scores.empty:
        return
    # Of a benchmark with many languages the pairs of all of them are one column.
    rows = overall(_last_rows_by_model(study))
    family = rows["benchmark"].map(
        {one.label: one.label.replace(one.benchmark, one.family, 1) for one in study.benchmarks()}
    )
    languages = rows["benchmark"].groupby(family).transform("nunique")
    named = rows.assign(benchmark=rows["benchmark"].where(languages <= _MOST, family))
    table = benchmark_table(pool_pairs(named, ["model", "benchmark"]))
    benchmarks = [name for name in table.columns if name not in ("model", "mean")]
    if len(benchmarks) < 2:
        return
    columns = table_columns("model", *(Column(name, f"{name} (%)", "percent") for name in benchmarks))
    note = (
        f"Overall accuracy at the last scored checkpoint ({_describe_shown(study)}), and its mean over "
        "the benchmarks (RuBLiMP, Table 11); no mean for a model that was not scored on all of them. A "
        "benchmark of many languages is one column, over the pairs of all of them."
    )
    view = TableView(note, table_columns(*columns, "mean"), table, {"benchmarks": table})
    yield ReportSection("Models by benchmark", (view,))


@questions.section(questions.MODELS, place=2)
def match_sections(study: Study) -> Iterator[ReportSection]:
    """Set phenomena that several benchmarks share beside each other; nothing where they share none."""
    if study.scores.empty:
        return
    matches, heading = study.user_tables.matches, "One phenomenon in several benchmarks"
    lines = {
        str(name): part for name, part in (load_matches() if matches is None else matches).groupby("benchmark")
    }
    here = {one.label: part for one in study.benchmarks() if (part := one.look_up(lines)) is not None}
    rows = _last_rows_by_model(study)
    rows = rows[(rows["split"] == "all") & (rows["phenomenon"] != "all")]
    table = matched_phenomena(
        rows,
        stack((part.assign(benchmark=name) for name, part in here.items()), ["match", "benchmark", "phenomenon"]),
    )
    known = {name: part["benchmark"].iloc[0] for name, part in here.items()}  # of a subset, the whole
    shared = table["benchmark"].map(known).groupby(table["match"]).nunique()
    table = table[table["match"].map(shared) > 1].reset_index(drop=True)
    if table.empty:
        if matches is not None:
            yield ReportSection(heading, (), left_out="of no match in matches= two benchmarks were scored")
        return
    gaps = largest_gaps(table)
    shown = table.merge(gaps, on=["match", "model"])
    columns = table_columns(
        Column("match", "Phenomenon"),
        "model",
        "benchmark",
        "n",
        "accuracy",
        Column("gap", "Largest gap (points)", "percent"),
    )
    source = "RuBLiMP's agreement phenomena (Table 12)" if matches is None else "the file matches="
    note = (
        f"One phenomenon in several benchmarks, as matched by {source} ({_describe_functions(study)}): mean "
        "over its pairs, and the gap between the benchmarks where a model is best and worst."
    )
    view = TableView(note, columns, shown, {"matched_phenomena": shown})
    yield ReportSection(heading, (view,))


def _describe_functions(study: Study) -> str:
    """Name the linking function of the figures; where benchmarks have several, that of each."""
    if len(functions := set(study.linkings.values())) == 1:
        return f"under {functions.pop()}"
    return "; ".join(f"{benchmark}: {linking}" for (benchmark, _), linking in study.linkings.items())


def _describe_shown(study: Study) -> str:
    """Name the linking functions, and what overall accuracies are means over."""
    means = {one.benchmark: MEANS_OVER.get(one.overall, "pairs") for one in study.benchmarks()}
    if len(over := set(means.values())) == 1:
        return f"{_describe_functions(study)}, over {over.pop()}"
    return f"{_describe_functions(study)}; over {', '.join(f'{over} on {name}' for name, over in means.items())}"


def _last_rows_by_model(study: Study) -> pd.DataFrame:
    """Return the last aggregate rows of every run that are shown first, as ``model``."""
    rows = last_scored(study.shown_rows())
    names = dict.fromkeys(("run", "benchmark", "scorer", "phenomenon", "paradigm", "split"), str)
    rows = rows.astype(names).rename(columns={"run": "model"})
    labels = {(one.benchmark, scorer): one.label for one in study.benchmarks() for scorer in one.scorers}
    return rows.assign(benchmark=[labels[where] for where in zip(rows["benchmark"], rows["scorer"], strict=True)])
