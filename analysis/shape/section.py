"""The shape of learning in the report: classes, onsets and smoothed curves."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache, partial

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ucurve.analysis.data.pair_scores import Items, read_runs
from ucurve.analysis.data.runs import Run
from ucurve.analysis.data.study import MEANS_OVER, BenchmarkScores
from ucurve.analysis.plotting.facets import (
    Panels,
    draw_line,
    draw_over_tokens,
    line_legend,
    overall_and_phenomena,
)
from ucurve.analysis.plotting.figures import Drawing
from ucurve.analysis.plotting.style import LineStyles, TokenAxis, readable
from ucurve.analysis.report import questions
from ucurve.analysis.report.html import Column, ReportSection, TableView, table_columns
from ucurve.analysis.shape.cases import Case, find_curves
from ucurve.analysis.shape.classify import LEVEL, NOT_TESTED, SHAPES, TOO_SHORT, TURNS
from ucurve.analysis.shape.onset import ONSET_ABOVE_CHANCE, SATURATION_MARGIN
from ucurve.analysis.shape.over_tokens import AT_THE_END, LATEST, STABLE, find_shapes
from ucurve.analysis.shape.power import MOST_SEEDS, add_limits
from ucurve.analysis.shape.smoothing import ENOUGH_CLUSTERS, SMOOTHING
from ucurve.analysis.shape.tables import ITEMS_ONLY, SEEDS_ONLY, SEEN, Shapes, explain_reservations

_MOST_SHAPES = 6  # with their reservations, in a sentence that counts them
MOST_PICTURED = 18  # phenomena in the picture of the first screen
_CLASSES = table_columns(
    "line",
    "phenomenon",
    "shape",
    "p",
    "depth",
    "place",
    Column("onset", "Onset (tokens)", "count"),
    "end",
    "below",
    Column("limited_by", "Limited by"),
    Column("more_seeds", "More seeds needed", "count"),
    Column("detectable_dip", "Dip found in 80 % (points)", "percent"),
    Column("class_these_pairs", "These pairs, other seeds"),
    Column("class_these_runs", "These runs, other pairs"),
    "runs",
    "items",
    "effective_items",
    "clusters",
    "drawn",
    "checkpoints",
    "variation",
)
_PARADIGMS = table_columns(
    "line",
    "phenomenon",
    "paradigm",
    "below",
    "end",
    Column("holm_below", "p (Holm)", "p"),
    Column("below_from", "Below 50 % from (tokens)", "count"),
    "runs",
    "items",
    "drawn",
)
_MILESTONES = (
    f"Onset: tokens at which the curve, hardly smoothed, comes above {50 + 100 * ONSET_ABOVE_CHANCE:.0f} % to stay, "
    "none where it does not end significantly above; a bound of inf, in the CSV, lies beyond the last checkpoint. "
    f"Saturation: tokens from which the smoothed curve stays within {100 * SATURATION_MARGIN:.0f} points of its end, "
    "none where that is after half of them or where it does not end significantly "
    f"{100 * ONSET_ABOVE_CHANCE:.0f} points away from chance."
)
_ONE_RUN = (
    'A line of one run has "(this run)" beside its class: its p values and intervals are over pairs only and say '
    "nothing about another seed. In simulations, a single run without a dip that wanders by 1 to 2 points was called "
    "U-shaped in 3 to 32 % of curves of 300 pairs and in 20 to 73 % of 1,500 (docs/shape.md). Such lines are a "
    "family of Holm's procedure of their own. "
)
_TWO_RUNS = (
    "With two runs the variance over seeds is known from one difference only: U and inverted U are then indicative, "
    "and large changes may stay undetermined; a third seed helps most. "
)
_SCOPES = (
    "The shape is a claim about other seeds and other pairs of these templates. Two narrower claims are tested "
    "too: these pairs, in other seeds (the benchmark as it is; of other pairs or templates it says nothing), and these "
    "runs, on other pairs (it says nothing of other seeds). Rising (these pairs) means that only the narrower "
    "claim is shown; (dips, unproven) that the smoothed curve falls by "
    f"{100 * SEEN:.0f} points or more and comes back, which may be chance. "
)
_LIMITS = (
    "Limited by: what would help most where the shape is undetermined. More seeds needed: how many would show the turn "
    "that is seen in 80 % of cases, if it is real; noise deepens what is seen, so that this is a lower bound, and "
    f"beyond is more than {MOST_SEEDS}. Dip found in 80 %: how deep a dip, a quarter of the axis wide and in its "
    "middle, must be for these runs to show it in 80 % of cases (docs/shape.md). "
)
_BELOW = (
    f"Below chance: {STABLE} is a curve whose smoothed accuracy ends below 50 %, significantly after Holm over the "
    f"curves of this table (one-sided, level {LEVEL:g}, over pairs within paradigms and, with several runs, seeds), "
    f"and which stayed below from {LATEST:.0%} of the training tokens on or earlier; {AT_THE_END}, where it came below "
    "later. The CSV has the checkpoint from which on the smoothed curve lies below 50 %. "
)
_ENDS = (
    "A turn within about 0.6 decades of the first or the last checkpoint usually reads as rising or falling. Where "
    "both turns are significant, as in a W, the deeper one names the class and the other one is added. "
)


@lru_cache(maxsize=1)  # several sections need them, one benchmark after the other
def read_shapes(scored: BenchmarkScores) -> Shapes | None:
    """Test the shapes of a benchmark's curves; None where it has no curve."""
    if scored.curve_rows().empty:
        return None
    settings = scored.study.settings
    found = find_shapes(read_items(scored), settings.cluster, settings.flat_margin / 100)
    return replace(found, classes=add_limits(found)) if len(found.classes) else found


