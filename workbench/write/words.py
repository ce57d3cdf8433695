"""The vocabulary as a table that is filtered, sorted and changed a cell at a time; its size does not reach the page."""

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from ucurve.errors import UserError, unknown_name
from ucurve.storage.files import LINE_END, write_text
from ucurve.templates.vocabulary import SURFACE
from ucurve.workbench.write.journal import Journal
from ucurve.workbench.write.projects import Project, check_name, read_saved, save
from ucurve.workbench.write.texts import Drafts

PAGE = 100  # words of one reply
_MOST_VALUES = 200  # of a property, that are offered while typing


@dataclass
class Table:
    """A vocabulary as it stands with the changes that are not saved."""

    columns: list[str]  # names of the properties
    # Cells of each word, as many as there are columns; None for a word that was deleted.
    rows: list[list[str] | None]

    def text(self) -> str:
        """Write it as its file has it, without empty cells at the ends of lines."""
        lines = ["\t".join(row).rstrip("\t") for row in self.rows if row is not None]
        return "\n".join(["\t".join(self.columns), *lines]) + "\n"

    def follow(self, change: object) -> None:
        """Make one change: ``set`` a cell, ``add`` words, ``delete`` a word, or ``column``, add one."""
        if not isinstance(change, dict):
            raise UserError(f"change={change!r} is not a change of the vocabulary")
        kind = change.get("do")
        if kind == "set":
            _, row = self._row(change.get("row"))
            row[self._column(change.get("column"))] = _cell(change.get("value"))
        elif kind == "add":
            words = change.get("words")
            if not isinstance(words, list) or not words:
                raise UserError("no words are given")
            self.rows += [self._new_row(word) for word in words]
        elif kind == "delete":
            number, _ = self._row(change.get("row"))
            self.rows[number] = None  # its place stays, as changes name rows by their numbers
        elif kind == "column":
            name = _cell(change.get("name")).strip()
            # These signs have a meaning in the slots of templates.
            if not name or name in self.columns or any(sign in name for sign in ":/|<> "):
                raise UserError(
                    f"column {name[:80]!r}: a new name without ':', '/', '|', '<', '>' and spaces is needed"
                )
            self.columns = [*self.columns, name]
            for row in filter(None, self.rows):
                row.append("")
        else:
            raise unknown_name("change", str(kind), ("set", "add", "delete", "column"))

    def _new_row(self, word: object) -> list[str]:
        """Make the cells of a new word, which is given by the names of its properties."""
        if not isinstance(word, dict) or not _cell(word.get(SURFACE, "")).strip():
            raise UserError(f"a new word needs a cell {SURFACE!r}; found {str(word)[:80]!r}")
        for name in word:
            self._column(name)
        return [_cell(word.get(name, "")).strip() for name in self.columns]

    def _row(self, number: object) -> tuple[int, list[str]]:
        if isinstance(number, int) and 0 <= number < len(self.rows) and (row := self.rows[number]) is not None:
            return number, row
        raise UserError(f"the vocabulary has no row {number!r}; it may have been deleted")

    def _column(self, name: object) -> int:
        if name not in self.columns:
            raise unknown_name("column", str(name)[:80], self.columns, "the vocabulary")
        return self.columns.index(str(name))


def parse_table(text: str) -> Table:
    """Read the lines of a vocabulary; words keep their places, and lines without cells are left out."""
    lines = LINE_END.split(text)
    columns = [name.strip() for name in lines[0].split("\t")] if text else [SURFACE]
    if SURFACE not in columns:
        raise UserError(f"vocabulary, line 1: no column {SURFACE!r}; found {', '.join(columns)[:200]}")
    rows: list[list[str] | None] = []
    for number, line in enumerate(lines[1:], start=2):
        cells = line.split("\t")
        if len(cells) > len(columns):
            raise UserError(
                f"vocabulary, line {number}: {len(cells)} cells, but there are {len(columns)} columns"
            )
        if line.strip():
            rows.append(cells + [""] * (len(columns) - len(cells)))
    return Table(columns, rows)


@dataclass
class Tables:
    """The changed vocabulary that was read last, since reading a large one takes a second; browsers take turns."""

    last: dict[tuple[Journal, str | None, int], Table] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)


