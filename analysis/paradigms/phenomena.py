"""Accuracy by phenomenon and model, overall by linking function, beside people (ZhoBLiMP, Table 6).

The accuracies are those by paradigm at the last scored checkpoints, and their means by phenomenon and overall.
Paradigms that a benchmark leaves out, as people agreed on them less, are set beside those it keeps (Table 8).
"""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from ucurve.analysis.data.frames import last_scored, score_frame, stack
from ucurve.analysis.data.study import BenchmarkScores, Study
from ucurve.analysis.linking.section import order_by_linking
from ucurve.analysis.models.mcnemar import name_leaders
from ucurve.analysis.paradigms.human import circular_note, load_human_agreement
from ucurve.analysis.plotting.style import readable
from ucurve.analysis.report import questions
from ucurve.analysis.report.html import Column, ReportSection, TableView, table_columns
from ucurve.eval.metrics.levels import MEANS, levels_of
from ucurve.eval.pairs import full_name, split_name

AGGREGATE_OF = {"all": "pairs", "macro": "paradigms", "macro_phenomena": "phenomena"}
_ROW = ["run", "line", "step", "tokens", "linking", "phenomenon", "paradigm", "n", "accuracy"]
OVERALL_LINKINGS = ("slln_lp", "lp", "mean_lp")
_NAMED = ["phenomenon", "linking", "aggregate", "paradigms"]


def last_paradigm_rows(scored: BenchmarkScores, linkings: Sequence[str]) -> pd.DataFrame:
    """Read the accuracies by paradigm of every run at its last scored checkpoint, all lengths together."""
    rows = scored.rows
    wanted = last_scored(rows[rows["linking"].isin(list(linkings))])
    steps = wanted.groupby("run", observed=True)["step"].unique()
    runs = [run for run in scored.study.runs if run.label in steps.index]
    names = dict.fromkeys(["run", "line", "linking", "phenomenon", "paradigm"], str)
    parts = (score_frame([run], scored.all_lengths(steps[run.label].tolist())) for run in runs)
    table = stack((part.astype(names)[_ROW] for part in parts), _ROW)
    last = wanted[["run", "linking", "step"]].drop_duplicates().astype({"run": str, "linking": str})
    named = table[~table["paradigm"].isin(("all", *MEANS))]
    return named.merge(last, on=["run", "linking", "step"]).reset_index(drop=True)


def line_means(rows: pd.DataFrame) -> pd.DataFrame:
    """Average each paradigm over the runs of a line; of runs at different steps, those at the last step count."""
    # A mean over runs at different steps would mix amounts of training.
    furthest = rows.groupby(["line", "linking"])["step"].transform("max")
    keys = ["line", "linking", "step", "phenomenon", "paradigm"]
    return (
        rows[rows["step"] == furthest]
        .groupby(keys, as_index=False, sort=False)
        .agg(tokens=("tokens", "first"), runs=("run", "nunique"), n=("n", "first"), accuracy=("accuracy", "mean"))
    )


def by_level(paradigms: pd.DataFrame) -> pd.DataFrame:
    """Compute accuracies by phenomenon and overall from those by paradigm, at one step for each line and function.

    A phenomenon is the mean over its ``pairs`` (``aggregate``); overall (``phenomenon`` is ``all``) there are the means
    over ``pairs``, ``paradigms`` and ``phenomena``. ZhoBLiMP's OVERALL is the mean over paradigms (Table 6).
    """
    parts = (
        _average_levels(part).assign(line=str(line), linking=str(linking), step=part["step"].iloc[0])
        for (line, linking), part in paradigms.groupby(["line", "linking"], sort=False)
    )
    columns = ["line", "linking", "step", "phenomenon", "aggregate", "paradigms", "accuracy"]
    return stack(parts, columns)[columns]


def _average_levels(part: pd.DataFrame) -> pd.DataFrame:
    """Return the means of one line and function, a row for each phenomenon and overall mean."""
    levels = levels_of(part)
    n = levels.sums(part["n"].to_numpy())
    means = levels.means(levels.sums((part["n"] * part["accuracy"]).to_numpy()), n)
    table = levels.labels.assign(accuracy=means, paradigms=levels.totals((n > 0).astype(float)).astype(int))
    table = table[table["paradigm"].isin(list(AGGREGATE_OF))]
    return table.assign(aggregate=table["paradigm"].map(AGGREGATE_OF))


