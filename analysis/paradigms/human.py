"""Human agreement with a benchmark, and the reference lines of people and of other models."""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from ucurve.analysis.data.study import BenchmarkScores, Study
from ucurve.analysis.data.user_tables import check_some_match
from ucurve.analysis.report import questions
from ucurve.analysis.report.html import Column, ReportSection, TableView, table_columns
from ucurve.errors import UserError
from ucurve.eval.pairs import counted
from ucurve.fields import format_names

_VIEW = table_columns(
    "benchmark",
    "phenomenon",
    "paradigms",
    Column("answered", "of them with answers", "count"),
    Column("answers", "Answers", "count"),
    Column("macro", "Mean over paradigms (%)", "percent"),
    Column("pooled", "Over answers (%)", "percent"),
    Column("leave_one_out", "With the other people (%)", "percent"),
)
_NOTE = (
    "Share of answers that agree with the benchmark. A phenomenon of which a paradigm has no answers stays empty. With "
    "the other people: share of answers that agree with the majority of the others who judged the pair; one half where "
    "they are divided, empty where only counts are known."
)
_LEAST_PAIRS = 100  # with fewer, labels that are somebody else's may well agree with every majority
HUMAN = "human"
CIRCULAR = f"{HUMAN} (circular)"  # the name of a level line


def human_agreement(human: pd.DataFrame, paradigms: pd.DataFrame) -> pd.DataFrame:
    """Summarize people's agreement by phenomenon, joined by the name of the paradigm, and of the phenomenon if given.

    ``human`` has ``paradigm``, ``correct``, ``total``, and as far as they are known ``phenomenon`` and ``with_others``.
    There is a row per phenomenon, then ``all``: ``answered`` are the paradigms that have answers, ``macro`` is the mean
    over paradigms, ``pooled`` that over all answers (ZhoBLiMP's 93.9 of section 2.3), and ``leave_one_out`` the share
    of answers that agree with the other people. They are NaN unless every paradigm has answers; otherwise they would
    cover other paradigms than the models' accuracies.
    """
    human = human if "with_others" in human else human.assign(with_others=np.nan)
    names = [name for name in ("phenomenon", "paradigm") if name in human]
    joined = paradigms.merge(human, on=names, how="left", validate="many_to_one")
    joined["share"] = joined["correct"] / joined["total"]
    rows = pd.concat([joined.sort_values("phenomenon"), joined.assign(phenomenon="all")])
    table = rows.groupby("phenomenon", sort=False).agg(
        paradigms=("paradigm", "count"),
        answered=("total", "count"),
        correct=("correct", "sum"),
        answers=("total", "sum"),
        macro=("share", "mean"),
        with_others=("with_others", lambda of: of.sum(skipna=False)),
    )
    table["pooled"] = table["correct"] / table["answers"]
    table["leave_one_out"] = table["with_others"] / table["answers"]
    whole = table["answered"] == table["paradigms"]
    shares = ["macro", "pooled", "leave_one_out"]
    table[shares] = table[shares].where(whole)
    return table.drop(columns=["correct", "with_others"]).reset_index()


def choices_by_paradigm(choices: pd.DataFrame, pairs: pd.DataFrame) -> pd.DataFrame:
    """Count people's choices (``pair``, ``person``, ``right``) by paradigm, over the pairs that count.

    ``with_others`` counts those that agree with the majority of the other people who judged the pair; others who are
    divided count one half.
    """
    names = ["phenomenon", "paradigm"]
    named = _counted_choices(choices, pairs)
    votes = named.groupby("pair")["right"]
    # A person's own choice does not count, with which everybody would agree more often.
    others = votes.transform("sum") - named["right"]
    others_right = np.sign(2 * others - (votes.transform("count") - 1)) / 2 + 0.5
    named["with_others"] = np.where(named["right"] == 1, others_right, 1 - others_right)
    counts = named.groupby(names).agg(
        correct=("right", "sum"), total=("right", "count"), with_others=("with_others", "sum")
    )
    return counts.reset_index()


def majorities_followed(choices: pd.DataFrame, pairs: pd.DataFrame) -> int | None:
    """Return how many pairs have a majority of people, if the labels follow all of them; else None.

    Such labels were made of these answers, or pairs were left out by them: people's agreement with the benchmark is
    then circular, and what a person agrees with who is not among them is lower.
    """
    share = _counted_choices(choices, pairs).groupby("pair")["right"].mean()
    follow = share[share != 0.5]
    return len(follow) if len(follow) >= _LEAST_PAIRS and (follow > 0.5).all() else None


