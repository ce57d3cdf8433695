"""Figures of equal panels with shared axes: the sheet they stand on, and the one loop that draws all of them."""

import math
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text
from numpy.typing import ArrayLike

from ucurve.analysis.plotting.figures import Drawing
from ucurve.analysis.plotting.style import (
    MOST_BANDS,
    ONE_COLUMN,
    TWO_COLUMNS,
    LineStyle,
    TokenAxis,
    drawing_style,
    lowest_of,
    percent_axis,
    readable,
)

Panels = Sequence[tuple[str, pd.DataFrame]]  # the title and the rows of each panel
OVER_RUNS = "1 sample sd over runs"

# The layout is computed in inches rather than solved for: it repeats exactly, and draws in a quarter of the time of a
# layout engine. Only the room for the labels of vertical ticks depends on what is drawn.
# On the left it is the least, which is enough for percents.
_LEFT, _RIGHT, _TOP, _TITLE, _TITLE_LINE = 0.46, 0.1, 0.08, 0.16, 0.11
_TICK, _GAP = 7 / 72, 0.015  # a tick with its padding; between tick labels and the label of the axis
_BETWEEN_COLUMNS, _BETWEEN_ROWS = 0.16, 0.36
_UNDER_PANELS, _NOTE_LINE, _LEGEND_LINE, _EDGE = 0.42, 0.1, 0.118, 0.06
_LEGEND_CHARACTERS, _NOTE_CHARACTERS = 17, 20  # per inch, at their sizes


def panels_by(
    table: pd.DataFrame, column: str, values: Iterable[str] | None = None, title: Callable[[str], str] = readable
) -> Panels:
    """Give each value of a column a panel, in the order given or in which they come."""
    names = table[column].astype(str)
    return [(title(value), table[names == value]) for value in (names.unique() if values is None else values)]


def draw_panels(
    panels: Panels,
    draw: Callable[[Axes, pd.DataFrame], None],
    labels: tuple[str, str],
    note: str,
    legend: Mapping[str, Artist] | None = None,
    *,
    across: int = 4,
    title_lines: int = 1,
) -> Figure:
    """Draw every panel by a function that draws rows and sets axes, with a legend of one sample for each label.

    At most ``across`` panels stand side by side; titles have so many lines.
    """
    above = _TITLE + _TITLE_LINE * (title_lines - 1) if any(title for title, _ in panels) else 0.0
    with drawing_style():
        sheet = Sheet(len(panels), legend or {}, note, across, above)
        for axes, (title, rows) in zip(sheet.panels, panels, strict=True):
            axes.set_title(title, pad=3, parse_math=False)
            draw(axes, rows)
        return sheet.finish(*labels)


def draw_over_tokens(
    table: pd.DataFrame,
    panels: Panels,
    draw: Callable[[Axes, pd.DataFrame, TokenAxis], None],
    note: str,
    legend: Mapping[str, Artist],
    label: str | None = None,
    *,
    across: int = 4,
    title_lines: int = 1,
) -> Figure:
    """Draw something against training tokens, on axes that all panels share.

    They are set by the rows of ``table``: ``tokens``, for accuracies also ``accuracy`` and ``low``. With a ``label`` of
    the vertical axis ``draw`` sets its limits; without one it is accuracies in percent.
    """
    axis, single = TokenAxis(table["tokens"]), len(panels) == 1

    def draw_panel(axes: Axes, rows: pd.DataFrame) -> None:
        axis.apply(axes, most_ticks=7 if single else 3, minor=single)
        draw(axes, rows, axis)
        if label is None:
            percent_axis(axes, lowest_of(table))

    labels = ("Training tokens (log scale, 0 set apart)", label or "Accuracy (%)")
    return draw_panels(panels, draw_panel, labels, note, legend, across=across, title_lines=title_lines)


def draw_line(
    axes: Axes, style: LineStyle, x: ArrayLike, y: ArrayLike, band: tuple[ArrayLike, ArrayLike],
    marker: str | None = None, markersize: float | None = None,
) -> None:  # fmt: skip
    """Draw a line and, where few lines have one, the band around it, from its lower to its upper end."""
    if style.has_band:
        axes.fill_between(x, *band, color=style.color, alpha=0.18, linewidth=0)
    axes.plot(x, y, color=style.color, linestyle=style.dashes, marker=marker, markersize=markersize)


def line_legend(
    styles: Mapping[str, LineStyle], table: pd.DataFrame | None = None, line: str = "line"
) -> dict[str, Artist]:
    """Make the legend of some lines; a table names those whose rows count several runs with their number."""
    names = {name: name for name in styles} if table is None else line_names(styles, table, line)
    has_markers = len({style.marker for style in styles.values()}) > 1
    return {
        names[name]: Line2D(
            [],
            [],
            color=style.color,
            linestyle=style.dashes,
            marker=style.marker if has_markers else "",
            markersize=3,
        )
        for name, style in styles.items()
    }


def line_names(
    lines: Iterable[str], table: pd.DataFrame, line: str = "line", counted: Sequence[str] = ("runs",)
) -> dict[str, str]:
    """Name the lines of a table for a legend, with the number of runs, or what else rows count, where it is several."""
    counts = {what: table.groupby(line, sort=False)[what].max().dropna().astype(int) for what in counted}
    names = {}
    for name in lines:
        told = [f"{count[name]} {what}" for what, count in counts.items() if count.get(name, 1) > 1]
        names[name] = f"{name} ({', '.join(told)})" if told else name
    return names


