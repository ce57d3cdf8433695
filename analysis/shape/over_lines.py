"""The mean over several lines: does it dip, and do the lines differ in the dip (ZhoBLiMP, section 5.3, Figure 4).

The lines differ in size alone, or they are all lines of a study. They are fixed: nothing is claimed of a line that was
not trained, and what varies are the seeds within lines and the pairs.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from ucurve.analysis.data.pair_scores import Items
from ucurve.analysis.data.study import BenchmarkScores
from ucurve.analysis.report import questions
from ucurve.analysis.report.html import Column, ReportSection, TableView, interval_columns, table_columns
from ucurve.analysis.shape.cases import Case, Cell, have_same_pairs
from ucurve.analysis.shape.classify import LEVEL, TURNS, Row, is_testable
from ucurve.analysis.shape.pooled import SizeContrast, common_tokens
from ucurve.analysis.shape.section import class_view, count_classes, draw_shapes, read_items, test_cases
from ucurve.analysis.shape.smoothing import SMOOTHING
from ucurve.analysis.shape.tables import Shapes
from ucurve.eval.metrics.significance import holm
from ucurve.gather import gather

SIZE, LINE = "size", "line"  # what is averaged
ALL_LINES = "all lines"
_OF = {SIZE: "the runs that differ only in size", LINE: "all lines that were trained and scored here"}
_CLASSES = table_columns(  # of the mean over sizes; of that over all lines the report has no table
    Column("line", "Models"),
    Column("sizes", "Sizes", "count"),
    "phenomenon",
    "shape",
    "p",
    "depth",
    "place",
    Column("holm_sizes", "Sizes differ in it: p (Holm)", "p"),
    "end",
    *interval_columns("percent", "depth"),
    *interval_columns("count", "place"),
    "start",
    "runs",
    "items",
    "effective_items",
    "drawn",
    "checkpoints",
    "variation",
)
_NOTE = (
    "Mean over {of}, at equal tokens, each {one} with equal weight, tested like "
    "the curve of one model. The claim is about these {one}s; seeds vary within {one}s. All {one}s are scored on the "
    "same pairs, so more {one}s do not count as more pairs. A second p value says whether the {one}s differ in the "
    "depth of the dip of the mean (of the bump, for an inverted U): an analysis of variance over pairs and seeds. "
    "Where they do, look at the {one}s: a mean of curves without a dip can have one, if they have their peaks at other "
    "tokens. p values are adjusted by Holm over this table, the second over its turns. "
)
_DEPTHS_NOTE = (
    "The turn of the mean in each {one}: how far its smoothed curve lies below (for a bump, above) the straight line "
    "between the shoulders of the mean curve, at the lowest (highest) checkpoint of the mean. The intervals hold for "
    "all {one}s of a curve at once, at 95 %. Only curves of which the mean turns are listed; the CSV has every curve. "
)
_FIGURE = (
    "Line: mean over {one}s, smoothed on the log axis (sd {smoothing} decades); band: holds the whole curve with 95 %, "
    "over pairs and, where {one}s have several runs, seeds; dots: means of the checkpoints; triangle: the dip of a U, "
    "down, or the bump of an inverted U, up."
)


def read_size_shapes(scored: BenchmarkScores) -> Shapes:
    """Test the mean over sizes of a benchmark's curves; empty where no two sizes were trained alike.

    The classes also have ``sizes``, and whether these differ in the turn of the curve: ``p_sizes`` and ``holm_sizes``.
    """
    tested = ((run, one) for run, one in read_items(scored) if one is not None)
    means = gather((run.line_without("size"), (run.size, one)) for run, one in tested)
    return _find_means(scored, {line: gather(sizes) for line, sizes in means.items()}, SIZE)


def read_line_shapes(scored: BenchmarkScores) -> Shapes:
    """Test the mean over all lines of a benchmark's curves.

    Empty where no line has two runs, or where they differ in size alone, so that it would be the mean over sizes.
    The classes also have ``lines``, and whether these differ in the turn of the curve: ``p_lines`` and ``holm_lines``.
    """
    with_scores = ((run, one) for run, one in read_items(scored) if one is not None)
    tested = [(run, one) for run, one in with_scores if is_testable(one.tokens[one.tokens > 0])]
    lines = gather((run.line, one) for run, one in tested)
    over_sizes = {run.line_without("size") for run, _ in tested}
    is_other_mean = len(over_sizes) > 1 and any(len(own) > 1 for own in lines.values())
    return _find_means(scored, {ALL_LINES: lines} if is_other_mean else {}, LINE)


def _find_means(scored: BenchmarkScores, means: Mapping[str, Mapping[str, Sequence[Items]]], one: str) -> Shapes:
    """Test the means over the cells of each mean, which has several."""
    cases = [case for line, cells in means.items() if len(cells) > 1 for case in _make_case(line, cells, one)]
    found = test_cases(scored, cases)
    if found.classes.empty:
        return found
    own = [_contrast(found, row) for row in found.classes.to_dict("records")]
    p = np.array([np.nan if one is None else one.p for one in own])
    # Where no turn is shown there is nothing in which the cells could differ, and no test to pay for.
    adjusted = holm(np.where(found.classes["class"].isin(TURNS), p, np.nan))
    classes = found.classes.rename(columns={"cells": f"{one}s"})
    return replace(found, classes=classes.assign(**{f"p_{one}s": p, f"holm_{one}s": adjusted}))


def _make_case(line: str, cells: Mapping[str, Sequence[Items]], one: str) -> Iterator[Case | str]:
    """Yield the case of a mean, and what is to be known of it; without a case where its cells do not compare."""
    members = [member for own in cells.values() for member in own]
    if not have_same_pairs(members):
        yield f"{line}: its {one}s were scored on different pairs, so their mean is not tested."
        return
    grid = common_tokens(members)
    if not len(grid) or not is_testable(grid):
        yield f"{line}: its {one}s share too few checkpoints to test their mean."
        return
    # Beyond the end of the shortest run the mean would be over fewer runs, and its jump would look like learning.
    shortest = min(members, key=lambda member: float(member.tokens[-1]))
    if shortest.tokens[-1] < max(member.tokens[-1] for member in members):
        yield f"{line}: the mean over its {one}s ends at {round(grid[-1]):,} tokens, where {shortest.run} ends."
    yield Case(line, grid, [Cell(name, own, grid) for name, own in cells.items()])


def _turn(row: Row) -> str:
    return "bump" if row["class"] == "inverted-U" else "dip"


def _contrast(found: Shapes, row: Row) -> SizeContrast | None:
    """Return the test whether the cells differ in the turn of a curve; None where the mean has none."""
    return found.contrasts[row["line"], row["phenomenon"]].get(_turn(row))


@questions.section(questions.SHAPES, place=2, page="docs/shape.md")
def size_shape_sections(scored: BenchmarkScores) -> Iterable[ReportSection]:
    """Report the shape of the mean over sizes; nothing where there is one size only."""
    return _sections(scored, read_size_shapes(scored), SIZE)


@questions.section(questions.SHAPES, place=3, page="docs/shape.md")
def line_shape_sections(scored: BenchmarkScores) -> Iterable[ReportSection]:
    """Report the shape of the mean over all lines; nothing where it is a line or the mean over sizes."""
    return _sections(scored, read_line_shapes(scored), LINE)


def _sections(scored: BenchmarkScores, found: Shapes, one: str) -> Iterator[ReportSection]:
    """Report a mean: its classes, and whether its cells differ in a turn."""
    heading = f"The shape of the mean over {one}s on {scored.heading}"
    if found.classes.empty:
        if found.notes:
            yield ReportSection(heading, found.notes)
        return
    name, figure = f"shapes_{one}s_{scored.file_name}", _FIGURE.format(one=one, smoothing=SMOOTHING)
    note = f"{_NOTE.format(one=one, of=_OF[one])}{scored.title}."
    depths = list(_depths_view(scored, found, one))
    drawings = draw_shapes(scored, found, name, f"Shapes of the mean over {one}s", figure)
    texts = [count_classes(found.classes)]
    turning = found.classes[found.classes["class"].isin(TURNS)]
    if turning[f"holm_{one}s"].notna().any():
        differ = turning[turning[f"holm_{one}s"] <= LEVEL]
        names = ", ".join(f"{row.phenomenon} ({row.line})" for row in differ.itertuples())
        not_shown = f"That {one}s differ in a turn is not shown."
        texts.append(f"The {one}s differ in the turn of: {names}." if names else not_shown)
    texts += found.notes
    if one == SIZE:
        view = class_view(found, name, _CLASSES, note)
        yield ReportSection(heading, (*texts, view, *depths), not_shown=tuple(drawings))
        return
    # The report of a grid is long: of the mean over all lines it has the sentences.
    files = {name: found.classes} | {name: table for own in depths for name, table in own.files.items()}
    mean = f"{note.partition('. ')[0]}."
    yield ReportSection(heading, (" ".join([mean, *texts]),), files, not_shown=tuple(drawings))


def _depths_view(scored: BenchmarkScores, found: Shapes, one: str) -> Iterator[TableView]:
    """Show how deep the turn of the mean is in each of its cells, with simultaneous 95 % intervals."""
    rows: list[dict[str, object]] = []
    for row in found.classes.to_dict("records"):
        if (own := _contrast(found, row)) is None:
            continue
        for name, runs, depth, half in zip(own.names, own.runs, own.depths, own.half_width, strict=True):
            rows.append(
                {
                    "line": row["line"],
                    "phenomenon": row["phenomenon"],
                    "turn": _turn(row),
                    "model": name,
                    "runs": int(runs),
                    "depth": depth,
                    "low": depth - half,
                    "high": depth + half,
                    f"p_{one}s": own.p,
                    f"holm_{one}s": row[f"holm_{one}s"],
                }
            )
    if not rows:
        return
    depths = pd.DataFrame(rows)
    turning = found.classes.loc[found.classes["class"].isin(TURNS), ["line", "phenomenon"]]
    columns = table_columns(
        Column("line", "Models"),
        "phenomenon",
        Column("model", one.capitalize()),
        Column("turn", "Turn"),
        "depth",
        *interval_columns("percent"),
        "runs",
        Column(f"holm_{one}s", f"{one.capitalize()}s differ in it: p (Holm)", "p"),
    )
    files = {f"dips_by_{one}_{scored.file_name}": depths}
    note = f"{_DEPTHS_NOTE.format(one=one)}{scored.title}."
    yield TableView(note, columns, depths.merge(turning, on=["line", "phenomenon"]), files, "depth")
