"""The shape of learning in the report: classes, onsets, smoothed curves, and whether orders of acquisition agree."""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from typing import cast

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from analysis.acquisition import acquisition_order, agreement, differences, mean_agreement
from analysis.figures import Drawing, Sheet, overall_and_phenomena
from analysis.items import read_runs
from analysis.learning_curves import legend_label
from analysis.onset import ONSET_ABOVE_CHANCE, SATURATION_MARGIN
from analysis.report import Column, Part, Section, TableView
from analysis.runs import Run
from analysis.shape_tables import ITEMS_ONLY, Shapes, find_shapes
from analysis.shapes import LEAST_CHECKPOINTS, LEVEL, NOT_TESTED, SHAPES
from analysis.smoothing import SMOOTHING
from analysis.study import Scored
from analysis.style import LineStyle, TokenAxis, drawing_style, line_styles, percent_axis, readable
from eval.metrics import TiesRule

_CLASSES = (
    Column("group", "Model"),
    Column("phenomenon", "Phenomenon"),
    Column("shape", "Shape"),
    Column("p", "p (Holm)", "p"),
    Column("depth", "Depth (points)", "percent"),
    Column("depth_low", "95 % from", "percent"),
    Column("depth_high", "to", "percent"),
    Column("place", "Place (tokens)", "count"),
    Column("place_low", "95 % from", "count"),
    Column("place_high", "to", "count"),
    Column("onset", "Onset (tokens)", "count"),
    Column("onset_low", "95 % from", "count"),
    Column("onset_high", "to", "count"),
    Column("saturation", "Saturation (tokens)", "count"),
    Column("start", "Start (%)", "percent"),
    Column("end", "End (%)", "percent"),
    Column("runs", "Runs", "count"),
    Column("items", "Pairs", "count"),
    Column("checkpoints", "Checkpoints", "count"),
    Column("variation", "Intervals over"),
)
_ORDER = (
    Column("name", "Model"),
    Column("rank", "Rank", "number"),
    Column("phenomenon", "Phenomenon"),
    Column("onset", "Onset (tokens)", "count"),
)
_MEANS = (
    Column("between", "Between"),
    Column("differs_in", "Differ in"),
    Column("pairs", "Pairs", "count"),
    Column("tau", "Mean tau-b", "number"),
    Column("tau_low", "lowest", "number"),
    Column("tau_high", "highest", "number"),
)
_TEST = (
    f"Curves are smoothed on the log axis of tokens (normal kernel, sd {SMOOTHING} decades; step 0 has no place on it "
    "and takes no part). A curve falls (rises) where the largest of its falls (rises) between two stretches of it is "
    "beyond chance, by a bootstrap over pairs within paradigms and over seeds; it is U-shaped where a fall is followed "
    "by a rise, both beyond chance. p values are adjusted by Holm over all curves of this table; the level is "
    f"{LEVEL:g}. Flat means that no change was found, not that there is none."
)
_MILESTONES = (
    f"Onset: tokens at which the smoothed curve comes above {50 + 100 * ONSET_ABOVE_CHANCE:.0f} % to stay, none where "
    f"it does not end significantly above; a bound of inf lies beyond the last checkpoint. Saturation: tokens from "
    f"which it stays within {100 * SATURATION_MARGIN:.0f} points of its end, none where that is after half of them."
)
_SHORT = {"U-shaped": "U", "inverted-U": "inverted U"}


def shape_parts(scored: Scored) -> Iterable[Part]:
    """Test the shapes of a benchmark's curves; no part where it has no curve."""
    rows = scored.curve_rows()
    if rows.empty:
        return
    rule = cast(TiesRule, str(scored.rows["ties_rule"].iloc[0]))
    items = read_runs(scored.study.runs, rows, scored.benchmark, scored.scorer, scored.linking, rule)
    found = find_shapes(items)
    yield _shape_part(scored, found)
    if len(found.run_onsets):
        yield _acquisition_part(scored, found)


def draw_shapes(shapes: Shapes, name: str, title: str) -> list[Drawing]:
    """Draw the smoothed curves with their classes: the overall figure and one with a panel for each phenomenon.

    Args:
        shapes: what was found; its curves must not be empty.
        name: start of the file names.
        title: benchmark, linking function and ties rule, for people.
    """
    kinds = shapes.classes.set_index(["group", "phenomenon"])[["shape", "depth", "place", "runs"]]
    table = shapes.curves.join(kinds, on=["group", "phenomenon"])
    note = f"Smoothed accuracy against training tokens, {title}. {_figure_note(shapes)}"
    draw = partial(_draw, note=_figure_note(shapes))
    return overall_and_phenomena(table, name, "Shapes of learning", note, draw)


def _shape_part(scored: Scored, found: Shapes) -> Part:
    heading = f"The shape of learning on {scored.benchmark}"
    if found.classes.empty:
        return Part(Section(heading, found.notes))
    shown = found.classes.assign(phenomenon=found.classes["phenomenon"].map(readable))
    view = TableView(f"{scored.title}. {_TEST} {_MILESTONES}", _CLASSES, shown)
    drawings = draw_shapes(found, f"shapes_{scored.file_name}", scored.title) if len(found.curves) else []
    tables = {f"shapes_{scored.file_name}": found.classes}
    return Part(Section(heading, (_summary(found.classes), *found.notes, *drawings, view)), tables)


