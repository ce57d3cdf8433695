"""All answers of a study, from files of several forms, checked against the items that people were asked."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from ucurve.errors import UserError, did_you_mean
from ucurve.storage.files import read_json_or_empty
from ucurve.validation.answer_files import Answer, Columns, Rating, read_paradigms, read_rating_table, read_table
from ucurve.validation.items import items_of_answers, read_items
from ucurve.validation.platform_files import is_pcibex, read_label_studio, read_pcibex

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


def load_answers(paths: Sequence[Path], source: Path | None, columns: Columns, items: pd.DataFrame) -> pd.DataFrame:
    """Read all answers, each with kind, paradigm and right choice of its item; ``source`` is the file of the items."""
    answers = [answer for path in paths for answer in read_answers(path, columns)]
    _refuse_unknown(answers, set(items["item"]), source)
    _refuse_repeated(answers)
    _refuse_foreign(answers, source)
    table = pd.DataFrame([asdict(answer) for answer in answers]).drop(columns=["place", "questionnaire"])
    return table.merge(items[["item", "kind", "paradigm", "right"]], on="item", validate="many_to_one")


def asked_to_accept(source: Path | None) -> bool:
    """Say whether people were asked if pairs are right, and not which sentence is, as beside the file of the items."""
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
    return read_pcibex(path) if is_pcibex(path) else read_table(path, columns)


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
        if answer.questionnaire and not own:
            own, where = answer.questionnaire, answer.place
