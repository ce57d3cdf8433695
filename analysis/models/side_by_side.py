"""The section of the report that compares the models of one benchmark."""

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from ucurve.analysis.data.last_scores import ModelScores
from ucurve.analysis.data.study import BenchmarkScores
from ucurve.analysis.models.categories import (
    CERTAINTIES,
    box_table,
    category_table,
    confidence_table,
    count_significant,
    with_tests,
)
from ucurve.analysis.models.charts import draw_boxes, draw_confidence, draw_heat_map, draw_scatter
from ucurve.analysis.models.mcnemar import (
    BEST_LEVEL,
    OVER_EDITS,
    PAIR_LEVEL,
    best_by_group,
    count_best,
    count_better,
    leads_or_ties,
    mcnemar_table,
    name_leaders,
    with_model_first,
)
from ucurve.analysis.plotting.figures import Drawing
from ucurve.analysis.report import questions
from ucurve.analysis.report.html import Column, ReportSection, TableView, table_columns

SUITES, MODELS, ROWS = 60, 24, 40  # at most in a figure, in figures and tests, and in a table of the report
_SUMMARY = table_columns(
    "model",
    Column("accuracy", "Over pairs (%)", "percent"),
    Column("over_paradigms", "Over paradigms (%)", "percent"),
    Column("over_phenomena", "Over phenomena (%)", "percent"),
    Column("above", "Above chance", "count"),
    Column("below", "Below chance", "count"),
    Column("leads_or_ties", "Leads or ties", "count"),
    Column("best", "Significantly best", "count"),
    Column("delta_lp", "Δ (nats per sentence)", "number"),
    Column("delta_nll", "ΔNLL (nats per token)", "number"),
)
_CATEGORIES = table_columns(
    Column("category", "Paradigm"),
    "mean",
    Column("sd", "sd", "percent"),
    Column("leader", "Most accurate"),
    Column("highest", "its accuracy (%)", "percent"),
)
_VERSUS = (
    Column("first", "Model"),
    Column("second", "Other model"),
    Column("accuracy_first", "Model (%)", "percent"),
    Column("accuracy_second", "Other (%)", "percent"),
    Column("first_better", "Pairs the model wins", "count"),
    Column("second_better", "Pairs the other wins", "count"),
    Column("p", "p", "p"),
    Column("groups_first", "Paradigms: model better", "count"),
    Column("groups_second", "Paradigms: other better", "count"),
)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Models of one benchmark against each other."""

    tested: pd.DataFrame  # accuracy with interval and tests by model and paradigm
    categories: pd.DataFrame  # the same as a category_table
    summary: pd.DataFrame  # one row per model, most accurate first
    best: pd.DataFrame  # best against second best by paradigm
    # every two leading models on all pairs, with the number of paradigms either is better on
    versus: pd.DataFrame
    by_paradigm: pd.DataFrame  # every two of them by paradigm


def compare_models(last: ModelScores) -> Comparison:
    """Compute everything that the section shows; McNemar's tests are between the ``MODELS`` most accurate models."""
    tested = with_tests(last.points)
    categories = category_table(tested)
    paradigm = last.pairs["paradigm"]
    clusters = last.clusters.of
    best = best_by_group(last.credit, paradigm, clusters)
    summary = _summarize_models(last, tested, categories, best)
    # The number of tests grows with the square of the number of models.
    leading = last.credit[list(summary["model"][:MODELS])]
    by_paradigm = mcnemar_table(leading, paradigm, clusters)
    versus = mcnemar_table(leading, pd.Series("all", index=leading.index), clusters).drop(columns="group")
    renamed = {"first_better": "groups_first", "second_better": "groups_second"}
    counts = count_better(by_paradigm).rename(columns=renamed)
    versus = versus.merge(counts.drop(columns="groups"), on=["first", "second"])
    return Comparison(tested, categories, summary, best, versus, by_paradigm)