class VocabularyDraft:
    """The vocabulary in one browser: what the file holds, and the changes since."""

    def __init__(self, drafts: Drafts, tables: Tables, project: Project, browser: str) -> None:
        self._project = project
        self._tables = tables
        self._journal = drafts.journal(project, project.vocabulary, browser)
        # the words that the changes are made to
        self._base = project.drafts / check_name("browser", browser) / f"{project.vocabulary.name}.base"

    def table(self) -> Table:
        """Return the vocabulary with this browser's changes."""
        journal = self._journal
        with self._tables.lock:
            place = journal, journal.base, journal.position
            if place in self._tables.last:
                return self._tables.last[place]
            text, _ = read_saved(self._base if journal.position else self._project.vocabulary)
            table = parse_table(text)
            for change in journal.current:
                table.follow(change)
            if journal.position:
                self._tables.last = {place: table}
            return table

    def change(self, change: object, base: str | None) -> dict[str, object]:
        """Make a change to the file with the SHA-256 ``base``, which the page showed, and keep it."""
        journal = self._journal
        with self._tables.lock:
            table = self.table()
            if not journal.position:
                text, sha256 = read_saved(self._project.vocabulary)
                if sha256 != base:
                    raise UserError(
                        "someone else saved other words meanwhile; they are shown now, change them again"
                    )
                write_text(self._base, text)
                journal.begin(sha256, [])
            self._tables.last = {}  # if the change cannot be kept, the table is read again
            table.follow(change)
            journal.add(change)
            self._tables.last = {(journal, journal.base, journal.position): table}
            return self.state()

    def step(self, *, back: bool) -> dict[str, object]:
        """Undo the last change since the vocabulary was saved, or redo the one that was undone last."""
        return self._after(self._journal.undo if back else self._journal.redo)

    def save(self, base: str | None) -> dict[str, object]:
        """Write the vocabulary to its file, which ends the way back; a ConflictError has both versions."""
        project = self._project
        return self._after(
            lambda: self._journal.begin(save(project, project.vocabulary, self.table().text(), base), [])
        )

    def take_theirs(self) -> dict[str, object]:
        """Drop this browser's changes and take what the file holds."""
        return self._after(lambda: self._journal.begin(read_saved(self._project.vocabulary)[1], []))

    def _after(self, work: Callable[[], None]) -> dict[str, object]:
        """Return the state after something that changes the table, which is read again."""
        with self._tables.lock:
            work()
            self._tables.last = {}
            return self.state()

    def state(self) -> dict[str, object]:
        """Return the state of the vocabulary: columns, number of words, and whether changes can be undone or saved."""
        journal, table = self._journal, self.table()
        _, sha256 = read_saved(self._project.vocabulary)
        return {
            "columns": table.columns, "words": sum(row is not None for row in table.rows),
            "base": journal.base if journal.position else sha256, "saved": journal.position == 0,
            "changed_on_disk": journal.position > 0 and journal.base != sha256,
            "can_undo": journal.position > 0, "can_redo": journal.position < len(journal.changes),
        }  # fmt: skip

    def page(self, wanted: str, sort: str, descending: bool, offset: int) -> dict[str, object]:
        """Return the state, a page of at most 100 words, and how many were ``found``.

        A word is found by texts that a cell holds, or ``property:text`` for a cell of one property, all of which must
        be met.
        """
        table = self.table()
        tests, first = [_test(table, part) for part in wanted.split()], max(offset, 0)
        words = [(number, row) for number, row in enumerate(table.rows) if row is not None]
        found = [(number, row) for number, row in words if all(test(row) for test in tests)]
        if sort:
            column = table.columns.index(sort) if sort in table.columns else 0
            found.sort(key=lambda word: word[1][column], reverse=descending)
        rows = [{"row": number, "cells": row} for number, row in found[first : first + PAGE]]
        return {**self.state(), "rows": rows, "found": len(found), "offset": first}

    def properties(self) -> dict[str, list[str]]:
        """Return the values of every property, those of most words first, to be offered while typing."""
        table = self.table()
        found: dict[str, list[str]] = {}
        for place, name in enumerate(table.columns):
            cells = [row[place] for row in table.rows if row is not None]
            values = (value for cell in cells for part in cell.split("/") if (value := part.strip()))
            found[name] = [value for value, _ in Counter(sorted(values)).most_common(_MOST_VALUES)]
        del found[SURFACE]
        return found


def _test(table: Table, part: str) -> Callable[[list[str]], bool]:
    name, mark, text = part.partition(":")
    if mark and name in table.columns:
        column = table.columns.index(name)
        return lambda row: text in row[column]
    return lambda row: any(part in cell for cell in row)


def _cell(value: object) -> str:
    # A tab ends a cell, and each of the others is the end of a line to some program.
    if not isinstance(value, str) or any(sign in value for sign in "\t\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"):
        raise UserError(f"a cell is a text of one line without tabs; found {str(value)[:80]!r}")
    return value
