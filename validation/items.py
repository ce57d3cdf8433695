"""What people were asked: the items of a questionnaire."""

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from ucurve.errors import UserError, unknown_name
from ucurve.storage.tabular import read_rows
from ucurve.validation.answer_files import BAD, GOOD, full_cell

ITEM, CATCH, CONTROL, TRAINING = "item", "catch", "control", "training"
KINDS = (ITEM, CATCH, CONTROL, TRAINING)
_REQUIRED = ("item", "kind", "paradigm")  # a file of items has these columns
_OPTIONAL = ("benchmark", "phenomenon", "pair", GOOD, BAD)


def read_items(path: Path) -> pd.DataFrame:
    """Read the items of a questionnaire, as it writes them: a line for each time that an item is shown in a list.

    Returns:
        ``item`` (unique), ``kind`` (of ``KINDS``), ``paradigm`` (empty only where nothing is judged), ``benchmark``,
        ``phenomenon``, ``pair`` and the sentences ``good`` and ``bad``: texts, empty where the file has none; and
        ``right``, the choice that is right.

    Raises:
        UserError: naming the line that contradicts an earlier one or is not well formed.
    """
    shown: dict[tuple[str, str], int] = {}
    known: dict[str, tuple[int, dict[str, str]]] = {}
    for line, row in read_rows(path, "items", _REQUIRED):
        place = f"{path}:{line}"
        facts = _facts(row, place)
        key = facts["item"], row.get("list", "").strip()
        # An item may stand in every list, once in each.
        if key in shown:
            raise UserError(f"{place}: the item {key[0]!r} stands in line {shown[key]} already")
        shown[key] = line
        # An item must be the same in every list.
        first, before = known.setdefault(facts["item"], (line, facts))
        for name, value in facts.items():
            if value != before[name]:
                raise UserError(
                    f"{place}: {name} of {key[0]!r} is {value!r} here and {before[name]!r} in line {first}"
                )
    _refuse_shared_names(known, path)
    return pd.DataFrame([facts for _, facts in known.values()])


def items_of_answers(named: Iterable[tuple[str, str, str]]) -> pd.DataFrame:
    """Make the items, all to be judged, from the item, paradigm and place of each line of tables of answers."""
    paradigms: dict[str, str] = {}
    for item, paradigm, place in named:
        if paradigms.setdefault(item, paradigm) != paradigm:
            raise UserError(
                f"{place}: the item {item!r} is of {paradigm!r} here and of {paradigms[item]!r} before"
            )
    table = pd.DataFrame({"item": list(paradigms), "kind": ITEM, "paradigm": list(paradigms.values())})
    return table.assign(**dict.fromkeys(_OPTIONAL, ""), right=GOOD)


def _refuse_shared_names(known: dict[str, tuple[int, dict[str, str]]], path: Path) -> None:
    """Refuse paradigms of two benchmarks with one name, which ``human=`` could not tell apart."""
    benchmarks: dict[str, str] = {}
    for line, facts in known.values():
        name, own = facts["paradigm"], facts["benchmark"]
        if facts["kind"] == ITEM and benchmarks.setdefault(name, own) != own:
            before = benchmarks[name]
            raise UserError(f"{path}:{line}: the paradigm {name!r} is of {own!r} here and of {before!r} before")


def _facts(row: dict[str, str], place: str) -> dict[str, str]:
    """Read what a line says of its item, the columns of ``read_items``."""
    kind = full_cell(row, "kind", place)
    if kind not in KINDS:
        raise unknown_name("kind", kind, KINDS, place)
    paradigm = full_cell(row, "paradigm", place) if kind == ITEM else row["paradigm"].strip()
    optional = {name: row.get(name, "").strip() for name in _OPTIONAL}
    # Without this column the good sentence is the right one.
    right = row.get("right", "").strip() or GOOD
    return {"item": full_cell(row, "item", place), "kind": kind, "paradigm": paradigm, **optional, "right": right}
