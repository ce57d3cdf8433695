"""The parts about model families: slopes of accuracy on parameters, and complexity of the intervening phrase (TSE)."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D

from analysis.comparison_charts import draw_lines
from analysis.comparison_parts import at_level
from analysis.complexity import TSE_LEVELS, complexity_table, levels_table, steps_of_complexity
from analysis.figures import Drawing, Sheet
from analysis.judged import Judged
from analysis.report import Column, Part, Section, TableView
from analysis.runs import Run
from analysis.slopes import AVERAGE, slope_table, slopes_by_suite
from analysis.study import Scored
from analysis.style import drawing_style, line_styles, log_axis, percent_axis, power_label, readable
from ucurve.counts import format_count

_PANELS, _ROWS = 16, 60


def models_of(runs: list[Run]) -> pd.DataFrame:
    """Say of runs which family they belong to: those alike in tokenizer, data and token budget, sizes apart.

    Returns:
        ``model`` (the run), ``family`` and ``parameters``; None and NaN for models that were not trained here. Only
        runs that have ended belong to a family: on the way the learning rate has not come down yet.
    """
    rows: list[tuple[str, str | None, float]] = []
    for run in runs:
        budget = run.record.get("tokens_budget")
        if run.status == "finished" and run.parameters is not None and budget is not None:
            rows.append((run.label, f"{run.variant}, {format_count(budget)} tokens", run.parameters))
        else:
            rows.append((run.label, None, np.nan))
    return pd.DataFrame(rows, columns=["model", "family", "parameters"])


def slope_parts(scored: Scored, judged: Judged, models: pd.DataFrame) -> Iterator[Part]:
    """Fit accuracy on parameters within families; none where no family has two sizes."""
    points = judged.points.merge(models, on="model", how="left")
    slopes = slope_table(points)
    if slopes.empty:
        return
    name, table = scored.file_name, slopes_by_suite(slopes)
    families = [column for column in table.columns if column not in ("suite", AVERAGE)]
    columns = (Column("suite", "Paradigm"), *(Column(family, family, "number") for family in families))
    columns += (Column(AVERAGE, "Average of families", "number"),)
    up = int((table[AVERAGE] > 0).sum())
    note = (
        "Slope of a least squares line of accuracy on the number of parameters, in percentage points per 10^9 "
        f"parameters (TSE, Table 1); its average is above 0 in {up} of {len(table)} paradigms. Numbers: "
        f"slopes_{name}.csv."
    )
    shown = table if len(table) <= _ROWS else table.sort_values(AVERAGE, ascending=False, kind="stable").head(_ROWS)
    note += "" if len(table) <= _ROWS else f" The {_ROWS} steepest of {len(table)}."
    parts = (TableView(note, columns, shown), _draw_slopes(points, f"parameters_{name}", scored.title))
    yield Part(Section(f"Accuracy and model size on {scored.benchmark}", parts), {f"slopes_{name}": table})


def complexity_parts(scored: Scored, judged: Judged, models: pd.DataFrame) -> Iterator[Part]:
    """Draw accuracy against the complexity of the intervening phrase; none for other benchmarks than TSE's."""
    series = TSE_LEVELS.get(scored.benchmark)
    if series is None:
        return
    levels = levels_table(series)
    points = judged.points[["model", "suite", "accuracy"]].merge(models, on="model", how="left")
    table, name = complexity_table(points, levels), scored.file_name
    if table.empty:
        return
    note = (
        "Accuracy against the complexity of the phrase between subject and predicate, 1 the simplest (TSE, Figure 3). "
        "A line is the mean over the versions of a family; bars: 1.96 standard errors of that mean either way, as in "
        "the paper. With 2, 3 or 4 versions such bars hold the mean in 70, 81 or 86 % of cases, not in 95."
        f"{_failed(judged)}"
    )
    drawing = draw_lines(
        table.rename(columns={"predicate": "panel"}), "level", f"complexity_{name}",
        f"Accuracy and complexity on {scored.benchmark}", note, ("Level of complexity", "Accuracy (%)"), line="family",
    )  # fmt: skip
    steps = steps_of_complexity(points, levels)
    columns = (
        Column("predicate", "Predicate"), Column("before", "From"), Column("after", "To"),
        Column("change", "Change in correct selections per 1,000", "number"),
    )  # fmt: skip
    view = TableView("Mean change over all models from each level to the next.", columns, steps)
    section = Section(f"Complexity of the intervening phrase in {scored.benchmark}", (drawing, view))
    yield Part(section, {f"complexity_steps_{name}": steps})


def _failed(judged: Judged) -> str:
    """Name the suites that are marked as having failed people's check (TSE, section 3.5)."""
    mark = judged.pairs.get("human_check_failed")
    names = [] if mark is None else list(judged.pairs.loc[mark.astype(bool), "paradigm"].unique())
    return f" Suites that failed the paper's check by people: {', '.join(names)}." if names else ""


def _draw_slopes(points: pd.DataFrame, name: str, title: str) -> Drawing:
    rows, _ = at_level(points.drop(columns=["family", "parameters"]), _PANELS)
    if rows["suite"].nunique() > _PANELS:
        rows = rows[rows["suite"].isin(list(rows["suite"].unique())[:_PANELS])]
    about = points[["model", "family", "parameters"]].drop_duplicates()
    rows = rows.merge(about, on="model").dropna(subset=["family", "parameters"])
    styles = line_styles(rows["family"])
    legend = {name: Line2D([], [], color=style.colour, marker="o", markersize=3) for name, style in styles.items()}
    note = (
        f"Accuracy against parameters, {title} (TSE, Figure 2). Points: models; lines: least squares within a family, "
        "which are straight in parameters and so bend on this logarithmic axis."
    )
    suites = list(rows["suite"].unique())
    with drawing_style():
        sheet = Sheet(len(suites), legend, note)
        for axes, suite in zip(sheet.panels, suites, strict=True):
            for family, style in styles.items():
                part = rows[(rows["suite"] == suite) & (rows["family"] == family)]
                axes.plot(part["parameters"], part["accuracy"], "o", color=style.colour, markersize=2.5)
                if part["parameters"].nunique() > 1:
                    x = np.geomspace(part["parameters"].min(), part["parameters"].max(), 50)
                    line = np.polyfit(part["parameters"] / 1e9, part["accuracy"], 1)
                    axes.plot(x, np.polyval(line, x / 1e9), color=style.colour, linestyle=style.dashes, linewidth=0.8)
            percent_axis(axes, float(rows["accuracy"].min()))
            log_axis(axes, rows["parameters"], power_label, most_ticks=3, minor=False)
            axes.set_title(readable(suite), pad=3, parse_math=False)
        figure = sheet.finish("Parameters (log scale)", "Accuracy (%)")
    return Drawing(name, "Accuracy and parameters", note, figure, rows)
