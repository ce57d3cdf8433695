"""Learning curves: accuracy against training tokens, overall and per phenomenon (ZhoBLiMP, section 5.3, Figure 4)."""

from collections.abc import Mapping, Sequence
from functools import partial

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ucurve.analysis.data.frames import with_gaps
from ucurve.analysis.data.runs import Run
from ucurve.analysis.plotting.facets import (
    OVER_RUNS,
    Panels,
    draw_line,
    draw_over_tokens,
    line_legend,
    overall_and_phenomena,
)
from ucurve.analysis.plotting.figures import Drawing
from ucurve.analysis.plotting.line_styles import NUMBERED, LineStyle, LineStyles
from ucurve.analysis.plotting.style import TokenAxis

OVER_PAIRS = "95 % interval over the pairs of these templates"
_CURVE = ["line", "phenomenon", "step"]


def curve_table(scores: pd.DataFrame, runs: Sequence[Run]) -> pd.DataFrame:
    """Average the runs of each line at equal steps.

    ``scores`` are rows of ``score_frame`` for one benchmark, scorer and linking function, split ``all``, aggregates
    only (``phenomenon`` is ``all`` in the overall rows).

    The columns are ``line``, ``phenomenon``, ``step``, ``tokens``, ``flops``, ``runs`` (how many have a score at this
    step), ``accuracy`` (their mean), ``low``, ``high``, ``band`` and ``whole`` (all runs of the line have a score). The
    band of a line of several runs is the mean plus and minus one sample standard deviation over those with a score, of
    a line of one run the interval that its accuracy was reported with. A checkpoint without a score keeps its row, with
    NaN. Lines are in the order of the runs.
    """
    rows = with_gaps(scores[scores["step"] >= 0], runs)
    lines = pd.Categorical(rows["line"], list(dict.fromkeys(run.line for run in runs)))
    curves = rows.assign(line=lines).groupby(_CURVE, observed=True)
    table = curves.agg(
        tokens=("tokens", "mean"), flops=("flops", "mean"), runs=("accuracy", "count"), accuracy=("accuracy", "mean"),
        sd=("accuracy", "std"), low=("ci_low", "mean"), high=("ci_high", "mean"),
    ).reset_index()  # fmt: skip
    table["line"] = table["line"].astype(str)
    members = table["line"].map(rows.groupby("line")["run"].nunique())
    several = members > 1
    low, high = table["accuracy"] - table["sd"], table["accuracy"] + table["sd"]
    table["low"], table["high"] = table["low"].mask(several, low), table["high"].mask(several, high)
    table["band"] = several.map({True: OVER_RUNS, False: OVER_PAIRS})
    table["whole"] = table["runs"] == members
    return table.drop(columns="sd")


def draw_learning_curves(table: pd.DataFrame, name: str, title: str, look: LineStyles = NUMBERED) -> list[Drawing]:
    """Draw the rows of ``curve_table``: overall and, where the benchmark has phenomena, with a panel for each."""
    note = f"Accuracy against training tokens, {title}. {band_note(table)}"
    return overall_and_phenomena(table, name, "Learning curves", note, partial(draw_curves, look=look), look)


def band_note(table: pd.DataFrame) -> str:
    """Return one or two sentences on what the bands and open markers of a figure are."""
    bands = set(table["band"])
    if bands == {OVER_RUNS}:
        text = f"Line: mean over the runs of equal settings; band: ± {OVER_RUNS}."
    elif bands == {OVER_PAIRS}:
        text = f"Each line is one run; band: {OVER_PAIRS}."
    else:
        text = f"Band: ± {OVER_RUNS} where a line has several runs, {OVER_PAIRS} where it has one."
    partial = ((table["runs"] > 0) & ~table["whole"]).any()
    return text + (" Open markers: only some runs of the line have a score there." if partial else "")


def draw_curves(table: pd.DataFrame, panels: Panels, across: int = 4, look: LineStyles = NUMBERED) -> Figure:
    """Draw the lines of panels, from the rows of all of them together."""
    styles, size = look(table["line"]), 2.2 if len(panels) == 1 else 1.2

    def draw(axes: Axes, rows: pd.DataFrame, axis: TokenAxis) -> None:
        draw_lines(axes, rows, axis, styles, size)

    return draw_over_tokens(table, panels, draw, band_note(table), line_legend(styles, table), across=across)


def draw_lines(
    axes: Axes, rows: pd.DataFrame, axis: TokenAxis, styles: Mapping[str, LineStyle], size: float, lines: str = "line"
) -> None:
    """Draw the lines that a column names, with bands and points; open points stand for only some of a line's runs."""
    for name, style in styles.items():
        line = rows[rows[lines] == name].sort_values("tokens")
        x = axis.places(line["tokens"])
        draw_line(axes, style, x, line["accuracy"], (line["low"], line["high"]))
        for whole, face in ((True, style.color), (False, "white")):
            points = line["accuracy"].where(line["whole"] == whole)
            axes.plot(
                x, points, style.marker, color=style.color, markerfacecolor=face, markersize=size, markeredgewidth=0.6
            )
