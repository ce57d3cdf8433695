"""The mean over model sizes: does it dip, and do the sizes differ in the dip (ZhoBLiMP, section 5.3, Figure 4)."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache, partial

import numpy as np
import numpy.typing as npt
import pandas as pd

from ucurve.analysis.data.frames import stack
from ucurve.analysis.data.pair_scores import HALVES, Items
from ucurve.analysis.data.runs import Run
from ucurve.analysis.data.settings import FLAT_MARGIN
from ucurve.analysis.data.study import BenchmarkScores
from ucurve.analysis.plotting.facets import overall_and_phenomena
from ucurve.analysis.plotting.style import readable
from ucurve.analysis.report import questions
from ucurve.analysis.report.html import Column, ReportSection, TableView, interval_columns
from ucurve.analysis.shape.classify import LEVEL, TURNS, holm_of_tested, is_testable
from ucurve.analysis.shape.pooled import (
    SizeContrast,
    classify_pooled,
    common_tokens,
    credits_of,
    group_runs,
    mean_curve,
    size_contrast,
    turn_function,
)
from ucurve.analysis.shape.section import classified_curves, count_classes, draw_smoothed, read_items
from ucurve.analysis.shape.smoothing import SMOOTHING, Array, Curve
from ucurve.analysis.shape.tables import (
    CurvePairs,
    Shapes,
    curve_rows,
    curve_statistics,
    split_pairs,
    variation_of,
)
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


@dataclass(frozen=True)
class SizeShapes:
    """What the mean over sizes says of the shape of learning."""

    shapes: Shapes  # of each line over sizes and phenomenon; classes with sizes, p_sizes and holm_sizes
    depths: pd.DataFrame  # line, phenomenon, turn, model, runs, depth, low, high, p_sizes, holm_sizes


def find_size_shapes(
    items: Iterable[tuple[Run, Items | None]], cluster: str = EDIT, margin: float = FLAT_MARGIN / 100
) -> SizeShapes | None:
    """Estimate and classify the mean over the sizes of every line over sizes; None where none has two sizes."""
    lines: dict[str, dict[str, list[Items]]] = {}
    for run, half_points in items:
        if half_points is not None:
            lines.setdefault(run.line_without("size"), {}).setdefault(run.size, []).append(half_points)
    gathered = _SizeRows(cluster, margin)
    for line, sizes in lines.items():
        if len(sizes) > 1:
            gathered.add_line(line, sizes)
    return gathered.finish() if gathered.rows or gathered.notes else None


@lru_cache(maxsize=1)
def read_size_shapes(scored: BenchmarkScores) -> SizeShapes | None:
    """Test the mean over sizes of a benchmark's curves; None where no two sizes were trained alike."""
    if scored.curve_rows().empty or len({run.size for run in scored.study.runs}) < 2:
        return None
    settings = scored.study.settings
    return find_size_shapes(read_items(scored), settings.cluster, settings.flat_margin / 100)


@questions.section(questions.SHAPES, place=2, page="docs/shape.md")
def size_shape_sections(scored: BenchmarkScores) -> Iterable[ReportSection]:
    """Report the shape of the mean over sizes; nothing where there is one size only."""
    if (found := read_size_shapes(scored)) is None:
        return
    heading, shapes = f"The shape of the mean over sizes on {scored.heading}", found.shapes
    if shapes.classes.empty:
        yield ReportSection(heading, shapes.notes)
        return
    shown = shapes.classes.assign(phenomenon=shapes.classes["phenomenon"].map(readable))
    files = {f"shapes_sizes_{scored.file_name}": shapes.classes}
    views = [TableView(f"{_NOTE}{scored.title}.", _CLASSES, shown, files, "p")]
    if len(found.depths):
        turning = shapes.classes.loc[shapes.classes["class"].isin(TURNS), ["line", "phenomenon"]]
        listed = found.depths.merge(turning, on=["line", "phenomenon"])
        files = {f"dips_by_size_{scored.file_name}": found.depths}
        views.append(TableView(f"{_DEPTHS_NOTE}{scored.title}.", _DEPTHS, listed, files, "depth"))
    drawings = overall_and_phenomena(
        classified_curves(shapes), f"shapes_sizes_{scored.file_name}", "Shapes of the mean over sizes",
        f"Accuracy against training tokens, {scored.title}. {_FIGURE}",
        partial(draw_smoothed, note=_FIGURE, look=scored.study.look),
    )  # fmt: skip
    told = (count_classes(shapes.classes), *_tell_turns(shapes.classes))
    yield ReportSection(heading, (*told, *shapes.notes, *drawings, *views))


def _tell_turns(classes: pd.DataFrame) -> Iterator[str]:
    """Say in which curves that turn the sizes differ."""
    turning = classes[classes["class"].isin(TURNS)]
    differ = turning[turning["holm_sizes"] <= LEVEL]
    if len(turning) and turning["holm_sizes"].notna().any():
        names = ", ".join(f"{row.phenomenon} ({row.line})" for row in differ.itertuples())
        yield f"The sizes differ in the turn of: {names}." if names else "That sizes differ in a turn is not shown."


