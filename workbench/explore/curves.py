"""Curves under any linking function, counted from the stored scores: no model is loaded."""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import cast, get_args

import numpy as np
import pandas as pd

from ucurve.analysis.charts.parts import CURVES, LEVELS, Rows, dash_array, filled
from ucurve.analysis.curves.by_column import Counts, value_clusters, value_places, value_rows
from ucurve.analysis.curves.learning import curve_table, learning_figure
from ucurve.analysis.data.groups import ALL
from ucurve.analysis.data.look import look_of
from ucurve.analysis.figures.described import LineFigure
from ucurve.analysis.figures.page import Layout, draw_layout, draw_panels, draw_small, lay_out, rows_of
from ucurve.errors import UserError, unknown_name
from ucurve.eval.linking import FAMILIES, Linking, parse_linking
from ucurve.eval.metrics.accuracy import Split
from ucurve.eval.store.reported import OVER_PAIRS, USUAL_RULE, Reported
from ucurve.workbench.explore.library import Library
from ucurve.workbench.explore.matrix import ScoreMatrix
from ucurve.workbench.explore.turns import Course, courses, deepest, dips, order, say
from ucurve.workbench.replies import Values, text_of

_SHOWN = ("step", "tokens", "runs", "accuracy", "low", "high", "whole", "n")  # in a chart
_LIMITS: Mapping[str, tuple[float, float, float]] = {  # least, greatest and step of a slider
    "alpha": (0.0, 1.5, 0.05), "beta": (0.0, 2.0, 0.05), "gamma": (-10.0, 30.0, 0.5), "percent": (10.0, 100.0, 10.0),
}  # fmt: skip


@dataclass(frozen=True)
class Asked:
    """What a page asks to see."""

    benchmark: str
    scorer: str
    linking: Linking
    by: str  # a column of the pairs, or ``all``
    values: tuple[str, ...]  # those of its values that are wanted; empty for all
    split: Split
    runs: tuple[str, ...] | None  # labels; None for all runs
    color: str | None = None  # the factor that colors show; None for the first one that varies

    @property
    def key(self) -> Hashable:
        """What distinguishes its numbers from those of others."""
        return self.benchmark, self.scorer, self.linking.name, self.by, self.values, self.split, self.runs


def read_asked(values: Values) -> Asked:
    """Read a request."""
    split = values.get("split") or ALL
    if split not in get_args(Split):
        raise unknown_name("split", str(split), get_args(Split))
    return Asked(
        text_of(values, "benchmark"),
        text_of(values, "scorer"),
        parse_linking(text_of(values, "linking")),
        str(values.get("by") or ALL),
        tuple(_texts(values, "values")),
        cast(Split, split),
        tuple(_texts(values, "runs")) or None,
        str(values.get("color") or "") or None,
    )


def linking_functions(matrices: Sequence[ScoreMatrix]) -> list[dict[str, object]]:
    """List the linking functions that the stored columns allow, with the limits of their parameters' sliders.

    The one that is shown first comes first, and its sliders stand at the parameters that it is named with.
    """
    readable = [name for name in FAMILIES if any(not matrix.missing(parse_linking(name)) for matrix in matrices)]
    first, *given = (matrices[0].reported.linking or "").split(":")
    if first not in readable:
        first, given = Reported().choose_linking(readable) if readable else "", []
    found: list[dict[str, object]] = []
    for name in sorted(readable, key=lambda name: name != first):
        defaults = FAMILIES[name].defaults
        named = dict(zip(defaults, map(float, given if name == first else ()), strict=False))
        sliders = [
            {"name": key, "value": value, **dict(zip(("low", "high", "step"), _LIMITS[key], strict=True))}
            for key, value in {**defaults, **named}.items()
            if key in _LIMITS
        ]
        found.append({"name": name, "parameters": sliders})
    return found


