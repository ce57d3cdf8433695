"""Sentences of treebanks: CoNLL-U files, plain or compressed with gzip, with the place of every word in the text."""

import glob
import gzip
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import conllu
from conllu.exceptions import ParseException

from ucurve.errors import UserError

_Row = Mapping[str, Any]  # a line, as conllu reads it
ROOT = 0  # the head of a word that has none
_CELLS = 10  # of the line of a word
# A file that is no treebank, whatever it unpacks to, must not fill the memory.
_LINE_BYTES, _LINES = 1_000_000, 10_000  # at most, of a line and of a sentence


@dataclass(frozen=True)
class Word:
    """A syntactic word of a sentence."""

    id: int  # from 1
    form: str
    lemma: str
    upos: str
    feats: Mapping[str, str] = field(default_factory=dict)  # as {"Number": "Sing"}; a value may be A,B
    head: int = ROOT  # the number of its head
    deprel: str = "dep"
    misc: Mapping[str, str] = field(default_factory=dict)  # the last column, as {"SpaceAfter": "No"}
    start: int | None = (
        None  # its place in the text of the sentence, in characters; None for a part of a multiword
    )
    end: int | None = None  # token, which has no text of its own

    @property
    def relation(self) -> str:
        """The relation to the head without its subtype: ``nsubj`` for ``nsubj:pass``."""
        return self.deprel.partition(":")[0]


@dataclass(frozen=True)
class Sentence:
    """A sentence and its tree."""

    id: str  # in its treebank; FILE:LINE where the file does not say
    source: str  # the file's name without its endings
    text: str
    words: Sequence[Word]  # word number n is words[n - 1]
    place: str  # file and line, for messages

    @cached_property
    def children(self) -> Mapping[int, tuple[Word, ...]]:
        """The dependents of each word by its number, in their order; of ``ROOT`` the roots."""
        found: dict[int, list[Word]] = {number: [] for number in range(len(self.words) + 1)}
        for word in self.words:
            found[word.head].append(word)
        return {number: tuple(words) for number, words in found.items()}

    def head_of(self, word: Word) -> Word | None:
        """Return the head of a word, None for a root."""
        return None if word.head == ROOT else self.words[word.head - 1]

    def replaced(self, changes: Mapping[int, str]) -> str:
        """Return the text with other forms in place of words, by number; no word may be part of a multiword token.

        Raises:
            ValueError: for a word that has no text of its own.
        """
        text, at = [], 0
        for number in sorted(changes):
            word = self.words[number - 1]
            if word.start is None or word.end is None:
                raise ValueError(f"{self.place}: word {number} has no text of its own")
            text += [self.text[at : word.start], changes[number]]
            at = word.end
        return "".join([*text, self.text[at:]])


def spelled_like(form: str, original: str) -> str:
    """Return a form with the capitals of another."""
    if original.isupper() and len(original) > 1:
        return form.upper()
    return form[:1].upper() + form[1:] if original[:1].isupper() else form


def find_treebanks(patterns: Iterable[str]) -> list[Path]:
    """Return the files that the patterns of the key ``treebanks`` name, each once."""
    return find_files(patterns, "treebanks")


def find_files(patterns: Iterable[str], key: str) -> list[Path]:
    """Return the files that patterns name, each once; a pattern that names none is a ``UserError`` about the key."""
    found: dict[Path, None] = {}
    for pattern in patterns:
        matching = [Path(file) for file in sorted(glob.glob(pattern))]  # noqa: PTH207 - Path.glob takes no absolute ones
        if not matching:
            raise UserError(f"{key}: no file {pattern}")
        found.update(dict.fromkeys(matching))
    return list(found)


def read_treebank(path: Path) -> Iterator[Sentence]:
    """Yield the sentences of a CoNLL-U file.

    A sentence whose comment ``text`` is missing, or does not hold its tokens in their order, has the text that its
    tokens make, with a space after each but those with ``SpaceAfter=No``.

    Raises:
        UserError: naming the line that is not CoNLL-U, or where a tree is broken.
    """
    start, block = 1, list[str]()
    for number, line in _numbered_lines(path):
        if line.strip():
            start = start if block else number
            block.append(line)
            if len(block) > _LINES:
                raise UserError(f"{path}:{start}: a sentence of more than {_LINES} lines; an empty line ends one")
        elif block:
            yield _sentence(block, path, start)
            block = []
    if block:
        yield _sentence(block, path, start)


