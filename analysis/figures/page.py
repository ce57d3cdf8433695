"""Figures of lines for pages: interactive charts of Altair.

A layout is all that a chart shows except its numbers, so that a page can draw it once and change the numbers.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt
import pandas as pd

from ucurve.analysis.charts import axes, parts
from ucurve.analysis.charts.offline import LayeredChart, OfflineChart, PanelChart
from ucurve.analysis.charts.parts import CURVES, LEVELS, TITLES, NameColumn, Rows
from ucurve.analysis.figures.described import HIGH, LOW, Across, LineFigure, Up
from ucurve.analysis.plotting.style import TokenAxis, percent_bottom

_NUMBERS = ("step", "tokens", "runs", "n", "whole")  # of a point, where it has them, beside its place
_SIZE, _SIZE_IN_PANELS = 26, 8  # of markers, in square CSS pixels


@dataclass(frozen=True)
class Layout:
    """All that a chart shows except its numbers: equal layouts differ only in their data."""

    x: Across
    y: Up
    columns: tuple[NameColumn, ...]  # the names of a row
    line: NameColumn  # which of them the lines are, with the level lines
    panels: str | None  # and which one has a panel for each value
    levels: tuple[str, ...]  # names of level lines, which have colors as the lines have
    ends: tuple[float, float]  # of the horizontal axis; of tokens the first and last count above 0
    bottom: float  # of an axis of accuracies, a fraction
    has_untrained: bool
    has_band: bool
    has_partial: bool
    has_markers: bool
    dots: tuple[str, str] | None
    widths: tuple[tuple[str, float], ...]
    numbers: tuple[str, ...]  # of a point
    is_clickable: bool

    @property
    def menus(self) -> list[NameColumn]:
        """The columns with a menu: those with several values that are neither lines nor panels nor kinds of marks."""
        others = (self.line.name, self.panels, "part", *(self.dots or ())[:1])
        return [one for one in self.columns if one.name not in others and one.has_several]

    def column(self, name: str | None) -> NameColumn:
        """Return the column of a name."""
        return next(column for column in self.columns if column.name == name)


def draw(figure: LineFigure, title: str, note: str) -> OfflineChart:
    """Return the chart of a figure; screen readers say title and note."""
    layout = lay_out(figure)
    data = {CURVES: rows_of(figure, layout)}
    if layout.panels:
        return parts.filled(draw_panels(layout), title, note, data)
    return parts.filled(draw_layout(layout), title, note, data)


def lay_out(
    figure: LineFigure,
    levels: pd.DataFrame | None = None,
    *,
    bottom: float | None = None,
    clickable: bool = False,
) -> Layout:
    """Lay the chart of a figure out; ``clickable`` is for a page that listens to clicks on points.

    ``levels`` are level lines: a name in the column of the lines, with ``accuracy`` and ``low``.
    """
    rows, y = figure.named, figure.y
    drawn = rows if levels is None else pd.concat([rows, levels])
    of_levels = () if levels is None else tuple(dict.fromkeys(levels[figure.line].astype(str)))
    own = figure.names | {name: name for name in of_levels}
    kinds = [*(figure.dots or ())[:1], *(["part"] if figure.widths else [])]
    names = [name for name in dict.fromkeys((*figure.menus, figure.line, figure.panel, *kinds)) if name]
    line = NameColumn(figure.line, _title(figure.line), tuple(own.values()), tuple(figure.look(own).values()))
    columns = tuple(NameColumn(name, _title(name), tuple(figure.values(name))) for name in names)
    numbers = dict.fromkeys(
        (figure.x.column, y.column, *(name for name in (LOW, HIGH, *_NUMBERS) if name in rows))
    )
    place = rows[figure.x.column]
    return Layout(
        x=figure.x,
        y=y,
        columns=columns,
        line=line,
        panels=figure.panel,
        levels=of_levels,
        ends=_ends(figure.x, place),
        bottom=percent_bottom(figure.lowest(drawn)) if bottom is None else bottom,
        has_untrained=bool(place.eq(0).any()),
        has_band=bool(LOW in rows and rows[LOW].notna().any()),
        has_partial=bool("whole" in rows and not rows["whole"].all()),
        has_markers=figure.has_markers,
        dots=figure.dots,
        widths=tuple(figure.widths.items()),
        numbers=tuple(numbers),
        is_clickable=clickable,
    )


def rows_of(figure: LineFigure, layout: Layout) -> Rows:
    """Write the rows of a figure as the data of its chart."""
    scale = 100 if layout.y.is_percent else 1
    heights = [name for name in (layout.y.column, LOW, HIGH) if name in layout.numbers]
    rows = figure.named.assign(**{name: scale * figure.named[name].astype(float) for name in heights})
    return parts.nest(rows, [column.name for column in layout.columns], layout.numbers)


def draw_layout(layout: Layout, *, is_one: bool = True) -> LayeredChart:
    """Return the chart of a layout in one panel, without its data; it may be one of several."""
    line = layout.line
    height = axes.HEIGHT if is_one else str(parts.panel_size(layout.column(layout.panels))[1])
    x = _across(layout)
    base = alt.Chart().encode(x=x if is_one else x.title(None), y=_up(layout, layout.y.column, height))
    joined = (
        base if layout.dots is None else base.transform_filter(f"datum.{layout.dots[0]} !== '{layout.dots[1]}'")
    )
    has_untrained = layout.has_untrained and layout.x.scale == "tokens"
    untrained = axes.untrained_place(TokenAxis(layout.ends)) if has_untrained else []
    # Where a page listens to clicks on points, they isolate no line.
    choices = parts.zoom_and_legend(line, by_line=not layout.is_clickable, zoom=is_one)
    y, numbers = layout.y, [name for name in ("runs", "n", "step") if name in layout.numbers]
    form = ".2f" if y.is_percent else ".4~f"
    band = alt.Tooltip(field="band", type="nominal", title="Band (%)" if y.is_percent else "Band")
    tips = [
        *parts.tips(column.name for column in layout.columns),
        alt.Tooltip(field=y.column, type="quantitative", title=y.label, format=form),
        *([band] if layout.has_band else []),
        *parts.tips(dict.fromkeys((*numbers, layout.x.column))),
    ]
    marks = [
        *_level(layout),
        *untrained[: 2 if is_one else 1],  # in panels no label
        *_band_and_line(joined, layout, _up(layout, LOW, height) if layout.has_band else None, choices),
        *([_levels(line).encode(opacity=parts.opacity(line))] if layout.levels else []),
        *_points(base, layout, _SIZE if is_one else _SIZE_IN_PANELS),
        parts.rings(base, line, tips, [line.name, "step"] if layout.is_clickable else None),
    ]
    chart = _with_place(parts.layered(marks, layout.menus, line, layout.numbers), layout)
    return parts.with_band_text(chart, form) if layout.has_band else chart


def draw_panels(layout: Layout) -> PanelChart:
    """Return the chart of a layout with a panel for each value of a column, without its data."""
    title = axes.TOKENS if layout.x.scale == "tokens" else layout.x.label
    if layout.has_untrained and layout.x.scale == "tokens":
        title = f"{title}; dashed: untrained"
    return parts.in_panels(draw_layout(layout, is_one=False), layout.column(layout.panels), title)


def draw_small(layout: Layout) -> LayeredChart:
    """Return one small panel of accuracies without its data, for a page that puts many of them beside each other.

    The page writes titles and the legend; it sets the parameters ``at``, the step that is marked, and ``alone``, the
    line that is seen alone.
    """
    axis, line = TokenAxis(layout.ends), layout.line
    base = alt.Chart().encode(x=axes.token_axis(axis).title(None), y=axes.percent_axis(layout.bottom).title(None))
    colored = base.encode(color=parts.color(line, has_legend=False), opacity=parts.opacity_alone(line))
    dashes = parts.dashes(line, has_legend=False)
    band = colored.encode(y=axes.percent_axis(layout.bottom, LOW), y2=HIGH)
    chosen = "datum.step === at"
    marks = [
        *_level(layout),
        *(axes.untrained_place(axis, "0") if layout.has_untrained else []),
        base.mark_rule(style="chosen", aria=False).encode(y=alt.Undefined).transform_filter(chosen),
        *([band.mark_area(clip=True, aria=False, fillOpacity=parts.BAND)] if layout.has_band else []),
        colored.mark_line(clip=True, aria=False).encode(strokeDash=dashes),
        *([_levels(line, has_legend=False).encode(opacity=parts.opacity_alone(line))] if layout.levels else []),
        colored.mark_point(clip=True, aria=False, filled=True, size=34).transform_filter(chosen),
    ]
    return _with_place(parts.small(marks, layout.numbers), layout)


def _title(name: str) -> str:
    return TITLES.get(name, name.capitalize())


def _ends(x: Across, values: pd.Series) -> tuple[float, float]:
    if x.scale == "tokens":
        axis = TokenAxis(values)
        return axis.first, axis.last
    return float(values.min()), float(values.max())


def _across(layout: Layout) -> alt.X:
    """Return the horizontal axis of a layout."""
    x = layout.x
    if x.scale == "tokens":
        return axes.token_axis(TokenAxis(layout.ends))
    if x.scale == "log":
        return axes.log_axis(x.column, axes.TOKENS if x.column == "tokens" else x.label, layout.ends)
    return axes.linear_axis(x.column, x.label, layout.ends, falling=x.scale == "falling")


def _up(layout: Layout, field: str, height: str) -> alt.Y:
    """Return the vertical axis of a layout for one field, such as the lower end of a band."""
    y = layout.y
    if y.is_percent:
        return axes.percent_axis(layout.bottom, field, height).title(y.label)
    # An end that is not given follows the data, also those that a menu or a page puts in later.
    least, most = (alt.Undefined if end is None else end for end in (y.least, y.most))
    scale = alt.Scale(zero=False, nice=False, padding=6, domainMin=least, domainMax=most)
    return alt.Y(field=field, type="quantitative", title=y.label, scale=scale)


def _level(layout: Layout) -> list[alt.Chart]:
    y = layout.y
    return [] if y.level is None else [axes.level_line(100 * y.level if y.is_percent else y.level)]


def _with_place(chart: LayeredChart, layout: Layout) -> LayeredChart:
    # Step 0 has no place on a log axis, and is drawn at one of its own.
    if layout.x.scale != "tokens":
        return chart
    return chart.transform_calculate(place=axes.token_place(TokenAxis(layout.ends)))


def _band_and_line(
    joined: alt.Chart, layout: Layout, low: alt.Y | None, choices: Sequence[alt.Parameter]
) -> list[alt.Chart]:
    """Return the band, where its lower end is given, and the line, with what a reader chooses by pointer."""
    line = layout.line
    colored = joined.encode(color=parts.color(line))
    mean = colored.mark_line(clip=True, aria=False).encode(
        strokeDash=parts.dashes(line), opacity=parts.opacity(line)
    )
    band = colored.mark_area(clip=True, aria=False)
    if layout.widths:
        mean, band = mean.encode(strokeWidth=parts.widths(dict(layout.widths))), band.encode(detail="part:N")
    if layout.x.scale == "falling":  # a loss may rise again on the way, and the line follows training
        mean = mean.encode(order="step:Q")
    mean = mean.add_params(*choices)
    if low is None:
        return [mean]
    return [band.encode(y=low, y2=HIGH, opacity=parts.opacity(line, parts.BAND, of_band=True)), mean]


def _points(base: alt.Chart, layout: Layout, size: int) -> list[alt.Chart]:
    """Return the points; open ones, where there are partial ones, stand for only some of a line's runs."""
    if layout.dots is not None:
        base = base.transform_filter(f"datum.{layout.dots[0]} === '{layout.dots[1]}'")
    elif not layout.has_markers:
        return []
    line = layout.line
    colored = parts.with_markers(base.encode(color=parts.color(line), opacity=parts.opacity(line)), line)
    filled = colored.mark_point(clip=True, aria=False, filled=True, size=size)
    some = colored.mark_point(clip=True, aria=False, style="partial", size=size, strokeWidth=1)
    return [filled, some.transform_filter("!datum.whole")] if layout.has_partial else [filled]


def _levels(line: NameColumn, *, has_legend: bool = True) -> alt.Chart:
    """Return the level lines of models without checkpoints, which are rows of their own data."""
    rule = alt.Chart(alt.NamedData(LEVELS)).mark_rule(strokeWidth=1.2, clip=True)
    color, tooltip = parts.color(line, has_legend=has_legend), parts.tips([line.name, "accuracy"])
    levels: alt.Chart = rule.encode(y="accuracy:Q", color=color, tooltip=tooltip)
    return levels