def test_cases(scored: BenchmarkScores, made: Iterable[Case | str]) -> Shapes:
    """Test cases of the runs of a benchmark (``find_curves``), as the settings of its study ask for."""
    settings = scored.study.settings
    return find_curves(made, settings.cluster, settings.flat_margin / 100)


@lru_cache(maxsize=1)  # lines, sizes and FLOPs are tested on the same credits
def read_items(scored: BenchmarkScores) -> tuple[tuple[Run, Items | None], ...]:
    """Read the credits of every pair of a benchmark; None for a run without stored scores of pairs.

    Without a curve there is nothing to test, and no run is read.
    """
    rows, study = scored.curve_rows(), scored.study
    if rows.empty:
        return ()
    return tuple(
        read_runs(study.runs, rows, scored.benchmark, scored.linking, scored.ties_rule, study.settings.cluster)
    )


@questions.section(questions.SHAPES, place=1, page="docs/shape.md")
def shape_sections(scored: BenchmarkScores) -> Iterable[ReportSection]:
    """Report the shapes of a benchmark's curves; nothing where it has no curve."""
    found = read_shapes(scored)
    if found is None:
        return
    heading, name = f"The shape of learning on {scored.heading}", f"shapes_{scored.file_name}"
    if found.classes.empty:
        yield ReportSection(heading, found.notes)
        return
    note = f"{scored.title}. {test_note(found.classes, scored.study.settings.flat_margin)}{_LIMITS}{_BELOW}"
    view = class_view(found, name, _CLASSES, note + _MILESTONES, "rank")
    over = "pairs" if set(found.classes["variation"]) == {ITEMS_ONLY} else "pairs and, with several runs, seeds"
    figure_note = (
        f"Line: curve smoothed on the log axis (sd {SMOOTHING} decades); band: holds the whole curve "
        f"with 95 %, over {over}; dots: accuracy of the checkpoints, step 0 set apart; triangle: the dip of a U, down, "
        "or the bump of an inverted U, up."
    )
    drawings = draw_shapes(scored, found, name, "Shapes of learning", figure_note, "Smoothed accuracy")
    texts = [" ".join([count_classes(found.classes), *describe_limits(found.classes)]), *found.notes]
    mean = MEANS_OVER.get(scored.overall)
    if mean is not None:  # the curve that is tested is not the one drawn above
        tested = "The overall curve tested here is over pairs; the overall learning curve is the mean over"
        texts.insert(1, f"{tested} {mean}.")
    rest = (view, *_paradigms_below(scored, found))
    # The first screen (``ucurve.analysis.overview``) of one line may show all curves of the first benchmark.
    first, lines = scored.study.benchmarks()[0], {run.line for run in scored.study.runs}
    is_first = (scored.benchmark, scored.scorer) == (first.benchmark, first.scorer)
    if is_first and len(lines) == 1 and found.classes["phenomenon"].nunique() <= MOST_PICTURED + 1:
        yield ReportSection(heading, (*texts, *rest), not_shown=tuple(drawings))
    else:
        yield ReportSection(heading, (*texts, *drawings, *rest))