def _counted_choices(choices: pd.DataFrame, pairs: pd.DataFrame) -> pd.DataFrame:
    """Return the choices about pairs that count, with the paradigm of each."""
    names = ["phenomenon", "paradigm"]
    named = pairs[counted(pairs)][["pair", *names]].astype(dict.fromkeys(names, str))
    return choices.astype({"right": "float64"}).merge(named, on="pair")


def load_human_agreement(scored: BenchmarkScores) -> pd.DataFrame | None:
    """Return people's agreement with a benchmark; None where there are no answers about its paradigms.

    The answers are those of ``human=``; without it, the choices that are published beside the pairs. The column
    ``majorities_followed`` holds what the function of that name returns, NaN for None.

    Raises:
        UserError: when ``human=`` has answers about a name that paradigms of several phenomena have.
    """
    human, followed = scored.study.human, None
    if human is not None:
        names = scored.paradigms["paradigm"]
        if several := sorted(set(names[names.duplicated() & names.isin(human["paradigm"])])):
            raise UserError(
                f"human={scored.study.settings.human}: {format_names(several)} of {scored.benchmark} "
                f"{'is' if len(several) == 1 else 'are'} in several phenomena, so it is not known which of them the "
                "answers are about; give every paradigm a name of its own, in the pairs and in this file"
            )
    else:
        choices = scored.judgments
        pairs = None if choices is None or "right" not in choices else scored.pairs
        if choices is not None and pairs is not None:
            human, followed = choices_by_paradigm(choices, pairs), majorities_followed(choices, pairs)
    if human is None or not set(human["paradigm"]) & set(scored.paradigms["paradigm"]):
        return None
    return human_agreement(human, scored.paradigms).assign(
        majorities_followed=np.nan if followed is None else followed
    )


def circular_note(benchmark: str, agreement: pd.DataFrame) -> str:
    """Say where people's agreement, from ``load_human_agreement``, is circular; empty where it is not."""
    followed = agreement["majorities_followed"].iloc[0]
    if np.isnan(followed):
        return ""
    overall = agreement[agreement["phenomenon"] == "all"].iloc[0]
    return (
        f" On {benchmark} the agreement of people is circular: in all {followed:,.0f} pairs of which a majority of "
        f"them chose one sentence, it is the one that the benchmark calls good. With the majority of the other people "
        f"{overall['leave_one_out']:.1%} of answers agree, against {overall['pooled']:.1%} with the benchmark."
    )


@questions.section(questions.PEOPLE, place=2)
def human_sections(study: Study) -> Iterable[ReportSection]:
    """Tabulate people's agreement with every benchmark that has answers of people.

    Raises:
        UserError: when the file of ``human=`` is broken or has no paradigm of any benchmark.
    """
    if study.scores.empty:
        return
    tables = [(scored.benchmark, load_human_agreement(scored)) for scored in study.benchmarks()]
    found = [table.assign(benchmark=name) for name, table in tables if table is not None]
    if study.human is not None and study.settings.human is not None:
        there = [name for scored in study.benchmarks() for name in scored.paradigms["paradigm"]]
        check_some_match("human", study.settings.human, "paradigms (UID)", study.human["paradigm"], there)
    if not found:
        return
    notes = dict.fromkeys(circular_note(name, table) for name, table in tables if table is not None)
    table = pd.concat(found, ignore_index=True).drop_duplicates()
    table = table[[*(column.name for column in _VIEW), "majorities_followed"]]
    view = TableView(_NOTE + "".join(notes), _VIEW, table, {"human_agreement": table})
    yield ReportSection("Agreement of people", (view,))


def reference_lines(scored: BenchmarkScores) -> pd.DataFrame:
    """Return the level lines of a benchmark's FLOPs curves: ``reference`` (name), ``phenomenon`` and ``accuracy``.

    They are people's agreement, the mean over paradigms, where there are answers (named as circular where it is), then
    every folder of scores of a model (step -1).
    """
    rows = scored.drawn_rows
    models = rows[(rows["step"] == -1) & (rows["linking"] == scored.linking) & (rows["split"] == "all")]
    table = models[["run", "phenomenon", "accuracy"]].rename(columns={"run": "reference"})
    people = load_human_agreement(scored)
    if people is not None:
        levels = people.rename(columns={"macro": "accuracy"})[["phenomenon", "accuracy"]].dropna()
        name = HUMAN if people["majorities_followed"].isna().all() else CIRCULAR
        table = pd.concat([levels.assign(reference=name), table])
    return table.astype({"reference": str, "phenomenon": str})[["reference", "phenomenon", "accuracy"]]
