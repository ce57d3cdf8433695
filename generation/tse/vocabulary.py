"""The vocabularies: tables of words with their category, classes and forms, one file a language."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from ucurve.errors import UserError, unknown_name
from ucurve.storage.tabular import read_rows

EMPTY = "_"  # a cell without a value
ANIMATE = ("person", "animal", "human")  # these are semantic classes of nouns


@dataclass(frozen=True, eq=False)
class Entry:
    """A line of a vocabulary; two lines are never equal."""

    word: str
    category: str
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

    def one_of(self, column: str, allowed: Collection[str]) -> str:
        """Return the only value of a cell, which is one of those allowed."""
        value = self.value(column)
        if value not in allowed:
            raise unknown_name(column, value, allowed, where=self.place)
        return value

    def all_of(self, column: str, allowed: Collection[str]) -> tuple[str, ...]:
        """Return the values of a cell, at least one, of which each is one of those allowed."""
        self.value(column)
        for value in self.values(column):
            if value not in allowed:
                raise unknown_name(column, value, allowed, where=self.place)
        return self.values(column)


@dataclass(frozen=True)
class Vocabulary:
    """The words of a language by category."""

    path: Path
    entries: Sequence[Entry]

    def of(self, category: str) -> list[Entry]:
        """Return the words of a category, in the order of the file."""
        found = [entry for entry in self.entries if entry.category == category]
        if not found:
            raise UserError(f"vocabulary: {self.path} has no word of the category {category!r}")
        return found


def read_vocabulary(path: Path, columns: Sequence[str], categories: Collection[str]) -> Vocabulary:
    """Read a vocabulary whose table has these columns besides ``word`` and ``category``.

    Raises:
        UserError: naming the line with an empty cell, an unknown category or a column that is not there.
    """
    entries = []
    for number, row in read_rows(path, "vocabulary", ("word", "category", *columns)):
        place, cells = f"{path}:{number}", {name: cell.strip() for name, cell in row.items()}
        empty = next((name for name, cell in cells.items() if not cell), None)
        if empty is not None:
            raise UserError(f"{place}: the cell {empty!r} is empty; {EMPTY} stands for no value")
        if cells["category"] not in categories:
            raise unknown_name("category", cells["category"], categories, place)
        entries.append(Entry(cells.pop("word"), cells.pop("category"), place, cells))
    return Vocabulary(path, entries)
