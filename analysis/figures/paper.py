"""Figures of lines for paper, drawn with matplotlib."""

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike

from ucurve.analysis.figures.described import HIGH, LOW, LineFigure
from ucurve.analysis.plotting.facets import draw_panels, line_legend
from ucurve.analysis.plotting.style import (
    DOTTED,
    LineStyle,
    TokenAxis,
    log_axis,
    percent_axis,
    power_label,
    token_label,
)

_TICK_LABELS = {"tokens": token_label, "flops": power_label}  # of logarithmic axes
_LARGE, _SMALL = 2.2, 1.2  # markers of one panel, and of several


def draw(figure: LineFigure) -> Figure:
    """Draw all panels of a figure, with the legend below."""
    panels = figure.panels
    return draw_panels(
        panels,
        lambda axes, rows: draw_panel(axes, figure, rows, is_one=len(panels) == 1),
        (figure.x.label, figure.y.label),
        figure.with_reasons(figure.note),
        legend_of(figure),
        across=figure.across,
    )


def legend_of(figure: LineFigure) -> dict[str, Artist]:
    """Return a sample for each line, and for each width."""
    lines: dict[str, Artist] = line_legend(figure.styles)
    return lines | {part: Line2D([], [], color="0.3", linewidth=width) for part, width in figure.widths.items()}


def draw_panel(axes: Axes, figure: LineFigure, rows: pd.DataFrame | None = None, *, is_one: bool) -> None:
    """Draw the rows of a panel, or all, and set its axes, which are those of all panels of the figure."""
    rows = figure.on_paper if rows is None else rows
    values = figure.on_paper[figure.x.column]
    if figure.x.scale == "tokens":
        TokenAxis(values).apply(axes, most_ticks=7 if is_one else 3, minor=is_one)
    elif figure.x.scale == "log":
        log_axis(axes, values, _TICK_LABELS[figure.x.column], most_ticks=7 if is_one else 4, minor=is_one)
    elif figure.x.scale == "falling":
        axes.set_xlim(values.max() + 0.1, values.min() - 0.1)
    for name, style in figure.styles.items():
        line = rows[rows[figure.line] == name].sort_values(
            "step" if "step" in rows else figure.x.column, kind="stable"
        )
        parts: list[tuple[float | None, pd.DataFrame]] = [(None, line)]
        if figure.widths:
            parts = [(width, line[line["part"] == part]) for part, width in figure.widths.items()]
        for width, part in parts:
            joined = part if figure.dots is None else part[part[figure.dots[0]] != figure.dots[1]]
            x = _places(figure, joined)
            if style.has_band and LOW in joined:
                axes.fill_between(x, joined[LOW], joined[HIGH], color=style.color, alpha=0.18, linewidth=0)
            axes.plot(x, joined[figure.y.column], color=style.color, linestyle=style.dashes, linewidth=width)
            _draw_points(axes, figure, part, style, _LARGE if is_one else _SMALL)
    if figure.y.is_percent:
        percent_axis(axes, figure.lowest(figure.on_paper))
    else:
        if figure.y.level is not None:
            axes.axhline(figure.y.level, **DOTTED)
        axes.set_ylim(figure.y.least, figure.y.most, auto=True)  # what is not given follows all panels


def _draw_points(axes: Axes, figure: LineFigure, rows: pd.DataFrame, style: LineStyle, size: float) -> None:
    """Draw the points of a line; open ones stand for only some of its runs."""
    dots = rows if figure.has_markers else rows[:0]
    if figure.dots:
        dots = rows[rows[figure.dots[0]] == figure.dots[1]]
    x, whole = _places(figure, dots), dots.get("whole", pd.Series(data=True, index=dots.index))
    for is_whole, face in ((True, style.color), (False, "white")):
        points = dots[figure.y.column].where(whole == is_whole)
        if points.notna().any():
            axes.plot(
                x,
                points,
                style.marker,
                color=style.color,
                markerfacecolor=face,
                markersize=size,
                markeredgewidth=0.6,
            )


def _places(figure: LineFigure, rows: pd.DataFrame) -> ArrayLike:
    values = rows[figure.x.column]
    return TokenAxis(figure.on_paper["tokens"]).places(values) if figure.x.scale == "tokens" else values
