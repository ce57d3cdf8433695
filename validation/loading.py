"""All answers of a study, from files of several forms, checked against the items that people were asked.

PCIbex and Label Studio export them from questionnaires made here.
"""

import csv
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote

import pandas as pd

from ucurve.errors import UserError, did_you_mean
from ucurve.storage.files import LINE_END, read_json, read_json_or_empty, read_utf8
from ucurve.validation.answer_files import (
    BAD,
    CHOICES,
    GOOD,
    NONE,
    Answer,
    Columns,
    Rating,
    parse_seconds,
    read_paradigms,
    read_rating_table,
    read_table,
)
from ucurve.validation.items import items_of_answers, read_items

_QUESTIONNAIRE = "questionnaire.json"  # beside items.csv: what the questionnaire was made from


def load_items(answers: Sequence[Path], items: Path | None, columns: Columns) -> pd.DataFrame:
    """Read the items, of their own file or of the tables of answers."""
    if items is not None:
        return read_items(items)
    if columns.paradigm is None:
        raise UserError(
            "items: no file given; give the questionnaire's items.csv, or the column of the answers that names the "
            "paradigm (columns.paradigm=NAME)"
        )
    return items_of_answers(read_paradigms(answers, columns))


def load_answers(
    paths: Sequence[Path], source: Path | None, columns: Columns, items: pd.DataFrame
) -> pd.DataFrame:
    """Read all answers, each with kind, paradigm and right choice of its item; ``source`` is the file of the items.

    Raises:
        UserError: for an unknown item, a second answer of a person, or another questionnaire.
    """
    answers = [answer for path in paths for answer in read_answers(path, columns)]
    _refuse_unknown(answers, set(items["item"]), source)
    _refuse_repeated(answers)
    _refuse_foreign(answers, source)
    table = pd.DataFrame([asdict(answer) for answer in answers]).drop(columns=["place", "questionnaire"])
    return table.merge(items[["item", "kind", "paradigm", "right"]], on="item", validate="many_to_one")


def asked_to_accept(source: Path | None) -> bool:
    """Say whether people were asked if a pair is right, and not which sentence is; a file beside the items tells."""
    return bool(_read_about(source).get("settings", {}).get("question") == "accept")


def load_ratings(paths: Sequence[Path], columns: Columns) -> pd.DataFrame:
    """Read ratings of sentences: ``annotator``, ``item`` (the sentence), ``rating`` and ``seconds``."""
    ratings = [rating for path in paths for rating in read_rating_table(path, columns)]
    _refuse_repeated(ratings)
    return pd.DataFrame([asdict(rating) for rating in ratings]).drop(columns="place")


def read_answers(path: Path, columns: Columns) -> list[Answer]:
    """Read a file of answers; its form is told from its name and how it begins."""
    if path.suffix == ".json":
        return read_label_studio(path)
    # Results of PCIbex begin with a comment.
    is_pcibex = read_utf8(path).lstrip().startswith("#")
    return read_pcibex(path) if is_pcibex else read_table(path, columns)


def _read_about(source: Path | None) -> dict[str, Any]:
    return read_json_or_empty(source.with_name(_QUESTIONNAIRE)) if source is not None else {}


def _refuse_unknown(answers: Iterable[Answer], known: set[str], source: Path | None) -> None:
    for answer in answers:
        if answer.item not in known:
            hint = did_you_mean(answer.item, known)
            raise UserError(f"{answer.place}: the item {answer.item!r} is not in {source}.{hint}")


def _refuse_repeated(answers: Iterable[Answer] | Iterable[Rating]) -> None:
    places: dict[tuple[str, str], str] = {}
    for answer in answers:
        key = answer.annotator, answer.item
        if key in places:
            raise UserError(f"{answer.place}: {key[0]!r} answered the item {key[1]!r} in {places[key]} already")
        places[key] = answer.place


def _refuse_foreign(answers: Iterable[Answer], source: Path | None) -> None:
    """Refuse answers of another questionnaire, whose items may have the same names."""
    own, where = str(_read_about(source).get("id", "")), f"{_QUESTIONNAIRE} beside {source}"
    for answer in answers:
        if answer.questionnaire and own and answer.questionnaire != own:
            raise UserError(
                f"{answer.place}: an answer to the questionnaire {answer.questionnaire!r}, and not to {own!r} ({where})"
            )
        # Without a record beside the items, the first answer says which questionnaire all must be of.
        if answer.questionnaire and not own:
            own, where = answer.questionnaire, answer.place


_COLUMN = re.compile(r"#\s*(\d+)\.\s*(.+?)\.?\s*")
_TRIAL = "Order number of item"
_PERSON = "annotator"
_TIME = "EventTime"
# Every line must have these columns.
_ASKED = ("PennElementType", "PennElementName", "Parameter", "Value", _TIME, _TRIAL)
Kind = TypeVar("Kind")
_SIDES = ("first", "second")  # Label Studio shows the sentences in this order
# When the results came in, the person, and the place of the trial in the experiment.
_Trial = tuple[str, str, str]


