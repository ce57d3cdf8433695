"""The vocabularies: tables of words with their category, classes and forms, one file a language."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pydantic

from ucurve.errors import UserError, unknown_name
from ucurve.fields import STRICT
from ucurve.storage.tabular import read_rows

EMPTY = "_"  # a cell without a value
ANIMATE = ("person", "animal", "human")  # these are semantic classes of nouns
Allowed = dict[str, dict[str, tuple[str, ...]]]
"""The values that cells may have, by category and column; none are listed where any will do but an empty cell."""


@pydantic.dataclasses.dataclass(frozen=True, config=STRICT)
class Words:
    """What the vocabulary of a language must be."""

    columns: tuple[str, ...]  # besides word and category
    single: Allowed  # cells with one value, of every category that there is
    several: Allowed  # cells with at least one value


@dataclass(frozen=True, eq=False)
class Entry:
    """A line of a vocabulary; two lines are never equal."""

    word: str
    place: str  # file and line, for messages
    cells: dict[str, str]  # the other columns

    def values(self, column: str) -> tuple[str, ...]:
        """Return the values of a cell, none of an empty one."""
        cell = self.cells[column]
        return () if cell == EMPTY else tuple(cell.split())

    def value(self, column: str) -> str:
        """Return the only value of a cell."""
        if self.cells[column] == EMPTY:
            raise UserError(f"{self.place}: {self.word!r} has no {column}")
        return self.cells[column]


@dataclass(frozen=True)
class Vocabulary:
    """The words of a language by category, in the order of the file."""

    path: Path
    entries: Mapping[str, Sequence[Entry]]

    def of(self, category: str) -> Sequence[Entry]:
        """Return the words of a category."""
        if not self.entries[category]:
            raise UserError(f"vocabulary: {self.path} has no word of the category {category!r}")
        return self.entries[category]


def read_vocabulary(path: Path, words: Words) -> Vocabulary:
    """Read a vocabulary.

    Raises:
        UserError: naming the line with an empty cell, an unknown category or value, or a column that is not there.
    """
    entries: dict[str, list[Entry]] = {category: [] for category in words.single}
    for number, row in read_rows(path, "vocabulary", ("word", "category", *words.columns)):
        place, cells = f"{path}:{number}", {name: cell.strip() for name, cell in row.items()}
        empty = next((name for name, cell in cells.items() if not cell), None)
        if empty is not None:
            raise UserError(f"{place}: the cell {empty!r} is empty; {EMPTY} stands for no value")
        category = cells.pop("category")
        if category not in entries:
            raise unknown_name("category", category, entries, place)
        entry = Entry(cells.pop("word"), place, cells)
        for column, allowed in words.single[category].items():
            _check(entry, column, [cells[column]], allowed)
        for column, allowed in words.several.get(category, {}).items():
            _check(entry, column, entry.values(column), allowed)
        entries[category].append(entry)
    return Vocabulary(path, entries)


def _check(entry: Entry, column: str, values: Sequence[str], allowed: Sequence[str]) -> None:
    if EMPTY not in allowed:
        entry.value(column)
    for value in values:
        if allowed and value not in allowed:
            raise unknown_name(column, value, allowed, entry.place)