def curves(library: Library, asked: Asked) -> dict[str, object]:
    """Return what the page shows of the curves that are asked for.

    ``small`` and ``chart`` are the charts of one value, small and large, without data; ``data`` has the numbers of all
    values by the names of the chart's data sets; ``values`` are in the order in which they are shown.
    """
    found = count_curves(library, asked)
    layout, lines = found.layout, found.courses
    named = {name: line for line, name in found.figure.names.items()}
    return {
        "values": [
            {"name": value, "n": found.sizes[value], "says": say(lines[value]), "dips": dips(lines[value]),
             "line": deepest(lines[value]).line, "step": deepest(lines[value]).step}
            for value in order(lines)
        ],
        "lines": [
            {"line": named.get(name, name), "name": name, "color": style.color, "dash": dash_array(style)}
            for name, style in layout.line.look.items()
        ],
        "small": _small_without_data(layout), "chart": _chart_without_data(layout), "data": found.data,
        "linking": asked.linking.name, "ties_rule": found.reported.ties_rule or USUAL_RULE,
        "overall": found.reported.overall if asked.by == ALL else OVER_PAIRS,
        "band": found.figure.with_reasons(found.figure.note) if len(found.table) else "", "notes": found.notes,
    }  # fmt: skip


def curve_rows(library: Library, asked: Asked) -> dict[str, object]:
    """Return the numbers behind the curves, exact: ``columns`` and ``rows`` of ``curve_table`` with the pairs ``n``."""
    table = count_curves(library, asked).table
    return {"columns": list(table.columns), "rows": table.to_numpy(dtype=object).tolist()}


def curve_figure(library: Library, asked: Asked) -> dict[str, object]:
    """Return the report's chart of all curves with its data, for a file."""
    found = count_curves(library, asked)
    title, layout = f"{asked.benchmark}, {asked.linking.name}", found.layout
    if len(found.sizes) == 1:
        one = filled(draw_layout(layout).properties(title=title), title, "", found.data)
        return dict(one.to_dict(validate=False))
    panels = filled(draw_panels(replace(layout, levels=())).properties(title=title), title, "", found.data)
    return dict(panels.to_dict(validate=False))


@dataclass(frozen=True, eq=False)
class Counted:
    """The curves that are asked for, counted from the stored scores."""

    table: pd.DataFrame  # as ``curve_table``, with ``value`` for ``phenomenon`` and ``n``, the pairs of a point
    levels: pd.DataFrame  # models without checkpoints: line, value, accuracy, low
    sizes: dict[str, int]  # pairs, by value
    figure: LineFigure
    layout: Layout
    reported: Reported
    notes: list[str]

    @cached_property
    def data(self) -> dict[str, Rows]:
        """The numbers of all curves by the names of the chart's data sets."""
        data: dict[str, Rows] = {CURVES: rows_of(self.figure, self.layout)}
        if self.layout.levels:
            places = zip(self.levels["line"], self.levels["value"], self.levels["accuracy"], strict=True)
            data[LEVELS] = [
                {"line": line, "value": value, "accuracy": 100 * height} for line, value, height in places
            ]
        return data

    @cached_property
    def courses(self) -> dict[str, list[Course]]:
        """What the curves do, by value; a level stays where it is."""
        levels = self.levels.assign(tokens=0.0)[["line", "value", "step", "tokens", "accuracy"]]
        return courses(pd.concat([self.table[levels.columns], levels]) if len(levels) else self.table)


def count_curves(library: Library, asked: Asked) -> Counted:
    """Count the curves that are asked for; those that were counted last are kept."""
    matrices, notes = usable_matrices(library, asked)
    key = asked.key, asked.color, tuple(matrix.signature for matrix in matrices)
    return library.recall(key, lambda: _count(matrices, notes, asked))


def _count(matrices: Sequence[ScoreMatrix], notes: list[str], asked: Asked) -> Counted:
    """Count the curves of the scores; a model without checkpoints, which has the step -1, is a level."""
    sizes, shown = curve_values(matrices[0], asked)
    reported = matrices[0].reported
    runs_of = Counter(matrix.run.line for matrix in matrices)
    # The band of a line of several runs needs no intervals of each of them.
    alone = [runs_of[matrix.run.line] == 1 or matrix.steps[0] < 0 for matrix in matrices]
    parts = [
        accuracy_rows(matrix, asked, shown, reported, one) for matrix, one in zip(matrices, alone, strict=True)
    ]
    rows = pd.concat(parts, ignore_index=True)
    trained = rows[rows["step"] >= 0]
    table = pd.DataFrame(columns=["line", "value", "band", *_SHOWN], dtype=float)
    if len(trained):
        runs = [matrix.run for matrix in matrices if matrix.steps[0] >= 0]
        table = curve_table(trained, runs).rename(columns={"phenomenon": "value"})
    table = table.assign(n=table["value"].map(sizes))
    levels = rows[rows["step"] < 0].rename(columns={"phenomenon": "value", "ci_low": "low"})
    look = look_of([matrix.run for matrix in matrices], (asked.color,))
    figure = replace(learning_figure(table, look), by="value")
    layout = lay_out(figure, None if levels.empty else levels, bottom=0.0, clickable=True)
    return Counted(table, levels, sizes, figure, layout, reported, notes)


