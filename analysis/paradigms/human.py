"""Human agreement with a benchmark, and the reference lines of people and of other models."""

from collections.abc import Iterable

import pandas as pd

from analysis.data.study import BenchmarkScores, Study
from analysis.report.html import Column, ReportSection, TableView
from eval.pairs import counted
from ucurve.errors import UserError

_VIEW = (
    Column("benchmark", "Benchmark"), Column("phenomenon", "Phenomenon"), Column("paradigms", "Paradigms", "count"),
    Column("answered", "of them with answers", "count"), Column("answers", "Answers", "count"),
    Column("macro", "Mean over paradigms (%)", "percent"), Column("pooled", "Over answers (%)", "percent"),
)  # fmt: skip
_NOTE = "Share of answers that agree with the benchmark. A phenomenon of which a paradigm has no answers stays empty."


def human_agreement(human: pd.DataFrame, paradigms: pd.DataFrame) -> pd.DataFrame:
    """Summarize people's agreement by phenomenon, joined by the name of the paradigm, and of the phenomenon if given.

    Returns:
        One row per phenomenon, then ``all``: ``paradigms``, ``answered`` (how many of them the file has), ``answers``,
        ``macro`` (mean over paradigms) and ``pooled`` (over all answers; ZhoBLiMP's 93.9 of section 2.3). Both are NaN
        unless every paradigm has answers; otherwise they would cover other paradigms than the models' accuracies.
    """
    names = [name for name in ("phenomenon", "paradigm") if name in human]
    joined = paradigms.merge(human, on=names, how="left", validate="one_to_one")
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


def choices_by_paradigm(choices: pd.DataFrame, pairs: pd.DataFrame) -> pd.DataFrame:
    """Count people's choices by paradigm, over the pairs that count.

    Args:
        choices: ``pair``, ``person`` and ``right``.
        pairs: the pair table.

    Returns:
        ``phenomenon``, ``paradigm``, ``correct`` and ``total`` (float64).
    """
    pairs = pairs[counted(pairs)]
    names = ["phenomenon", "paradigm"]
    named = choices.merge(pairs[["pair", *names]].astype(dict.fromkeys(names, str)), on="pair")
    counts = named.groupby(names)["right"].agg(correct="sum", total="count")
    return counts.astype("float64").reset_index()


def load_human_agreement(scored: BenchmarkScores) -> pd.DataFrame | None:
    """Return people's agreement with a benchmark; None where there are no answers about its paradigms.

    The answers are those of ``human=``; without it, the choices that are published beside the pairs.
    """
    human = scored.study.human if scored.study.settings.human is not None else _stored_answers(scored)
    if human is None or not set(human["paradigm"]) & set(scored.paradigms["paradigm"]):
        return None
    return human_agreement(human, scored.paradigms)


def _stored_answers(scored: BenchmarkScores) -> pd.DataFrame | None:
    choices = scored.judgments
    if choices is None or "right" not in choices:
        return None
    runs = set(scored.rows["run"].astype(str))
    tables = (scored.study.pairs(run, scored.benchmark) for run in scored.study.runs if run.label in runs)
    pairs = next((table for table in tables if table is not None), None)
    return None if pairs is None else choices_by_paradigm(choices, pairs)


def human_sections(study: Study) -> Iterable[ReportSection]:
    """Make the table of people's agreement with every benchmark that has answers of people.

    Raises:
        UserError: when the file of ``human=`` is broken or has no paradigm of any benchmark.
    """
    if study.scores.empty:
        return
    tables = [(scored.benchmark, load_human_agreement(scored)) for scored in study.benchmarks()]
    found = [table.assign(benchmark=name) for name, table in tables if table is not None]
    if not found and study.settings.human is None:
        return
    if not found:
        names = ", ".join(dict.fromkeys(name for name, _ in tables))
        raise UserError(
            f"human={study.settings.human}: no UID of it is a paradigm of {names}; its lines are joined to the "
            "benchmark by the names of the paradigms"
        )
    table = pd.concat(found, ignore_index=True).drop_duplicates()
    table = table[[column.name for column in _VIEW]]
    yield ReportSection("Agreement of people", (TableView(_NOTE, _VIEW, table, {"human_agreement": table}),))


def reference_lines(scored: BenchmarkScores) -> pd.DataFrame:
    """Return the level lines of a benchmark's FLOPs curves.

    Returns:
        ``reference`` (name), ``phenomenon`` (``all``: overall) and ``accuracy``: people's agreement, the mean over
        paradigms, where there are answers, then every folder of scores of a model (step -1).
    """
    rows = scored.drawn_rows
    models = rows[(rows["step"] == -1) & (rows["linking"] == scored.linking) & (rows["split"] == "all")]
    table = models[["run", "phenomenon", "accuracy"]].rename(columns={"run": "reference"})
    people = load_human_agreement(scored)
    if people is not None:
        levels = people.rename(columns={"macro": "accuracy"})[["phenomenon", "accuracy"]].dropna()
        table = pd.concat([levels.assign(reference="human"), table])
    return table.astype({"reference": str, "phenomenon": str})[["reference", "phenomenon", "accuracy"]]