@questions.section(questions.MODELS, place=1)
def comparison_sections(scored: BenchmarkScores, last: ModelScores) -> Iterator[ReportSection]:
    """Compare the models of a benchmark; nothing where there is one model."""
    if len(last.models) < 2:
        return
    compared, name = compare_models(last), scored.file_name
    table, models = compared.categories, list(compared.summary["model"])
    values, means = table[models], compared.summary["over_paradigms"]
    shown = table[["category", "mean", "sd"]].assign(leader=name_leaders(values), highest=values.max(axis=1))
    note = (
        f"Paradigms by their mean over {len(models)} models, sd the sample standard deviation over them. The mean over "
        f"the models' means over paradigms is {100 * means.mean():.2f} % (population sd over the models "
        f"{100 * means.std(ddof=0):.2f}, as Swe-BLiMP's Table 2 has it)."
    )
    if len(shown) > ROWS:
        note += f" The {ROWS // 2} easiest and the {ROWS // 2} hardest of {len(shown)}; the CSV has all."
        shown = pd.concat([shown.head(ROWS // 2), shown.tail(ROWS // 2)])
    categories = TableView(note, _CATEGORIES, shown, {f"paradigms_by_model_{name}": table}, "sd")
    views = (categories, _versus_view(compared, name))
    summary = _summary_view(scored, last, compared)
    heading = f"Models side by side on {scored.heading}"
    lines = {run.line for run in scored.study.runs if run.label in set(last.models)}
    left_out = "these runs are seeds of one model" if len(lines) == 1 else ""
    yield ReportSection(heading, (summary, *_draw_models(scored, last, compared), *views), left_out=left_out)


def at_level(last: ModelScores, most: int) -> tuple[pd.DataFrame, str]:
    """Return accuracies by ``paradigm``, or over the pairs of each ``phenomenon`` where that is too many to draw."""
    by_paradigm = last.points["suite"].nunique() <= most
    return with_tests(last.points if by_paradigm else last.phenomena), "paradigm" if by_paradigm else "phenomenon"


def _summarize_models(
    last: ModelScores, tested: pd.DataFrame, categories: pd.DataFrame, best: pd.DataFrame
) -> pd.DataFrame:
    """Return a row for each model, the most accurate over pairs first."""
    pairs, phenomenon = last.pairs, last.pairs["phenomenon"].to_numpy()
    counts = count_significant(tested, "model").set_index("model")
    n = tested.set_index("model")["n"].groupby(level=0).sum()
    table = pd.DataFrame(
        {
            "accuracy": last.credit.mean(),
            "over_paradigms": categories[last.models].mean(),
            "over_phenomena": last.credit.groupby(phenomenon).mean().mean(),
            "paradigms": pairs["paradigm"].nunique(),
            "above": counts["above"],
            "below": counts["below"],
            "leads_or_ties": leads_or_ties(categories[last.models]),
            "best": count_best(best, last.models),
            **{name: (tested[name] * tested["n"]).groupby(tested["model"]).sum() / n for name in CERTAINTIES},
        }
    ).reindex(last.models)
    return table.sort_values("accuracy", ascending=False, kind="stable").reset_index(names="model")


def _summary_view(scored: BenchmarkScores, last: ModelScores, compared: Comparison) -> TableView:
    """Show the most accurate models, and name those without scores of these pairs."""
    summary, name = compared.summary, scored.file_name
    note = (
        f"{scored.title}; every model at its last scored checkpoint, mean over all pairs, over the "
        f"{summary['paradigms'].iloc[0]} paradigms and over the phenomena. Paradigms significantly above and below "
        "chance by one-sided binomial tests at p < .05, uncorrected; in which a model leads or ties; in which it is "
        f"significantly best (best against second best, McNemar's test, p < {BEST_LEVEL}). {OVER_EDITS} Δ is the mean "
        "difference of the log probabilities of a pair, summed over tokens (MultiBLiMP); ΔNLL is the same per token "
        f"(Swe-BLiMP)."
    )
    if last.left_out:
        note += f" Without stored scores of these pairs, so not in this table: {', '.join(last.left_out)}."
    return TableView(
        note, _SUMMARY, summary.head(ROWS), {f"models_{name}": summary, f"best_{name}": compared.best}
    )


def _draw_models(scored: BenchmarkScores, last: ModelScores, compared: Comparison) -> list[Drawing]:
    """Draw the most accurate models: a heat map, the first against the others, and certainty where there are three."""
    leading, name = list(compared.summary["model"][:MODELS]), scored.file_name
    rows, level = at_level(last, SUITES)
    rows = rows[rows["model"].isin(leading)]
    title = f"{scored.title}, by phenomenon" if level == "phenomenon" else scored.title
    # Models stand in the order of their accuracies, suites in that of their means, easiest first.
    mean = rows.groupby("suite", sort=False)["accuracy"].transform("mean")
    place = rows["model"].map({model: place for place, model in enumerate(leading)})
    ordered = rows.assign(_mean=-mean, _place=place).sort_values(["_mean", "suite", "_place"], kind="stable")
    cells = ordered.drop(columns=["_mean", "_place"]).reset_index(drop=True)
    drawings = [draw_heat_map(cells, level, f"heat_map_{name}", scored.title)]
    drawings.append(draw_scatter(compared.by_paradigm, leading[0], "paradigms", f"against_{name}", scored.title))
    certain = compared.tested.dropna(subset="delta_nll")
    if len(leading) > 2 and not certain.empty:
        drawings.append(draw_boxes(box_table(rows), rows, f"certainty_{name}", title, CERTAINTIES["delta_nll"]))
        drawings.append(draw_confidence(confidence_table(certain), f"confidence_{name}", scored.title))
    return drawings


def _versus_view(compared: Comparison, name: str) -> TableView:
    """Show the most accurate model against each other one."""
    base = str(compared.summary["model"].iloc[0])
    rows = with_model_first(compared.versus, base)
    rows = rows.sort_values("accuracy_second", ascending=False, kind="stable").head(ROWS)
    note = (
        "The most accurate model against each other one: McNemar's test on all pairs (two-sided), and how many "
        f"paradigms either is significantly better on (p < {PAIR_LEVEL}, uncorrected). {OVER_EDITS} With half a credit "
        "for a tie a pair counts for the model that gets more credit. The CSV files have every two models."
    )
    files = {f"mcnemar_{name}": compared.versus, f"mcnemar_by_paradigm_{name}": compared.by_paradigm}
    return TableView(note, _VERSUS, rows, files)
