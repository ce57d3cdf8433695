"""The classes of curves as tables for people, one row a curve, those that dip first."""

import pandas as pd

from ucurve.analysis.data.study import BenchmarkScores
from ucurve.analysis.shape.over_flops import read_flops_shapes
from ucurve.analysis.shape.over_sizes import read_size_shapes
from ucurve.analysis.shape.section import read_shapes
from ucurve.errors import UserError
from ucurve.progress import log_line

_SHAPES = {
    "line": "line", "phenomenon": "phenomenon", "shape": "shape", "class_these_pairs": "these_pairs",
    "class_these_runs": "these_runs", "p": "p", "dip": "dip", "dip_depth_low": "dip_low",
    "dip_depth_high": "dip_high", "dip_place": "dip_tokens", "holm_u": "p_dip", "start": "start", "end": "end",
    "onset": "onset",
}  # fmt: skip
_LIMITS = {"detectable_dip": "detectable_dip", "limited_by": "limited_by", "more_seeds": "more_seeds"}


def list_shapes(scored: BenchmarkScores) -> pd.DataFrame:
    """List the curves of each line over tokens, with what limits them; say so where none could be tested."""
    found, names = read_shapes(scored), _SHAPES | _LIMITS
    if found is None or found.classes.empty:
        log_line(" ".join([f"{scored.benchmark}: no curve could be tested.", *(found.notes if found else ())]))
        return pd.DataFrame(columns=list(names.values()))
    return _dips_first(found.classes, names)


def list_size_shapes(scored: BenchmarkScores) -> pd.DataFrame:
    """List the means over model sizes."""
    found = read_size_shapes(scored)
    if found is None or found.shapes.classes.empty:
        why = "no mean over sizes could be tested; that takes two sizes or more of runs alike in all else."
        raise UserError(" ".join([f"{scored.benchmark}: {why}", *(found.shapes.notes if found else ())]))
    return _dips_first(found.shapes.classes, _SHAPES | {"sizes": "sizes", "holm_sizes": "p_sizes_differ"})


def list_flops_shapes(scored: BenchmarkScores) -> pd.DataFrame:
    """List the curves over training FLOPs."""
    if (found := read_flops_shapes(scored)) is None:
        raise UserError(
            f"{scored.benchmark}: no curve over FLOPs could be tested; that takes four sizes, or sizes and budgets, of "
            "runs alike in all else, over tenfold FLOPs."
        )
    named = {"dip_place": "dip_flops", "onset": "onset_flops"}
    return _dips_first(found.classes, {"at": "at", "cells": "points"} | _SHAPES | named)


def _dips_first(classes: pd.DataFrame, names: dict[str, str]) -> pd.DataFrame:
    ordered = classes.sort_values(["holm_u", "dip"], ascending=[True, False], ignore_index=True)
    return ordered[list(names)].rename(columns=names)


SHAPES_OVER = {"tokens": list_shapes, "sizes": list_size_shapes, "flops": list_flops_shapes}  # by the axis
