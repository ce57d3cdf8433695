"""Interactive curves: accuracy against training tokens and against FLOPs, and the training loss.

The tables are those that the figures for papers are drawn of (``analysis.curves``), and colors and dashes are the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import altair as alt
import pandas as pd

from ucurve.analysis.charts import axes, parts
from ucurve.analysis.charts.offline import LayeredChart, OfflineChart, PanelChart
from ucurve.analysis.charts.parts import CURVES, LEVELS, TITLES, Column, Rows
from ucurve.analysis.plotting.facets import OVER_RUNS, line_names
from ucurve.analysis.plotting.line_styles import NUMBERED, LineStyles
from ucurve.analysis.plotting.style import TokenAxis, lowest_of, percent_bottom, readable
from ucurve.fields import format_count

Lines = Literal["line", "phenomenon", "value", "curve"]
Panels = Lines | Literal["panel"]

ALL = "all phenomena"
MOST_LINES = 6  # of one panel; more than so many phenomena have a panel each
_NAMES = ("linking", "line", "phenomenon", "value", "curve", "panel")
_NUMBERS = ("step", "tokens", "runs", "accuracy", "low", "high", "whole")
_VALUES = ("accuracy", "band", "runs", "step", "tokens")  # of a point, shown under the pointer
_LEVEL_DASHES = ([6, 2], [3, 1.5], [7, 2.5, 1.5, 2.5], [1, 1.5])


@dataclass(frozen=True)
class LearningLayout:
    """All that a chart of learning curves shows except its numbers: equal layouts differ only in their data."""

    columns: tuple[Column, ...]  # the names of a row
    line: Column  # which of them the lines are, with the level lines
    panels: Panels | None  # and which one has a panel for each value
    levels: tuple[str, ...]  # names of level lines, which have colors as the lines have
    tokens: tuple[float, float]  # the first and last count above 0
    bottom: float  # of the axis of accuracies, a fraction
    has_untrained: bool
    has_band: bool
    has_partial: bool
    numbers: tuple[str, ...]  # of a point
    is_clickable: bool

    @property
    def menus(self) -> list[Column]:
        """The columns with a menu: those with several values that are neither lines nor panels."""
        return [one for one in self.columns if one.name not in (self.line.name, self.panels) and one.has_several]

    def column(self, name: str | None) -> Column:
        """Return the column of a name."""
        return next(column for column in self.columns if column.name == name)


def learning_chart(
    table: pd.DataFrame, title: str, note: str, lines: Lines = "line", look: LineStyles = NUMBERED
) -> OfflineChart:
    """Return the chart of accuracy against training tokens, for rows of ``curve_table``.

    Of the columns of names (several linking functions are in a column ``linking``) one gives the lines; the others have
    a menu where they have several values, which begins with the first. More than six phenomena or values have a panel
    each, with the runs as lines.
    """
    panels: Panels | None = None
    if lines == "line" and look.panel_of:
        panels, table = "panel", table.assign(panel=table["line"].map(look.panel_of))
    elif lines != "line" and "line" in table and table[lines].nunique() > MOST_LINES:
        panels, lines = lines, "line"
    layout = learning_layout(table, lines, panels=panels, look=look)
    data = {CURVES: learning_rows(table, layout)}
    if panels:
        return parts.filled(draw_panels(layout), title, note, data)
    return parts.filled(draw_layout(layout), title, note, data)


def learning_layout(
    table: pd.DataFrame, lines: Lines, levels: pd.DataFrame | None = None, *, panels: Panels | None = None,
    bottom: float | None = None, clickable: bool = False, look: LineStyles = NUMBERED,
) -> LearningLayout:  # fmt: skip
    """Lay a chart out for a table of ``learning_chart``; ``clickable`` is for a page that listens to clicks on points.

    ``levels`` are level lines: a name in the column of the lines, with ``accuracy`` and ``low``.
    """
    named, axis = _with_names(table), TokenAxis(table["tokens"])
    drawn = table if levels is None else pd.concat([table, levels])
    of_levels = () if levels is None else tuple(dict.fromkeys(levels[lines].astype(str)))
    return LearningLayout(
        tuple(_column(named, name) for name in _NAMES if name in named), _line_column(table, lines, of_levels, look),
        panels, of_levels,
        (axis.first, axis.last), percent_bottom(lowest_of(drawn)) if bottom is None else bottom,
        bool(table["tokens"].eq(0).any()), bool(table["low"].notna().any()), not table["whole"].all(),
        (*_NUMBERS, "n") if "n" in table else _NUMBERS, clickable,
    )  # fmt: skip


def learning_rows(table: pd.DataFrame, layout: LearningLayout) -> Rows:
    """Write the rows of a table as the data of the chart that ``draw_layout`` returns."""
    return parts.nest(_in_percent(_with_names(table)), [column.name for column in layout.columns], layout.numbers)


def draw_layout(layout: LearningLayout, *, is_one: bool = True) -> LayeredChart:
    """Return the chart of learning curves in one panel, without its data; it may be one of several."""
    axis, line = TokenAxis(layout.tokens), layout.line
    height = axes.HEIGHT if is_one else str(parts.PANEL[1])
    x = axes.token_axis(axis) if is_one else axes.token_axis(axis).title(None)
    base = alt.Chart().encode(x=x, y=axes.percent_axis(layout.bottom, height=height))
    low = axes.percent_axis(layout.bottom, "low", height) if layout.has_band else None
    choices = parts.zoom_and_legend(line, by_line=not layout.is_clickable, zoom=is_one)
    names = [column.name for column in layout.columns]
    tips = parts.tips([*names, *_VALUES, *(["n"] if "n" in layout.numbers else [])])
    untrained = axes.untrained_place(axis)[: 2 if is_one else 1] if layout.has_untrained else []  # in panels no label
    marks = [
        axes.chance_line(), *untrained,
        *_band_and_line(base, line, low, choices),
        *([_levels(line).encode(opacity=parts.opacity(line))] if layout.levels else []),
        *_points(base, line, partial=layout.has_partial, size=26 if is_one else 8),
        parts.rings(base, line, tips, [layout.line.name, "step"] if layout.is_clickable else None),
    ]  # fmt: skip
    chart = parts.layered(marks, layout.menus, line, layout.numbers)
    return parts.with_band_text(chart.transform_calculate(place=axes.token_place(axis)), ".2f")


def draw_panels(layout: LearningLayout) -> PanelChart:
    """Return the chart of learning curves with a panel for each value of a column, without its data."""
    title = f"{axes.TOKENS}; dashed: untrained" if layout.has_untrained else axes.TOKENS
    return parts.in_panels(draw_layout(layout, is_one=False), layout.column(layout.panels), title)


def draw_small(layout: LearningLayout) -> LayeredChart:
    """Return one small panel without its data, for a page that puts many of them beside each other.

    The page writes titles and the legend; it sets the parameters ``at``, the step that is marked, and ``alone``, the
    line that is seen alone.
    """
    axis, line = TokenAxis(layout.tokens), layout.line
    y = axes.percent_axis(layout.bottom).title(None).axis(values=[0, 50, 100], grid=True)
    base = alt.Chart().encode(x=axes.token_axis(axis).title(None), y=y)
    colored = base.encode(color=parts.color(line, has_legend=False), opacity=parts.opacity_alone(line))
    dashes = parts.dashes(line, has_legend=False)
    band = colored.encode(y=axes.percent_axis(layout.bottom, "low"), y2="high")
    chosen = "datum.step === at"
    marks = [
        axes.chance_line(), *(axes.untrained_place(axis, "0") if layout.has_untrained else []),
        base.mark_rule(style="chosen", aria=False).encode(y=alt.Undefined).transform_filter(chosen),
        *([band.mark_area(clip=True, aria=False, fillOpacity=parts.BAND)] if layout.has_band else []),
        colored.mark_line(clip=True, aria=False).encode(strokeDash=dashes),
        *([_levels(line, has_legend=False).encode(opacity=parts.opacity_alone(line))] if layout.levels else []),
        colored.mark_point(clip=True, aria=False, filled=True, size=34).transform_filter(chosen),
    ]  # fmt: skip
    return parts.small(marks, layout.numbers).transform_calculate(place=axes.token_place(axis))


def flops_chart(table: pd.DataFrame, title: str, note: str, look: LineStyles = NUMBERED) -> LayeredChart:
    """Return the chart of accuracy against training FLOPs for ``flops_table``; several phenomena have a menu.

    The column ``reference`` of the table is empty but for level lines: a name, with accuracies.
    """
    named = _with_names(table)
    is_point = named["reference"] == ""
    points, levels = named[is_point], named[~is_point]
    labels = name_with_parameters(points)
    lines = Column("over_budgets", TITLES["line"], tuple(labels.values()), tuple(look(labels).values()))
    phenomena = _column(named, "phenomenon")
    menus = [phenomena] if phenomena.has_several else []
    points = points.assign(over_budgets=points["over_budgets"].map(labels), several=points["band"].eq(OVER_RUNS))
    names = ["line", "model", "over_budgets", "phenomenon"]
    numbers = ["step", "flops", "tokens", "runs", "accuracy", "low", "high", "final", "several"]
    bottom = percent_bottom(lowest_of(table))
    base = alt.Chart().encode(x=axes.flops_axis(points["flops"]), y=axes.percent_axis(bottom))
    tips = parts.tips(["line", "model", "phenomenon", *_VALUES[:2], "flops", *_VALUES[2:]])
    marks = [
        axes.chance_line(), *([] if levels.empty else [_reference_lines(levels, menus)]),
        *_flops_lines(base, lines), parts.rings(base, lines, tips),
    ]  # fmt: skip
    chart = parts.with_band_text(parts.layered(marks, menus, lines, numbers), ".2f")
    data = {CURVES: parts.nest(_in_percent(points), names, numbers)}
    if not levels.empty:
        data[LEVELS] = parts.nest(_in_percent(levels), ["reference", "phenomenon"], ["accuracy"])
    return parts.filled(chart, title, note, data)


def loss_chart(table: pd.DataFrame, title: str, note: str, look: LineStyles = NUMBERED) -> LayeredChart:
    """Return the chart of bits per byte against training tokens, for the rows of ``loss_table``."""
    line, is_training = _line_column(table, "line", (), look), "datum.loss === 'training'"
    numbers = ["tokens", "steps", "runs", "bits_per_byte", "low", "high"]
    y, low = (
        alt.Y(field=field, type="quantitative", title="Loss (bits per byte)", scale=alt.Scale(zero=False))
        for field in ("bits_per_byte", "low")
    )
    base = alt.Chart().encode(x=axes.trained_axis(table["tokens"]), y=y)
    training, held_out = (base.transform_filter(test) for test in (is_training, f"!({is_training})"))
    marks = [
        *_band_and_line(training, line, low if table["low"].notna().any() else None, parts.zoom_and_legend(line)),
        *(_points(held_out, line) if table["loss"].nunique() > 1 else []),
        parts.rings(base, line, parts.tips(["line", "loss", "bits_per_byte", "bits_band", "runs", "steps", "tokens"])),
    ]  # fmt: skip
    data = {CURVES: parts.nest(_with_names(table), ["line", "loss"], numbers)}
    chart = parts.with_band_text(parts.layered(marks, [], line, numbers), ".4~f", "bits_band")
    return parts.filled(chart, title, note, data)


def name_with_parameters(points: pd.DataFrame) -> dict[str, str]:
    """Name the lines in the column ``over_budgets`` with their ``parameters``, smallest first."""
    parameters = points.groupby("over_budgets")["parameters"].first().astype(float).sort_values(kind="stable")
    counts = {str(name): format_count(int(float(f"{size:.3g}"))) for name, size in parameters.dropna().items()}
    names = parameters.index.astype(str)
    return {name: f"{name} ({counts[name]} parameters)" if name in counts else name for name in names}


def _with_names(table: pd.DataFrame) -> pd.DataFrame:
    """Name runs and phenomena as the figures do."""
    if "line" in table:
        table = table.assign(line=table["line"].map(line_names(table["line"].dropna().unique(), table)))
    if "phenomenon" not in table:
        return table
    return table.assign(
        phenomenon=[ALL if name == "all" else readable(name) for name in table["phenomenon"].astype(str)]
    )


def _column(table: pd.DataFrame, name: str) -> Column:
    values = [str(value) for value in table[name].dropna().unique()]
    if name == "phenomenon":
        values.sort(key=lambda value: (value != ALL, value.casefold()))
    return Column(name, TITLES[name], tuple(values))


def _line_column(table: pd.DataFrame, lines: str, levels: Sequence[str], look: LineStyles) -> Column:
    """Return the column of the lines and level lines with their styles, which go by the names without a number."""
    column = _column(_with_names(table), lines)
    own = table[lines].dropna().unique() if lines == "line" else column.values
    shown = dict(zip(column.values, own, strict=True)) | {name: name for name in levels}
    styles = look(shown.values())
    return Column(lines, column.title, tuple(shown), tuple(styles[name] for name in shown.values()))


def _in_percent(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(**{name: 100 * table[name].astype(float) for name in ("accuracy", "low", "high")})


def _band_and_line(
    base: alt.Chart, line: Column, low: alt.Y | None, choices: Sequence[alt.Parameter]
) -> list[alt.Chart]:
    """Return the band, where its lower end is given, and the line, with what a reader chooses by pointer."""
    colored = base.encode(color=parts.color(line))
    mean = colored.mark_line(clip=True, aria=False).encode(strokeDash=parts.dashes(line), opacity=parts.opacity(line))
    mean = mean.add_params(*choices)
    if low is None:
        return [mean]
    band = colored.mark_area(clip=True, aria=False)
    return [band.encode(y=low, y2="high", opacity=parts.opacity(line, parts.BAND, of_band=True)), mean]


def _points(base: alt.Chart, line: Column, *, partial: bool = False, size: int = 26) -> list[alt.Chart]:
    """Return the points; open ones, where there are ``partial`` ones, stand for only some of a line's runs."""
    colored = parts.with_markers(base.encode(color=parts.color(line), opacity=parts.opacity(line)), line)
    filled = colored.mark_point(clip=True, aria=False, filled=True, size=size)
    some = colored.mark_point(clip=True, aria=False, style="partial", size=size, strokeWidth=1)
    return [filled, some.transform_filter("!datum.whole")] if partial else [filled]


