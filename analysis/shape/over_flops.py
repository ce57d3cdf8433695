"""Accuracy over training FLOPs: does it rise, fall or turn as models grow (ZhoBLiMP, section 5.2, Figure 3)."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ucurve.analysis.data.frames import stack
from ucurve.analysis.data.pair_scores import Items
from ucurve.analysis.data.runs import Run
from ucurve.analysis.data.settings import FLAT_MARGIN
from ucurve.analysis.data.study import BenchmarkScores
from ucurve.analysis.plotting.facets import Panels, draw_line, draw_panels, line_legend, overall_and_phenomena
from ucurve.analysis.plotting.figures import Drawing
from ucurve.analysis.plotting.line_styles import NUMBERED
from ucurve.analysis.plotting.style import log_axis, lowest_of, percent_axis, power_label, readable
from ucurve.analysis.report import questions
from ucurve.analysis.report.html import Column, ReportSection, TableView, interval_columns
from ucurve.analysis.shape.classify import is_testable
from ucurve.analysis.shape.pooled import classify_pooled, common_tokens, credits_of, curve_of_groups, group_runs
from ucurve.analysis.shape.section import count_classes, explain_shapes, name_shapes, read_items
from ucurve.analysis.shape.smoothing import Array
from ucurve.analysis.shape.tables import (
    CurvePairs,
    curve_rows,
    curve_statistics,
    split_pairs,
    variation_of,
)
from ucurve.eval.metrics.clusters import EDIT

FINISHED, EQUAL_TOKENS = "finished runs", "equal tokens"
SCATTER = "items, seeds and scatter"
_CLASSES = (
    Column("line", "Models"), Column("at", "Compared at"), Column("tokens", "Tokens", "count"),
    Column("phenomenon", "Phenomenon"), Column("shape", "Shape over FLOPs"), Column("p", "p (Holm)", "p"),
    Column("depth", "Depth (points)", "percent"), Column("place", "Place (FLOPs)", "number"),
    *interval_columns("percent", "depth"), Column("start", "Start (%)", "percent"),
    Column("end", "End (%)", "percent"), Column("cells", "Points", "count"),
    Column("runs", "Runs", "count"), Column("items", "Pairs", "count"),
    Column("effective_items", "Effective number", "number"), Column("drawn", "Drawn"),
    Column("variation", "p and intervals over"),
)  # fmt: skip
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
class _Point:
    """Runs that differ in the seed only, at the tokens at which they are compared."""

    model: str
    parameters: int
    tokens: float
    members: Sequence[Items]

    @property
    def flops(self) -> float:
        """The training FLOPs of one run, 6ND."""
        return 6.0 * self.parameters * self.tokens


@dataclass(frozen=True, eq=False)
class _Line:
    """The points of a curve over FLOPs, by ascending FLOPs."""

    line: str
    at: str
    points: Sequence[_Point]

    @property
    def flops(self) -> Array:
        """The training FLOPs of its points, float64[T]."""
        return np.array([point.flops for point in self.points])

    @property
    def is_testable(self) -> bool:
        """Whether it has several sizes, and enough points over a wide enough range."""
        return len({point.model for point in self.points}) > 1 and is_testable(self.flops)

    @property
    def is_mixed(self) -> bool:
        """Whether its points differ in tokens as well as in size."""
        return len({point.tokens for point in self.points}) > 1

    @property
    def mix(self) -> Array:
        """The decimal logarithms of the tokens per parameter."""
        return np.log10([point.tokens / point.parameters for point in self.points])

    def credits_of_runs(self, chosen: npt.NDArray[np.bool_]) -> Iterator[tuple[str, Array]]:
        """Yield the credits of chosen pairs, float64[1, I], of every run, with the number of its point."""
        for number, point in enumerate(self.points):
            for member in point.members:
                yield str(number), credits_of(member, np.array([point.tokens]), chosen)


@dataclass(frozen=True)
class FlopsShapes:
    """What the points of runs over FLOPs say of the shape; places of turns and onsets are FLOPs."""

    classes: pd.DataFrame  # one row per line and phenomenon: shape_table, with at, tokens, cells
    curves: pd.DataFrame  # the columns of curve_rows with flops instead of tokens, and model and tokens of each point
    notes: tuple[str, ...]


def find_flops_shapes(
    items: Iterable[tuple[Run, Items | None]], cluster: str = EDIT, margin: float = FLAT_MARGIN / 100
) -> FlopsShapes | None:
    """Test every curve over FLOPs; None where no line has four points of two sizes over tenfold FLOPs."""
    gathered = _FlopsRows(cluster, margin)
    for line in _lines([(run, half_points) for run, half_points in items if half_points is not None]):
        if line.is_testable:
            gathered.add_line(line)
    if not gathered.rows:
        return None
    return FlopsShapes(classify_pooled(pd.DataFrame(gathered.rows)), stack(gathered.curves), tuple(gathered.notes))


@lru_cache(maxsize=1)
def read_flops_shapes(scored: BenchmarkScores) -> FlopsShapes | None:
    """Test the curves over FLOPs of a benchmark; None where there are too few points."""
    if scored.curve_rows().empty or len({run.size for run in scored.study.runs}) < 2:
        return None
    settings = scored.study.settings
    return find_flops_shapes(read_items(scored), settings.cluster, settings.flat_margin / 100)


@questions.section(questions.SHAPES, place=3, page="docs/shape.md")
def flops_shape_sections(scored: BenchmarkScores) -> Iterable[ReportSection]:
    """Report the shapes over FLOPs; nothing where there are too few sizes and budgets."""
    if (found := read_flops_shapes(scored)) is None:
        return
    shown = found.classes.assign(phenomenon=found.classes["phenomenon"].map(readable))
    note = f"{_NOTE}{_SCATTER if SCATTER in set(shown['variation']) else ''}{scored.title}."
    name = f"shapes_flops_{scored.file_name}"
    view = TableView(note, _CLASSES, shown, {name: found.classes}, "p")
    drawings = _draw_shapes(found, name, scored.title)
    texts = (count_classes(found.classes), *found.notes)
    yield ReportSection(f"Shapes over FLOPs on {scored.heading}", (*texts, *drawings, view))


def _lines(runs: Sequence[tuple[Run, Items]]) -> Iterator[_Line]:
    """Yield the finished runs that differ in size and budget as a line, then each budget at equal tokens."""
    together: dict[str, list[tuple[Run, Items]]] = {}
    for run, half_points in runs:
        if run.parameters is not None and half_points.tokens[-1] > 0:
            together.setdefault(run.line_without("size", "budget"), []).append((run, half_points))
    for label, own in together.items():
        finished = _line(label, FINISHED, [(run, one, one.tokens[-1]) for run, one in own if _is_end(run, one)])
        yield finished
        of_budgets: dict[str, list[tuple[Run, Items]]] = {}
        for run, one in own:
            of_budgets.setdefault(run.line_without("size"), []).append((run, one))
        for budget, members in of_budgets.items():
            shared = common_tokens([one for _, one in members])
            if len(shared) and not (len(of_budgets) == 1 and _end_alike(finished, members, shared[-1])):
                yield _line(budget, EQUAL_TOKENS, [(run, one, shared[-1]) for run, one in members])


def _is_end(run: Run, scores: Items) -> bool:
    return run.has_ended and int(scores.steps[-1]) == max((*run.planned, *run.saved), default=-1)


def _end_alike(finished: _Line, members: Sequence[tuple[Run, Items]], tokens: float) -> bool:
    """Return whether the finished runs are all members, at these tokens: then the two lines would be one."""
    ended = sum(len(point.members) for point in finished.points)
    return ended == len(members) and {point.tokens for point in finished.points} == {tokens}


def _line(line: str, at: str, runs: Sequence[tuple[Run, Items, float]]) -> _Line:
    points: dict[str, _Point] = {}
    for run, half_points, tokens in runs:
        before = points[run.line].members if run.line in points else ()
        points[run.line] = _Point(run.model, run.parameters or 0, float(tokens), (*before, half_points))
    return _Line(line, at, sorted(points.values(), key=lambda point: point.flops))


@dataclass
class _FlopsRows:
    """The rows of the tables, as they are computed line by line."""

    cluster: str
    margin: float
    rows: list[dict[str, object]] = field(default_factory=list)
    curves: list[pd.DataFrame] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add_line(self, line: _Line) -> None:
        """Add the rows of a line; a note where its runs had different pairs."""
        pairs = line.points[0].members[0].pairs
        if any(not pairs.equals(other.pairs) for point in line.points for other in point.members):
            self.notes.append(f"{line.line}: its runs were scored on different pairs, so their shape is not tested.")
            return
        for part in split_pairs(pairs, self.cluster):
            if part.paradigm is None:
                self._add_curve(line, part)

    def _add_curve(self, line: _Line, part: CurvePairs) -> None:
        groups = group_runs(line.credits_of_runs(part.chosen), part.strata, part.clusters)
        curve = curve_of_groups(groups, line.flops, line.mix if line.is_mixed else None)
        rows = curve_rows(line.line, part.phenomenon, curve, np.nan).rename(columns={"tokens": "flops"})
        models, tokens = [point.model for point in line.points], [point.tokens for point in line.points]
        self.curves.append(rows.assign(accuracy=groups.means[:, 0], model=models, tokens=tokens))
        self.rows.append({
            "line": line.line, "at": line.at, "tokens": np.nan if line.is_mixed else tokens[0],
            "phenomenon": part.phenomenon, "cells": len(models), "sizes": len(set(models)),
            "runs": int(groups.runs.sum()), "seeds": curve.seeds, "items": groups.items, "drawn": part.drawn,
            "variation": SCATTER if line.is_mixed else variation_of(curve),
            "start": rows["smoothed"].iloc[0], "end": rows["smoothed"].iloc[-1],
            **curve_statistics(curve, self.margin),
        })  # fmt: skip


def _draw_shapes(found: FlopsShapes, name: str, title: str) -> list[Drawing]:
    kinds = found.classes.set_index(["line", "phenomenon"])[["shape", "class", "runs", "at"]]
    table = found.curves.join(kinds, on=["line", "phenomenon"])
    table = table.assign(line=table["line"] + ", " + table["at"])
    note = f"Accuracy against training FLOPs, {title}. {_FIGURE}"
    return overall_and_phenomena(table, name, "Shapes over FLOPs", note, _draw_curves)


def _draw_curves(table: pd.DataFrame, panels: Panels) -> Figure:
    styles, single = NUMBERED(table["line"]), len(panels) == 1
    note = explain_shapes(_FIGURE, table)
    lowest = lowest_of(table.assign(low=table["band_low"]))

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