def read_pcibex(path: Path) -> list[Answer]:
    """Read the choices in the results of a PCIbex farm, whose comments name the columns of the lines below them."""
    starts: dict[_Trial, float] = {}
    chosen: dict[_Trial, Answer] = {}
    for place, row in _pcibex_rows(path):
        trial = (row.get("Results reception time", ""), row[_PERSON].strip(), row[_TRIAL])
        kind, parameter, value = row["PennElementType"], row["Parameter"], row["Value"]
        # PCIbex itself records when a trial begins.
        if (kind, parameter, value) == ("PennController", "_Trial_", "Start"):
            starts[trial] = _milliseconds(row[_TIME], place)
        # The script that is made for PCIbex names its selector so.
        elif (kind, row["PennElementName"], parameter) == ("Selector", "choice", "Selection"):
            # NaN where the start of the trial was not recorded.
            seconds = (_milliseconds(row[_TIME], place) - starts.get(trial, math.nan)) / 1000
            if not row.get("item", "").strip():
                raise UserError(f"{place}: 'item' is missing or empty")
            choice = _allowed(value, CHOICES, place)
            # A person may change a choice within a trial; the last one counts.
            chosen[trial] = Answer(
                trial[1], row["item"].strip(), choice, seconds, row.get("page", ""), math.nan, place
            )
    if not chosen:
        raise UserError(f"{path}: no line with the choice of a Selector named 'choice'; nothing was answered")
    return list(chosen.values())


def read_label_studio(path: Path) -> list[Answer]:
    """Read the JSON export of Label Studio; a task that was skipped, or left without a choice, is answered ``none``."""
    tasks = read_json(path)
    if not isinstance(tasks, list):
        raise UserError(f"{path}: a list of tasks is expected, as in the JSON export of Label Studio")
    answers = []
    for number, task in enumerate(tasks, start=1):
        place = f"{path}: task {number}"
        data = _member(task, "data", dict, place)
        item, good_first = _member(data, "item", (str, int), place), _member(data, "good_first", bool, place)
        for annotation in _member(task, "annotations", list, place):
            # Exports name a person by a number, or as an object with an address.
            person = _member(annotation, "completed_by", (int, str, dict), place)
            answers.append(
                Answer(
                    str(_member(person, "email", str, place) if isinstance(person, dict) else person),
                    str(item),
                    _side_choice(annotation, good_first, place),
                    parse_seconds(str(annotation.get("lead_time") or ""), place),
                    str(data.get("page", "")),
                    math.nan,
                    place,
                )
            )
    if not answers:
        raise UserError(f"{path}: no task has annotations; nothing was answered")
    return answers


def _pcibex_rows(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the places and cells of the lines about trials and selectors that name a person."""
    columns: list[str] = []
    for number, line in enumerate(LINE_END.split(read_utf8(path)), start=1):
        place = f"{path}:{number}"
        named = _COLUMN.fullmatch(line)
        if named:
            # The comments number the columns again where the next lines have others.
            columns = [*columns[: int(named[1]) - 1], named[2]]
        elif line.strip() and not line.startswith("#"):
            try:
                cells = next(csv.reader([line]))
            except csv.Error as error:
                raise UserError(f"{place}: not a line of CSV ({error})") from error
            # PCIbex writes a comma inside of a value as %2C.
            row = dict(zip(columns, map(unquote, cells), strict=False))
            for name in _ASKED:
                if name not in row:
                    raise UserError(f"{place}: no column {name!r}; the comments above name {', '.join(columns)}")
            if row["PennElementType"] in ("PennController", "Selector") and row.get(_PERSON):
                yield place, row


def _side_choice(annotation: Mapping[str, Any], good_first: bool, place: str) -> str:
    """Return the choice of an annotation, which names a side, as one of ``CHOICES``."""
    results = annotation.get("result")
    if annotation.get("was_cancelled") or not results:
        return NONE
    try:
        chosen = results[0]["value"]["choices"][0]
    except (KeyError, IndexError, TypeError) as error:
        raise UserError(f"{place}: its result holds no choice") from error
    return GOOD if (_allowed(chosen, _SIDES, place) == "first") == good_first else BAD


def _member(value: object, name: str, kind: type[Kind] | tuple[type[Kind], ...], place: str) -> Kind:
    found = value.get(name) if isinstance(value, dict) else None
    if not isinstance(found, kind):
        raise UserError(f"{place}: no {name!r}, or not of the kind that Label Studio exports")
    return found


def _allowed(text: str, allowed: tuple[str, ...], place: str) -> str:
    if text not in allowed:
        raise UserError(f"{place}: the choice {text!r} is not allowed; allowed: {', '.join(allowed)}")
    return text


def _milliseconds(text: str, place: str) -> float:
    seconds = parse_seconds(text, place)
    if math.isnan(seconds):
        raise UserError(f"{place}: {_TIME!r} is empty")
    return seconds
