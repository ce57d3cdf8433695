"""Interactive charts of a benchmark's learning curves, from the same tables as the figures for papers."""

from collections.abc import Iterable
from dataclasses import replace

import pandas as pd

from ucurve.analysis.charts.curves import Lines, learning_chart
from ucurve.analysis.charts.offline import OfflineChart
from ucurve.analysis.curves.learning import curve_table
from ucurve.analysis.data.study import BenchmarkScores
from ucurve.analysis.plotting.figures import Drawing
from ucurve.analysis.plotting.line_styles import NUMBERED, LineStyles

MOST_ROWS = 20_000  # of a chart: with more of them a page is slow and large
_LINES: tuple[Lines, ...] = ("line", "phenomenon")  # of the overall figure, and of the one by phenomenon


def curve_tables(scored: BenchmarkScores, linking: str | None = None) -> pd.DataFrame:
    """Return ``curve_table`` for every linking function of a benchmark, named in a column ``linking``.

    The one that is given, or that of the figures, comes first. It is the only one where the rows of all would be more
    than ``MOST_ROWS``.
    """
    rows = scored.drawn_rows
    rows = rows[(rows["split"] == "all") & (rows["step"] >= 0)]
    first = linking or scored.linking
    others = sorted(set(rows["linking"].astype(str)) - {first})
    functions = [first, *(others if len(rows) <= MOST_ROWS else [])]
    tables = [curve_table(rows[rows["linking"] == name], scored.study.runs).assign(linking=name) for name in functions]
    return pd.concat(tables, ignore_index=True)


def curve_chart(table: pd.DataFrame, title: str, note: str, lines: Lines, look: LineStyles = NUMBERED) -> OfflineChart:
    """Return the chart of the rows of ``curve_tables`` with the lines asked for."""
    table = table[table["phenomenon"] != ""]
    overall = table["phenomenon"] == "all"
    if lines == "phenomenon":
        table = table[~overall]
    elif table["line"].nunique() == 1:
        table = table[overall]
    # Several lines of runs can be compared within a phenomenon too, as in the panels of the figure on paper.
    return learning_chart(table, title, note, lines, look)


def add_learning_charts(drawings: Iterable[Drawing], scored: BenchmarkScores) -> list[Drawing]:
    """Give the drawings of ``draw_learning_curves``, overall and by phenomenon, the chart of each."""
    table, more = curve_tables(scored), ""
    if table["linking"].nunique() < scored.rows["linking"].nunique():
        more = f" The chart has {scored.linking} alone: all linking functions would make more than {MOST_ROWS:,} rows."
    noted = [replace(drawing, note=drawing.note + more) for drawing in drawings]
    return [
        replace(drawing, chart=curve_chart(table, drawing.title, drawing.note, lines, scored.study.look))
        for drawing, lines in zip(noted, _LINES, strict=False)
    ]
