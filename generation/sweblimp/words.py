"""The word lists: tables of words with their forms and with codes, as the gender of a noun or what a verb takes.

Genders and forms are compared with those that the words have in a treebank.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final

from pydantic.dataclasses import dataclass as checked

from ucurve.errors import UserError, refuse_missing_folder, unknown_name
from ucurve.fields import STRICT
from ucurve.generation.treebank import read_treebank
from ucurve.storage.files import read_utf8
from ucurve.storage.tabular import read_rows
from ucurve.templates.pair import Value
from ucurve.yaml_files import read_yaml

LISTS: Final = Path(__file__).with_name("lists")
_NONE = "-"  # a cell without codes
_WORD = re.compile(r"[^\W\d_]+(?:[ -][^\W\d_]+)*")

Codes = Mapping[str, str | list[str]]
"""The columns of a list that hold codes, and which codes these may be (the head of ``lists/columns.yaml``)."""


@dataclass(frozen=True, eq=False)
class Row:
    """A word of a list: its cells by column, and its file and line."""

    cells: Mapping[str, str]
    place: str

    def codes(self, column: str) -> frozenset[str]:
        """Return what a cell holds between blanks, nothing for ``-``."""
        return self._codes[column]

    # Conditions look at the codes of every word of a list for every pair.
    @cached_property
    def _codes(self) -> Mapping[str, frozenset[str]]:
        return {column: frozenset(cell.split()) - {_NONE} for column, cell in self.cells.items()}


WordLists = Mapping[str, Sequence[Row]]
"""The rows of each list by its name, in the order of the file."""


def list_files(folder: Path | None) -> dict[str, Path]:
    """Return the file of each list: that of the folder, or the project's where the folder has none.

    Raises:
        UserError: when there is no such folder, or no list or an unknown one in it.
    """
    names = list(_columns())
    if folder is not None:
        refuse_missing_folder("lists", folder)
    own = {} if folder is None else {path.stem: path for path in sorted(folder.glob("*.tsv"))}
    if folder is not None and not own:
        raise UserError(f"lists: {folder} holds no *.tsv; allowed: {', '.join(names)}")
    for name, path in own.items():
        if name not in names:
            raise unknown_name("list", name, names, str(path))
    return {name: own.get(name, LISTS / f"{name}.tsv") for name in names}


def read_lists(files: Mapping[str, Path]) -> WordLists:
    """Read the lists.

    Raises:
        UserError: naming the line that is not well formed.
    """
    # The lists of a user have the columns of the project's.
    headers = {
        name: read_utf8(LISTS / f"{name}.tsv").split("\n", 1)[0].rstrip("\r").split("\t") for name in files
    }
    lists = {name: tuple(_rows(path, headers[name])) for name, path in files.items()}
    for name, codes in _columns().items():
        for row in lists[name]:
            _check(row, codes, lists)
    return lists


def _columns() -> Mapping[str, Codes]:
    return read_yaml(LISTS / "columns.yaml", dict[str, dict[str, str | list[str]]])


def _rows(path: Path, header: Sequence[str]) -> Iterator[Row]:
    """Yield the rows of a list; a ``UserError`` names an empty cell or a row that comes twice."""
    seen: dict[tuple[str, ...], int] = {}
    for number, row in read_rows(path, "lists", header):
        # The first column is the word by which people know it.
        if list(row) != header:
            raise UserError(f"{path}:1: the columns must be {', '.join(header)}, in this order between tabs")
        place, cells = f"{path}:{number}", {name: cell.strip() for name, cell in row.items()}
        for name, cell in cells.items():
            if not cell:
                raise UserError(f"{place}: {name} is empty; write {_NONE!r} for a column without codes")
        first = seen.setdefault(tuple(cells.values()), number)
        if first != number:
            raise UserError(f"{place}: the same as line {first}")
        yield Row(cells, place)


def _check(row: Row, codes: Codes, lists: WordLists) -> None:
    """Refuse a form that is no words, and a code that its column does not have."""
    for column, cell in row.cells.items():
        if column not in codes:
            if _WORD.fullmatch(cell) is None:
                raise UserError(
                    f"{row.place}: {column} must be words of letters with blanks between, not {cell!r}"
                )
            continue
        given, allowed = row.codes(column), codes[column]
        if isinstance(allowed, str):
            name, _, source = allowed.partition(".")
            # They are the codes of a column of another list; without one, every code is allowed.
            allowed = (
                sorted({code for one in lists[name] for code in one.codes(source)}) if source else list(given)
            )
        for code in sorted(given):
            if code not in allowed:
                raise unknown_name(column, code, allowed, row.place)


@dataclass(frozen=True)
class Entry:
    """A word in a treebank."""

    form: str
    feats: Mapping[str, str]
    place: str  # file and line where its sentence begins

    def has(self, feats: Mapping[str, str]) -> bool:
        """Whether it has all these features."""
        return all(value in self.feats.get(name, "").split(",") for name, value in feats.items())


Lexicon = Mapping[tuple[str, str], Sequence[Entry]]
"""The words of a treebank by part of speech and lemma, in the order of the files."""


@checked(frozen=True, config=STRICT)
class Coded:
    """The feature that a column of codes stands for, and its value for each code."""

    feature: str
    values: dict[str, str]


@checked(frozen=True, config=STRICT)
class Source:
    """Where the treebank says what a list says (an entry of ``lexicon.yaml``)."""

    upos: str  # the treebank has this part of speech
    lemma: str  # the column of the list that holds it
    forms: dict[str, dict[str, str]]  # each column of forms has these features
    codes: dict[str, Coded] = field(default_factory=dict)


def read_lexicon(treebanks: Iterable[Path]) -> Lexicon:
    """Read the words of treebanks, without those that are marked as foreign, abbreviated or misspelt."""
    lexicon: defaultdict[tuple[str, str], list[Entry]] = defaultdict(list)
    for path in treebanks:
        for sentence in read_treebank(path):
            for word in sentence.words:
                if not word.feats.keys() & {"Foreign", "Abbr", "Typo"}:
                    entry = Entry(word.form.lower(), word.feats, sentence.place)
                    lexicon[word.upos, word.lemma.lower()].append(entry)
    return dict(lexicon)


def compare(lists: WordLists, lexicon: Lexicon) -> list[dict[str, Value]]:
    """Compare the columns of lists with a treebank that has their features: ``list, column, words, confirmed, absent``.

    Words are absent that do not stand with these features in the treebank.

    Raises:
        UserError: for a gender or a form that the treebank contradicts.
    """
    rows: list[dict[str, Value]] = []
    for name, source in read_yaml(Path(__file__).with_name("lexicon.yaml"), dict[str, Source]).items():
        known = [(row, lexicon.get((source.upos, row.cells[source.lemma]), ())) for row in lists[name]]
        found = {
            column: [_gender(*one, column, coded) for one in known] for column, coded in source.codes.items()
        }
        found |= {column: [_form(*one, column, feats) for one in known] for column, feats in source.forms.items()}
        rows += [
            {
                "list": name,
                "column": column,
                "words": len(hits),
                "confirmed": sum(hits),
                "absent": hits.count(False),
            }
            for column, hits in found.items()
        ]
    return rows


def _gender(row: Row, words: Sequence[Entry], column: str, coded: Coded) -> bool:
    """Whether the treebank confirms a code; False where it does not say."""
    # Reversed, the first word with a value is the one that a message names.
    said = {word.feats[coded.feature]: word for word in reversed(words) if coded.feature in word.feats}
    code = row.cells[column]
    if said and not any(coded.values[code] in value.split(",") for value in said):
        value, word = next(iter(said.items()))
        raise UserError(
            f"{row.place}: {column} is {code!r}, but {word.form!r} has {coded.feature}={value} at {word.place}"
        )
    return bool(said)


def _form(row: Row, words: Sequence[Entry], column: str, feats: Mapping[str, str]) -> bool:
    """Whether the treebank confirms a form; False where it does not have one with these features."""
    # Reversed, the first word of a form is the one that a message names.
    said = {word.form: word for word in reversed(words) if word.has(feats)}
    form = row.cells[column]
    if said and form not in said:
        other = next(iter(said.values()))
        raise UserError(
            f"{row.place}: {column} is {form!r}, but the treebank has {other.form!r} at {other.place}"
        )
    return bool(said)
