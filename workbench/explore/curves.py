"""Curves under any linking function, counted from the stored scores: no model is loaded."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import cast, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.charts.curves import LearningLayout, draw_layout, learning_layout, learning_rows
from analysis.charts.parts import CURVES, LEVELS
from analysis.curves.by_column import value_rows
from analysis.curves.learning import curve_table
from analysis.data.groups import ALL
from eval.linking import FAMILIES, Linking, parse_linking
from eval.metrics.accuracy import TIES_CREDIT, Split, effective_sample, exact_interval
from eval.metrics.levels import levels_of
from eval.store.reported import OVER_PAIRS, USUAL_RULE, Reported
from ucurve.errors import UserError, unknown_name
from workbench.explore.library import Library
from workbench.explore.matrix import ScoreMatrix
from workbench.replies import Values, text_of

Array = npt.NDArray[np.float64]

_SHOWN = ("step", "tokens", "runs", "accuracy", "low", "high", "whole", "n")  # in a chart
_USUAL = 12  # values that are drawn when none is named
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
    values: tuple[str, ...]  # those of its values that are wanted; empty for the first ones
    split: Split
    runs: tuple[str, ...] | None  # labels; None for all runs


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

    The rows are those of ``learning.curve_table`` with ``value`` for ``phenomenon`` and ``n``, the pairs of a point.
    """
    matrices, notes = usable_matrices(library, asked)
    sizes, shown = curve_values(matrices[0], asked)
    reported = matrices[0].reported
    rows = pd.concat([accuracy_rows(matrix, asked, shown, reported) for matrix in matrices], ignore_index=True)
    trained = rows[rows["step"] >= 0]
    table = pd.DataFrame(columns=["group", "value", *_SHOWN], dtype=float)
    if len(trained):
        runs = [matrix.run for matrix in matrices if matrix.steps[0] >= 0]
        table = curve_table(trained, runs).rename(columns={"phenomenon": "value"})
    table = table.assign(n=table["value"].map(sizes))
    levels = rows[rows["step"] < 0].rename(columns={"phenomenon": "value", "ci_low": "low"})
    named = curve_names({*table["group"], *levels["group"]}, shown)
    return {
        "columns": list(table.columns),
        "rows": table.to_numpy(dtype=object).tolist(),
        "values": [{"name": name, "n": n} for name, n in sizes.items()],
        "shown": shown,
        "curves": {name: curve for curve, name in named.items()},
        **curve_chart(_with_curves(table, named), _with_curves(levels, named)),
        "linking": asked.linking.name,
        "ties_rule": reported.ties_rule or USUAL_RULE,
        "overall": reported.overall if asked.by == ALL else OVER_PAIRS,
        "notes": notes,
    }


def curve_names(lines: Collection[str], values: Sequence[str]) -> dict[tuple[str, str], str]:
    """Name each curve, a line and a value, by what differs between the curves."""
    if list(values) == [ALL]:
        return {(line, ALL): line for line in lines}
    several = len(lines) > 1
    return {(line, value): f"{line}: {value}" if several else value for line in lines for value in values}


def _with_curves(table: pd.DataFrame, named: Mapping[tuple[str, str], str]) -> pd.DataFrame:
    names = [named[curve] for curve in zip(table["group"], table["value"], strict=True)]
    return table.assign(curve=names)[["curve", *table.columns.intersection(list(_SHOWN))]]


def curve_chart(table: pd.DataFrame, levels: pd.DataFrame) -> dict[str, object]:
    """Return the report's chart of these curves: ``chart``, which is the same while only numbers change, and ``data``.

    The names of lines are in ``curve``; ``levels`` are models without checkpoints, with ``accuracy`` and ``low``.
    """
    layout = learning_layout(table, "curve", None if levels.empty else levels, clickable=True)
    data = {CURVES: learning_rows(table, layout)}
    if layout.levels:
        rows = zip(levels["curve"], levels["accuracy"], strict=True)
        data[LEVELS] = [{"curve": name, "accuracy": 100 * accuracy} for name, accuracy in rows]
    return {"chart": _chart_without_data(layout), "data": data}


