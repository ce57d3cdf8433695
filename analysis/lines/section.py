"""The section of the report that sets lines side by side where they are equal in tokens, FLOPs or loss."""

import math
from collections.abc import Iterator, Sequence

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

from ucurve.analysis.data.study import BenchmarkScores
from ucurve.analysis.lines.table import FLOPS, LOSS, TOKENS, SideBySide, set_side_by_side
from ucurve.analysis.plotting.figures import Drawing, NamedRows
from ucurve.analysis.plotting.style import (
    DOTTED,
    LineStyles,
    drawing_style,
    percent_bottom,
    readable,
    rounded_count,
)
from ucurve.analysis.report import questions
from ucurve.analysis.report.html import Column, ReportSection, TableView, table_columns
from ucurve.eval.metrics.sampling import CONFIDENCE

_MOST_ROWS = 40  # in a table of the report
_LEGEND_LETTERS, _LEGEND_ROW = 90, 0.13  # in a row of a legend, and its height in inches
_LINES = table_columns(
    "size",
    "budget",
    Column("equal", "Equal in"),
    Column("line", "Line"),
    Column("accuracy", "Accuracy, % (95 % interval)", "percent", ("low", "high")),
    "runs",
    Column("read_at", "Read at tokens"),
)
_DIFFERENCES = table_columns(
    "size",
    "budget",
    Column("equal", "Equal in"),
    Column("of", "Line - other line"),
    Column("difference", "Difference, points (95 % interval)", "percent", ("low", "high")),
    Column("p", "p", "p"),
    Column("better", "Phenomena: line better", "count"),
    Column("worse", "Phenomena: other better", "count"),
)
_OVER_RUNS = (
    "Intervals are 95 % over the runs of a line, so they are about other seeds on these pairs; the variance of a few "
    "runs is moderated by that of other phenomena and lines (docs/analysis.md). A line of one run has none."
)


@questions.section(questions.MODELS, place=2)
def side_by_side_sections(scored: BenchmarkScores) -> Iterator[ReportSection]:
    """Compare lines of one size and budget; nothing where none differ in architecture, corpus or learning rate."""
    if (found := set_side_by_side(scored)) is None:
        return
    present = set(found.runs["equal_in"])
    kinds = [kind for kind in (TOKENS, FLOPS, LOSS) if kind in present]
    names = " and ".join(filter(None, (", ".join(kinds[:-1]), *kinds[-1:])))
    views = (_lines_view(found, scored), _differences_view(found, scored))
    heading = f"Lines at equal {names} on {scored.heading}"
    yield ReportSection(heading, (*found.notes, *views, *_draw_sets(found, scored)))


def _lines_view(found: SideBySide, scored: BenchmarkScores) -> TableView:
    """Show the accuracy of each line over all pairs, at the largest amount of everything lines are equal in."""
    # How FLOPs and loss are measured, and what is not the same in lines that are equal in them.
    counted = f" FLOPs are those of {found.flops}." if found.flops == "matrix products" else " FLOPs are 6ND."
    text = counted if found.flops else ""
    if found.loss:
        text += (
            f" The loss is {found.loss} loss in bits per byte, which models with a masked objective do not have."
        )
    if text:
        text += (
            " Where lines are equal in FLOPs or loss, some are read between checkpoints on the way, before their "
            "learning rate has come down."
        )
    note = (
        f"Accuracy of lines of one size and budget, {scored.curve_title}, where they are equal, at the largest amount "
        f"that all runs reach. {_OVER_RUNS}{text} The CSV has smaller amounts and every phenomenon."
    )
    rows = _at_last(found.lines, found)
    rows = rows[rows["phenomenon"] == "all"]
    shown = rows.assign(read_at=rows["tokens"].map(rounded_count))
    return TableView(note, _LINES, shown, {f"side_by_side_{scored.file_name}": found.lines})


def _differences_view(found: SideBySide, scored: BenchmarkScores) -> TableView:
    """Show the differences of every two lines there, with how many phenomena go which way."""
    rows = _at_last(found.differences, found)
    overall, phenomena = rows[rows["phenomenon"] == "all"], rows[rows["phenomenon"] != "all"]
    keys = ["size", "budget", "equal_in", "of"]
    shown = phenomena["p_holm"] <= 1 - CONFIDENCE
    signs = phenomena.assign(
        better=shown & (phenomena["difference"] > 0), worse=shown & (phenomena["difference"] < 0)
    )
    # Gains and losses cancel in the mean over phenomena, so the phenomena in which either line is better are counted.
    counts = signs.groupby(keys, sort=False)[["better", "worse"]].sum().reset_index()
    table = overall.merge(counts, on=keys, how="left").fillna({"better": 0, "worse": 0})
    note = (
        "The differences between these accuracies, p by the t test of these variances, and in how many phenomena "
        "either line is better (p < .05 after Holm over the phenomena and pairs of lines at this amount)."
    )
    if len(table) > _MOST_ROWS:
        note += f" The {_MOST_ROWS} largest of {len(table)}; the CSV has all."
        table = table.loc[
            table["difference"].abs().sort_values(ascending=False, kind="stable").index[:_MOST_ROWS]
        ]
    return TableView(
        note, _DIFFERENCES, table, {f"side_by_side_differences_{scored.file_name}": found.differences}, "p"
    )


