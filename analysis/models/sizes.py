"""Accuracy by model size, and by the complexity of the intervening phrase (TSE, sections 5.2 and 5.3)."""

import functools
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from scipy.stats import linregress

from ucurve.analysis.data.last_scores import ModelScores
from ucurve.analysis.data.runs import Run
from ucurve.analysis.data.study import BenchmarkScores
from ucurve.analysis.models.charts import draw_lines
from ucurve.analysis.models.side_by_side import at_level
from ucurve.analysis.plotting.facets import draw_panels, panels_by
from ucurve.analysis.plotting.figures import Drawing
from ucurve.analysis.plotting.style import LineStyles, log_axis, percent_axis, power_label
from ucurve.analysis.report import questions
from ucurve.analysis.report.html import Column, ReportSection, TableView
from ucurve.eval.pairs import split_name
from ucurve.yaml_files import read_yaml

AVERAGE = "average"
_PER = 1e9  # parameters


def slope_table(points: pd.DataFrame) -> pd.DataFrame:
    """Fit a line through the accuracies of the models of each line on each suite, by least squares (TSE, Table 1).

    ``slope`` is in percentage points per 10^9 parameters, ``models`` are the points of the line. A missing accuracy or
    line leaves its row out; a line of one size has no slope.
    """
    rows = points.dropna(subset=["line", "suite", "parameters", "accuracy"])
    groups = rows.groupby(["line", "suite"], sort=False, observed=True)
    lines = [
        (line, suite, len(part), linregress(part["parameters"] / _PER, 100 * part["accuracy"]).slope)
        for (line, suite), part in groups
        if part["parameters"].nunique() > 1
    ]
    return pd.DataFrame(lines, columns=["line", "suite", "models", "slope"])


def slopes_by_suite(slopes: pd.DataFrame) -> pd.DataFrame:
    """Lay slopes out by suite and line (TSE, Table 1), with ``average`` over the lines that have one."""
    suites, lines = slopes["suite"].unique(), slopes["line"].unique()
    wide = slopes.pivot_table(index="suite", columns="line", values="slope", observed=True)
    wide = wide.reindex(index=suites, columns=lines)
    table = wide.assign(**{AVERAGE: wide.mean(axis=1)}).reset_index()
    table.columns.name = None
    return table


STANDARD_ERRORS = 1.959963984540054  # of the paper's bars, either way


@functools.cache
def load_complexity() -> dict[str, dict[str, tuple[str, ...]]]:
    """Read by benchmark and predicate which suites differ in complexity, the simplest first (TSE, 3.2 and 3.3)."""
    return read_yaml(Path(__file__).with_name("complexity.yaml"), dict[str, dict[str, tuple[str, ...]]])


