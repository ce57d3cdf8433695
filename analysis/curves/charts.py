"""What pages show of a benchmark's learning curves beyond the figures for papers."""

from dataclasses import replace

import pandas as pd

from ucurve.analysis.curves.learning import curve_table, learning_figure
from ucurve.analysis.data.study import BenchmarkScores
from ucurve.analysis.figures.described import LineFigure
from ucurve.analysis.plotting.line_styles import NUMBERED, LineStyles

MOST_ROWS = 20_000  # of a chart: with more of them a page is slow and large
MOST_LINES = 6  # of one panel


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


def value_figure(table: pd.DataFrame, column: str, look: LineStyles = NUMBERED) -> LineFigure:
    """Describe a line for each value of a column, with a menu of the lines of runs.

    More than six values have a panel each, with the runs as lines.
    """
    figure = learning_figure(table, look)
    menus = tuple(name for name in ("linking", "line") if name in table)
    if table[column].nunique() > MOST_LINES:
        return replace(figure, by=column, menus=menus[:-1])
    return replace(figure, line=column, menus=menus, counted=())


def note_one_function(scored: BenchmarkScores, table: pd.DataFrame) -> str:
    """Say so where the chart of ``curve_tables`` has one linking function of several."""
    if table["linking"].nunique() == scored.rows["linking"].nunique():
        return ""
    return f" The chart has {scored.linking} alone: all linking functions would make more than {MOST_ROWS:,} rows."
