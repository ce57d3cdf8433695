"""From published judgments to one table, matched with the pairs by the texts of their sentences.

A survey is a workbook with a row for each person, and a second one with the sentences.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from importlib.util import find_spec
from pathlib import Path

import pandas as pd

from ucurve.errors import UserError
from ucurve.eval.benchmarks.card import Benchmark
from ucurve.eval.benchmarks.files.readers import Row, Sheet, read_rows, read_sheets
from ucurve.eval.benchmarks.files.source_file import source_files
from ucurve.eval.benchmarks.files.tables import TableForm, written
from ucurve.eval.benchmarks.files.unpacking import UNPACKED
from ucurve.eval.benchmarks.ratings.section import Choices, Judgments, Raters
from ucurve.eval.pairs import lacks
from ucurve.progress import log_line
from ucurve.storage.run_folder import CHOICE_COLUMNS, RATING_COLUMNS
from ucurve.storage.tabular import read_number

_CONSTANT = 1e-12  # a spread below this is that of equal ratings
_NAMED = 3  # sentences that match nothing, in a message
_Rated = tuple[str, str, float]  # sentence, person and value


def read_survey(files: Sequence[Path], sentences: Path, group: Sequence[str]) -> Iterator[tuple[str, str, float]]:
    """Yield sentence, person (file and row) and value of a survey (``eval.benchmarks.ratings.section.Survey``)."""
    texts = _read_sentences(sentences, group)
    for path in files:
        sheet = _sheets(path)[0]
        if len(sheet) < 2:
            raise UserError(f"{path}: ratings: a header, a row of groups and a row for each person are expected")
        groups = [str(name) for name in sheet[1]]
        for name in dict.fromkeys(groups):
            if groups.count(name) != len(texts.get(name, ())):
                held = f"{len(texts.get(name, ()))} sentences in {sentences}"
                raise UserError(
                    f"{path}:2: ratings: {groups.count(name)} columns of the group {name!r}, and {held}"
                )
        waiting = {name: iter(texts[name]) for name in set(groups)}
        asked = [next(waiting[name]) for name in groups]
        for number, row in enumerate(sheet[2:], start=3):
            for sentence, value in zip(asked, row, strict=False):
                if value is None:
                    continue
                if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
                    raise UserError(
                        f"{path}:{number}: {value!r} is not a rating; a number is expected, or nothing"
                    )
                yield sentence, f"{path.stem} {number}", float(value)


def _read_sentences(path: Path, group: Sequence[str]) -> dict[str, list[str]]:
    """Read the sentences of a survey by the names of their groups, in the order in which people are asked."""
    found: dict[str, list[str]] = defaultdict(list)
    for sheet in _sheets(path):
        header = [str(value) for value in sheet[0]]
        for name in group:
            if name not in header:
                raise UserError(f"{path}:1: ratings: no column {name!r}; the columns are {', '.join(header)}")
        places = [header.index(name) for name in group]
        for row in sheet[1:]:
            if row[0] is not None:
                found["_".join(str(row[place]) for place in places)].append(str(row[0]).strip())
    return found


def _sheets(path: Path) -> list[Sheet]:
    """Return the sheets of a workbook that have rows."""
    [file] = source_files([path])
    return [rows for rows in read_sheets(file) if rows]


def load_ratings(
    card: Benchmark, root: Path | None, pairs: pd.DataFrame, unpacked: int = UNPACKED
) -> pd.DataFrame | None:
    """Load the judgments of people that a card names; None if it names none or their files do not exist.

    Sentences are matched by their texts without surrounding white space; those that match nothing are logged. Ratings
    are ``RATING_COLUMNS``, with the z-score among all that the person rated; choices are ``CHOICE_COLUMNS``.
    """
    ratings = card.ratings
    files = rating_files(card, root)
    if ratings is None or not files:
        return None
    if ratings.survey is not None and card.place is None and find_spec("openpyxl") is None:
        log_line(
            f"{card.name}: the judgments of people are xlsx files, which need the extra xlsx; they are left out"
        )
        return None
    if ratings.survey is not None:
        sentences = replace(card, files=ratings.survey.sentences).matching(root)
        if not sentences:
            raise UserError(
                f"{files[0]}: ratings: no {' or '.join(ratings.survey.sentences)} in {card.home(root)}"
            )
        return _match_sentences(read_survey(files, sentences[0], ratings.survey.group), pairs, card.name)
    form = TableForm(card.delimiter, quotes=card.quotes)
    rows = read_rows(source_files(files, unpacked), form, _sentence_columns(card))
    if ratings.choices is not None:
        return _match_choices(rows, ratings.choices, pairs, card.name)
    if ratings.raters is not None:
        return _match_sentences(_of_raters(rows, ratings.raters), pairs, card.name)
    assert ratings.judgments is not None
    return _match_sentences(_of_judgments(rows, ratings.judgments), pairs, card.name)


def rating_files(card: Benchmark, root: Path | None) -> list[Path]:
    """Return the files of judgments of a benchmark; a user's own card must name files that exist."""
    folder = card.home(root)
    if card.ratings is None or folder is None:
        return []
    patterns = card.ratings.files or card.files
    files = replace(card, files=patterns).matching(root)  # where the files of the pairs are looked for
    if not files and card.place is not None:
        raise UserError(f"{card.place}: ratings.files: no {' or '.join(patterns)} in {folder}")
    return files