def phenomenon_table(levels: pd.DataFrame, linking: str) -> pd.DataFrame:
    """Lay out ``by_level`` by phenomenon and model, the phenomena under one linking function.

    Phenomena come first, in the order of the alphabet; then the overall rows: the mean over paradigms under
    ``linking``, ``slln_lp``, ``lp`` and ``mean_lp``, as in the paper, and under ``linking`` the means over pairs and
    over phenomena.
    """
    overall, own = levels["phenomenon"] == "all", levels["linking"] == linking
    over_paradigms = levels[overall & (levels["aggregate"] == "paradigms")]
    functions = dict.fromkeys((linking, *OVERALL_LINKINGS))
    parts = [
        levels[~overall & own].sort_values("phenomenon", key=lambda names: names.str.casefold(), kind="stable")
    ]
    parts += [over_paradigms[over_paradigms["linking"] == function] for function in functions]
    parts += [levels[overall & own & (levels["aggregate"] == name)] for name in ("pairs", "phenomena")]
    chosen = pd.concat(parts)
    order = pd.MultiIndex.from_frame(chosen[_NAMED].drop_duplicates())
    wide = chosen.pivot_table(index=_NAMED, columns="line", values="accuracy", sort=False)
    lines = list(dict.fromkeys(levels["line"]))
    table = wide.reindex(index=order, columns=lines).reset_index()
    table.columns.name = None
    return table


def with_gap(table: pd.DataFrame, models: Sequence[str]) -> pd.DataFrame:
    """Add the ``best`` models of each row (empty without one) and the ``gap`` from them to ``human``.

    It is that of ZhoBLiMP, Table 6.
    """
    values = table[list(models)].to_numpy(np.float64)
    some = ~np.isnan(values).all(axis=1)
    places = np.where(np.isnan(values), -np.inf, values).argmax(axis=1)
    named = table.assign(best=name_leaders(table[list(models)]).where(some, ""))
    if "human" not in table:
        return named
    best = np.where(some, values[np.arange(len(values)), places], np.nan)
    return named.assign(gap=table["human"] - best)


def with_human(table: pd.DataFrame, human: pd.DataFrame) -> pd.DataFrame:
    """Add people's agreement (``human``, ``human_pooled``) to the phenomena and to the overall means over paradigms."""
    agreement = human.rename(columns={"macro": "human", "pooled": "human_pooled"})
    merged = table.merge(agreement[["phenomenon", "human", "human_pooled"]], on="phenomenon", how="left")
    # People's agreement is over paradigms or answers; beside another mean it would not compare.
    other = (merged["phenomenon"] == "all") & (merged["aggregate"] != "paradigms")
    merged[["human", "human_pooled"]] = merged[["human", "human_pooled"]].mask(other)
    return merged


@questions.section(questions.LEARNED, place=4)
def phenomenon_sections(scored: BenchmarkScores) -> Iterable[ReportSection]:
    """Make the table of phenomena by model of one benchmark; nothing where it names no phenomena."""
    linkings = list(dict.fromkeys((scored.linking, *OVERALL_LINKINGS)))
    rows = line_means(last_paradigm_rows(scored, linkings))
    own = rows[rows["linking"] == scored.linking]
    # The other functions may have been scored at later steps too.
    rows = rows[rows["step"] == rows["line"].map(own.groupby("line")["step"].first())]
    if scored.linking not in set(rows["linking"]) or rows["phenomenon"].nunique() < 2:
        return
    order = {run.line: place for place, run in reversed(list(enumerate(scored.study.runs)))}
    levels = by_level(rows).sort_values("line", key=lambda groups: groups.map(order), kind="stable")
    human = load_human_agreement(scored)
    table = phenomenon_table(levels, scored.linking)
    models = [name for name in table.columns if name not in _NAMED]
    table = with_gap(table if human is None else with_human(table, human), models)
    lines = own.groupby("line").agg(runs=("runs", "max"), step=("step", "first"), tokens=("tokens", "first"))
    lines = lines.reindex(models).rename_axis("model").reset_index()
    files = {f"phenomena_{scored.file_name}": table, f"phenomena_{scored.file_name}_models": lines}
    seeds = ", the mean over the runs that differ in the seed only" if (lines["runs"] > 1).any() else ""
    note = (
        f"Accuracy in percent at the last scored checkpoint{seeds}; {scored.title}. A phenomenon is the mean over its "
        "pairs; an overall row names its linking function and what it is a mean over (ZhoBLiMP's OVERALL: paradigms)."
    )
    if human is not None:
        note += (
            " Human: agreement of people, the mean over paradigms, and over all answers. Gap, in percentage points: "
            "human minus the best model of the row."
        ) + circular_note(scored.benchmark, human)
    spread = (table[models].max(axis=1) - table[models].min(axis=1)).where(table["phenomenon"] != "all")
    shown = table.assign(phenomenon=table["phenomenon"].map(readable), spread=spread)
    view = TableView(note, _phenomenon_columns(models, table), shown, files, "spread")
    yield ReportSection(f"Phenomena of {scored.heading}", (view,))