def overall_and_phenomena(
    table: pd.DataFrame, name: str, what: str, note: str, draw: Callable[[pd.DataFrame, Panels], Figure]
) -> list[Drawing]:
    """Draw the overall figure (rows of phenomenon ``all``) and, where there are phenomena, a panel for each."""
    overall = table[table["phenomenon"] == "all"]
    figure = draw(overall, [("", overall)])
    drawings = [Drawing(f"{name}_overall", f"{what}, overall", note, figure, overall)]
    phenomena = sorted(set(table["phenomenon"].astype(str)) - {"all", ""}, key=str.casefold)
    if phenomena:
        rows = table[table["phenomenon"].isin(phenomena)]
        figure = draw(rows, panels_by(rows, "phenomenon", phenomena))
        drawings.append(Drawing(f"{name}_phenomena", f"{what} by phenomenon", note, figure, rows))
    return drawings


class Sheet:
    """A figure of equal panels with shared axes, one legend below, and one note that says how to read it.

    It is one column wide for one panel, two columns for more; ``panels`` are in order, row by row.
    """

    def __init__(
        self, panels: int, legend: Mapping[str, Artist], note: str, across: int = 4, above: float = 0
    ) -> None:
        """Lay out a sheet with a sample for each label of the legend, and a note below the label of the axis.

        ``above`` are the inches that titles take.
        """
        self._legend = legend
        if len(legend) > MOST_BANDS and "band" in note.lower():  # else a reader would look for the others
            note = f"{note.rstrip('.')}. Bands are drawn for at most {MOST_BANDS} lines."
        across = self._across = min(panels, across)
        self._rows = math.ceil(panels / across)
        width = ONE_COLUMN if panels == 1 else TWO_COLUMNS
        self._note = textwrap.wrap(note, int(_NOTE_CHARACTERS * width))
        self._per_row = max(1, int(_LEGEND_CHARACTERS * width / (7 + max(map(len, legend), default=0))))
        height = min(2.0, 0.68 * _panel_width(width, across, _LEFT))
        bottom = self._legend_height + _NOTE_LINE * len(self._note) + _UNDER_PANELS
        top = _TOP + above
        total = bottom + self._rows * height + (self._rows - 1) * _BETWEEN_ROWS + top
        self.figure = Figure(figsize=(width, total))
        FigureCanvasAgg(self.figure)
        self.figure.subplots_adjust(
            bottom=bottom / total, right=1 - _RIGHT / width, top=1 - top / total, hspace=_BETWEEN_ROWS / height
        )
        grid = self.figure.subplots(self._rows, across, sharex=True, sharey=True, squeeze=False)
        every: list[Axes] = list(grid.flat)
        for spare in every[panels:]:
            spare.set_axis_off()
        for axes in every[max(0, panels - across) : panels]:  # with nothing below them
            axes.xaxis.set_tick_params(labelbottom=True)
        self.panels = every[:panels]

    def finish(self, x_label: str, y_label: str) -> Figure:
        """Add labels, note and legend, and return the figure."""
        width, height = self.figure.get_size_inches()
        base = self._legend_height / height
        center = (self.figure.subplotpars.bottom + self.figure.subplotpars.top) / 2
        label = self.figure.text(_EDGE / width, center, y_label, rotation=90, ha="left", va="center")
        axis = self.panels[0].yaxis  # which all panels share
        for _ in range(2):  # panels of their final size may have other ticks, with longer labels
            low, high = sorted(axis.get_view_interval())
            ticks = zip(axis.get_majorticklocs(), axis.get_majorticklabels(), strict=True)
            shown = [self._inches_wide(text) for place, text in ticks if low <= place <= high]
            left = max(_LEFT, _EDGE + self._inches_wide(label) + _GAP + max(shown, default=0.0) + _TICK)
            self.figure.subplots_adjust(
                left / width, wspace=_BETWEEN_COLUMNS / _panel_width(width, self._across, left)
            )
        middle = (left + width - _RIGHT) / 2 / width
        above_note = base + (_NOTE_LINE * len(self._note) + 0.03) / height
        self.figure.text(middle, above_note, x_label, ha="center", va="bottom")
        note = "\n".join(self._note)
        self.figure.text(0.5, base, note, ha="center", va="bottom", fontsize=6, color="0.25", linespacing=1.1)
        if self._legend:
            legend = self.figure.legend(
                list(self._legend.values()),
                list(self._legend),
                loc="lower center",
                ncols=self._per_row,
                bbox_to_anchor=(0.5, 0),
                borderpad=0.2,
                labelspacing=0.25,
                handlelength=2.2,
            )
            for text in legend.get_texts():
                text.set_parse_math(False)
        return self.figure

    def _inches_wide(self, text: Text) -> float:
        return text.get_window_extent().width / self.figure.dpi

    @property
    def _legend_height(self) -> float:
        return _LEGEND_LINE * math.ceil(len(self._legend) / self._per_row) + _EDGE


def _panel_width(width: float, across: int, left: float) -> float:
    return (width - left - _RIGHT - (across - 1) * _BETWEEN_COLUMNS) / across
