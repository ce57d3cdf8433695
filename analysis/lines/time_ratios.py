"""How many times the training tokens one line needs for what another has.

Accuracies at one amount of tokens say little where lines learn the same things at other times.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from ucurve.analysis.acquisition.age import LEAST_CHANGE, RunCurve, read_curves, starts_and_ends, time_at
from ucurve.analysis.data.study import BenchmarkScores
from ucurve.analysis.lines.over_seeds import DIFFERENCE, Seeds, contrast, moderate, p_of_contrast
from ucurve.analysis.report import questions
from ucurve.analysis.report.html import Column, ReportSection, TableView, interval_columns, table_columns
from ucurve.eval.metrics.significance import holm

COLUMNS = (
    "phenomenon", "line", "other", "level", "runs", "passed", "runs_other", "passed_other", "tokens", "tokens_other",
    "ratio", "low", "high", "p", "p_holm",
)  # fmt: skip
_SHOWN = table_columns(
    Column("line", "Line"),
    Column("ratio", "Times the tokens", "number"),
    *interval_columns("number"),
    Column("other", "Of"),
    Column("level", "Half way (%)", "percent"),
    "tokens",
    "p_holm",
)
_NOTE = (
    "How many times the training tokens a line needs for what another one has: where both pass half way of the "
    "accuracies that they share, from the higher untrained accuracy to the lower end. Lines that differ in one factor; "
    "the CSV has every two lines and every phenomenon. Intervals are 95 % over seeds, on these pairs. Tokens of two "
    "tokenizers are other amounts of text. "
)
_Sides = tuple[Sequence[float], ...]  # log10 of the tokens of each run, of both lines


def time_ratios(curves: pd.DataFrame) -> pd.DataFrame:
    """Compare every two lines in every phenomenon: ``ratio`` is the tokens of ``line`` over those of ``other``.

    ``curves`` has ``line``, ``run``, ``phenomenon``, ``tokens`` and ``accuracy``, a row per checkpoint. ``level`` is
    half way of the stretch of accuracies that both lines pass, of rising curves from the higher untrained accuracy to
    the lower end. Lines that share less than 5 points, or of which one rises and one falls, have no row. A run passes
    the level where its smoothed curve (.15 decades) comes to its other side for good, read between checkpoints on the
    log axis. ``passed`` counts the runs that do so after their first checkpoint; where some do not, there is no ratio.
    ``tokens`` are geometric means over runs, ``low`` and ``high`` the 95 % interval of the ratio over seeds
    (``over_seeds``); ``p`` is of a ratio of 1, and ``p_holm`` over the phenomena and pairs of lines, those of ``all``
    apart.
    """
    found = list(_pairs(curves))
    seeds = _seeds([sides for _, sides in found], [key[0] == "all" for key, _ in found])
    rows = []
    for (key, sides), both in zip(found, seeds, strict=True):
        counts = [count for times in sides for count in (len(times), int(np.isfinite(times).sum()))]
        # A ratio is a difference of logarithms, so its interval is one of these.
        tokens, ratio = [10**one.mean for one in both], [10**value for value in contrast(both, DIFFERENCE)]
        rows.append((*key, *counts, *tokens, *ratio, p_of_contrast(both, DIFFERENCE)))
    table = pd.DataFrame(rows, columns=[name for name in COLUMNS if name != "p_holm"])
    known = table.dropna(subset="p").groupby(table["phenomenon"] == "all")["p"]
    return table.assign(p_holm=known.transform(lambda p: holm(p.to_numpy())))


@questions.section(questions.MODELS, place=3)
def time_ratio_sections(scored: BenchmarkScores) -> Iterator[ReportSection]:
    """Tabulate the ratios of lines; nothing where no two of several lines pass a common level."""
    study, curves = scored.study, scored.curve_rows()
    lines = {run.label: run.line for run in study.runs}  # in the order in which they are compared
    ordered = curves.sort_values("run", key=lambda run: run.astype(str).map(list(lines).index), kind="stable")
    table = time_ratios(ordered.assign(line=ordered["run"].map(lines)))
    if table.empty:
        return
    without = [{run.line: run.line_without(factor) for run in study.runs} for factor in study.design.varying]
    # A difference between lines that differ in two factors could be due to either, so these are not shown.
    alike = [table["line"].map(of) == table["other"].map(of) for of in without]
    shown = table[(table["phenomenon"] == "all") & table["ratio"].notna() & np.logical_or.reduce(alike)]
    files = {f"time_ratios_{scored.file_name}": table}
    # The line that needs more tokens comes first, so that every ratio is above 1.
    swapped = {"line": "other", "tokens": "tokens_other"} | {"other": "line", "tokens_other": "tokens"}
    turned = shown.rename(columns=swapped).assign(
        ratio=1 / shown["ratio"], low=1 / shown["high"], high=1 / shown["low"]
    )
    slower_first = shown.where(shown["ratio"] >= 1, turned).sort_values("ratio", ascending=False, kind="stable")
    view = TableView(f"{_NOTE}{scored.title}.", _SHOWN, slower_first, files, "p_holm")
    yield ReportSection(f"How many times the tokens on {scored.heading}", (view,))


def _pairs(curves: pd.DataFrame) -> Iterator[tuple[tuple[str, str, str, float], _Sides]]:
    """Yield phenomenon, both lines and the level at which they are compared, with the times of their runs."""
    for phenomenon, lines in read_curves(curves).items():
        for line, other in combinations(lines, 2):
            level, rises = _level([lines[line], lines[other]])
            if not np.isnan(level):
                sides = tuple([time_at(run, level, rises=rises) for run in lines[name]] for name in (line, other))
                yield (phenomenon, line, other, level), sides


def _seeds(every: Sequence[_Sides], of_all: Sequence[bool]) -> list[list[Seeds]]:
    """Read the times of both lines of each pair, with variances moderated over all pairs whose runs pass the level."""
    found: dict[tuple[int, int], Seeds] = {}
    for is_all in (True, False):  # the mean over all pairs of sentences varies less
        keys = [(place, side) for place, one in enumerate(of_all) if one == is_all for side in (0, 1)]
        passed = [own if np.isfinite(own := every[place][side]).all() else [] for place, side in keys]
        found |= dict(zip(keys, moderate(passed), strict=True))
    return [[found[place, side] for side in (0, 1)] for place in range(len(every))]


def _level(lines: Sequence[Sequence[RunCurve]]) -> tuple[float, bool]:
    """Return the level at which the times of lines are read, and whether they rise to it; NaN where there is none."""
    starts, ends = starts_and_ends(lines)
    # The level lies in the middle of the range that both lines pass, because a line that does not reach it has no time.
    if min(ends) - max(starts) >= LEAST_CHANGE:
        return (max(starts) + min(ends)) / 2, True
    if min(starts) - max(ends) >= LEAST_CHANGE:
        return (min(starts) + max(ends)) / 2, False
    return np.nan, False