def _levels(line: Column, *, has_legend: bool = True) -> alt.Chart:
    """Return the level lines of models without checkpoints, which are rows of their own data."""
    rule = alt.Chart(alt.NamedData(LEVELS)).mark_rule(strokeWidth=1.2, clip=True)
    color, tooltip = parts.color(line, has_legend=has_legend), parts.tips([line.name, "accuracy"])
    levels: alt.Chart = rule.encode(y="accuracy:Q", color=color, tooltip=tooltip)
    return levels


def _flops_lines(base: alt.Chart, lines: Column) -> list[alt.Chart]:
    """Return checkpoints on the way as pale lines, and finished runs as markers with bars and dotted lines."""
    colored = base.encode(color=parts.color(lines), opacity=parts.opacity(lines))
    way = colored.mark_line(clip=True, strokeWidth=1.2, aria=False).add_params(*parts.zoom_and_legend(lines))
    finished = colored.transform_filter("datum.final")
    bars = finished.transform_filter("datum.several && isValid(datum.low)").mark_rule(clip=True, aria=False)
    return [
        way.encode(detail="line:N", strokeDash=parts.dashes(lines), opacity=parts.opacity(lines, 0.45)),
        finished.mark_line(clip=True, strokeDash=[1.5, 2], aria=False),
        bars.encode(y="low:Q", y2="high"),
        parts.with_markers(finished.mark_point(clip=True, filled=True, size=55, aria=False), lines),
    ]


def _reference_lines(levels: pd.DataFrame, menus: Sequence[Column]) -> alt.Chart:
    names = list(dict.fromkeys(levels["reference"].astype(str)))
    scale = alt.Scale(domain=names, range=[_LEVEL_DASHES[place % len(_LEVEL_DASHES)] for place in range(len(names))])
    dash = alt.StrokeDash("reference:N", scale=scale, legend=parts.legend(names))
    rule: alt.Chart = alt.Chart(alt.NamedData(LEVELS)).mark_rule(style="level", clip=True)
    rule = rule.encode(y="accuracy:Q", tooltip=parts.tips(["reference", "phenomenon", "accuracy"]), strokeDash=dash)
    for menu in menus:
        rule = rule.transform_filter(parts.keep_chosen(menu))
    return rule.transform_flatten(["accuracy"])
