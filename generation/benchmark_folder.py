"""The benchmark folder that is made: a file of pairs for each paradigm, a card and a report."""

import json
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import yaml

from ucurve import __version__
from ucurve.eval.benchmarks.card import CARD_FILE, read_card
from ucurve.eval.benchmarks.load import load_benchmark
from ucurve.generation.maker import Made, Outcome
from ucurve.storage.files import sha256_file, write_json

REPORT_FILE = "report.json"
_COLUMNS = {"paradigm": "UID"}  # the files of BLiMP have this name


def write_benchmark(
    folder: Path, name: str, made: Made, outcomes: Sequence[Outcome], how: Mapping[str, object]
) -> None:
    """Write a benchmark into an empty folder, and check that it can be read; ``how`` is for card and report."""
    for outcome in outcomes:
        if outcome.pairs:
            paradigm = outcome.paradigm
            records = [
                pair.record(paradigm.name, paradigm.phenomenon, at) for at, pair in enumerate(outcome.pairs)
            ]
            lines = [json.dumps(record, ensure_ascii=False, separators=(",", ":")) for record in records]
            (folder / f"{paradigm.name}.jsonl").write_text("\n".join([*lines, ""]), encoding="utf-8")
    card = _card(name, made, outcomes, how)
    text = yaml.safe_dump(card, allow_unicode=True, sort_keys=False, width=120)
    (folder / CARD_FILE).write_text(text, encoding="utf-8")
    kept = sum(len(outcome.pairs) for outcome in outcomes)
    report = {
        **how,
        "candidates": sum(outcome.candidates for outcome in outcomes),
        "kept": kept,
        "notes": list(made.notes),
        "paradigms": report_rows(outcomes),
    }
    write_json(folder / REPORT_FILE, report)
    # The folder is read by the code that scores it.
    written = sum(len(load_benchmark(member)) for member in read_card(folder / CARD_FILE).members.values())
    assert written == kept, "a folder that was made is not read whole"


def report_rows(outcomes: Sequence[Outcome]) -> list[dict[str, object]]:
    """Return a row for each paradigm: ``paradigm, phenomenon, candidates, kept, reasons, note``."""
    return [
        {
            "paradigm": outcome.paradigm.name,
            "phenomenon": outcome.paradigm.phenomenon,
            "candidates": outcome.candidates,
            "kept": len(outcome.pairs),
            "reasons": dict(outcome.reasons.most_common()),
            **outcome.facts,
            "note": outcome.paradigm.note,
        }
        for outcome in outcomes
    ]


def _card(name: str, made: Made, outcomes: Sequence[Outcome], how: Mapping[str, object]) -> dict[str, object]:
    """Return the card: what the maker gave, what every made folder has, and from which inputs it was made."""
    given: dict[str, Any] = dict(made.card)
    phenomena = dict.fromkeys(outcome.paradigm.phenomenon for outcome in outcomes if outcome.pairs)
    inputs = [{"file": path.name, "sha256": sha256_file(path)} for path in made.inputs]
    versions = {"ucurve": __version__, **{library: version(library) for library in made.libraries}}
    return {
        "name": name,
        **given,
        "files": list(given.get("files", ["*.jsonl"])),
        "columns": _COLUMNS | given.get("columns", {}),
        "omit": [*given.get("omit", []), "UID"],  # which would repeat the paradigm
        "made": {**how, "phenomena": list(phenomena), "inputs": inputs, "versions": versions},
    }