def _at_last(table: pd.DataFrame, found: SideBySide) -> pd.DataFrame:
    """Keep the rows of the largest amount of everything that lines are equal in, and describe it as ``equal``."""
    keys = ["size", "budget", "equal_in", "level"]
    last = found.runs.loc[found.runs["last"], keys].drop_duplicates()
    rows = table.merge(last, on=keys)
    return rows.assign(equal=[_describe_level(*one) for one in zip(rows["equal_in"], rows["level"], strict=True)])


def _describe_level(equal_in: str, level: float) -> str:
    number = {TOKENS: rounded_count(level), FLOPS: f"{level:.2g}", LOSS: f"{level:.2f}"}[equal_in]
    return f"{number} {equal_in}"


def _draw_sets(found: SideBySide, scored: BenchmarkScores) -> Iterator[Drawing]:
    """Draw the lines of each size and budget at the largest amount of everything they are equal in."""
    of_runs = found.runs[found.runs["last"]].drop(columns="last")
    means = of_runs[of_runs["phenomenon"] != "all"].groupby("phenomenon")["accuracy"].mean()
    order = ["all", *means.sort_values(ascending=False, kind="stable").index]  # the same in all figures
    several = of_runs[["size", "budget"]].drop_duplicates().shape[0] > 1
    file_names = {TOKENS: "tokens", FLOPS: "flops", LOSS: "loss"}
    for (size, budget, kind), rows in of_runs.groupby(["size", "budget", "equal_in"], sort=False):
        of_set, equal_in = f"_{size}_{budget}" if several else "", str(kind)
        equal = _describe_level(equal_in, rows["level"].iloc[0])
        note = (
            f"Accuracy of lines that are equal in {equal_in} ({equal}), {scored.curve_title}. Large dots: mean over "
            "the runs of a line; small dots: its runs."
        )
        name = f"side_by_side_{scored.file_name}{of_set}_{file_names[equal_in]}"
        in_set = f", {size}, {budget}" if several else ""
        yield Drawing(
            name, f"Lines at {equal}{in_set}", note, _draw_dots(rows, order, note, scored.study.look), rows
        )


def _draw_dots(of_runs: pd.DataFrame, order: Sequence[str], note: str, look: LineStyles) -> Figure:
    """Draw a row for all pairs and each phenomenon, with the lines below each other in it."""
    styles = look(of_runs["line"])
    across = max(1, _LEGEND_LETTERS // (8 + max(map(len, styles))))
    with drawing_style():
        names = ["all pairs", *map(readable, order[1:])]
        top = 0.1 + _LEGEND_ROW * math.ceil(len(styles) / across)
        sheet = NamedRows(names, note, row=0.08 + 0.06 * len(styles), top=top)
        for place, (line, style) in enumerate(styles.items()):
            own = of_runs[of_runs["line"] == line]
            heights = own["phenomenon"].map({name: float(row) for row, name in enumerate(order)})
            heights = heights + 0.7 * ((place + 0.5) / len(styles) - 0.5)  # the rest keeps rows apart
            sheet.axes.plot(own["accuracy"], heights, ".", color=style.color, markersize=2.5, alpha=0.5)
            mean = own.assign(height=heights).groupby("phenomenon")[["accuracy", "height"]].mean()
            sheet.axes.plot(
                mean["accuracy"],
                mean["height"],
                style.marker,
                color=style.color,
                markersize=4,
                clip_on=False,
            )
        for row in range(1, len(order)):
            sheet.axes.axhline(row - 0.5, color="0.9", linewidth=0.5, zorder=0)
        sheet.axes.axvline(0.5, **DOTTED)
        sheet.axes.set_xlim(percent_bottom(of_runs["accuracy"].min()), 1.01)
        sheet.axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.0f}"))
        samples = [
            Line2D([], [], color=style.color, marker=style.marker, ls="", markersize=4)
            for style in styles.values()
        ]
        sheet.axes.legend(
            samples,
            list(styles),
            loc="lower left",
            bbox_to_anchor=(0, 1),
            ncols=across,
            borderpad=0.1,
        )
        return sheet.finish("Accuracy (%)")