@lru_cache(maxsize=16)
def _chart_without_data(layout: Layout) -> dict[str, object]:
    """Make a chart once, as that takes longer than counting the points which a slider moves."""
    chart: dict[str, object] = draw_layout(layout).to_dict(validate=False)
    return chart


@lru_cache(maxsize=16)
def _small_without_data(layout: Layout) -> dict[str, object]:
    """Make the small chart of one value, which is drawn once for each value of the page."""
    chart: dict[str, object] = draw_small(layout).to_dict(validate=False)
    return chart


def accuracy_rows(
    matrix: ScoreMatrix, asked: Asked, shown: Sequence[str], reported: Reported, with_intervals: bool
) -> pd.DataFrame:
    """Return the rows of ``value_rows`` of a run."""
    rule = reported.ties_rule or USUAL_RULE
    groups = matrix.shared.group(asked.by)
    clusters, of_pair = value_clusters(matrix.shared, asked.by, with_intervals)
    every = value_places(clusters, asked.by, reported.overall)
    # A pair without a value is of the group -1, the last one, which is not wanted.
    wanted = np.array([*(name in shown for name in groups.names), False])[groups.of]
    of = np.where(matrix.split(asked.split) & wanted, of_pair, -1)
    right, ties = matrix.counts(asked.linking, of, clusters.size)
    counts = Counts(right, ties, np.bincount(of[of >= 0], minlength=clusters.size))
    checkpoints = pd.DataFrame({"step": matrix.steps, "tokens": matrix.tokens, "flops": matrix.flops})
    places = {name: every[name] for name in shown}
    return value_rows(matrix.run, checkpoints, places, clusters, counts, rule, with_intervals=with_intervals)


def curve_values(matrix: ScoreMatrix, asked: Asked) -> tuple[dict[str, int], list[str]]:
    """Return the values of the column with their counted pairs, and those of them that are drawn."""
    groups = matrix.shared.group(asked.by)
    counted = matrix.split(asked.split) & (groups.of >= 0)
    sizes = np.bincount(groups.of[counted], minlength=len(groups.names))
    unknown = [name for name in asked.values if name not in groups.names]
    if unknown:
        raise unknown_name(f"value of {asked.by}", unknown[0], groups.names)
    there = {name: int(size) for name, size in zip(groups.names, sizes, strict=True) if size}
    return there, [name for name in there if not asked.values or name in asked.values]


def usable_matrices(library: Library, asked: Asked) -> tuple[list[ScoreMatrix], list[str]]:
    """Open the scores that the linking function can be computed of, and say what was left out."""
    matrices = library.matrices(asked.benchmark, asked.scorer, asked.runs)
    usable = [matrix for matrix in matrices if not matrix.missing(asked.linking)]
    if not usable:
        absent = ", ".join(matrices[0].missing(asked.linking))
        raise UserError(f"{asked.linking.name} reads {absent}, which is not stored")
    left_out = [matrix.run.label for matrix in matrices if matrix.missing(asked.linking)]
    notes = [f"{asked.linking.name} cannot be computed of {', '.join(left_out)}."] if left_out else []
    by = {matrix.scorer: [one.run.label for one in usable if one.scorer == matrix.scorer] for matrix in usable}
    if len(by) > 1:
        notes += [f"Scored by {scorer}: {', '.join(runs)}." for scorer, runs in by.items()]
    other = [one.run.label for one in usable if not one.pairs["pair"].equals(usable[0].pairs["pair"])]
    return usable, [*notes, f"Scored on other pairs: {', '.join(other)}."] if other else notes


def _texts(values: Values, name: str) -> list[str]:
    """Read a list of texts: a JSON array, or in an address one of its texts a line."""
    given = values.get(name) or []
    found = given.split("\n") if isinstance(given, str) else given
    if not isinstance(found, list) or not all(isinstance(text, str) for text in found):
        raise UserError(f"{name} is not a list of texts")
    return [text for text in found if text]