@dataclass
class _SizeRows:
    """The rows of the tables, as they are computed line by line."""

    cluster: str
    margin: float
    rows: list[dict[str, object]] = field(default_factory=list)
    curves: list[pd.DataFrame] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    estimates: dict[tuple[str, str], Curve] = field(default_factory=dict)
    contrasts: dict[tuple[str, str, str], SizeContrast] = field(default_factory=dict)  # and dip or bump

    def add_line(self, line: str, sizes: dict[str, list[Items]]) -> None:
        """Add the rows of the mean over sizes, whose members are runs; a note where it cannot be tested."""
        members = [one for own in sizes.values() for one in own]
        pairs = members[0].pairs
        if any(not pairs.equals(other.pairs) for other in members[1:]):
            self.notes.append(f"{line}: its sizes were scored on different pairs, so their mean is not tested.")
            return
        grid = common_tokens(members)
        if not len(grid) or not is_testable(grid):
            self.notes.append(f"{line}: its sizes share too few checkpoints to test their mean.")
            return
        shortest = min(members, key=lambda member: float(member.tokens[-1]))
        if shortest.tokens[-1] < max(member.tokens[-1] for member in members):
            last = f"{round(grid[-1]):,} tokens"
            self.notes.append(f"{line}: the mean over its sizes ends at {last}, where {shortest.run} ends.")
        for part in split_pairs(pairs, self.cluster):
            if part.paradigm is None:
                self._add_curve(line, sizes, grid, part)

    def _add_curve(self, line: str, sizes: dict[str, list[Items]], grid: Array, part: CurvePairs) -> None:
        groups = group_runs(_credits_at(sizes, grid, part.chosen), part.strata, part.clusters)
        curve, key = mean_curve(groups, grid), (line, part.phenomenon)
        rows = curve_rows(line, part.phenomenon, curve, _untrained(sizes, part.chosen))
        smooth = rows["smoothed"].dropna()
        self.estimates[key] = curve
        self.curves.append(rows)
        self.rows.append({
            "line": line, "phenomenon": part.phenomenon, "sizes": len(groups.names), "runs": int(groups.runs.sum()),
            "seeds": curve.seeds, "items": groups.items, "drawn": part.drawn, "checkpoints": len(grid),
            "variation": variation_of(curve),
            "start": smooth.iloc[0], "end": smooth.iloc[-1], **curve_statistics(curve, self.margin),
        })  # fmt: skip
        for turn in ("dip", "bump"):
            if (function := turn_function(curve, is_dip=turn == "dip")) is not None:
                self.contrasts[*key, turn] = size_contrast(groups, function)

    def finish(self) -> SizeShapes:
        """Classify the curves, and say whether the sizes differ in the turn of each."""
        nothing = pd.DataFrame()
        classes = classify_pooled(pd.DataFrame(self.rows)) if self.rows else nothing
        depths = nothing
        if self.rows:
            turns = np.where(classes["class"] == "inverted-U", "bump", "dip")
            keys = list(zip(classes["line"], classes["phenomenon"], turns, strict=True))
            p = np.array([self.contrasts[key].p if key in self.contrasts else np.nan for key in keys])
            # Where no turn is shown there is nothing in which the sizes could differ, and no test to pay for.
            adjusted_p = holm_of_tested(np.where(classes["class"].isin(TURNS), p, np.nan))
            classes = classes.assign(p_sizes=p, holm_sizes=adjusted_p)
            adjusted = dict(zip(keys, classes["holm_sizes"], strict=True))
            depths = pd.DataFrame([row for key in keys for row in self._depth_rows(key, adjusted[key])])
        shapes = Shapes(classes, nothing, stack(self.curves), nothing, tuple(self.notes), self.estimates)
        return SizeShapes(shapes, depths)

    def _depth_rows(self, key: tuple[str, str, str], holm: float) -> Iterator[dict[str, object]]:
        if key not in self.contrasts:
            return
        line, phenomenon, turn = key
        found = self.contrasts[key]
        for name, runs, depth, half in zip(found.names, found.runs, found.depths, found.half_width, strict=True):
            yield {
                "line": line, "phenomenon": phenomenon, "turn": turn, "model": name, "runs": int(runs),
                "depth": depth, "low": depth - half, "high": depth + half, "p_sizes": found.p, "holm_sizes": holm,
            }  # fmt: skip


def _credits_at(
    sizes: dict[str, list[Items]], grid: Array, chosen: npt.NDArray[np.bool_]
) -> Iterator[tuple[str, Array]]:
    for size, own in sizes.items():
        for member in own:
            yield size, credits_of(member, grid, chosen)


def _untrained(sizes: dict[str, list[Items]], chosen: npt.NDArray[np.bool_]) -> float:
    """Return the mean over sizes before training; NaN where some run was not scored then."""
    means = []
    for own in sizes.values():
        if any(member.tokens[0] > 0 for member in own):
            return np.nan
        means.append(np.mean([member.half_points[0, chosen].mean() / HALVES for member in own]))
    return float(np.mean(means))
