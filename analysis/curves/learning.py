"""Learning curves: accuracy against training tokens, overall and per phenomenon (ZhoBLiMP, section 5.3, Figure 4).

Pages show more than the figures for papers: every linking function, and a line for each value of a column.
"""

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from ucurve.analysis.data.frames import with_gaps
from ucurve.analysis.data.runs import Run
from ucurve.analysis.data.study import BenchmarkScores
from ucurve.analysis.figures.described import ACCURACY, TOKENS, LineFigure
from ucurve.analysis.figures.drawings import picture
from ucurve.analysis.plotting.facets import OVER_RUNS
from ucurve.analysis.plotting.figures import Drawing
from ucurve.analysis.plotting.style import NUMBERED, LineStyles

OVER_PAIRS = "95 % interval over the pairs of these templates"
_CURVE = ["line", "phenomenon", "step"]
MOST_ROWS = 20_000  # of a chart: with more of them a page is slow and large
MOST_LINES = 6  # of one panel


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
        tokens=("tokens", "mean"),
        flops=("flops", "mean"),
        runs=("accuracy", "count"),
        accuracy=("accuracy", "mean"),
        sd=("accuracy", "std"),
        low=("ci_low", "mean"),
        high=("ci_high", "mean"),
    ).reset_index()
    table["line"] = table["line"].astype(str)
    members = table["line"].map(rows.groupby("line")["run"].nunique())
    several = members > 1
    low, high = table["accuracy"] - table["sd"], table["accuracy"] + table["sd"]
    table["low"], table["high"] = table["low"].mask(several, low), table["high"].mask(several, high)
    table["band"] = several.map({True: OVER_RUNS, False: OVER_PAIRS})
    # Where some runs lack a checkpoint, the mean may jump without any learning, so the figure marks such points.
    table["whole"] = table["runs"] == members
    return table.drop(columns="sd")


def draw_learning_curves(
    table: pd.DataFrame, name: str, title: str, look: LineStyles = NUMBERED, every: pd.DataFrame | None = None
) -> list[Drawing]:
    """Draw the rows of ``curve_table``: overall and, where the benchmark has phenomena, with a panel for each.

    ``every`` are the same rows with those of other linking functions (``curve_tables``), for a menu on pages.
    """
    note = f"Accuracy against training tokens, {title}. {band_note(table)}"
    rows = table if every is None else every
    overall, phenomena = (part["phenomenon"].isin(("all", "")) for part in (table, rows))
    figure = overall_figure(rows, look)
    drawings = [
        picture(figure, f"{name}_overall", "Learning curves, overall", note, table[table["phenomenon"] == "all"])
    ]
    if not phenomena.all():
        figure = replace(figure, rows=rows[~phenomena], by="phenomenon")
        heading = "Learning curves by phenomenon"
        drawings.append(picture(figure, f"{name}_phenomena", heading, note, table[~overall]))
    return drawings


def overall_figure(rows: pd.DataFrame, look: LineStyles) -> LineFigure:
    """Describe the curves over all pairs; lines of several runs can be compared within a phenomenon too, on a page."""
    shown = ("all",) if rows["line"].nunique() == 1 else set(rows["phenomenon"]) - {""}
    return learning_figure(rows[rows["phenomenon"].isin(shown)], look)


def learning_figure(rows: pd.DataFrame, look: LineStyles = NUMBERED) -> LineFigure:
    """Describe the lines of rows of ``curve_table``, with a menu of what else they are named by."""
    menus = tuple(name for name in ("linking", "phenomenon") if name in rows)
    return LineFigure(rows, TOKENS, ACCURACY, band_note(rows), look, menus=menus, has_points=True)


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
    tables = [
        curve_table(rows[rows["linking"] == name], scored.study.runs).assign(linking=name) for name in functions
    ]
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
