"""The room judge: make a questionnaire, answer it for a pilot, load answers, see which paradigms people confirm.

Answers are kept in the folder of the questionnaire once they can be read, and judged.
"""

import re
import tempfile
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from threading import Lock

import pandas as pd
from pydantic.dataclasses import dataclass

from ucurve.analysis.data.groups import Pairs
from ucurve.analysis.items.card import card_html, pair_facts
from ucurve.config import check
from ucurve.config_files import completed, load
from ucurve.errors import UserError, unknown_name
from ucurve.fields import STRICT
from ucurve.storage.files import write_text
from ucurve.validation.answer_files import BAD, CHOICES, GOOD, NONE, Columns
from ucurve.validation.answers import AnswerSettings, judge_answers
from ucurve.validation.items import read_items
from ucurve.validation.judging.paradigms import find_rule, load_rules
from ucurve.validation.loading import load_answers, load_items
from ucurve.workbench.judge.questionnaires import (
    ANSWERS,
    ITEMS,
    JUDGED,
    Questionnaires,
    answer_files,
    offered_settings,
)
from ucurve.workbench.replies import Values, text_of
from ucurve.workbench.room import Action, Room
from ucurve.workbench.settings import WorkbenchSettings

LARGEST_UPLOAD = 20 * 1024 * 1024  # bytes of the files that are loaded together
_MOST_PAIRS = 12  # that are shown
_SUFFIXES = (".csv", ".tsv", ".json", ".txt")
_FILE = re.compile(r"[\w(][\w.() -]{0,150}")
_SUMMARY = "Ask people which sentence of a pair is better, and see which paradigms of a benchmark they confirm."
_NEEDS = (
    "a benchmark, published or made in Write. Other people are needed later; you can answer it yourself first."
)


@dataclass(frozen=True, config=STRICT)
class Upload:
    """A file of answers, as a page sends it."""

    name: str
    text: str


def keep_answers(folder: Path, given: object) -> list[str]:
    """Keep files of answers (JSON objects, each an ``Upload``), all of them or none, and return their names.

    A file is kept once it can be judged together with those that are there.
    """
    uploads = [check(Upload, one) for one in given] if isinstance(given, list) else []
    if not uploads:
        raise UserError("files: no file of answers was given")
    _check_names([path.name for path in answer_files(folder)], [upload.name for upload in uploads])
    try:
        size = sum(len(upload.text.encode()) for upload in uploads)
    except UnicodeEncodeError as error:
        raise UserError(f"files: a file holds something that is not text ({error.reason})") from error
    if size > LARGEST_UPLOAD:
        raise UserError(
            f"files: {size / 1024**2:.1f} MB of answers; at most {LARGEST_UPLOAD // 1024**2} MB are loaded at once"
        )
    with tempfile.TemporaryDirectory() as temporary:
        new = [Path(temporary) / upload.name for upload in uploads]
        for path, upload in zip(new, uploads, strict=True):
            path.write_bytes(upload.text.encode())  # with the line ends that it has
        # They are read together with those that are there; messages name files as the user does.
        columns = check(Columns, load("answers.yaml")["columns"])
        source, paths = folder / ITEMS, [*answer_files(folder), *new]
        try:
            load_answers(paths, source, columns, load_items(paths, source, columns))
        except UserError as error:
            raise UserError(str(error).replace(f"{new[0].parent}/", "").replace(f"{folder}/", "")) from error
    for upload in uploads:
        write_text(folder / ANSWERS / upload.name, upload.text)
    return [upload.name for upload in uploads]


def remove_answers(folder: Path, name: str) -> None:
    """Remove a file of answers."""
    found = {path.name: path for path in answer_files(folder)}
    if name not in found:
        raise unknown_name("file of answers", name, found)
    found[name].unlink()


