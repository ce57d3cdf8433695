"""Interactive charts of a benchmark's curves and of the loss, from the same tables as the figures for papers."""

import dataclasses
from collections.abc import Callable, Iterable

import pandas as pd

from analysis.charts.curves import Lines, flops_chart, learning_chart, loss_chart
from analysis.charts.spec import Spec
from analysis.curves.learning import curve_table
from analysis.data.study import BenchmarkScores
from analysis.plotting.figures import Drawing

MOST_ROWS = 20_000  # of a chart: with more of them a page is slow and large


def curve_tables(scored: BenchmarkScores) -> pd.DataFrame:
    """Return ``curve_table`` for every linking function of a benchmark, named in a column ``linking``.

    The linking function of the figures comes first. Where the rows would be more than ``MOST_ROWS``, it is the only one.
    """
    rows = scored.rows
    rows = rows[(rows["split"] == "all") & (rows["step"] >= 0)]
    functions = [scored.linking, *sorted(set(rows["linking"].astype(str)) - {scored.linking})]
    if len(rows) > MOST_ROWS:
        functions = [scored.linking]
    tables = [(name, rows[rows["linking"] == name]) for name in functions]
    runs = scored.study.runs
    return pd.concat([curve_table(part, runs).assign(linking=name) for name, part in tables], ignore_index=True)


def add_learning_charts(drawings: Iterable[Drawing], scored: BenchmarkScores) -> list[Drawing]:
    """Give the drawings of ``draw_learning_curves``, overall and by phenomenon, the chart of each."""
    table = curve_tables(scored)
    overall = table["phenomenon"] == "all"
    several = table["group"].nunique() > 1
    # Lines of runs can be compared within a phenomenon too, as in the panels of the figure on paper.
    tables = {"group": table if several else table[overall], "phenomenon": table[~overall]}
    more = "" if table["linking"].nunique() == scored.rows["linking"].nunique() else (
        f" The chart shows {scored.linking} alone: with all linking functions it would have over {MOST_ROWS:,} rows."
    )  # fmt: skip
    lines: tuple[Lines, ...] = ("group", "phenomenon")
    return [
        _with_chart(drawing, lambda title, note, by=by: learning_chart(tables[by], title, note, by, scored.linking), more)
        for drawing, by in zip(drawings, lines, strict=False)
    ]


def add_flops_charts(drawings: Iterable[Drawing]) -> list[Drawing]:
    """Give the drawings of ``draw_flops_curves`` the chart of each."""
    return [_with_chart(one, lambda title, note, one=one: flops_chart(one.table, title, note)) for one in drawings]


def add_loss_chart(drawing: Drawing) -> Drawing:
    """Give the drawing of ``draw_loss_curves`` its chart."""
    return _with_chart(drawing, lambda title, note: loss_chart(drawing.table, title, note))


def _with_chart(drawing: Drawing, make: Callable[[str, str], Spec], more: str = "") -> Drawing:
    note = drawing.note + more
    return dataclasses.replace(drawing, note=note, chart=make(drawing.title, note))
