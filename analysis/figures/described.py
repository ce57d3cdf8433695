"""What a figure of lines shows, said once: its axes, lines, bands, points and panels."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import pandas as pd

from ucurve.analysis.plotting.facets import line_names, panels_by
from ucurve.analysis.plotting.style import NUMBERED, LineStyle, LineStyles, phenomenon_name, phenomenon_order

PANEL = "panel"  # the column of panels by a factor
LOW, HIGH = "low", "high"  # the columns of the band
_WIDEST_BAND = 0.8  # of accuracies; a wider one says nothing
_WIDE = "Bands wider than 80 points at most checkpoints are left out, as they would be the whole axis."


@dataclass(frozen=True)
class Across:
    """The horizontal axis."""

    column: str
    label: str
    scale: Literal["tokens", "log", "linear", "falling"] = "linear"  # tokens: log, with a place of its own for 0


@dataclass(frozen=True)
class Up:
    """The vertical axis."""

    column: str
    label: str
    level: float | None = None  # of a dotted line
    is_percent: bool = False  # accuracies, up to 100 %
    least: float | None = None  # where the axis begins, if not at the lowest number
    most: float | None = None


TOKENS = Across("tokens", "Training tokens (log scale, 0 set apart)", "tokens")
FLOPS = Across("flops", "Training FLOPs (6ND, log scale)", "log")
TRAINED = Across("tokens", "Training tokens (log scale)", "log")
ACCURACY = Up("accuracy", "Accuracy (%)", 0.5, is_percent=True)


@dataclass(frozen=True, eq=False)
class LineFigure:
    """A figure of lines.

    ``rows`` has a row for each point: the column ``line`` and those of the axes, for bands ``low`` and ``high``, and
    ``whole``, false where an open point stands for only some of the runs of a line. Rows of a line are joined by ``x``.
    """

    rows: pd.DataFrame
    x: Across
    y: Up
    note: str  # what lines, bands and points are
    look: LineStyles = NUMBERED
    line: str = "line"  # the column whose values are the lines
    by: str | None = None  # the column that has a panel for each value; None: one panel, or those of the look
    titles: Callable[[str], str] = str  # the title of the panel of a value, on paper
    menus: tuple[str, ...] = ()  # columns of which a page has a menu; on paper their first values are drawn
    has_points: bool = False  # whether every point has a marker; without, only those of lines that differ in it
    dots: tuple[str, str] | None = None  # a column, and its value in the rows that are dots and not joined
    widths: Mapping[str, float] = field(default_factory=dict)  # of the values of ``part``, each a line of its own
    counted: tuple[str, ...] = ("runs",)  # columns with what a line is the mean of, told in its name
    across: int = 4  # panels side by side on paper

    @cached_property
    def names(self) -> dict[str, str]:
        """The name of each line in the legend; those of the study stand in its order."""
        places = {name: place for place, name in enumerate(self.look.of_line)}
        found = self.rows[self.line].dropna().astype(str).unique()
        lines = sorted(found, key=lambda name: places.get(name, len(places)))
        if self.line == "phenomenon":
            return {name: phenomenon_name(name) for name in sorted(lines, key=str.casefold)}
        return line_names(lines, self.rows, self.line, self.counted)

    @cached_property
    def styles(self) -> dict[str, LineStyle]:
        """The style of each line by its name in the legend."""
        return {self.names[line]: style for line, style in self.look(self.names).items()}

    @cached_property
    def has_markers(self) -> bool:
        """Whether the points of all lines have markers."""
        return self.has_points or len({style.marker for style in self.styles.values()}) > 1

    @cached_property
    def panel(self) -> str | None:
        """The column of the panels."""
        of_lines = {self.look.panel_of.get(line) for line in self.names}
        return self.by or (PANEL if len(of_lines) > 1 and None not in of_lines else None)

    @cached_property
    def named(self) -> pd.DataFrame:
        """The rows with the names that are shown, without bands that would be the whole axis."""
        lines = self.rows[self.line].astype(str)
        table = self.rows.assign(**{self.line: lines.map(self.names)})
        if self.panel == PANEL:
            table[PANEL] = lines.map(self.look.panel_of)
        if "phenomenon" in table and self.line != "phenomenon":
            table["phenomenon"] = table["phenomenon"].astype(str).map(phenomenon_name)
        return table.assign(**{end: table[end].mask(self._is_wide) for end in (LOW, HIGH) if end in table})

    @cached_property
    def _is_wide(self) -> "pd.Series[bool]":
        """Whether the band of a row's curve spans more than 80 points at more than half of its points."""
        if not (self.y.is_percent and LOW in self.rows):
            return pd.Series(data=False, index=self.rows.index)
        span = self.rows[HIGH] - self.rows[LOW]
        wide = (span > _WIDEST_BAND).astype(float).where(span.notna())
        keys = dict.fromkeys((self.line, self.by or self.line, *self.menus))
        return wide.groupby([self.rows[name] for name in keys], dropna=False).transform("mean") > 0.5

    def with_reasons(self, note: str) -> str:
        """Say in a note why bands are left out, where some are."""
        return f"{note.rstrip('.')}. {_WIDE}" if self._is_wide.any() else note

    def values(self, name: str) -> list[str]:
        """Return the values of a column in order: of phenomena all together first, then by the alphabet."""
        found = list(dict.fromkeys(self.named[name].dropna().astype(str)))
        if name == PANEL:
            return [level for level in dict.fromkeys(self.look.panel_of.values()) if level in found]
        return sorted(found, key=phenomenon_order) if name == "phenomenon" else found

    @cached_property
    def on_paper(self) -> pd.DataFrame:
        """The rows that are drawn on paper."""
        table = self.named
        for name in self.menus:
            # Panels show every value of their column, also where a page has a menu of it.
            table = table if name == self.panel else table[table[name].astype(str) == self.values(name)[0]]
        return table

    @property
    def panels(self) -> list[tuple[str, pd.DataFrame]]:
        """The title and the rows of each panel on paper."""
        if self.panel is None:
            return [("", self.on_paper)]
        return [*panels_by(self.on_paper, self.panel, self.values(self.panel), self.titles)]

    def lowest(self, rows: pd.DataFrame) -> float:
        """Return the lowest number of some rows, of bands too; NaN where there is none."""
        return float(rows[[name for name in (LOW, self.y.column) if name in rows]].min().min())
