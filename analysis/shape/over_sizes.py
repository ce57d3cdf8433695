"""The mean over model sizes: does it dip, and do the sizes differ in the dip (ZhoBLiMP, section 5.3, Figure 4)."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
import pandas as pd

from ucurve.analysis.data.pair_scores import Items
from ucurve.analysis.data.runs import Run
from ucurve.analysis.data.settings import FLAT_MARGIN
from ucurve.analysis.data.study import BenchmarkScores
from ucurve.analysis.report import questions
from ucurve.analysis.report.html import Column, ReportSection, TableView, interval_columns
from ucurve.analysis.shape.cases import Case, Cell, find_curves, have_same_pairs
from ucurve.analysis.shape.classify import LEVEL, TURNS, Row, holm_of_tested, is_testable
from ucurve.analysis.shape.pooled import SizeContrast, common_tokens
from ucurve.analysis.shape.section import class_view, count_classes, draw_shapes, test_benchmark
from ucurve.analysis.shape.smoothing import SMOOTHING
from ucurve.analysis.shape.tables import Shapes
from ucurve.eval.metrics.clusters import EDIT

_CLASSES = (
    Column("line", "Models"), Column("sizes", "Sizes", "count"), Column("phenomenon", "Phenomenon"),
    Column("shape", "Shape"), Column("p", "p (Holm)", "p"), Column("depth", "Depth (points)", "percent"),
    Column("place", "Place (tokens)", "count"), Column("holm_sizes", "Sizes differ in it: p (Holm)", "p"),
    Column("end", "End (%)", "percent"), *interval_columns("percent", "depth"),
    *interval_columns("count", "place"), Column("start", "Start (%)", "percent"), Column("runs", "Runs", "count"),
    Column("items", "Pairs", "count"), Column("effective_items", "Effective number", "number"),
    Column("drawn", "Drawn"), Column("checkpoints", "Checkpoints", "count"),
    Column("variation", "p and intervals over"),
)  # fmt: skip
_DEPTHS = (
    Column("line", "Models"), Column("phenomenon", "Phenomenon"), Column("model", "Size"), Column("turn", "Turn"),
    Column("depth", "Depth (points)", "percent"), *interval_columns("percent"), Column("runs", "Runs", "count"),
    Column("holm_sizes", "Sizes differ in it: p (Holm)", "p"),
)  # fmt: skip
_NOTE = (
    "Mean over the runs that differ only in size, at equal tokens, each size with equal weight, tested like "
    "the curve of one model. The claim is about these sizes; seeds vary within sizes. All sizes are scored on the same "
    "pairs, so more sizes do not count as more pairs. A second p value says whether the sizes differ in the depth of "
    "the dip of the mean (of the bump, for an inverted U): an analysis of variance over pairs and seeds. Where they "
    "do, look at the sizes: a mean of curves without a dip can have one, if they have their peaks at other tokens. p "
    "values are adjusted by Holm over this table, the second over its turns. "
)
_DEPTHS_NOTE = (
    "The turn of the mean in each size: how far its smoothed curve lies below (for a bump, above) the straight line "
    "between the shoulders of the mean curve, at the lowest (highest) checkpoint of the mean. The intervals hold for "
    "all sizes of a curve at once, at 95 %. Only curves of which the mean turns are listed; the CSV has every curve. "
)
_FIGURE = (
    f"Line: mean over sizes, smoothed on the log axis (sd {SMOOTHING} decades); band: holds the whole curve with 95 %, "
    "over pairs and, where sizes have several runs, seeds; dots: means of the checkpoints; triangle: the dip of a U, "
    "down, or the bump of an inverted U, up."
)


def find_size_shapes(
    items: Iterable[tuple[Run, Items | None]], cluster: str = EDIT, margin: float = FLAT_MARGIN / 100
) -> Shapes:
    """Estimate and classify the mean over the sizes of every line over sizes; empty where none has two sizes.

    The classes also have ``sizes``, and whether these differ in the turn of the curve: ``p_sizes`` and ``holm_sizes``.
    """
    found = find_curves(_make_cases(items), cluster, margin)
    if found.classes.empty:
        return found
    own = [_contrast(found, row) for row in found.classes.to_dict("records")]
    p = np.array([np.nan if one is None else one.p for one in own])
    # Where no turn is shown there is nothing in which the sizes could differ, and no test to pay for.
    adjusted = holm_of_tested(np.where(found.classes["class"].isin(TURNS), p, np.nan))
    classes = found.classes.rename(columns={"cells": "sizes"}).assign(p_sizes=p, holm_sizes=adjusted)
    return replace(found, classes=classes)


def _turn(row: Row) -> str:
    return "bump" if row["class"] == "inverted-U" else "dip"


def _contrast(found: Shapes, row: Row) -> SizeContrast | None:
    """Return the test whether the cells differ in the turn of a curve; None where the mean has none."""
    return found.contrasts[row["line"], row["phenomenon"]].get(_turn(row))


def _depths(found: Shapes) -> Iterator[dict[str, object]]:
    """Yield the depth of the turn of every mean curve in each of its sizes, with a simultaneous 95 % interval."""
    for row in found.classes.to_dict("records"):
        if (own := _contrast(found, row)) is None:
            continue
        for name, runs, depth, half in zip(own.names, own.runs, own.depths, own.half_width, strict=True):
            yield {
                "line": row["line"], "phenomenon": row["phenomenon"], "turn": _turn(row), "model": name,
                "runs": int(runs), "depth": depth, "low": depth - half, "high": depth + half,
                "p_sizes": own.p, "holm_sizes": row["holm_sizes"],
            }  # fmt: skip


def read_size_shapes(scored: BenchmarkScores) -> Shapes:
    """Test the mean over sizes of a benchmark's curves; empty where no two sizes were trained alike."""
    return test_benchmark(scored, find_size_shapes)