def classified_curves(shapes: Shapes) -> pd.DataFrame:
    """Return the rows of ``Shapes.curves`` with the class of each curve."""
    kinds = shapes.classes.set_index(["line", "phenomenon"])[["shape", "class", "depth", "place", "runs"]]
    return shapes.curves.join(kinds, on=["line", "phenomenon"])


def class_view(found: Shapes, name: str, columns: tuple[Column, ...], note: str, rank: str = "p") -> TableView:
    """Show the classes of some curves; ``rank`` is the column by which rows matter most."""
    # What turns comes before what only seems to.
    turns_first = found.classes[["dip", "bump"]].max(axis=1) + found.classes["class"].isin(TURNS)
    shown = found.classes.assign(phenomenon=found.classes["phenomenon"].map(readable), rank=turns_first)
    return TableView(note, columns, shown, {name: found.classes}, rank)


def draw_shapes(
    scored: BenchmarkScores, found: Shapes, name: str, what: str, note: str, accuracy: str = "Accuracy"
) -> list[Drawing]:  # fmt: skip
    """Draw smoothed curves over tokens with their classes: the overall figure, and a panel for each phenomenon."""
    if found.curves.empty:
        return []
    draw = partial(draw_smoothed, note=note, look=scored.study.look)
    note = f"{accuracy} against training tokens, {scored.title}. {note}"
    return overall_and_phenomena(classified_curves(found), name, what, note, draw)


def _paradigms_below(scored: BenchmarkScores, found: Shapes) -> Iterable[TableView]:
    """List the paradigms that end below chance; the CSV has every paradigm."""
    tests = found.paradigms
    if tests.empty:
        return
    below = tests[tests["below"] != ""].sort_values("end", kind="stable")
    files = {f"below_chance_{scored.file_name}": tests}
    note = (
        f"Paradigms that end below chance, by the same test, with Holm over paradigms: {len(below)} of {len(tests)} "
        f"curves of paradigms and models. {scored.title}."
    )
    shown = below.assign(**{name: below[name].map(readable) for name in ("phenomenon", "paradigm")})
    yield TableView(note, _PARADIGMS, shown, files, "holm_below")


def test_note(classes: pd.DataFrame, margin: float) -> str:
    """Describe how the classes of a table were found, and how its lines may be interpreted."""
    variations, runs, drawn = (set(classes[name]) for name in ("variation", "runs", "drawn"))
    several = (
        "pairs and, where a line has several runs, over seeds" if ITEMS_ONLY in variations else "pairs and seeds"
    )
    over = "pairs" if variations == {ITEMS_ONLY} else several
    others = ", ".join(sorted(drawn - {"pairs", "edits"}))
    edits = (
        "Pairs of a paradigm that differ in the same way are drawn together (Drawn: edits); the effective "
        "number says how many independent draws they are worth where they are wholly alike. "
    )
    few = (
        f"Fewer than {ENOUGH_CLUSTERS} of them (by the effective number) say too little of others: class, p and "
        "intervals of such a curve are of these pairs in other seeds. "
    )
    return (
        f"Curves are smoothed on the log axis of tokens (normal kernel, sd {SMOOTHING} decades; step 0 has no place on "
        "it and takes no part). A curve falls (rises) where the largest of its falls (rises) between two stretches of "
        f"it is beyond chance, by a bootstrap over {over}; it is U-shaped where it lies farther from "
        "every curve that rises and then falls than its error explains. It is flat where all differences lie within "
        f"{margin:g} points by an equivalence test; where neither a change nor flatness is shown it is undetermined. p "
        f"values are adjusted by Holm over all curves of this table; the level is {LEVEL:g}. "
        "Draws are of pairs of these templates, not of templates: another template may have another curve. "
        + (edits if "edits" in drawn else "")
        + (few if SEEDS_ONLY in variations else "")
        + (f"Pairs with the same value of {others} are drawn together. " if others else "")
        + (_ONE_RUN if 1 in runs else "")
        + (_TWO_RUNS if 2 in runs else "")
        + (_SCOPES if runs - {1} else "")
        + _ENDS
    )


