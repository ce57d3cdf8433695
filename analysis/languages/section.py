"""Sections about benchmarks of many languages (MultiBLiMP, sections 7.1 to 7.3, Tables 3 and 5, Figures 1, 4, 5)."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from ucurve.analysis.data.frames import pool_pairs
from ucurve.analysis.data.last_scores import LanguageScores, ModelScores
from ucurve.analysis.languages.frequency import FEWEST, OVER, UNDER, fit_logistic, residual_table
from ucurve.analysis.languages.groups import EVERY, HIGH, LOW, MID, group_members, group_table, language_table
from ucurve.analysis.models.charts import draw_scatter
from ucurve.analysis.models.mcnemar import (
    BEST_LEVEL,
    OVER_EDITS,
    PAIR_LEVEL,
    best_by_group,
    count_best,
    count_better,
    mcnemar_table,
    name_leaders,
    with_model_first,
)
from ucurve.analysis.models.side_by_side import MODELS, ROWS
from ucurve.analysis.plotting.facets import draw_panels, panels_by
from ucurve.analysis.plotting.figures import Drawing
from ucurve.analysis.plotting.style import log_axis, percent_axis, power_label
from ucurve.analysis.report import questions
from ucurve.analysis.report.html import Column, ReportSection, TableView
from ucurve.analysis.scaling.laws import logistic_law

_PANELS = 8
_COLORS = {OVER: "#0072B2", UNDER: "#D55E00", "": "0.6"}


@questions.section(questions.LEARNED, place=1)
def language_sections(languages: LanguageScores) -> Iterator[ReportSection]:
    """Compare models by language, and by groups of languages; nothing of one language."""
    if len(languages.members) == 1:
        return
    last, file_name, title = languages.by_language, languages.file_name, languages.title
    columns = ["model", "n", "effective", "accuracy"]
    parts = [one.overall[columns].assign(language=language) for language, one in last.items()]
    points = pd.concat(parts, ignore_index=True)
    known = languages.first.study.user_tables.languages
    if known is not None:
        known = known[known["language"].isin(set(points["language"]))].reset_index(drop=True)
    tests = [best_by_group(one.credit, _all_of(name, one), one.clusters.of) for name, one in last.items()]
    best = pd.concat([part for part in tests if len(part)] or tests[:1], ignore_index=True)
    groups, table = _tabulate_groups(points, known, last), language_table(points, known)
    content: list[TableView | Drawing] = [_group_view(groups, best, file_name), _language_view(table, file_name)]
    every = groups[groups["group"] == EVERY].sort_values("over_pairs", ascending=False, kind="stable")
    ranked = [str(name) for name in every["model"]]
    if len(ranked) > 1:
        compared = compare_languages(last, ranked[:MODELS])
        files = {f"mcnemar_languages_{file_name}": compared, f"best_languages_{file_name}": best}
        content.append(_versus_view(compared, ranked[0], files))
        scatter = draw_scatter(compared, ranked[0], "languages", f"against_{file_name}", title, _first_sets(known))
        content.append(scatter)
    if known is not None:
        drawing = _draw_frequency(points.merge(known, on="language"), ranked, f"frequency_{file_name}", title)
        content += [drawing] if drawing else []
        if drawing is None:
            yield ReportSection(
                f"Accuracy and frequency of the languages of {languages.family}", (),
                left_out=f"a curve takes different frequencies of {FEWEST} languages; languages= has those of "
                f"{known['frequency'].count()} of the {len(last)} that were scored",
            )  # fmt: skip
    yield ReportSection(f"Languages of {languages.family}", tuple(content))


def compare_languages(last: Mapping[str, ModelScores], models: Sequence[str]) -> pd.DataFrame:
    """Compare every two of some models in each language they were scored on (``mcnemar.mcnemar_table``)."""
    parts = []
    for language, one in last.items():
        credit = one.credit[[model for model in models if model in one.credit]]
        parts.append(mcnemar_table(credit, _all_of(language, one), one.clusters.of))
    return pd.concat(parts, ignore_index=True)


def _all_of(language: str, one: ModelScores) -> pd.Series:
    return pd.Series(language, index=one.credit.index)


def _first_sets(known: pd.DataFrame | None) -> dict[str, str]:
    """Return the first named set that each language is in."""
    members = pd.DataFrame(columns=["group", "language"]) if known is None else group_members(known)
    named = members[~members["group"].isin((LOW, MID, HIGH))].drop_duplicates("language")
    return dict(zip(named["language"].astype(str), named["group"].astype(str), strict=True))


def _tabulate_groups(points: pd.DataFrame, known: pd.DataFrame | None, last: Mapping[str, ModelScores]) -> pd.DataFrame:
    """Put groups of languages and phenomena below each other, as MultiBLiMP's Table 3 puts them side by side."""
    table = group_table(points, group_members(known) if known is not None else None)
    by_paradigm = pd.concat([one.points for one in last.values()], ignore_index=True)
    pooled = pool_pairs(by_paradigm, ["model", "phenomenon"])
    phenomena = pooled.rename(columns={"phenomenon": "group", "accuracy": "over_pairs"})
    kinds = [table.assign(kind="languages"), phenomena.assign(kind="phenomenon")]
    columns = ["kind", "model", "group", "languages", "n", "over_pairs", "over_languages"]
    return pd.concat(kinds, ignore_index=True)[columns]


