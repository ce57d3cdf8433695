"""The classes of curves as tables for people, one row a curve, those that dip first."""

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from ucurve.analysis.data.study import BenchmarkScores
from ucurve.analysis.shape.over_flops import read_flops_shapes
from ucurve.analysis.shape.over_lines import read_line_shapes, read_size_shapes
from ucurve.analysis.shape.section import read_shapes
from ucurve.analysis.shape.tables import Shapes
from ucurve.errors import UserError
from ucurve.progress import log_line

_SHAPES = {
    "line": "line", "phenomenon": "phenomenon", "shape": "shape", "class_these_pairs": "these_pairs",
    "class_these_runs": "these_runs", "p": "p", "dip": "dip", "dip_depth_low": "dip_low",
    "dip_depth_high": "dip_high", "dip_place": "dip_tokens", "holm_u": "p_dip", "q_u": "q_dip", "start": "start",
    "end": "end", "onset": "onset",
}  # fmt: skip


@dataclass(frozen=True)
class _Axis:
    """The curves over one axis."""

    read: Callable[[BenchmarkScores], Shapes | None]
    names: dict[str, str]  # the names that columns of the classes have in the list
    needs: str  # what is said where none could be tested


SHAPES_OVER = {
    "tokens": _Axis(
        read_shapes,
        _SHAPES | {name: name for name in ("detectable_dip", "limited_by", "more_seeds")},
        "no curve could be tested.",
    ),
    "sizes": _Axis(
        read_size_shapes,
        _SHAPES | {"sizes": "sizes", "holm_sizes": "p_sizes_differ"},
        "no mean over sizes could be tested; that takes two sizes or more of runs alike in all else.",
    ),
    "lines": _Axis(
        read_line_shapes,
        _SHAPES | {"lines": "lines", "holm_lines": "p_lines_differ"},
        "no mean over lines could be tested; that takes several lines, not of one model in several sizes (over=sizes), "
        "of which one has two runs or more.",
    ),
    "flops": _Axis(
        read_flops_shapes,
        {"at": "at", "cells": "points"} | _SHAPES | {"dip_place": "dip_flops", "onset": "onset_flops"},
        "no curve over FLOPs could be tested; that takes four sizes, or sizes and budgets, of runs alike in all else, "
        "over tenfold FLOPs.",
    ),
}


def list_shapes(scored: BenchmarkScores, over: str) -> pd.DataFrame:
    """List the curves over one of ``SHAPES_OVER``; a ``UserError`` where none could be tested, over tokens a line."""
    axis = SHAPES_OVER[over]
    found = axis.read(scored)
    if found is not None and len(found.classes):
        # Curves that dip, or come nearest to it, come first, because the list is read for them.
        ordered = found.classes.sort_values(["holm_u", "dip"], ascending=[True, False], ignore_index=True)
        return ordered[list(axis.names)].rename(columns=axis.names)
    why = " ".join([f"{scored.benchmark}: {axis.needs}", *(found.notes if found else ())])
    if over != "tokens":
        raise UserError(why)
    log_line(why)
    return pd.DataFrame(columns=list(axis.names.values()))
