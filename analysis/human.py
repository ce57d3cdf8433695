"""How far people agree with a benchmark, by paradigm and phenomenon, from a file of their forced choices."""

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from analysis.paradigms import paradigms_of
from analysis.reading import Kind, read_table
from analysis.report import Column, Part, Section, TableView
from analysis.study import Scored, Study
from ucurve.errors import UserError

_COLUMNS: dict[str, Kind] = {"UID": "name", "correct": "number", "total": "number"}
_VIEW = (
    Column("benchmark", "Benchmark"),
    Column("phenomenon", "Phenomenon"),
    Column("paradigms", "Paradigms", "count"),
    Column("answered", "of them with answers", "count"),
    Column("answers", "Answers", "count"),
    Column("macro", "Mean over paradigms (%)", "percent"),
    Column("pooled", "Over answers (%)", "percent"),
)
_NOTE = (
    "Share of answers that agree with the benchmark. A phenomenon of which a paradigm has no answers stays empty. "
    "Numbers: human_agreement.csv."
)


def read_human(path: Path) -> pd.DataFrame:
    """Read how many of people's answers agree with the benchmark, by paradigm.

    Args:
        path: csv in UTF-8 with a header and a line for each paradigm: ``UID`` (its name in the benchmark), ``correct``
            and ``total`` (answers). Other columns are not read: phenomena are those of the benchmark.

    Returns:
        ``paradigm``, ``correct`` and ``total``.

    Raises:
        UserError: naming file and line, when the file is missing or broken, a paradigm stands there twice, or its
            numbers are no counts of answers.
    """
    if not path.is_file():
        raise UserError(f"human: no file {path}")
    table = read_table(path, _COLUMNS).rename(columns={"UID": "paradigm"}).astype({"paradigm": str})
    right = table["correct"].between(0, table["total"]) & (table["total"] >= 1)
    for place in table.index[~right]:
        name, correct, total = table.loc[place, ["paradigm", "correct", "total"]]
        counts = f"{correct:g} correct of {total:g}"
        raise UserError(f"{path}:{place + 2}: {name}: {counts} is no count of answers; allowed: 0 to the total")
    for place in table.index[table["paradigm"].duplicated()]:
        raise UserError(f"{path}:{place + 2}: paradigm {table['paradigm'][place]!r} stands there twice")
    return table


def human_agreement(human: pd.DataFrame, paradigms: pd.DataFrame) -> pd.DataFrame:
    """Summarise people's agreement by phenomenon, joined by the name of the paradigm.

    Args:
        human: from ``read_human``.
        paradigms: ``paradigm`` and ``phenomenon`` of a benchmark.

    Returns:
        One row per phenomenon, then ``all``: ``paradigms``, ``answered`` (how many of them the file has), ``answers``,
        ``macro`` (mean over paradigms) and ``pooled`` (over all answers; ZhoBLiMP's 93.9 of section 2.3). Both are NaN
        unless every paradigm has answers, as they would not be about what the models are judged by.
    """
    joined = paradigms.merge(human, on="paradigm", how="left", validate="one_to_one")
    joined["share"] = joined["correct"] / joined["total"]
    rows = pd.concat([joined.sort_values("phenomenon"), joined.assign(phenomenon="all")])
    table = rows.groupby("phenomenon", sort=False).agg(
        paradigms=("paradigm", "count"), answered=("total", "count"), correct=("correct", "sum"),
        answers=("total", "sum"), macro=("share", "mean"),
    )  # fmt: skip
    table["pooled"] = table["correct"] / table["answers"]
    whole = table["answered"] == table["paradigms"]
    table[["macro", "pooled"]] = table[["macro", "pooled"]].where(whole)
    return table.drop(columns="correct").reset_index()


def human_of(scored: Scored) -> pd.DataFrame | None:
    """Return people's agreement with a benchmark; None without ``human=``, or when it has none of its paradigms."""
    path = scored.study.settings.human
    if path is None:
        return None
    human, paradigms = read_human(path), paradigms_of(scored)
    return human_agreement(human, paradigms) if set(human["paradigm"]) & set(paradigms["paradigm"]) else None


def human_parts(study: Study) -> Iterable[Part]:
    """Make the table of people's agreement with every benchmark that ``human=`` is about.

    Raises:
        UserError: when the file is broken or has no paradigm of any benchmark.
    """
    if study.settings.human is None or study.scores.empty:
        return
    tables = [(scored.benchmark, human_of(scored)) for scored in study.benchmarks()]
    found = [table.assign(benchmark=name) for name, table in tables if table is not None]
    if not found:
        names = ", ".join(dict.fromkeys(name for name, _ in tables))
        raise UserError(
            f"human={study.settings.human}: no UID of it is a paradigm of {names}; its lines are joined to the "
            "benchmark by the names of the paradigms"
        )
    table = pd.concat(found, ignore_index=True).drop_duplicates()
    table = table[[column.name for column in _VIEW]]
    yield Part(Section("Agreement of people", (TableView(_NOTE, _VIEW, table),)), {"human_agreement": table})