def _numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file with their numbers; one of them is in memory, however much is compressed."""
    opened, number = gzip.open if path.suffix == ".gz" else open, 0
    try:
        with opened(path, "rb") as file:
            while data := file.readline(_LINE_BYTES + 1):
                number += 1
                if len(data) > _LINE_BYTES:
                    raise UserError(f"{path}:{number}: a line of more than {_LINE_BYTES:,} bytes")
                # A byte order mark may stand at the beginning of the file.
                yield number, data.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise UserError(f"{path}:{number}: not UTF-8 ({error.reason})") from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UserError(f"{path}: not a gzip file ({error})") from error
    except OSError as error:
        raise UserError(f"cannot read {path} ({error.strerror})") from error


def _sentence(block: Sequence[str], path: Path, start: int) -> Sentence:
    """Return the sentence of some lines, the first of which is line ``start``; a broken tree is a ``UserError``."""
    lines = [(start + at, line) for at, line in enumerate(block)]
    notes = [line.removeprefix("#").partition("=") for line in block if line.startswith("#")]
    comments = {name.strip(): value.strip() for name, _, value in notes}
    rows = [(number, _row(line, f"{path}:{number}")) for number, line in lines if not line.startswith("#")]
    words = [(number, row) for number, row in rows if isinstance(row["id"], int)]
    for expected, (number, row) in enumerate(words, start=1):
        if row["id"] != expected:
            raise UserError(f"{path}:{number}: word {row['id']} stands where word {expected} is expected")
        if not isinstance(row["head"], int) or not 0 <= row["head"] <= len(words):
            raise UserError(f"{path}:{number}: the head is {row['head']!r}; allowed: 0 to {len(words)}")
    for number, row in rows:
        several = _range(row)
        if several is not None and not 1 <= several.start < several.stop <= len(words) + 1:
            token = f"the token {several.start}-{several.stop - 1} is of words that are not there"
            raise UserError(f"{path}:{number}: {token}; the sentence has {len(words)}")
    text, spans = _place(comments.get("text"), [row for _, row in rows])
    found = []
    for _, row in words:
        begin, end = spans.get(row["id"], (None, None))
        same = {name: row[name] for name in ("id", "form", "lemma", "upos", "head", "deprel")}
        misc = {name: value or "" for name, value in (row["misc"] or {}).items()}
        found.append(Word(**same, feats=row["feats"] or {}, misc=misc, start=begin, end=end))
    return Sentence(
        id=comments.get("sent_id", f"{path.name}:{start}"),
        source=path.name.partition(".")[0],
        text=text,
        words=tuple(found),
        place=f"{path}:{start}",
    )


def _row(line: str, place: str) -> _Row:
    # conllu takes two blanks for a tab, and a line of fewer fields.
    cells = line.count("\t") + 1
    if cells != _CELLS:
        raise UserError(f"{place}: a word has {_CELLS} fields between tabs, this has {cells}")
    try:
        [sentence] = conllu.parse(f"{line}\n\n")
    except (ParseException, ValueError) as error:  # ValueError of a number with thousands of digits
        raise UserError(f"{place}: {str(error).strip()}") from error
    return {"misc": None, **sentence[0]}  # a last field that is empty is not there


def _range(row: _Row) -> range | None:
    """Return the numbers of the words of a multiword token; None for others."""
    number = row["id"]
    return range(number[0], number[2] + 1) if isinstance(number, tuple) and number[1] == "-" else None


_Token = tuple[int | None, str, bool]
"""The number of a word, None of a multiword token; the form; whether a space follows."""


def _place(text: str | None, rows: Sequence[_Row]) -> tuple[str, dict[int, tuple[int, int]]]:
    """Return the text of a sentence and where its words stand in it."""
    inside: set[int] = set()
    tokens: list[_Token] = []
    for row in rows:
        several = _range(row)
        if several is not None:
            inside.update(several)
        # Empty nodes, as 8.1, and the words of a multiword token have no text of their own.
        elif not isinstance(row["id"], int) or row["id"] in inside:
            continue
        number = row["id"] if several is None else None
        tokens.append((number, row["form"], (row["misc"] or {}).get("SpaceAfter") != "No"))
    spans = None if text is None else _find(text, tokens)
    if text is not None and spans is not None:
        return text, spans
    # A token that may have a space after it has none at the end.
    made = "".join(form + " " * space for _, form, space in tokens)
    made = made.removesuffix(" ") if tokens and tokens[-1][2] else made
    return made, _find(made, tokens) or {}


def _find(text: str, tokens: Sequence[_Token]) -> dict[int, tuple[int, int]] | None:
    """Return where the words stand in a text; None where it does not hold the tokens in their order."""
    spans, at = {}, 0
    for number, form, _ in tokens:
        start = text.find(form, at)
        # Only spaces may stand between two tokens.
        if start < 0 or text[at:start].strip():
            return None
        at = start + len(form)
        if number is not None:
            spans[number] = (start, at)
    return spans