def count_classes(classes: pd.DataFrame) -> str:
    """Count the curves of each class, with the reservations of the classes, and what these mean, where they are few."""
    tested = classes[classes["class"] != NOT_TESTED]
    ordered = tested.sort_values("class", key=lambda names: names.map(SHAPES.index))
    counts = Counter(ordered["shape" if ordered["shape"].nunique() <= _MOST_SHAPES else "class"])
    named = ", ".join(f"{count} {shape}" for shape, count in counts.items())
    text = f"Of {len(tested)} curves: {named}." if named else "No curve could be tested."
    text = " ".join([text, *(said for said in explain_reservations(counts) if said.startswith("These"))])
    few = len(classes) - len(tested)
    why = f"with {TOO_SHORT}"
    return text + (f" Not tested: {few}, {why}." if few else "")


def describe_limits(classes: pd.DataFrame) -> Iterator[str]:
    """Say how large a dip these runs would show, and what limits the curves that are undetermined."""
    depths = 100 * classes.loc[classes["p_rise"].notna(), "detectable_dip"]
    if depths.empty:
        return
    low, middle, high = depths.min(), depths.median(), depths.max()
    spread = f"{middle:.0f} points" if low == high else f"{low:.0f} to {high:.0f} points (median {middle:.0f})"
    deep = spread.replace("inf", "more than 50")
    yield f"A dip in the middle of training must be {deep} deep for these runs to show it in 80 % of cases."
    if counts := Counter(classes.loc[classes["class"] == "undetermined", "limited_by"]):
        named = ", ".join(f"{name} ({count})" for name, count in counts.most_common())
        yield f"What limits the undetermined curves most: {named}."


def draw_smoothed(table: pd.DataFrame, panels: Panels, note: str, look: LineStyles, across: int = 4) -> Figure:
    """Draw the smoothed curves of panels, with their classes, from the rows of all of them together."""
    styles = look(table["line"])
    drawn = table.assign(low=table["band_low"])  # what the axis has to hold
    note = explain_shapes(note, table)

    def draw(axes: Axes, rows: pd.DataFrame, axis: TokenAxis) -> None:
        for name, style in styles.items():
            line = rows[rows["line"] == name]
            x = axis.places(line["tokens"])
            draw_line(axes, style, x, line["smoothed"], (line["band_low"], line["band_high"]))
            axes.plot(x, line["accuracy"], style.marker, color=style.color, markersize=1.2, alpha=0.6, mew=0)
            if len(line) and line["class"].iloc[0] in TURNS:
                trained = line[line["tokens"] > 0]
                place, is_dip = float(line["place"].iloc[0]), line["class"].iloc[0] == "U-shaped"
                height = np.interp(np.log10(place), np.log10(trained["tokens"]), trained["smoothed"])
                axes.plot(
                    [place],
                    [height],
                    "v" if is_dip else "^",
                    color=style.color,
                    markersize=4,
                    markeredgecolor="black",
                    markeredgewidth=0.5,
                )
        name_shapes(axes, rows)

    return draw_over_tokens(drawn, panels, draw, note, line_legend(styles, table), across=across, title_lines=2)


def explain_shapes(note: str, table: pd.DataFrame) -> str:
    """Add to the note of a figure what the words in brackets after its shapes mean."""
    if table["line"].nunique() > 1:  # the shapes of several lines are counted, without these words
        return note
    return " ".join([note, *explain_reservations(table["shape"].unique())])


def name_shapes(axes: Axes, rows: pd.DataFrame) -> None:
    """Write the class below the title of a panel, or inside the only panel; several lines are counted by class."""
    lines, phenomenon = rows.drop_duplicates("line"), str(rows["phenomenon"].iloc[0])
    text = _abbreviate(str(lines["shape"].iloc[0]))
    if len(lines) > 1:  # there is no room for the shape of each
        counts = Counter(lines["class"])
        alone = " (single runs)" if (lines["runs"] == 1).all() else ""
        text = ", ".join(f"{counts[shape]} {_abbreviate(shape)}" for shape in SHAPES if counts[shape]) + alone
    if phenomenon == "all":
        axes.text(0.02, 1, text, transform=axes.transAxes, ha="left", va="top", fontsize=6.5, parse_math=False)
        return
    axes.set_title(readable(phenomenon), pad=11, parse_math=False)
    axes.text(0.5, 1.02, text, transform=axes.transAxes, ha="center", va="bottom", fontsize=6, parse_math=False)


def _abbreviate(shape: str) -> str:
    """Write a shape as short as there is room for in a panel."""
    short = shape.replace("U-shaped", "U").replace("inverted-U", "inverted U")
    return short.removeprefix("undetermined (").removesuffix(")") if short.startswith("undetermined (") else short