def _group_view(table: pd.DataFrame, best: pd.DataFrame, file_name: str) -> TableView:
    wide = table.pivot_table(index="model", columns="group", values="over_pairs", sort=False)
    shown = wide.drop(columns=EVERY).add_prefix("group ").reset_index()
    every = table[table["group"] == EVERY].set_index("model")
    for name in ("over_pairs", "over_languages", "languages"):
        shown[name] = shown["model"].map(every[name])
    shown["best"] = shown["model"].map(count_best(best, list(shown["model"])))
    shown = shown.sort_values("over_pairs", ascending=False, kind="stable")
    groups = [name for name in wide.columns if name != EVERY]
    columns = (
        Column("model", "Model"), *(Column(f"group {name}", f"{name} (%)", "percent") for name in groups),
        Column("over_pairs", "All, over pairs (%)", "percent"),
        Column("over_languages", "All, over languages (%)", "percent"), Column("languages", "Languages", "count"),
        Column("best", "#best", "count"),
    )  # fmt: skip
    note = (
        "Phenomena and groups of languages, each weighted by pairs, as All of MultiBLiMP's Table 3 is; the mean over "
        "languages, every language counting the same, stands beside it. low, mid and high are the 60 % least frequent "
        "languages, the next 30 %, and the 10 % most frequent, among the languages scored. #best: languages in which a "
        f"model is significantly best (best against second best, McNemar's test, p < {BEST_LEVEL}). {OVER_EDITS}"
    )
    return TableView(note, columns, shown.head(ROWS), {f"groups_{file_name}": table})


def _language_view(table: pd.DataFrame, file_name: str) -> TableView:
    models = [name for name in table.columns if name not in ("language", "name", "frequency", "split", "n")]
    values = table[models]
    shown = table[["language", "name", "split", "n"]].assign(
        mean=values.mean(axis=1), leader=name_leaders(values), highest=values.max(axis=1)
    )
    columns = (
        Column("language", "Code"), Column("name", "Language"), Column("split", "Resources"),
        Column("n", "Pairs", "count"), Column("mean", "Mean over models (%)", "percent"),
        Column("leader", "Most accurate"), Column("highest", "its accuracy (%)", "percent"),
    )  # fmt: skip
    note = "Accuracy by language (MultiBLiMP, Table 5). The CSV has every model."
    return TableView(note, columns, shown, {f"languages_{file_name}": table})


def _versus_view(compared: pd.DataFrame, base: str, files: dict[str, pd.DataFrame]) -> TableView:
    counts = count_better(compared)
    accuracies = ["accuracy_first", "accuracy_second"]
    means = compared.groupby(["first", "second"], as_index=False, sort=False)[accuracies].mean()
    rows = with_model_first(counts.merge(means, on=["first", "second"]), base)
    rows = rows.sort_values("accuracy_second", ascending=False, kind="stable").head(ROWS)
    columns = (
        Column("first", "Model"), Column("second", "Other model"), Column("groups", "Languages", "count"),
        Column("first_better", "Model better", "count"), Column("second_better", "Other better", "count"),
        Column("accuracy_first", "Model, over languages (%)", "percent"),
        Column("accuracy_second", "Other, over languages (%)", "percent"),
    )  # fmt: skip
    note = (
        f"Languages in which one of two models is significantly better: McNemar's test, p < {PAIR_LEVEL}, "
        f"uncorrected (MultiBLiMP, section 7.2). {OVER_EDITS} The CSV has every two models."
    )
    return TableView(note, columns, rows, files)


def _draw_frequency(points: pd.DataFrame, ranked: Sequence[str], name: str, title: str) -> Drawing | None:
    table = residual_table(points)
    models = [model for model in ranked if model in set(table["model"])][:_PANELS]
    if not models:
        return None
    note = (
        f"Accuracy per language against its frequency, {title} (MultiBLiMP, Figure 1). Line: logistic curve from "
        "chance to a fitted ceiling, by least squares. Named and coloured: languages more than one standard deviation "
        "of the residuals from it whose 95 % interval, over different edits, does not reach it."
    )
    named = dict(zip(points["language"].astype(str), points["name"].astype(str), strict=True))

    def draw(axes: Axes, rows: pd.DataFrame) -> None:
        _draw_languages(axes, rows, named)
        percent_axis(axes, float(table["accuracy"].min()))
        log_axis(axes, table["frequency"], power_label, most_ticks=4, minor=False)

    labels = ("Frequency of the language (log scale)", "Accuracy (%)")
    figure = draw_panels(panels_by(table, "model", models, title=str), draw, labels, note)
    return Drawing(name, "Accuracy and frequency of languages", note, figure, table)


def _draw_languages(axes: Axes, rows: pd.DataFrame, named: dict[str, str]) -> None:
    for verdict, color in _COLORS.items():
        part = rows[rows["verdict"] == verdict]
        axes.plot(part["frequency"], part["accuracy"], "o", color=color, markersize=2.2)
    for point in rows[rows["verdict"] != ""].to_dict("records"):
        place = (point["frequency"], point["accuracy"])
        axes.annotate(
            named[point["language"]], place, xytext=(2, 1), textcoords="offset points", fontsize=4.5, parse_math=False
        )
    frequency = rows["frequency"].to_numpy(dtype=np.float64)
    curve = fit_logistic(frequency, rows["accuracy"].to_numpy(dtype=np.float64))
    assert curve is not None  # it has residuals
    x = np.geomspace(frequency.min(), frequency.max(), 100)
    axes.plot(x, logistic_law(x, curve), color="0.2", linewidth=0.9)
