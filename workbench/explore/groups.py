"""Which curve a pair belongs to: its benchmark, phenomenon, paradigm, or its value of any published column."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from eval.pairs import COUNTED, PAIR_COLUMNS, SET
from ucurve.errors import UserError, unknown_name
from workbench.explore.matrix import Ids

ALL = "all"
_MOST_VALUES = 1000  # of a column that a curve may be drawn for; more are texts or numbers of the pairs
_BINS = 5  # of a column of many numbers


@dataclass(frozen=True, eq=False)
class Groups:
    """The values of a column, and which of them each pair has.

    Attributes:
        names: in the order in which they are offered.
        of: int64[pairs], the place in ``names``; -1 for a pair without a value.
    """

    names: tuple[str, ...]
    of: Ids


def columns(pairs: pd.DataFrame) -> list[str]:
    """Name the columns that pairs can be grouped by: those that every pair has, then the published ones."""
    ours = set(PAIR_COLUMNS) | {COUNTED, SET}
    published = [str(name) for name in pairs.columns if name not in ours and _can_group(pairs[name])]
    return [ALL, "phenomenon", "paradigm", *published]


def group(pairs: pd.DataFrame, by: str) -> Groups:
    """Group pairs by a column; one of many numbers is divided into five parts of about as many pairs.

    Raises:
        UserError: when there is no such column, or it has too many values.
    """
    if by == ALL:
        return Groups((ALL,), np.zeros(len(pairs), dtype=np.int64))
    if by not in pairs:
        raise unknown_name("column", by, columns(pairs))
    values = pairs[by]
    if not _can_group(values):
        raise UserError(f"column {by!r} has {values.nunique()} values; at most {_MOST_VALUES} are drawn")
    if _many_numbers(values):
        values = pd.qcut(values, _BINS, duplicates="drop", precision=3)
        names = [str(name) for name in values.cat.categories]
        return Groups(tuple(names), np.asarray(values.cat.codes, dtype=np.int64))
    kept = values.dropna()
    ordered = sorted(kept.unique()) if not pd.api.types.is_object_dtype(kept) else sorted(kept.astype(str).unique())
    codes = pd.Categorical(values if not pd.api.types.is_object_dtype(kept) else values.astype(str), ordered).codes
    return Groups(tuple(map(str, ordered)), np.asarray(codes, dtype=np.int64))


def _many_numbers(values: pd.Series) -> bool:
    number = pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values)
    return number and values.nunique() > 2 * _BINS


def _can_group(values: pd.Series) -> bool:
    return _many_numbers(values) or 0 < values.nunique() <= _MOST_VALUES