def _sentence_columns(card: Benchmark) -> set[str]:
    """Return the columns of sentences, which stay text as they do in the pairs."""
    given = card.ratings
    assert given is not None
    if given.choices is not None:
        return {given.choices.a, given.choices.b}
    single = given.raters or given.judgments
    return set() if single is None else {single.sentence}


def _of_raters(rows: Sequence[Row], form: Raters) -> Iterator[_Rated]:
    """Yield the ratings of rows with a column for each person."""
    for row in rows:
        sentence = _text(row, form.sentence)
        for person in _people(row, form.people):
            value = written(row.record[person])
            if value.strip():
                yield sentence, person, _parse_rating(value, person, row.place)


def _of_judgments(rows: Sequence[Row], form: Judgments) -> Iterator[_Rated]:
    """Yield the ratings of rows with one rating each."""
    for row in rows:
        value = written(_look_up(row, form.value))
        if value.strip():
            person = written(_look_up(row, form.person))
            yield _text(row, form.sentence), person, _parse_rating(value, form.value, row.place)


def _match_sentences(rated: Iterable[_Rated], pairs: pd.DataFrame, name: str) -> pd.DataFrame:
    """Give each rating to the pairs that its sentence is a member of: ``RATING_COLUMNS``."""
    places = pd.concat([
        pd.DataFrame({"sentence": pairs[side].str.strip(), "pair": pairs["pair"], "side": side})
        for side in ("good", "bad")
    ])  # fmt: skip
    table = pd.DataFrame(list(rated), columns=["sentence", "person", "value"])
    given = table["value"].groupby(table["person"])
    spread = given.transform("std", ddof=0)
    table["z"] = ((table["value"] - given.transform("mean")) / spread.where(spread > _CONSTANT)).fillna(0.0)
    judged, there = set(table["sentence"]), set(places["sentence"])
    if judged - there and _is_whole(pairs, name):
        lost = int((~table["sentence"].isin(there)).sum())
        log_line(
            f"{name}: {len(judged - there)} of {len(judged)} sentences that people rated are in no pair; their {lost} "
            f"of {len(table)} ratings are left out: {_first_of(sorted(judged - there))}"
        )
    return places.merge(table, on="sentence")[list(RATING_COLUMNS)]


def _match_choices(rows: Sequence[Row], form: Choices, pairs: pd.DataFrame, name: str) -> pd.DataFrame:
    """Give each choice to the pair of its two sentences, in whatever order they were shown: ``CHOICE_COLUMNS``."""
    waiting: dict[frozenset[str], list[tuple[int, str]]] = defaultdict(list)
    for pair, good, bad in zip(pairs["pair"], pairs["good"].str.strip(), pairs["bad"].str.strip(), strict=True):
        if good != bad:  # else no choice is right or wrong
            waiting[frozenset((good, bad))].append((int(pair), good))
    found: list[tuple[int, str, bool]] = []
    lost: list[str] = []
    for row in rows:
        members = _text(row, form.a), _text(row, form.b)
        places = waiting.get(frozenset(members))
        if not places:
            lost.append(members[0])
            continue
        pair, good = places.pop(0)  # a pair that is published twice is judged twice
        chosen = ((person, _chosen(row, person, form)) for person in _people(row, form.people))
        found += [(pair, person, members[place] == good) for person, place in chosen if place is not None]
    if lost and _is_whole(pairs, name):
        why = f"they are of no pair, or of two equal sentences: {_first_of(lost)}"
        log_line(f"{name}: {len(lost)} of {len(rows)} rows of people's choices are left out, because {why}")
    return pd.DataFrame(found, columns=list(CHOICE_COLUMNS))


def _is_whole(pairs: pd.DataFrame, name: str) -> bool:
    """Tell a whole benchmark from a subset, which leaves out most of what people judged."""
    return str(pairs["benchmark"].iloc[0]) == name


def _first_of(sentences: Sequence[str]) -> str:
    return ", ".join(map(repr, sentences[:_NAMED])) + (", ..." if len(sentences) > _NAMED else "")


def _chosen(row: Row, person: str, form: Choices) -> int | None:
    """Return 0 for the first sentence, 1 for the second, None where the person said nothing."""
    value = written(row.record[person]).strip()
    if not value:
        return None
    for place, allowed in enumerate((form.a_chosen, form.b_chosen)):
        if value in allowed:
            return place
    known = ", ".join((*form.a_chosen, *form.b_chosen))
    raise UserError(f"{row.place}: {person!r} is {value!r}; allowed are {known}, or nothing")


def _people(row: Row, patterns: Sequence[str]) -> list[str]:
    """Return the columns of the persons, at least one."""
    found = [name for name in row.record if any(fnmatchcase(name, pattern) for pattern in patterns)]
    if not found:
        held = ", ".join(row.record)
        raise UserError(f"{row.place}: ratings: no column {' or '.join(patterns)}; the columns are {held}")
    return found


def _text(row: Row, name: str) -> str:
    return written(_look_up(row, name)).strip()


def _look_up(row: Row, name: str) -> object:
    if name not in row.record:
        raise lacks(f"{row.place}: ratings", name, row.record, "column")
    return row.record[name]


def _parse_rating(value: str, name: str, place: str) -> float:
    number = read_number(value)
    if number is None:
        raise UserError(f"{place}: {name!r} is {value!r}; a number is expected, or nothing")
    return number
