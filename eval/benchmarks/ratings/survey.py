"""Workbooks of a survey: a row for each person, and the sentences in a workbook of their own."""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from ucurve.errors import UserError
from ucurve.eval.benchmarks.files.source_file import source_files
from ucurve.eval.benchmarks.files.workbooks import Sheet, read_sheets


def read_survey(files: Sequence[Path], sentences: Path, group: Sequence[str]) -> Iterator[tuple[str, str, float]]:
    """Yield sentence, person (file and row) and value of a survey (``eval.benchmarks.ratings.section.Survey``)."""
    texts = _read_sentences(sentences, group)
    for file in files:
        yield from _read_answers(file, _sheets(file)[0], texts, sentences)


def _read_sentences(path: Path, group: Sequence[str]) -> dict[str, list[str]]:
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


def _read_answers(
    path: Path, sheet: Sheet, texts: dict[str, list[str]], source: Path
) -> Iterator[tuple[str, str, float]]:
    if len(sheet) < 2:
        raise UserError(f"{path}: ratings: a header, a row of groups and a row for each person are expected")
    groups = [str(name) for name in sheet[1]]
    for name in dict.fromkeys(groups):
        if groups.count(name) != len(texts.get(name, ())):
            held = f"{len(texts.get(name, ()))} sentences in {source}"
            raise UserError(f"{path}:2: ratings: {groups.count(name)} columns of the group {name!r}, and {held}")
    waiting = {name: iter(texts[name]) for name in set(groups)}
    sentences = [next(waiting[name]) for name in groups]
    for number, row in enumerate(sheet[2:], start=3):
        for sentence, value in zip(sentences, row, strict=False):
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
                raise UserError(f"{path}:{number}: {value!r} is not a rating; a number is expected, or nothing")
            yield sentence, f"{path.stem} {number}", float(value)


def _sheets(path: Path) -> list[Sheet]:
    [file] = source_files([path])
    return [rows for rows in read_sheets(file) if rows]