def judge(folder: Path, values: Values) -> Values:
    """Judge all answers to a questionnaire, write the tables into its folder and return what the page shows.

    ``rule``, ``limit`` and ``exclude`` that are not given are those of conf/answers.yaml; rules of exclusion are given
    all or none. Paradigms to drop come first, then the others by the share that the rule compares. ``pairs`` are those
    that the smallest shares of people confirm, with their votes and cards.
    """
    files = answer_files(folder)
    if not files:
        raise UserError(f"there are no answers to {folder.name!r} yet; answer it here, or load files of answers")
    asked: Values = {name: values[name] for name in ("rule", "limit", "exclude") if name in values}
    places = {"answers": list(map(str, files)), "items": folder / ITEMS, "out": folder / JUDGED}
    settings = check(AnswerSettings, completed("answers.yaml", {**asked, **places}))
    findings = judge_answers(settings)
    share = find_rule(settings.rule).share
    ordered = findings.tables["paradigms"].sort_values(["keep", share, "raw", "paradigm"], na_position="last")
    return {
        "lines": list(findings.lines),
        "summary": dict(findings.summary),
        "rule_share": share,
        "paradigms": ordered.to_dict("records"),
        "annotators": findings.tables["annotators"].to_dict("records"),
        "pairs": _least_confirmed(folder, findings.tables["items_judged"]),
        "files": [f"{name}.csv" for name in findings.tables],
    }


def _least_confirmed(folder: Path, judged: pd.DataFrame) -> list[Values]:
    """Describe the pairs of which the smallest shares of answers choose the good sentence, smallest first."""
    table = read_items(folder / ITEMS).merge(judged[["item", *CHOICES]], on="item", suffixes=("", "_votes"))
    votes = table[[f"{GOOD}_votes", f"{BAD}_votes", NONE]]
    shares, pairs = votes[f"{GOOD}_votes"] / votes.sum(axis=1), Pairs(table)
    return [
        {
            **table.loc[row, ["pair", "paradigm", GOOD, BAD]].to_dict(),
            "votes": f"{votes[f'{GOOD}_votes'][row]} of {votes.loc[row].sum()} answers confirm it",
            "card": card_html(pair_facts(pairs, row)),
        }
        for row in shares.nsmallest(_MOST_PAIRS).index
    ]


def _check_names(there: Sequence[str], given: Sequence[str]) -> None:
    """Refuse names of files that lead out of the folder, are of no known form or are taken."""
    for number, name in enumerate(given):
        if not _FILE.fullmatch(name) or not name.endswith(_SUFFIXES):
            raise UserError(
                f"files: the name {name!r} is not allowed; allowed are letters, digits, spaces and . _ - ( ), "
                f"with one of the endings {' '.join(_SUFFIXES)}"
            )
        if name in there or name in given[:number]:
            raise UserError(f"files: there is a file {name!r} already; remove it first, or give another name")


def judge_room(settings: WorkbenchSettings) -> Room:
    """Make the room."""
    there = Questionnaires(settings.projects)
    # The answers of a questionnaire are changed by one request after the other.
    answering: dict[str, Lock] = defaultdict(Lock)

    def in_turn(work: Callable[[Path, Values], Values], values: Values) -> Values:
        folder = there.folder(text_of(values, "name"))
        with answering[folder.name]:
            return work(folder, values)

    def keep(folder: Path, values: Values) -> Values:
        return {"kept": keep_answers(folder, values.get("files")), **there.describe(folder.name)}

    def remove(folder: Path, values: Values) -> Values:
        remove_answers(folder, text_of(values, "file"))
        return there.describe(folder.name)

    actions = (
        Action("GET", "settings", lambda _: _settings()),
        Action("GET", "benchmarks", lambda _: there.benchmarks()),
        Action("GET", "paradigms", lambda values: there.paradigms(text_of(values, "benchmark"))),
        Action("GET", "questionnaires", lambda _: there.names()),
        Action("POST", "questionnaires", there.make),
        Action("GET", "questionnaires/{name}", lambda values: there.describe(text_of(values, "name"))),
        Action("POST", "questionnaires/{name}/answers", partial(in_turn, keep)),
        Action("DELETE", "questionnaires/{name}/answers/{file}", partial(in_turn, remove)),
        Action("POST", "questionnaires/{name}/judge", partial(in_turn, judge)),
    )
    return Room("judge", "Judge", _SUMMARY, _NEEDS, actions, there.file)


def _settings() -> Values:
    """Return what the page offers: the values of the two commands, and the rules."""
    judged = completed("answers.yaml", {})
    return {
        "questionnaire": offered_settings(),
        "answers": {name: judged[name] for name in ("rule", "limit", "exclude")},
        "rules": [
            {"name": name, "words": rule.words, "limit": rule.limit}
            for name, rule in sorted(load_rules().items())
        ],
    }
