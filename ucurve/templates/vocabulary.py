"""A vocabulary of words with properties, indexed once so that drawing never filters a table."""

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from ucurve.errors import UserError, did_you_mean, unknown_name
from ucurve.gather import gather
from ucurve.storage.files import LINE_END, read_utf8

SURFACE = "expression"  # the column that holds the word itself
LEMMA = "lemma"  # the column that forms of one word share

# Conditions on one word, all of which must hold: property, and the values of which the word has one.
Filters = tuple[tuple[str, tuple[str, ...]], ...]


class WordSet:
    """A set of vocabulary rows, with its parts by the value of a property."""

    def __init__(self, vocabulary: "Vocabulary", rows: tuple[int, ...]) -> None:
        self.vocabulary = vocabulary
        self.rows = rows
        self._parts: dict[str, dict[str, WordSet]] = {}
        self._shared: dict[tuple[int, str], tuple[str, ...]] = {}
        self._apart: dict[tuple[str, tuple[str, ...]], WordSet] = {}

    def __len__(self) -> int:
        return len(self.rows)

    def by(self, name: str) -> Mapping[str, "WordSet"]:
        """Return the rows that have each value of a property; a row with several values is in several parts."""
        if name not in self._parts:
            parts = gather((value, row) for row in self.rows for value in self.vocabulary.values(row, name))
            self._parts[name] = {value: self.vocabulary.words(rows) for value, rows in parts.items()}
        return self._parts[name]

    def shared(self, other: "WordSet", name: str) -> tuple[str, ...]:
        """Return the values of a property that rows of both sets have, in this set's order."""
        key = (id(other), name)
        if key not in self._shared:
            theirs = other.by(name)
            self._shared[key] = tuple(value for value in self.by(name) if value in theirs)
        return self._shared[key]

    def apart(self, name: str, values: tuple[str, ...] = ()) -> "WordSet":
        """Return the rows that have some value of a property, but none of ``values``."""
        key = (name, values)
        if key not in self._apart:
            own = self.vocabulary.values
            rows = (row for row in self.rows if own(row, name) and not set(own(row, name)).intersection(values))
            self._apart[key] = self.vocabulary.words(rows)
        return self._apart[key]


class Vocabulary:
    """Words and their properties, a mapping for each word; the property ``expression`` is the word itself."""

    def __init__(self, entries: Iterable[Mapping[str, tuple[str, ...]]], source: str = "the vocabulary") -> None:
        self.source = source
        self._entries = tuple(entries)
        self.properties = tuple(dict.fromkeys(name for entry in self._entries for name in entry))
        self._sets: dict[tuple[int, ...], WordSet] = {}
        self._index: dict[str, dict[str, set[int]]] = {name: {} for name in self.properties}
        for row, entry in enumerate(self._entries):
            for name, values in entry.items():
                for value in values:
                    self._index[name].setdefault(value, set()).add(row)
        self.where = cache(self._where)

    def __len__(self) -> int:
        return len(self._entries)

    def surface(self, row: int) -> str:
        """Return the word of a row."""
        return self._entries[row][SURFACE][0]

    def values(self, row: int, name: str) -> tuple[str, ...]:
        """Return a row's values of a property, () if its cell is empty."""
        return self._entries[row].get(name, ())

    def lemmas(self) -> dict[str, set[str]] | None:
        """Return the lemmas that each word can be a form of; None without a column for them."""
        if LEMMA not in self._index:
            return None
        found: dict[str, set[str]] = {}
        for row in range(len(self)):
            found.setdefault(self.surface(row), set()).update(self.values(row, LEMMA))
        return found

    def words(self, rows: Iterable[int]) -> WordSet:
        """Return the set of the given rows, always the same object for the same rows."""
        # What is found out about a set is kept in it, and by its identity.
        key = tuple(sorted(rows))
        if key not in self._sets:
            self._sets[key] = WordSet(self, key)
        return self._sets[key]

    def check(self, filters: Filters, where: str) -> None:
        """Raise a ``UserError`` for a property or a value the vocabulary does not have."""
        for name, values in filters:
            self.check_property(name, where)
            for value in values:
                if value not in self._index[name]:
                    hint = did_you_mean(value, self._index[name])
                    raise UserError(f"{where}: no word of {self.source} has {name}:{value}.{hint}")

    def check_property(self, name: str, where: str) -> None:
        """Raise a ``UserError`` for a property the vocabulary does not have."""
        if name not in self._index:
            raise unknown_name("property", name, self.properties, where)

    def _where(self, filters: Filters) -> WordSet:
        rows = set(range(len(self._entries)))
        for name, values in filters:
            index = self._index[name]
            rows &= set().union(*(index.get(value, set()) for value in values))
        return self.words(rows)


def read_vocabulary(path: Path) -> Vocabulary:
    """Read a vocabulary: tab-separated columns, the first line naming the properties.

    One column is ``expression``, the word itself. ``/`` in any other cell separates values; an empty cell has none.
    Lines without a word are skipped.
    """
    return parse_vocabulary(read_utf8(path), str(path))


def parse_vocabulary(text: str, source: str) -> Vocabulary:
    """Read a vocabulary from the text of its file; ``source`` is for messages."""
    lines = LINE_END.split(text)
    names = [name.strip() for name in lines[0].split("\t")] if text else []
    if SURFACE not in names:
        raise UserError(
            f"{source}:1: the first line must name the columns, one of them {SURFACE!r}; found {names}"
        )
    repeated = next((name for name in names if name and names.count(name) > 1), None)
    if repeated is not None:
        raise UserError(f"{source}:1: the column {repeated!r} occurs twice")
    words = []
    for number, line in enumerate(lines[1:], start=2):
        cells = line.split("\t")
        if len(cells) > len(names):
            raise UserError(
                f"{source}:{number}: {len(cells)} cells, but the first line names {len(names)} columns"
            )
        entry: dict[str, tuple[str, ...]] = {}
        for name, cell in zip(names, cells, strict=False):
            # A word itself may have a slash in it.
            values = [cell] if name == SURFACE else cell.split("/")
            if cell.strip():
                entry[name] = tuple(dict.fromkeys(value.strip() for value in values if value.strip()))
        if entry.get(SURFACE):
            words.append(entry)
    if not words:
        raise UserError(f"{source}: holds no words")
    return Vocabulary(words, source)