@lru_cache(maxsize=16)
def _chart_without_data(layout: LearningLayout) -> dict[str, object]:
    """Make a chart once, as that takes longer than counting the points which a slider moves."""
    chart: dict[str, object] = draw_layout(layout).to_dict(validate=False)
    return chart


def accuracy_rows(matrix: ScoreMatrix, asked: Asked, shown: Sequence[str], reported: Reported) -> pd.DataFrame:
    """Return rows as ``analysis.data.frames.score_frame`` reads them, the value of the column as ``phenomenon``."""
    rule = reported.ties_rule or USUAL_RULE
    groups = matrix.shared.group(asked.by)
    counted = matrix.split(asked.split)
    places = np.array([shown.index(name) if name in shown else -1 for name in groups.names])
    of = np.where(counted & (groups.of >= 0), places[groups.of], -1)
    right, ties = matrix.counts(asked.linking, of, len(shown))
    n = np.bincount(of[of >= 0], minlength=len(shown))
    checkpoints = pd.DataFrame({"step": matrix.steps, "tokens": matrix.tokens, "flops": matrix.flops})
    rows = value_rows(matrix.run, checkpoints, shown, right, ties, n, rule)
    if asked.by != ALL or reported.overall == OVER_PAIRS or rows.empty:
        return rows
    accuracy, size = _mean_of_parts(matrix, asked, reported)
    low, high = exact_interval(accuracy * size, size)
    return rows.assign(accuracy=accuracy, ci_low=low, ci_high=high)


def _mean_of_parts(matrix: ScoreMatrix, asked: Asked, reported: Reported) -> tuple[Array, Array]:
    """Return the mean over paradigms or phenomena at every step, and its effective sample, both float64[steps]."""
    levels = levels_of(matrix.pairs)
    of = np.where(matrix.split(asked.split), levels.paradigm_of, -1)
    right, ties = matrix.counts(asked.linking, of, levels.paradigms)
    credited = right + TIES_CREDIT[reported.ties_rule or USUAL_RULE] * ties
    n = np.bincount(of[of >= 0], minlength=levels.paradigms).astype(np.float64)
    cells = levels.membership if reported.overall == "macro_phenomena" else np.eye(levels.paradigms)
    return effective_sample(credited @ cells, np.broadcast_to(n @ cells, (len(credited), cells.shape[1])))


def curve_values(matrix: ScoreMatrix, asked: Asked) -> tuple[dict[str, int], list[str]]:
    """Return the values of the column with their counted pairs, and those of them that are drawn."""
    groups = matrix.shared.group(asked.by)
    counted = matrix.split(asked.split) & (groups.of >= 0)
    sizes = np.bincount(groups.of[counted], minlength=len(groups.names))
    unknown = [name for name in asked.values if name not in groups.names]
    if unknown:
        raise unknown_name(f"value of {asked.by}", unknown[0], groups.names)
    there = {name: int(size) for name, size in zip(groups.names, sizes, strict=True) if size}
    drawn = [name for name in there if name in asked.values] if asked.values else list(there)[:_USUAL]
    return there, drawn


def usable_matrices(library: Library, asked: Asked) -> tuple[list[ScoreMatrix], list[str]]:
    """Open the scores that the linking function can be computed of, and say what was left out."""
    matrices = library.matrices(asked.benchmark, asked.scorer, asked.runs)
    usable = [matrix for matrix in matrices if not matrix.missing(asked.linking)]
    if not usable:
        absent = ", ".join(matrices[0].missing(asked.linking))
        raise UserError(f"{asked.linking.name} reads {absent}, which is not stored")
    left_out = [matrix.run.label for matrix in matrices if matrix.missing(asked.linking)]
    notes = [f"{asked.linking.name} cannot be computed of {', '.join(left_out)}."] if left_out else []
    other = [one.run.label for one in usable if not one.pairs["pair"].equals(usable[0].pairs["pair"])]
    return usable, [*notes, f"Scored on other pairs: {', '.join(other)}."] if other else notes


def _texts(values: Values, name: str) -> list[str]:
    """Read a list of texts: a JSON array, or in an address one of its texts a line."""
    given = values.get(name) or []
    found = given.split("\n") if isinstance(given, str) else given
    if not isinstance(found, list) or not all(isinstance(text, str) for text in found):
        raise UserError(f"{name} is not a list of texts")
    return [text for text in found if text]