def _acquisition_part(scored: Scored, found: Shapes) -> Part:
    """Rank the phenomena of each line, and compare the orders of every two lines and every two runs."""
    lines = found.classes[(found.classes["phenomenon"] != "all") & (found.classes["shape"] != NOT_TESTED)]
    order = acquisition_order(lines.rename(columns={"group": "name"})[["name", "phenomenon", "onset"]])
    pairs = _agreements(scored.study.runs, order, found.run_onsets)
    file_name = scored.file_name
    tables = {f"acquisition_{file_name}": order}
    note = (
        "Phenomena in the order of their onsets; those never reached come last with one rank. A model stands for its "
        f"runs that differ in the seed only. {scored.title}."
    )
    views = [TableView(note, _ORDER, order)]
    if len(pairs):
        tables[f"acquisition_agreement_{file_name}"] = pairs
        views.append(TableView(_agreement_note(file_name), _MEANS, mean_agreement(pairs)))
    return Part(Section(f"Order of acquisition on {scored.benchmark}", tuple(views)), tables)


def _agreements(runs: Sequence[Run], lines: pd.DataFrame, run_onsets: pd.DataFrame) -> pd.DataFrame:
    """Compare lines, and runs too where there are more of them than lines."""
    tables = [agreement(lines, "lines", differences(runs, by_group=True))]
    if run_onsets["name"].nunique() > lines["name"].nunique():
        tables.append(agreement(acquisition_order(run_onsets), "runs", differences(runs, by_group=False)))
    return pd.concat([table for table in tables if len(table)] or tables, ignore_index=True)


def _agreement_note(file_name: str) -> str:
    return (
        "Agreement of these orders: Kendall's tau-b between every two models (lines) and every two runs, mean by what "
        f"the two differ in; 1 is the same order, 0 none. Every pair: acquisition_agreement_{file_name}.csv."
    )


def _summary(classes: pd.DataFrame) -> str:
    tested = classes[classes["shape"] != NOT_TESTED]
    counts = Counter(tested["shape"])
    parts = [f"{counts[shape]} {shape}" for shape in SHAPES if counts[shape]]
    text = f"Of {len(tested)} curves: {', '.join(parts)}." if parts else "No curve could be tested."
    few = len(classes) - len(tested)
    why = f"with fewer than {LEAST_CHECKPOINTS} trained checkpoints or less than tenfold tokens"
    return text + (f" Not tested: {few}, {why}." if few else "")


def _figure_note(shapes: Shapes) -> str:
    over = "pairs" if set(shapes.classes["variation"]) == {ITEMS_ONLY} else "pairs and, with several runs, seeds"
    return (
        f"Line: curve smoothed on the log axis (sd {SMOOTHING} decades); band: 95 % at each checkpoint, over {over}; "
        "dots: accuracy of the checkpoints, step 0 set apart; triangle: the dip of a U, down, or the bump of an "
        "inverted U, up."
    )


def _draw(table: pd.DataFrame, phenomena: Sequence[str], note: str) -> Figure:
    styles = line_styles(table["group"])
    runs = table.groupby("group", sort=False)["runs"].max()
    legend = {
        legend_label(group, int(runs[group])): Line2D([], [], color=style.colour, linestyle=style.dashes)
        for group, style in styles.items()
    }
    axis, single = TokenAxis(table["tokens"]), len(phenomena) == 1
    with drawing_style():
        sheet = Sheet(len(phenomena), legend, note)
        for axes, phenomenon in zip(sheet.panels, phenomena, strict=True):
            rows = table[table["phenomenon"] == phenomenon]
            _draw_panel(axes, rows, styles, axis)
            axis.apply(axes, most_ticks=7 if single else 3, minor=single)
            percent_axis(axes, float(table[["low", "accuracy"]].min().min()))
            _name_shapes(axes, phenomenon, rows)
        return sheet.finish("Training tokens (log scale, 0 set apart)", "Accuracy (%)")


def _name_shapes(axes: Axes, phenomenon: str, rows: pd.DataFrame) -> None:
    """Write the class in the title of a panel, or inside where the title has no room: overall, and of several lines."""
    name, text = "" if phenomenon == "all" else readable(phenomenon), _classes_of(rows)
    if name and rows["group"].nunique() == 1:
        axes.set_title(f"{name}: {text}", pad=3, parse_math=False)
    else:
        axes.set_title(name, pad=3, parse_math=False)
        axes.text(0.02, 1, text, transform=axes.transAxes, ha="left", va="top", fontsize=6.5, parse_math=False)


def _classes_of(rows: pd.DataFrame) -> str:
    """Name the class of the only line; several lines are counted by class."""
    shapes = Counter(rows.drop_duplicates("group")["shape"])
    several = sum(shapes.values()) > 1
    named = [(f"{shapes[shape]} " if several else "") + _SHORT.get(shape, shape) for shape in SHAPES if shapes[shape]]
    return ", ".join(named)


def _draw_panel(axes: Axes, table: pd.DataFrame, styles: dict[str, LineStyle], axis: TokenAxis) -> None:
    for group, style in styles.items():
        rows = table[table["group"] == group]
        x = axis.places(rows["tokens"])
        axes.fill_between(x, rows["low"], rows["high"], color=style.colour, alpha=0.18, linewidth=0)
        axes.plot(x, rows["smoothed"], color=style.colour, linestyle=style.dashes)
        axes.plot(x, rows["accuracy"], "o", color=style.colour, markersize=1.2, alpha=0.6, markeredgewidth=0)
        if len(rows) and rows["shape"].iloc[0] in _SHORT:
            _mark_turn(axes, rows, style)


def _mark_turn(axes: Axes, rows: pd.DataFrame, style: LineStyle) -> None:
    trained = rows[rows["tokens"] > 0]
    place, is_dip = float(rows["place"].iloc[0]), rows["shape"].iloc[0] == "U-shaped"
    height = np.interp(np.log10(place), np.log10(trained["tokens"]), trained["smoothed"])
    axes.plot([place], [height], "v" if is_dip else "^", color=style.colour, markersize=4, markeredgecolor="black",
              markeredgewidth=0.5)  # fmt: skip
