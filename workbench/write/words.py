"""The vocabulary as a table that is filtered, sorted and changed a cell at a time; its size does not reach the page."""

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from eval.templates.vocabulary import SURFACE
from ucurve.errors import UserError, unknown_name
from ucurve.storage.files import LINE_END, write_text
from workbench.write.journal import Journal
from workbench.write.projects import Project, check_name, read_saved, save
from workbench.write.texts import Drafts

PAGE = 100  # words of one reply
_MOST_VALUES = 200  # of a property, that are offered while typing


@dataclass
class Table:
    """A vocabulary as it stands with the changes that are not saved."""

    columns: list[str]  # names of the properties
    rows: list[list[str] | None]  # cells of each word, as many as there are columns; None for a word that was deleted

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
            self.rows += [self._new_row(word) for word in _list(change.get("words"))]
        elif kind == "delete":
            number, _ = self._row(change.get("row"))
            self.rows[number] = None
        elif kind == "column":
            self._add_column(_cell(change.get("name")).strip())
        else:
            raise unknown_name("change", str(kind), ("set", "add", "delete", "column"))

    def _add_column(self, name: str) -> None:
        if not name or name in self.columns or any(sign in name for sign in ":/|<> "):
            raise UserError(f"column {name[:80]!r}: a new name without ':', '/', '|', '<', '>' and spaces is needed")
        self.columns = [*self.columns, name]
        for row in self.rows:
            if row is not None:
                row.append("")

    def _new_row(self, word: object) -> list[str]:
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
            raise UserError(f"vocabulary, line {number}: {len(cells)} cells, but there are {len(columns)} columns")
        if line.strip():
            rows.append(cells + [""] * (len(columns) - len(cells)))
    return Table(columns, rows)


@dataclass
class Vocabularies:
    """The vocabularies that browsers have open, with their changes."""

    drafts: Drafts
    _tables: dict[tuple[Journal, str | None], tuple[int, Table]] = field(default_factory=dict, init=False)
    _lock: threading.RLock = field(default_factory=threading.RLock, init=False)

    def table(self, project: Project, browser: str) -> Table:
        """Return the vocabulary with this browser's changes."""
        journal = self.drafts.journal(project, project.vocabulary, browser)
        with self._lock:
            known = self._tables.get((journal, journal.base)) if journal.position else None
            if known is not None and known[0] == journal.position:
                return known[1]
            text, _ = read_saved(_base(project, browser) if journal.position else project.vocabulary)
            table = parse_table(text)
            for change in journal.current:
                table.follow(change)
            if journal.position:
                self._tables = {(journal, journal.base): (journal.position, table)}
            return table

    def change(self, project: Project, browser: str, change: object, base: str | None) -> dict[str, object]:
        """Make a change to the file with the SHA-256 ``base``, which the page showed, and keep it."""
        journal = self.drafts.journal(project, project.vocabulary, browser)
        with self._lock:
            table = self.table(project, browser)
            if not journal.position:
                text, sha256 = read_saved(project.vocabulary)
                if sha256 != base:
                    raise UserError("someone else saved other words meanwhile; they are shown now, change them again")
                write_text(_base(project, browser), text)
                journal.begin(sha256, [])
            self._tables = {}  # if the change cannot be kept, the table is read again
            table.follow(change)
            journal.add(change)
            self._tables = {(journal, journal.base): (journal.position, table)}
            return self.state(project, browser)

    def step(self, project: Project, browser: str, *, back: bool) -> dict[str, object]:
        """Undo the last change since the vocabulary was saved, or redo the one that was undone last."""
        journal = self.drafts.journal(project, project.vocabulary, browser)
        return self._after(project, browser, journal.undo if back else journal.redo)

    def save(self, project: Project, browser: str, base: str | None) -> dict[str, object]:
        """Write the vocabulary to its file, which ends the way back; a ConflictError has both versions."""

        def write() -> None:
            sha256 = save(project, project.vocabulary, self.table(project, browser).text(), base)
            self.drafts.journal(project, project.vocabulary, browser).begin(sha256, [])

        return self._after(project, browser, write)

    def take_theirs(self, project: Project, browser: str) -> dict[str, object]:
        """Drop this browser's changes and take what the file holds."""
        journal = self.drafts.journal(project, project.vocabulary, browser)
        return self._after(project, browser, lambda: journal.begin(read_saved(project.vocabulary)[1], []))

    def _after(self, project: Project, browser: str, work: Callable[[], None]) -> dict[str, object]:
        """Return the state after something that changes the table, which is read again."""
        with self._lock:
            work()
            self._tables = {}
            return self.state(project, browser)

    def state(self, project: Project, browser: str) -> dict[str, object]:
        """Return the state of the vocabulary: columns, number of words, and whether changes can be undone or saved."""
        journal = self.drafts.journal(project, project.vocabulary, browser)
        _, sha256 = read_saved(project.vocabulary)
        table = self.table(project, browser)
        return {
            "columns": table.columns, "words": sum(row is not None for row in table.rows),
            "base": journal.base if journal.position else sha256, "saved": journal.position == 0,
            "changed_on_disk": journal.position > 0 and journal.base != sha256,
            "can_undo": journal.position > 0, "can_redo": journal.position < len(journal.changes),
        }  # fmt: skip

    def page(
        self, project: Project, browser: str, wanted: str, sort: str, descending: bool, offset: int
    ) -> dict[str, object]:
        """Return the state, a page of at most 100 words, and how many were ``found``.

        A word is found by texts that a cell holds, or ``property:text`` for a cell of one property, all of which must
        be met.
        """
        table = self.table(project, browser)
        tests = [_test(table, part) for part in wanted.split()]
        found = [
            number for number, row in enumerate(table.rows) if row is not None and all(test(row) for test in tests)
        ]
        if sort:
            column = table.columns.index(sort) if sort in table.columns else 0
            found.sort(key=lambda number: (table.rows[number] or [])[column], reverse=descending)
        shown = found[max(offset, 0) : max(offset, 0) + PAGE]
        rows = [{"row": number, "cells": table.rows[number]} for number in shown]
        return {**self.state(project, browser), "rows": rows, "found": len(found), "offset": max(offset, 0)}

    def properties(self, project: Project, browser: str) -> dict[str, list[str]]:
        """Return the values of every property, those of most words first, to be offered while typing."""
        table = self.table(project, browser)
        found: dict[str, list[str]] = {}
        for place, name in enumerate(table.columns):
            if name != SURFACE:
                cells = [row[place] for row in table.rows if row is not None and row[place]]
                values = (value for cell in cells for part in cell.split("/") if (value := part.strip()))
                found[name] = [value for value, _ in Counter(sorted(values)).most_common(_MOST_VALUES)]
        return found


def _base(project: Project, browser: str) -> Path:
    """Return where the words are kept that a browser's changes were made to."""
    return project.drafts / check_name("browser", browser) / f"{project.vocabulary.name}.base"


def _test(table: Table, part: str) -> Callable[[list[str]], bool]:
    name, mark, text = part.partition(":")
    if mark and name in table.columns:
        column = table.columns.index(name)
        return lambda row: text in row[column]
    return lambda row: any(part in cell for cell in row)


def _cell(value: object) -> str:
    if not isinstance(value, str) or any(sign in value for sign in "\t\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"):
        raise UserError(f"a cell is a text of one line without tabs; found {str(value)[:80]!r}")
    return value


def _list(value: object) -> list[object]:
    if not isinstance(value, list) or not value:
        raise UserError("no words are given")
    return value