def levels_table(series: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """Write lists of suites as a table: ``predicate``, ``level`` (1 is the simplest) and ``suite``."""
    rows = [
        (name, level, suite) for name, suites in series.items() for level, suite in enumerate(suites, start=1)
    ]
    return pd.DataFrame(rows, columns=["predicate", "level", "suite"])


def complexity_table(points: pd.DataFrame, levels: pd.DataFrame) -> pd.DataFrame:
    """Average the versions of each line at each level; a model without a line is one of its own.

    ``low`` and ``high`` are 1.96 standard errors of the mean over the versions either way, as in the paper's figure;
    NaN for one version. That is the normal law's and not Student's: with 2, 3 and 4 versions such bars hold the mean in
    70, 81 and 86 % of cases.
    """
    rows = points.assign(line=points["line"].fillna(points["model"])).merge(levels, on="suite")
    keys = ["predicate", "level", "suite", "line"]
    table = rows.groupby(keys, as_index=False, sort=False, observed=True).agg(
        models=("accuracy", "count"), accuracy=("accuracy", "mean"), error=("accuracy", "sem")
    )
    half = STANDARD_ERRORS * table.pop("error")
    table = table.assign(low=table["accuracy"] - half, high=table["accuracy"] + half)
    return table.sort_values(["predicate", "line", "level"], kind="stable", ignore_index=True)


def steps_of_complexity(points: pd.DataFrame, levels: pd.DataFrame) -> pd.DataFrame:
    """Average the change in correct selections per 1,000 pairs to the next level that was scored (section 5.3)."""
    wide = points.pivot_table(index="model", columns="suite", values="accuracy", observed=True)
    rows = []
    for predicate, part in levels.groupby("predicate", sort=False):
        suites = [suite for suite in part.sort_values("level")["suite"] if suite in wide]
        rows += [
            (predicate, before, after, float((wide[after] - wide[before]).mean() * 1000))
            for before, after in pairwise(suites)
        ]
    return pd.DataFrame(rows, columns=["predicate", "before", "after", "change"]).dropna(subset="change")


_PANELS, _ROWS = 16, 60  # at most in a figure and in a table of the report


def find_lines(runs: Sequence[Run]) -> pd.DataFrame:
    """Say which runs are a line over sizes: those that differ only in size.

    Models that were not trained here have None and NaN. Only runs that have ended belong to a line: before that the
    learning rate has not come down yet.
    """
    rows: list[tuple[str, str | None, float]] = []
    for run in runs:
        if run.facts and run.facts.finished:
            rows.append((run.label, run.line_without("size"), run.facts.parameters["total"]))
        else:
            rows.append((run.label, None, np.nan))
    return pd.DataFrame(rows, columns=["model", "line", "parameters"])


@questions.section(questions.MODELS, place=2)
def slope_sections(scored: BenchmarkScores, last: ModelScores) -> Iterator[ReportSection]:
    """Fit accuracy on parameters within lines; nothing where none has two sizes."""
    points = last.points.merge(_lines(scored), on="model", how="left")
    slopes = slope_table(points)
    if slopes.empty:
        return
    name, table = scored.file_name, slopes_by_suite(slopes)
    lines = [column for column in table.columns if column not in ("suite", AVERAGE)]
    columns = (Column("suite", "Paradigm"), *(Column(line, line, "number") for line in lines))
    columns += (Column(AVERAGE, "Average of lines", "number"),)
    up = int((table[AVERAGE] > 0).sum())
    note = (
        "Slope of a least squares line of accuracy on the number of parameters, in percentage points per 10^9 "
        f"parameters (TSE, Table 1); its average is above 0 in {up} of {len(table)} paradigms."
    )
    shown = (
        table if len(table) <= _ROWS else table.sort_values(AVERAGE, ascending=False, kind="stable").head(_ROWS)
    )
    note += "" if len(table) <= _ROWS else f" The {_ROWS} steepest of {len(table)}."
    view = TableView(note, columns, shown, {f"slopes_{name}": table})
    drawing = _draw_slopes(last, points, f"parameters_{name}", scored.title, scored.study.look)
    yield ReportSection(f"Accuracy and model size on {scored.heading}", (view, drawing))


@questions.section(questions.MODELS, place=3)
def complexity_sections(scored: BenchmarkScores, last: ModelScores) -> Iterator[ReportSection]:
    """Draw accuracy against the complexity of the intervening phrase; nothing where no suites differ in it."""
    heading = f"Complexity of the intervening phrase in {scored.benchmark}"
    levels = levels_table(scored.look_up(load_complexity()) or {})
    points = last.points[["model", "suite", "accuracy"]].merge(_lines(scored), on="model", how="left")
    table, name = complexity_table(points, levels), scored.file_name
    if table.empty:
        # Where other languages of the benchmark have levels, a reader would miss the figure.
        if scored.look_up({split_name(known)[0]: known for known in load_complexity()}):
            yield ReportSection(heading, (), left_out="its paradigms do not differ in it")
        return
    note = (
        "Accuracy against the complexity of the phrase between subject and predicate, 1 the simplest (TSE, Figure 3). "
        "The curve of a line is the mean over its versions; bars: 1.96 standard errors of that mean either way, as in "
        "the paper. With 2, 3 or 4 versions such bars hold the mean in 70, 81 or 86 % of cases, not in 95. Suites that "
        "do not count have no point."
    )
    drawing = draw_lines(
        table.rename(columns={"predicate": "panel"}),
        "level",
        f"complexity_{name}",
        f"Accuracy and complexity on {scored.heading}",
        note,
        ("Level of complexity", "Accuracy (%)"),
        line="line",
    )
    steps = steps_of_complexity(points, levels)
    columns = (
        Column("predicate", "Predicate"),
        Column("before", "From"),
        Column("after", "To"),
        Column("change", "Change in correct selections per 1,000", "number"),
    )
    change = "Mean change over all models from each level to the next."
    view = TableView(change, columns, steps, {f"complexity_steps_{name}": steps})
    yield ReportSection(heading, (drawing, view))


def _lines(scored: BenchmarkScores) -> pd.DataFrame:
    models = scored.study.user_tables.models
    return find_lines(scored.study.runs) if models is None else models


def _draw_slopes(last: ModelScores, points: pd.DataFrame, name: str, title: str, look: LineStyles) -> Drawing:
    """Draw accuracies over parameters with the fitted lines, a panel for each of the first suites."""
    rows, _ = at_level(last, _PANELS)
    if rows["suite"].nunique() > _PANELS:
        rows = rows[rows["suite"].isin(list(rows["suite"].unique())[:_PANELS])]
    about = points[["model", "line", "parameters"]].drop_duplicates()
    rows = rows.merge(about, on="model").dropna(subset=["line", "parameters"])
    styles = look(rows["line"])
    legend = {name: Line2D([], [], color=style.color, marker="o", markersize=3) for name, style in styles.items()}
    note = (
        f"Accuracy against parameters, {title} (TSE, Figure 2). Points: models; lines: least squares over the models "
        "of a line, which are straight in parameters and so bend on this logarithmic axis."
    )

    def draw(axes: Axes, suite: pd.DataFrame) -> None:
        for line, style in styles.items():
            part = suite[suite["line"] == line]
            axes.plot(part["parameters"], part["accuracy"], "o", color=style.color, markersize=2.5)
            if part["parameters"].nunique() > 1:
                x = np.geomspace(part["parameters"].min(), part["parameters"].max(), 50)
                fit = np.polyfit(part["parameters"] / _PER, part["accuracy"], 1)
                axes.plot(x, np.polyval(fit, x / _PER), color=style.color, linestyle=style.dashes, linewidth=0.8)
        percent_axis(axes, float(rows["accuracy"].min()))
        log_axis(axes, rows["parameters"], power_label, most_ticks=3, minor=False)

    figure = draw_panels(panels_by(rows, "suite"), draw, ("Parameters (log scale)", "Accuracy (%)"), note, legend)
    return Drawing(name, "Accuracy and parameters", note, figure, rows)
