"""Which curve a pair belongs to: its benchmark, phenomenon, paradigm, or its value of any published column."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pandas as pd

from ucurve.errors import UserError, unknown_name
from ucurve.eval.metrics.clusters import Sets, sets_of
from ucurve.eval.pairs import COUNTED, PAIR_COLUMNS, SET, in_accuracies

Ids = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
ALL = "all"
CROSS = "*"  # between columns whose values are crossed, as in match*attractor
_MOST_VALUES = 1000  # of a column that a curve may be drawn for; more are texts or numbers of the pairs
_BINS = 5  # of a column of many numbers


@dataclass(frozen=True, eq=False)
class Groups:
    """The values of a column, and which of them each pair has."""

    names: tuple[str, ...]  # in the order in which they are offered
    of: Ids  # int64[pairs], the place in names; -1 for a pair without a value
    are_parts: bool = False  # of the range of a column of many numbers


@dataclass(frozen=True, eq=False)
class Pairs:
    """A pair table, shared by all runs that were scored on it, and what follows from it alone."""

    table: pd.DataFrame  # with all that is published, one row per pair
    _groups: dict[str, Groups] = field(default_factory=dict, init=False)

    @cached_property
    def sets(self) -> Sets:
        """The sets of several bad sentences; a pair that does not count is a set of its own."""
        counted = in_accuracies(self.table).to_numpy()
        of = len(self.table) + np.arange(len(self.table))
        of[counted] = sets_of(self.table[counted]).of
        return Sets(np.unique(of, return_inverse=True)[1])

    @cached_property
    def counted(self) -> Mask:
        """Which pairs accuracies are over, bool[pairs]; of a set its first pair."""
        return np.asarray(in_accuracies(self.table).to_numpy() & self.sets.first)

    @cached_property
    def has_sets(self) -> bool:
        """Whether some pairs are judged together."""
        return len(np.unique(self.sets.of)) < len(self.table)

    def group(self, by: str) -> Groups:
        """Group the pairs by a column (``group``)."""
        if by not in self._groups:
            self._groups[by] = group(self.table, by)
        return self._groups[by]


def columns(pairs: pd.DataFrame) -> list[str]:
    """Name the columns that pairs can be grouped by: those that every pair has, then the published ones."""
    ours = set(PAIR_COLUMNS) | {COUNTED, SET}
    published = [str(name) for name in pairs.columns if name not in ours and _can_group(pairs[name])]
    return [ALL, "phenomenon", "paradigm", *published]


def crossed_columns(pairs: pd.DataFrame, by: str) -> list[str]:
    """Return the columns that a name crosses, such as two for ``match*attractor``; one where a column has that name."""
    return [by] if by in pairs else by.split(CROSS)


def group(pairs: pd.DataFrame, by: str) -> Groups:
    """Group pairs by a column, or by columns that ``*`` crosses, whose values are named one after the other.

    A column of many numbers is divided into five parts of about as many pairs.
    """
    if by == ALL:
        return Groups((ALL,), np.zeros(len(pairs), dtype=np.int64))
    if len(crossed := crossed_columns(pairs, by)) > 1:
        return _cross([group(pairs, column) for column in crossed], by)
    if by not in pairs:
        raise unknown_name("column", by, columns(pairs))
    values = pairs[by]
    if values.isna().all():
        raise UserError(f"column {by!r} has no value in any pair")
    if not _can_group(values):
        raise UserError(f"column {by!r} has {values.nunique()} values; at most {_MOST_VALUES} are drawn")
    if are_parts := _many_numbers(values):
        grouped = pd.qcut(values, _BINS, duplicates="drop", precision=3)
    else:
        # Values of different types cannot be sorted, so texts and truth values are sorted as texts.
        comparable = values.where(values.isna(), values.astype(str)) if values.dtype == object else values
        grouped = comparable.astype(pd.CategoricalDtype(sorted(comparable.dropna().unique())))
    return Groups(
        tuple(map(str, grouped.cat.categories)), grouped.cat.codes.to_numpy().astype(np.int64), are_parts
    )


def _cross(parts: Sequence[Groups], by: str) -> Groups:
    """Give every combination of values that some pair has a group."""
    shape = [len(part.names) for part in parts]
    of = np.stack([part.of for part in parts])
    has_all = (of >= 0).all(axis=0)
    found, places = np.unique(np.ravel_multi_index(tuple(of[:, has_all]), shape), return_inverse=True)
    if len(found) > _MOST_VALUES:
        raise UserError(
            f"columns {by!r} have {len(found)} combinations of values; at most {_MOST_VALUES} are drawn"
        )
    combinations = zip(*np.unravel_index(found, shape), strict=True)
    names = [", ".join(part.names[place] for part, place in zip(parts, one, strict=True)) for one in combinations]
    groups = np.full(of.shape[1], -1, dtype=np.int64)
    groups[has_all] = places
    return Groups(tuple(names), groups, any(part.are_parts for part in parts))


def _many_numbers(values: pd.Series) -> bool:
    number = pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values)
    return number and values.nunique() > 2 * _BINS


def _can_group(values: pd.Series) -> bool:
    return _many_numbers(values) or 0 < values.nunique() <= _MOST_VALUES
