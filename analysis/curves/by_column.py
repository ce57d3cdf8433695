"""Curves for each value of a published column of the pairs, such as distance or attractor, counted from their scores.

The mean over conditions can hide what each of them does; a curve for each value shows it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import pandas as pd

from ucurve.analysis.curves.learning import band_note, curve_table, learning_figure
from ucurve.analysis.data.groups import ALL, CROSS, Ids, Pairs, columns, crossed_columns
from ucurve.analysis.data.runs import Run
from ucurve.analysis.data.study import BenchmarkScores
from ucurve.analysis.figures.drawings import picture
from ucurve.analysis.items.histories import RIGHT, TIE, History, read_histories, same_pairs
from ucurve.analysis.items.seen_before import with_frequencies
from ucurve.analysis.plotting.figures import Drawing
from ucurve.analysis.report import questions
from ucurve.analysis.report.html import ReportSection
from ucurve.errors import UserError, unknown_name
from ucurve.eval.edits import FREQUENCIES
from ucurve.eval.metrics.accuracy import TIES_CREDIT, TiesRule
from ucurve.eval.metrics.levels import MEANS, levels_of
from ucurve.eval.metrics.sampling import Clusters, clusters_of, row_intervals, whole_paradigms
from ucurve.eval.store.reported import OVER_PAIRS

_STEPS_AT_ONCE = 16  # so that what is computed of all clusters takes little memory
MOST_DRAWN = 12  # values in a figure; the table has all
_KEY = "curves_by"
_TITLE = 20  # letters of a value above its panel


@dataclass(frozen=True, eq=False)
class Counts:
    """Items of each cluster."""

    right: Ids  # int64[steps, clusters]
    ties: Ids  # int64[steps, clusters]
    size: Ids  # int64[clusters], all items


@questions.section(questions.LEARNED, place=3)
def column_sections(scored: BenchmarkScores) -> Iterator[ReportSection]:
    """Draw the curves for each value of the columns that ``curves_by`` names; none without it.

    Raises:
        UserError: when a column is not published in the pairs of any benchmark, or has too many values.
    """
    for column in scored.study.settings.curves_by:
        heading = f"Curves by {column} on {scored.heading}"
        if not (histories := read_histories(scored)):
            yield ReportSection(heading, ("No scores of single pairs are stored: no curves by column.",))
        elif not _has_column(scored, histories, column):
            yield ReportSection(heading, (f"Its pairs have no column {column}.",))
        else:
            yield ReportSection(heading, tuple(_draw_column(scored, histories, column)))


def column_table(histories: Iterable[History], column: str, rule: TiesRule) -> pd.DataFrame:
    """Return the curves for each value of a column of the pairs, from runs that were scored on the same pairs.

    Of columns that ``*`` crosses, such as ``match*attractor``, there is a curve for each combination of values that
    some pair has, named ``True, False``. The columns of the table are those of ``learning.curve_table`` with ``value``
    in place of ``phenomenon``, and ``n``, its items. A column of many numbers has five parts of about as many pairs as
    values.

    Raises:
        UserError: when there is no such column, or it has too many values.
    """
    every = list(histories)
    groups = every[0].shared.group(column)
    rows = pd.concat([_rows_of_run(history, column, rule) for history in every], ignore_index=True)
    n = rows.drop_duplicates("phenomenon").set_index("phenomenon")["n"]
    table = curve_table(rows, [history.run for history in every]).rename(columns={"phenomenon": "value"})
    lines = {name: place for place, name in enumerate(dict.fromkeys(history.run.line for history in every))}
    order = pd.DataFrame(
        {
            "line": table["line"].map(lines),
            "value": table["value"].map(groups.names.index),
            "step": table["step"],
        }
    ).sort_values(["line", "value", "step"])
    return table.assign(n=table["value"].map(n).astype(int)).loc[order.index].reset_index(drop=True)


@lru_cache(maxsize=16)
def value_clusters(shared: Pairs, by: str, with_intervals: bool = True) -> tuple[Clusters, Ids]:
    """Return the clusters of the counted pairs that have a value of a column, and that of each pair, -1 without one.

    The values stand in the levels of the clusters as phenomena do. With ``all`` the phenomena themselves do. Where no
    intervals are wanted, a paradigm is one cluster, which is counted much faster.
    """
    groups = shared.group(by)
    chosen = shared.counted & (groups.of >= 0)
    if not chosen.any():
        raise UserError(f"column {by!r} has no value in a pair that counts")
    pairs = shared.table[chosen].reset_index(drop=True)
    if by != ALL:
        pairs["phenomenon"] = np.array(groups.names, dtype=object)[groups.of[chosen]]
    levels = levels_of(pairs)
    clusters = clusters_of(pairs, levels) if with_intervals else whole_paradigms(levels)
    of = np.full(len(chosen), -1, dtype=np.int64)
    of[chosen] = clusters.of
    return clusters, of


def value_places(clusters: Clusters, by: str, overall: str = OVER_PAIRS) -> dict[str, int]:
    """Return the row of each value of a column; of ``all`` that of the mean over pairs, paradigms or phenomena."""
    levels = clusters.levels  # paradigms, phenomena, and the means over pairs, paradigms and phenomena
    if by == ALL:
        return {ALL: len(levels.labels) - 3 + (OVER_PAIRS, *MEANS).index(overall)}
    values = levels.labels["phenomenon"].iloc[levels.paradigms : -3]
    return {str(value): levels.paradigms + place for place, value in enumerate(values)}


def value_rows(
    run: Run, checkpoints: pd.DataFrame, places: Mapping[str, int], clusters: Clusters, counts: Counts, rule: TiesRule,
    *, with_intervals: bool,
) -> pd.DataFrame:  # fmt: skip
    """Lay out the accuracies of one run as ``frames.score_frame`` reads them, a value of a column as ``phenomenon``.

    ``checkpoints`` has ``step``, ``tokens`` and ``flops``; ``places`` are the rows of values; values without items are
    left out. Intervals, which take most of the time, are needed where a line is this run alone; else they are NaN.
    """
    credit, size = counts.right + TIES_CREDIT[rule] * counts.ties, counts.size.astype(np.float64)
    rows, names, sizes = list(places.values()), list(places), clusters.by_paradigm(size)
    accuracy = clusters.levels.means(
        clusters.by_paradigm(credit), np.broadcast_to(sizes, (len(credit), len(sizes)))
    )
    low = high = np.full_like(accuracy, np.nan)
    if with_intervals:
        blocks = [credit[start : start + _STEPS_AT_ONCE] for start in range(0, len(credit), _STEPS_AT_ONCE)]
        low, high = (
            np.concatenate(part)
            for part in zip(*(row_intervals(clusters, one, size) for one in blocks), strict=True)
        )
    n = clusters.levels.totals(sizes)[rows].astype(np.int64)
    steps, number = len(checkpoints), len(names)
    named = {name: np.repeat(checkpoints[name].to_numpy(), number) for name in ("step", "tokens", "flops")}
    table = pd.DataFrame(
        {
            "run": run.label,
            "line": run.line,
            "phenomenon": np.tile(np.array(names, dtype=object), steps),
            **named,
            "accuracy": accuracy[:, rows].ravel(),
            "ci_low": low[:, rows].ravel(),
            "ci_high": high[:, rows].ravel(),
            "n": np.tile(n, steps),
        }
    )
    return table[table["n"] > 0]


def _draw_column(scored: BenchmarkScores, histories: Sequence[History], column: str) -> Iterator[str | Drawing]:
    """Draw the curves of the runs that were scored on the same pairs, and say which others are left out."""
    same, others = same_pairs(histories)
    same = with_frequencies(same, crossed_columns(same[0].shared.table, column))
    groups = same[0].shared.group(column)
    if others:
        yield f"Scored on other pairs, and left out: {', '.join(others)}."
    table = column_table(same, column, scored.ties_rule)
    name = f"curves_by_{column}_{scored.file_name}".replace("/", "-").replace(CROSS, "_x_")
    binned = " Its numbers are divided into parts of about as many pairs (quantiles)." if groups.are_parts else ""
    without = int((groups.of[same[0].items] < 0).sum())
    about_groups = binned + (f" {without:,} pairs have no value and are in no curve." if without else "")
    # A panel for each value: those with the most items where there are many.
    sizes = table.drop_duplicates("value").set_index("value")["n"]
    kept = sizes.nlargest(MOST_DRAWN).index
    drawn = [value for value in sizes.index if value in kept]
    rows = table[table["value"].isin(drawn)]
    short = {value: value if len(value) <= _TITLE else f"{value[: _TITLE - 1]}…" for value in drawn}
    titles = {value: f"{short[value]} ({sizes[value]:,})" for value in drawn}
    about = f"Accuracy against training tokens for each value of {column} (its pairs), {scored.title}."
    about += f" {band_note(table)}"
    if len(sizes) > len(drawn):
        about += f" The {MOST_DRAWN} values with the most pairs of {len(sizes)}; the CSV has all."
    figure = replace(learning_figure(rows, scored.study.look), by="value", titles=titles.__getitem__)
    yield picture(figure, name, f"Learning curves by {column}", about + about_groups, table)


def _has_column(scored: BenchmarkScores, histories: Sequence[History], column: str) -> bool:
    """Return whether the pairs of a benchmark have a column, or all columns that are crossed."""
    pairs, study = histories[0].shared.table, scored.study
    names = sorted({one.benchmark for one in study.benchmarks()})
    found = [study.pairs(run, name) for name in names for run in study.runs]
    every = [table for table in found if table is not None]
    # A column of another benchmark only leaves this one without curves; one that no benchmark has is a mistake.
    crossed = [one for one in crossed_columns(pairs, column) if one not in FREQUENCIES]
    for one in crossed:
        if one not in pairs and not any(one in table for table in every):
            raise unknown_name("column", one, {name for table in every for name in columns(table)} - {ALL}, _KEY)
    return all(one in pairs for one in crossed)


def _rows_of_run(history: History, column: str, rule: TiesRule) -> pd.DataFrame:
    """Return ``value_rows`` of a run, from its verdicts on the pairs that have a value."""
    clusters, of_pair = value_clusters(history.shared, column)
    of = of_pair[history.items]
    right, ties = (
        np.stack(
            [np.bincount(of[row & (of >= 0)], minlength=clusters.size) for row in history.verdicts == verdict]
        )
        for verdict in (RIGHT, TIE)
    )
    counts = Counts(right, ties, np.bincount(of[of >= 0], minlength=clusters.size))
    places = value_places(clusters, column)
    return value_rows(history.run, history.checkpoints, places, clusters, counts, rule, with_intervals=True)
