"""Accuracy over training FLOPs: does it rise, fall or turn as models grow (ZhoBLiMP, section 5.2, Figure 3)."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ucurve.analysis.data.pair_scores import Items
from ucurve.analysis.data.runs import Run
from ucurve.analysis.data.study import BenchmarkScores
from ucurve.analysis.plotting.facets import Panels, draw_line, draw_panels, line_legend, overall_and_phenomena
from ucurve.analysis.plotting.style import NUMBERED, log_axis, lowest_of, percent_axis, power_label
from ucurve.analysis.report import questions
from ucurve.analysis.report.html import Column, ReportSection, interval_columns, table_columns
from ucurve.analysis.shape.cases import Case, Cell, have_same_pairs
from ucurve.analysis.shape.classify import is_testable
from ucurve.analysis.shape.pooled import Groups, common_tokens, curve_of_groups
from ucurve.analysis.shape.section import (
    class_view,
    count_classes,
    explain_shapes,
    name_shapes,
    read_items,
    test_cases,
)
from ucurve.analysis.shape.smoothing import Array, Curve
from ucurve.analysis.shape.tables import CurvePairs, Shapes, lay_out_curve
from ucurve.gather import gather

FINISHED, EQUAL_TOKENS = "finished runs", "equal tokens"
SCATTER = "items, seeds and scatter"
_CLASSES = table_columns(
    Column("line", "Models"),
    Column("at", "Compared at"),
    "tokens",
    "phenomenon",
    Column("shape", "Shape over FLOPs"),
    "p",
    "depth",
    Column("place", "Place (FLOPs)", "number"),
    *interval_columns("percent", "depth"),
    "start",
    "end",
    Column("cells", "Points", "count"),
    "runs",
    "items",
    "effective_items",
    "drawn",
    "variation",
)
_NOTE = (
    "Accuracy as a curve over training FLOPs (6ND), tested and smoothed on the log axis of FLOPs like a curve over "
    "tokens. Compared at finished runs: a point is the end of the finished runs of one size and budget. Compared at "
    "equal tokens: a point is a size, at the last tokens that all sizes of one budget have reached. The seeds have one "
    "variance for all points, estimated from the runs of the same point; the pairs are the same at all points. p "
    "values are adjusted by Holm over this table. "
)
_SCATTER = (
    "A line with several budgets is no function of FLOPs alone: equal FLOPs may be spent on a large model and few "
    "tokens or on a small one and many. Its curve is that at the mean number of tokens per parameter (a linear effect "
    "of their logarithm), and the scatter of the points around it counts as error where it is larger than the seeds "
    "explain, so that a zigzag between budgets is not taken for a dip. "
)
_FIGURE = (
    "Dots: mean of the runs of one size and budget; line: smoothed on the log axis of FLOPs, of several budgets at the "
    "mean number of tokens per parameter; band: holds the whole curve with 95 %, over pairs, seeds and, with several "
    "budgets, the scatter of the points."
)


@dataclass(frozen=True, eq=False)
class _Point(Cell):
    """Runs that differ in the seed only, at one number of tokens."""

    run: Run  # one of them, whose number of parameters is known

    @property
    def parameters(self) -> int:
        """The parameters of its model."""
        return self.run.parameters or 0

    @property
    def flops(self) -> float:
        """The training FLOPs of one run, 6ND."""
        return 6.0 * self.parameters * float(self.tokens[0])


@dataclass(frozen=True, eq=False)
class _FlopsCase(Case):
    """A curve over FLOPs, which has a place for each of its points."""

    cells: Sequence[_Point]

    @property
    def tokens(self) -> Array:
        """The tokens of its points, float64[T]."""
        return np.concatenate([point.tokens for point in self.cells])

    def curve(self, groups: Groups) -> Curve:
        """Estimate the curve through the points; where their tokens differ, at their mean tokens per parameter."""
        mix = np.log10(self.tokens / [point.parameters for point in self.cells])
        return curve_of_groups(groups, self.places, mix if np.ptp(self.tokens) else None)

    def rows(self, part: CurvePairs, curve: Curve, bands: pd.DataFrame) -> pd.DataFrame:
        """Lay out the curve with its bands and what was measured at each point."""
        rows = lay_out_curve(self.line, part.phenomenon, curve, bands, np.nan).rename(columns={"tokens": "flops"})
        accuracy = np.concatenate([point.accuracies(part.chosen) for point in self.cells])
        return rows.assign(accuracy=accuracy, model=[point.run.model for point in self.cells], tokens=self.tokens)


def read_flops_shapes(scored: BenchmarkScores) -> Shapes:
    """Test the curves over FLOPs of a benchmark; empty where no line has four points of two sizes over tenfold FLOPs.

    Places of turns and onsets are FLOPs, and ``curves`` has ``flops``, with ``model`` and ``tokens`` of each point.
    """
    found = test_cases(scored, _make_cases(read_items(scored)))
    if found.classes.empty:
        return found
    # A point is one checkpoint of its runs: how many places a curve has is told by its cells.
    first = ["line", "at", "tokens", "phenomenon", "cells", "sizes"]
    classes = found.classes[[*first, *found.classes.columns.drop([*first, "checkpoints"])]]
    # Points at one number of tokens differ in size alone; only those of several budgets scatter around a curve.
    variation = classes["variation"].mask(classes["tokens"].isna(), SCATTER)
    return replace(found, classes=classes.assign(variation=variation))


@questions.section(questions.SHAPES, place=4, page="docs/shape.md")
def flops_shape_sections(scored: BenchmarkScores) -> Iterable[ReportSection]:
    """Report the shapes over FLOPs; nothing where there are too few sizes and budgets."""
    found = read_flops_shapes(scored)
    if found.classes.empty:
        return
    note = f"{_NOTE}{_SCATTER if SCATTER in set(found.classes['variation']) else ''}{scored.title}."
    name = f"shapes_flops_{scored.file_name}"
    kinds = found.classes.set_index(["line", "phenomenon"])[["shape", "class", "runs", "at"]]
    table = found.curves.join(kinds, on=["line", "phenomenon"])
    table = table.assign(line=table["line"] + ", " + table["at"])
    about = f"Accuracy against training FLOPs, {scored.title}. {_FIGURE}"
    drawings = overall_and_phenomena(table, name, "Shapes over FLOPs", about, _draw_curves)
    view = class_view(found, name, _CLASSES, note)
    texts = (count_classes(found.classes), *found.notes)
    yield ReportSection(f"Shapes over FLOPs on {scored.heading}", (*texts, *drawings, view))


def _make_cases(items: Iterable[tuple[Run, Items | None]]) -> Iterator[Case | str]:
    """Yield the curves over FLOPs that can be tested, with notes on the others."""
    runs = [(run, half_points) for run, half_points in items if half_points is not None]
    for line, at, points in _lines(runs):
        flops = np.array([point.flops for point in points])
        sizes = {point.run.model for point in points}
        if len(sizes) < 2 or not is_testable(flops):
            continue
        tokens = {float(point.tokens[0]) for point in points}
        told = {"at": at, "tokens": np.nan if len(tokens) > 1 else tokens.pop(), "sizes": len(sizes)}
        case = _FlopsCase(line, flops, points, told)
        if len(set(flops)) < len(flops):
            yield f"{line}: several of its sizes have the same FLOPs, so their shape over FLOPs is not tested."
        elif have_same_pairs(case.members):
            yield case
        else:
            yield f"{line}: its runs were scored on different pairs, so their shape is not tested."


def _lines(runs: Sequence[tuple[Run, Items]]) -> Iterator[tuple[str, str, list[_Point]]]:
    """Yield the finished runs that differ in size and budget as a line, then each budget at equal tokens."""
    trained = [(run, one) for run, one in runs if run.parameters is not None and one.tokens[-1] > 0]
    together = gather((run.line_without("size", "budget"), (run, one)) for run, one in trained)
    for label, own in together.items():
        finished = _points(
            (run, one, one.tokens[-1])
            for run, one in own
            # A run that has ended may not have been scored at its end.
            if run.has_ended and int(one.steps[-1]) == max((*run.planned, *run.saved), default=-1)
        )
        yield label, FINISHED, finished
        of_budgets = gather((run.line_without("size"), (run, one)) for run, one in own)
        ended, ends = (
            sum(len(point.members) for point in finished),
            {float(point.tokens[0]) for point in finished},
        )
        for budget, members in of_budgets.items():
            shared = common_tokens([one for _, one in members])
            # Where all members of the only budget are finished, at these tokens, the two lines would be one.
            is_same = len(of_budgets) == 1 and ended == len(members) and ends == set(shared[-1:])
            if len(shared) and not is_same:
                yield budget, EQUAL_TOKENS, _points((run, one, shared[-1]) for run, one in members)


def _points(runs: Iterable[tuple[Run, Items, float]]) -> list[_Point]:
    """Return the points of runs that are read at these tokens, which are the same for all runs of a line."""
    lines = gather((run.line, (run, one, tokens)) for run, one, tokens in runs)
    points = []
    for line, own in lines.items():
        run, _, tokens = own[-1]
        points.append(_Point(line, [one for _, one, _ in own], np.array([tokens]), run))
    return sorted(points, key=lambda point: point.flops)


def _draw_curves(table: pd.DataFrame, panels: Panels) -> Figure:
    styles, single = NUMBERED(table["line"]), len(panels) == 1
    note = explain_shapes(_FIGURE, table)
    lowest = lowest_of(table.assign(low=table["band_low"]))  # what the axis has to hold

    def draw(axes: Axes, rows: pd.DataFrame) -> None:
        for name, style in styles.items():
            line = rows[rows["line"] == name]
            draw_line(axes, style, line["flops"], line["smoothed"], (line["band_low"], line["band_high"]))
            axes.plot(line["flops"], line["accuracy"], style.marker, color=style.color, markersize=2.5)
        percent_axis(axes, lowest)
        log_axis(axes, table["flops"], power_label, most_ticks=7 if single else 4, minor=single)
        name_shapes(axes, rows)

    labels = ("Training FLOPs (6ND, log scale)", "Accuracy (%)")
    return draw_panels(panels, draw, labels, note, line_legend(styles, table), title_lines=2)
