"""Answers of people, from a table: one line for each answer, or one for each item with a column for each person."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass as settings_class

from ucurve.errors import UserError
from ucurve.storage.tabular import read_number, read_rows

GOOD, BAD, NONE = "good", "bad", "none"
CHOICES = (GOOD, BAD, NONE)


@dataclass(frozen=True)
class Answer:
    """One person's answer to one item; numbers that are not known are NaN, texts are empty."""

    annotator: str
    item: str
    choice: str  # one of CHOICES
    seconds: float
    page: str  # of a questionnaire that shows several items at once
    page_seconds: float  # for the whole page
    place: str  # file and line, for messages
    questionnaire: str = ""


@dataclass(frozen=True)
class Rating:
    """One person's rating of one sentence, with the seconds it took (NaN where not known) and file and line."""

    annotator: str
    item: str
    rating: float
    seconds: float
    place: str


@settings_class(frozen=True, config=ConfigDict(extra="forbid", coerce_numbers_to_str=True), kw_only=True)
class Columns:
    """How a table names what it holds, and what stands in it for each choice; conf/answers.yaml describes the keys."""

    annotator: str
    item: str
    choice: str
    seconds: str
    annotators: str | None
    paradigm: str | None
    rating: str | None
    good: str
    bad: str
    none: str

    def read_choice(self, text: str, place: str) -> str:
        """Return which of ``CHOICES`` a cell stands for."""
        named = {self.good: GOOD, self.bad: BAD, self.none: NONE}
        if text not in named:
            raise UserError(f"{place}: the choice {text!r} is not allowed; allowed: {', '.join(named)}")
        return named[text]


def read_table(path: Path, columns: Columns) -> list[Answer]:
    """Read a table of answers in the long or, with ``columns.annotators``, in the wide form.

    Raises:
        UserError: naming the line with an unknown choice, an empty cell or a time that is no number.
    """
    if columns.annotators is None:
        rows = read_rows(path, "answers", (columns.annotator, columns.item, columns.choice), line_breaks=True)
        return [_long(row, columns, f"{path}:{line}") for line, row in rows]
    rows = read_rows(path, "answers", (columns.item,), line_breaks=True)
    names = list(rows[0][1])
    people = [name for name in names if fnmatchcase(name, columns.annotators)]
    if not people:
        pattern = f"columns.annotators={columns.annotators}"
        raise UserError(f"{path}:1: no column matches {pattern}; the columns are {', '.join(names)}")
    answers = []
    for line, row in rows:
        place = f"{path}:{line}"
        item = full_cell(row, columns.item, place)
        for person in people:
            if text := row[person].strip():  # an empty cell is no answer
                choice = columns.read_choice(text, f"{place}: {person}")
                answers.append(Answer(person, item, choice, math.nan, "", math.nan, place))
    return answers


def read_rating_table(path: Path, columns: Columns) -> list[Rating]:
    """Read a table of ratings, a line for each.

    Raises:
        UserError: naming the line with an empty cell or a rating that is no number.
    """
    assert columns.rating is not None
    ratings = []
    named = (columns.annotator, columns.item, columns.rating)
    for line, row in read_rows(path, "answers", named, line_breaks=True):
        place = f"{path}:{line}"
        annotator, item = full_cell(row, columns.annotator, place), full_cell(row, columns.item, place)
        rating = read_number(row[columns.rating])
        if rating is None:
            raise UserError(f"{place}: the rating {row[columns.rating]!r} is not a number")
        seconds = parse_seconds(row.get(columns.seconds, ""), place)
        ratings.append(Rating(annotator, item, rating, seconds, place))
    return ratings


def read_paradigms(paths: Sequence[Path], columns: Columns) -> Iterator[tuple[str, str, str]]:
    """Read the item and paradigm of each line of tables of answers, with the place, where the tables name paradigms."""
    assert columns.paradigm is not None
    for path in paths:
        for line, row in read_rows(path, "answers", (columns.item, columns.paradigm), line_breaks=True):
            place = f"{path}:{line}"
            yield full_cell(row, columns.item, place), full_cell(row, columns.paradigm, place), place


def parse_seconds(text: str, place: str) -> float:
    """Read a response time; NaN for an empty text.

    Raises:
        UserError: for any other text.
    """
    if not text.strip():
        return math.nan
    seconds = read_number(text)
    if seconds is None or seconds < 0:
        raise UserError(f"{place}: {text!r} is not a number of seconds; allowed: 0 or more, or nothing")
    return seconds


def full_cell(row: Mapping[str, str], name: str, place: str) -> str:
    """Return a cell without spaces around it."""
    text = row[name].strip()
    if not text:
        raise UserError(f"{place}: {name!r} is empty")
    return text


def _long(row: Mapping[str, str], columns: Columns, place: str) -> Answer:
    """Read a line of the long form, which is one answer."""
    return Answer(
        full_cell(row, columns.annotator, place),
        full_cell(row, columns.item, place),
        columns.read_choice(row[columns.choice].strip(), place),
        parse_seconds(row.get(columns.seconds, ""), place),
        # Only tables that the page of a questionnaire sends have these columns.
        row.get("page", "").strip(),
        parse_seconds(row.get("page_seconds", ""), place),
        place,
        row.get("questionnaire", "").strip(),
    )