@questions.section(questions.SHAPES, place=2, page="docs/shape.md")
def size_shape_sections(scored: BenchmarkScores) -> Iterable[ReportSection]:
    """Report the shape of the mean over sizes; nothing where there is one size only."""
    found, heading = read_size_shapes(scored), f"The shape of the mean over sizes on {scored.heading}"
    if found.classes.empty:
        if found.notes:
            yield ReportSection(heading, found.notes)
        return
    name = f"shapes_sizes_{scored.file_name}"
    views = [class_view(found, name, _CLASSES, f"{_NOTE}{scored.title}.")]
    if len(depths := pd.DataFrame(_depths(found))):
        turning = found.classes.loc[found.classes["class"].isin(TURNS), ["line", "phenomenon"]]
        listed = depths.merge(turning, on=["line", "phenomenon"])
        files = {f"dips_by_size_{scored.file_name}": depths}
        views.append(TableView(f"{_DEPTHS_NOTE}{scored.title}.", _DEPTHS, listed, files, "depth"))
    drawings = draw_shapes(scored, found, name, "Shapes of the mean over sizes", _FIGURE)
    texts = (count_classes(found.classes), *_tell_turns(found.classes), *found.notes)
    yield ReportSection(heading, (*texts, *drawings, *views))


def _tell_turns(classes: pd.DataFrame) -> Iterator[str]:
    """Say in which curves that turn the sizes differ."""
    turning = classes[classes["class"].isin(TURNS)]
    differ = turning[turning["holm_sizes"] <= LEVEL]
    if len(turning) and turning["holm_sizes"].notna().any():
        names = ", ".join(f"{row.phenomenon} ({row.line})" for row in differ.itertuples())
        yield f"The sizes differ in the turn of: {names}." if names else "That sizes differ in a turn is not shown."


def _make_cases(items: Iterable[tuple[Run, Items | None]]) -> Iterator[Case | str]:
    """Yield the mean over the sizes of every line over sizes, with notes on what could not be tested."""
    lines: dict[str, dict[str, list[Items]]] = {}
    for run, half_points in items:
        if half_points is not None:
            lines.setdefault(run.line_without("size"), {}).setdefault(run.size, []).append(half_points)
    for line, sizes in lines.items():
        if len(sizes) > 1:
            yield from _make_case(line, sizes)


def _make_case(line: str, sizes: dict[str, list[Items]]) -> Iterator[Case | str]:
    members = [one for own in sizes.values() for one in own]
    if not have_same_pairs(members):
        yield f"{line}: its sizes were scored on different pairs, so their mean is not tested."
        return
    grid = common_tokens(members)
    if not len(grid) or not is_testable(grid):
        yield f"{line}: its sizes share too few checkpoints to test their mean."
        return
    shortest = min(members, key=lambda member: float(member.tokens[-1]))
    if shortest.tokens[-1] < max(member.tokens[-1] for member in members):
        yield f"{line}: the mean over its sizes ends at {round(grid[-1]):,} tokens, where {shortest.run} ends."
    yield Case(line, grid, [Cell(size, own, grid) for size, own in sizes.items()])