def _phenomenon_columns(models: Sequence[str], table: pd.DataFrame) -> tuple[Column, ...]:
    # A table shows its first columns, and rows over all phenomena differ in the two that follow alone.
    first = [Column("phenomenon", "Phenomenon")]
    first += [Column("linking", "Linking function"), Column("aggregate", "Mean over")]
    last = [Column("best", "Best model")] if len(models) > 1 else []
    first += [Column("spread", "Spread", "percent") for _ in last]
    if "human" in table:
        first += [Column("gap", "Gap", "percent"), Column("human", "Human", "percent")]
        first += [Column("human_pooled", "Human, pooled", "percent")]
    last += [Column("paradigms", "Paradigms", "count")]
    return (*first, *(Column(model, model, "percent") for model in models), *last)


_EXCLUDED_SUFFIX = "-excluded"
_EXCLUDED_VIEW = table_columns(
    "model",
    "step",
    "linking",
    Column("paradigms_included", "Paradigms included", "count"),
    Column("paradigms_excluded", "excluded", "count"),
    Column("included", "Included (%)", "percent"),
    Column("excluded", "Excluded (%)", "percent"),
    Column("difference", "Difference (points)", "percent"),
)
_EXCLUDED_NOTE = (
    "Means over paradigms at the last checkpoint scored on both, where that is the same one."
    " People: over all answers."
)


@questions.section(questions.PEOPLE, place=1)
def excluded_sections(study: Study) -> Iterable[ReportSection]:
    """Make the table of every benchmark whose excluded paradigms were scored too."""
    scored = {(one.benchmark, one.scorer): one for one in study.benchmarks()}
    for (benchmark, scorer), one in scored.items():
        other = scored.get((full_name(benchmark) + _EXCLUDED_SUFFIX + split_name(benchmark)[2], scorer))
        table = pd.DataFrame() if other is None else _compare_benchmarks(one, other)
        if other is not None and not table.empty:
            files = {f"excluded_{one.file_name}": table}
            ties = "; ".join(f"{each.benchmark}: ties counted {each.ties_rule}" for each in (one, other))
            view = TableView(f"{_EXCLUDED_NOTE} {ties}.", _EXCLUDED_VIEW, table, files)
            yield ReportSection(f"Excluded paradigms of {benchmark}", (view,))


def _compare_benchmarks(included: BenchmarkScores, excluded: BenchmarkScores) -> pd.DataFrame:
    """Set means over paradigms of a benchmark beside those of what was left out of it, where they are of one step.

    The first row is people's agreement, over answers as in the paper, where both have some.
    """
    linkings = sorted(set(included.rows["linking"].astype(str)))
    parts, people = [], dict[str, object](model="people", step=np.nan, linking="agreement over answers")
    for name, scored in {"included": included, "excluded": excluded}.items():
        levels = by_level(line_means(last_paradigm_rows(scored, linkings)))
        rows = levels[(levels["phenomenon"] == "all") & (levels["aggregate"] == "paradigms")]
        named = {"line": "model", "accuracy": name, "paradigms": f"paradigms_{name}"}
        parts.append(rows.rename(columns=named)[["model", "step", "linking", name, f"paradigms_{name}"]])
        if (human := load_human_agreement(scored)) is not None:
            overall = human[human["phenomenon"] == "all"].iloc[0]
            people |= {name: overall["pooled"], f"paradigms_{name}": overall["paradigms"]}
    table = order_by_linking(parts[0].merge(parts[1], on=["model", "step", "linking"]), "model", after=())
    if len(table) and {"included", "excluded"} <= set(people):
        table = pd.concat([pd.DataFrame([people]), table], ignore_index=True)
    shown = [column.name for column in _EXCLUDED_VIEW]
    return table.assign(difference=table["included"] - table["excluded"])[shown]
