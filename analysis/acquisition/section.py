"""When phenomena are learned, in the report: the order of each line and whether orders agree."""

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
import pandas as pd

from ucurve.analysis.acquisition.agreement import AGREEMENT_COLUMNS, differences, mean_agreement, order_agreement
from ucurve.analysis.acquisition.order import (
    FROM_START,
    LEARNED,
    LEVEL,
    TOO_FEW,
    Order,
    acquisition_order,
    find_order,
    is_first,
)
from ucurve.analysis.data.frames import stack
from ucurve.analysis.data.study import BenchmarkScores
from ucurve.analysis.plotting.style import readable
from ucurve.analysis.report import questions
from ucurve.analysis.report.html import Column, ReportSection, TableView
from ucurve.analysis.shape.classify import Row
from ucurve.analysis.shape.section import read_shapes

_ORDER = (
    Column("name", "Model"), Column("rank", "Rank (95 %)", "number", ("rank_low", "rank_high")),
    Column("phenomenon", "Phenomenon"), Column("learned", "Learned at (tokens)"),
    Column("p_before_next", "Before the next", "number"), Column("half", "Half way (tokens)"),
    Column("untrained", "Untrained (%)", "percent"),
)  # fmt: skip
_NOTE = (
    f"Learned at: the tokens at which the accuracy comes above {100 * LEVEL:.0f} % to stay, with its 95 % interval; "
    '"at most" where the interval reaches the first checkpoint. Half way: the tokens at which it comes half way from '
    "the untrained accuracy to the last one. Before the next: the probability that a phenomenon is learned before the "
    "one below it; like the intervals of ranks it takes phenomena to vary independently of each other. Phenomena that "
    f"are {FROM_START} have no rank, as an untrained model may have them, nor those of {TOO_FEW}. A model is the mean "
    "of its runs that differ in the seed only. "
)
_MEANS = (
    Column("between", "Between"), Column("differs_in", "Differ in"), Column("pairs", "Pairs", "count"),
    Column("tau", "Mean tau-b", "number"), Column("range", "Range of the pairs"),
)  # fmt: skip
_AGREEMENT = (
    "Agreement of these orders: Kendall's tau-b between every two models (lines) and every two runs, over the "
    "phenomena that have a rank in both, mean by what the two differ in; 1 is the same order, 0 none. The range is "
    "from the lowest to the highest of the pairs, and no interval. The CSV has every pair."
)


@lru_cache(maxsize=1)  # the first screen tells it too
def read_order(scored: BenchmarkScores) -> Order | None:
    """Find the order in which the lines of a study learned the phenomena of a benchmark; None where none was tested."""
    shapes = read_shapes(scored)
    return None if shapes is None or shapes.classes.empty else find_order(shapes)


@questions.section(questions.LEARNED, place=2, page="docs/shape.md")
def acquisition_sections(scored: BenchmarkScores) -> Iterator[ReportSection]:
    """Report the order in which the phenomena of a benchmark were learned; nothing where none was tested."""
    order, shapes = read_order(scored), read_shapes(scored)
    if order is None or shapes is None or order.table.empty:
        return
    files = {f"acquisition_{scored.file_name}": order.table, f"order_{scored.file_name}": order.before}
    rows = order.table.to_dict("records")
    texts = {
        "learned": [tell_tokens(row, "onset") if row["state"] == LEARNED else row["state"] for row in rows],
        "half": [tell_tokens(row, "half_way") for row in rows],
    }
    told = order.table.assign(phenomenon=order.table["phenomenon"].map(readable), **texts)
    views = [TableView(f"{_NOTE}{scored.title}.", _ORDER, told, files)]
    pairs = _agreements(scored, order.table, shapes.run_onsets)
    if len(pairs):
        name = f"acquisition_agreement_{scored.file_name}"
        views.append(TableView(_AGREEMENT, _MEANS, mean_agreement(pairs), {name: pairs}))
    yield ReportSection(f"Order of acquisition on {scored.heading}", tuple(views))


def tell_tokens(row: Row, name: str) -> str:
    """Write a milestone of a row of ``Order.table`` with its interval; nothing where it has none."""
    tokens, low, high = (f"{row[column]:,.0f}" for column in (name, f"{name}_low", f"{name}_high"))
    if np.isnan(row[f"{name}_low"]):
        return ""
    told = {"left": f"at most {high}", "right": f"{tokens} ({low} or more)", "left and right": tokens}
    return told.get(row[f"{name}_censored"], f"{tokens} ({low} to {high})")


def _agreements(scored: BenchmarkScores, order: pd.DataFrame, onsets: pd.DataFrame) -> pd.DataFrame:
    """Compare lines, and runs too where there are more of them than lines."""
    runs = scored.study.runs
    tables = [order_agreement(order, "lines", differences(runs, by_line=True))]
    if onsets["name"].nunique() > order["name"].nunique():
        # Order the phenomena of each run that have a rank in its line, but those that it has from the start.
        of_line = order.set_index(["name", "phenomenon"])[["state", "first_checkpoint"]]
        lines = onsets["name"].map({run.label: run.line for run in runs})
        found = onsets.assign(line=lines).join(of_line, on=["line", "phenomenon"])
        at_first = np.array([is_first(*pair) for pair in zip(found["onset"], found["first_checkpoint"], strict=True)])
        own = acquisition_order(found.assign(state=found["state"].mask(at_first, FROM_START)))
        tables.append(order_agreement(own, "runs", differences(runs, by_line=False)))
    return stack([table for table in tables if len(table)], AGREEMENT_COLUMNS)
