"""How many times the training tokens one line needs for what another has.

Accuracies at one amount of tokens say little where lines learn the same things at other times.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from ucurve.analysis.curves.mean import local_linear
from ucurve.analysis.data.study import BenchmarkScores
from ucurve.analysis.lines.over_seeds import DIFFERENCE, Seeds, contrast, moderate, p_of_contrast
from ucurve.analysis.report import questions
from ucurve.analysis.report.html import Column, ReportSection, TableView, interval_columns
from ucurve.analysis.shape.smoothing import SMOOTHING
from ucurve.eval.metrics.significance import holm

COLUMNS = (
    "phenomenon", "line", "other", "level", "runs", "passed", "runs_other", "passed_other", "tokens", "tokens_other",
    "ratio", "low", "high", "p", "p_holm",
)  # fmt: skip
LEAST_CHANGE = 0.05  # of accuracy that both lines pass; on a shorter stretch no level tells their times
_SHOWN = (
    Column("line", "Line"), Column("ratio", "Times the tokens", "number"), *interval_columns("number"),
    Column("other", "Of"), Column("level", "Half way (%)", "percent"), Column("tokens", "Tokens", "count"),
    Column("p_holm", "p (Holm)", "p"),
)  # fmt: skip
_NOTE = (
    "How many times the training tokens a line needs for what another one has: where both pass half way of the "
    "accuracies that they share, from the higher untrained accuracy to the lower end. Lines that differ in one factor; "
    "the CSV has every two lines and every phenomenon. Intervals are 95 % over seeds, on these pairs. Tokens of two "
    "tokenizers are other amounts of text. "
)
Array = npt.NDArray[np.float64]
_Sides = tuple[Sequence[float], ...]  # log10 of the tokens of each run, of both lines


class _Curve(NamedTuple):
    """One run's curve."""

    places: Array  # log10 of tokens, of trained checkpoints with a score
    smoothed: Array
    untrained: float  # the accuracy before training; of the first checkpoint where there is none


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
    rows = [(*key, *_counts(sides), *_ratio(*both)) for (key, sides), both in zip(found, seeds, strict=True)]
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
    alike = [table["line"].map(of) == table["other"].map(of) for of in without]
    shown = table[(table["phenomenon"] == "all") & table["ratio"].notna() & np.logical_or.reduce(alike)]
    files = {f"time_ratios_{scored.file_name}": table}
    view = TableView(f"{_NOTE}{scored.title}.", _SHOWN, _slower_first(shown), files, "p_holm")
    yield ReportSection(f"How many times the tokens on {scored.heading}", (view,))


def _slower_first(rows: pd.DataFrame) -> pd.DataFrame:
    """Name the line that needs more tokens first, so that every ratio is above 1."""
    swapped = {"line": "other", "tokens": "tokens_other"} | {"other": "line", "tokens_other": "tokens"}
    turned = rows.rename(columns=swapped).assign(ratio=1 / rows["ratio"], low=1 / rows["high"], high=1 / rows["low"])
    return rows.where(rows["ratio"] >= 1, turned).sort_values("ratio", ascending=False, kind="stable")


def _pairs(curves: pd.DataFrame) -> Iterator[tuple[tuple[str, str, str, float], _Sides]]:
    """Yield phenomenon, both lines and the level at which they are compared, with the times of their runs."""
    for phenomenon, lines in _read(curves).items():
        for line, other in combinations(lines, 2):
            level, rises = _level([lines[line], lines[other]])
            if not np.isnan(level):
                sides = tuple([_time(run, level, rises) for run in lines[name]] for name in (line, other))
                yield (phenomenon, line, other, level), sides


def _seeds(every: Sequence[_Sides], of_all: Sequence[bool]) -> list[list[Seeds]]:
    """Read the times of both lines of each pair, with variances moderated over all pairs whose runs pass the level."""
    found: dict[tuple[int, int], Seeds] = {}
    for is_all in (True, False):  # the mean over all pairs of sentences varies less
        keys = [(place, side) for place, one in enumerate(of_all) if one == is_all for side in (0, 1)]
        passed = [own if np.isfinite(own := every[place][side]).all() else [] for place, side in keys]
        found |= dict(zip(keys, moderate(passed), strict=True))
    return [[found[place, side] for side in (0, 1)] for place in range(len(every))]


def _counts(sides: _Sides) -> tuple[int, ...]:
    return tuple(count for times in sides for count in (len(times), int(np.isfinite(times).sum())))


def _ratio(first: Seeds, second: Seeds) -> tuple[float, ...]:
    tokens = 10**first.mean, 10**second.mean
    ratio = (10**value for value in contrast([first, second], DIFFERENCE))
    return *tokens, *ratio, p_of_contrast([first, second], DIFFERENCE)


def _read(curves: pd.DataFrame) -> dict[str, dict[str, list[_Curve]]]:
    """Smooth the curves of all runs, by phenomenon and line."""
    found: dict[str, dict[str, list[_Curve]]] = {}
    scored = curves.dropna(subset="accuracy")
    for (phenomenon, line, _), own in scored.groupby(["phenomenon", "line", "run"], sort=False):
        tokens, accuracy = own.sort_values("tokens")[["tokens", "accuracy"]].to_numpy(np.float64).T
        places = np.log10(tokens[tokens > 0])
        if len(places) > 1:
            smoothed = local_linear(places, accuracy[tokens > 0], SMOOTHING)
            one = _Curve(places, smoothed, float(accuracy[0]))
            found.setdefault(str(phenomenon), {}).setdefault(str(line), []).append(one)
    return found


def _level(lines: Sequence[Sequence[_Curve]]) -> tuple[float, bool]:
    """Return the level at which the times of lines are read, and whether they rise to it; NaN where there is none."""
    starts = [float(np.mean([run.untrained for run in runs])) for runs in lines]
    ends = [float(np.mean([run.smoothed[-1] for run in runs])) for runs in lines]
    if min(ends) - max(starts) >= LEAST_CHANGE:
        return (max(starts) + min(ends)) / 2, True
    if min(starts) - max(ends) >= LEAST_CHANGE:
        return (min(starts) + max(ends)) / 2, False
    return np.nan, False


def _time(run: _Curve, level: float, rises: bool) -> float:
    """Return log10 of the tokens at which a run passes a level for good; infinite where it does not, or before all."""
    before = np.flatnonzero(run.smoothed < level if rises else run.smoothed > level)
    if not len(before) or before[-1] == len(run.places) - 1:
        return float("inf")
    last = slice(before[-1], before[-1] + 2)
    height = run.smoothed[last]
    share = (level - height[0]) / (height[1] - height[0])
    return float(run.places[last][0] + share * np.diff(run.places[last])[0])
