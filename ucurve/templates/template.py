"""Template and phrase files, read and checked."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from ucurve.errors import UserError, unknown_name
from ucurve.storage.files import read_json
from ucurve.templates.rules import Direct, Phrase, Rule, Slot, parse_slot, word_rule

# One way to write a phrase; an element has one alternative, positions are local to it.
Expansion = tuple[Slot, ...]
Phrases = Mapping[str, tuple[Expansion, ...]]

_ELEMENT_TYPES = ("Direct", "Lexical", "Matched", "Phrase")
_FIELDS = {"uid": str, "phenomenon": str, "strict_MP": bool, "sep": str, "good_rule": list, "bad_rule": list}

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Template:
    """A paradigm: the slots of the good and the bad member of its pairs, equally many."""

    file: str
    uid: str
    phenomenon: str
    strict_length: bool  # whether members must be of equal length
    separator: str  # between words
    good: tuple[Slot, ...]
    bad: tuple[Slot, ...]


def read_template(path: Path) -> Template:
    """Read one template file."""
    return parse_template(read_json(path), str(path))


def parse_template(record: object, source: str) -> Template:
    """Read one template from its JSON value; ``source`` is for messages."""
    if not isinstance(record, dict):
        raise UserError(f"{source}: a template is a JSON object with the fields {', '.join(_FIELDS)}")
    for name, kind in _FIELDS.items():
        if not isinstance(record.get(name), kind):
            found = repr(record[name]) if name in record else "nothing"
            raise UserError(f"{source}: field {name!r} must be a {kind.__name__}, found {found}")
    uid, good, bad = record["uid"], record["good_rule"], record["bad_rule"]
    if len(good) != len(bad):
        raise UserError(
            f"{source}: good_rule has {len(good)} slots and bad_rule {len(bad)}; they must be equally many"
        )
    if not uid or "/" in uid:
        raise UserError(f"{source}: the uid names a file and must not be empty or hold '/', found {uid!r}")
    return Template(
        file=source,
        uid=uid,
        phenomenon=record["phenomenon"],
        strict_length=record["strict_MP"],
        separator=record["sep"],
        good=_slots(good, f"{source}: good_rule"),
        bad=_slots(bad, f"{source}: bad_rule"),
    )


def read_templates(folder: Path) -> list[Template]:
    """Read all ``*.json`` templates of a folder, in the order of their names."""
    if not folder.is_dir():
        raise UserError(f"{folder}: no such folder")
    paths = sorted(folder.glob("*.json"))
    if not paths:
        raise UserError(f"{folder}: holds no templates (*.json)")
    return all_or_error(paths, read_template)


def read_patterns(path: Path) -> list[Template]:
    """Read sentence patterns, a JSON object from name to slots; the bad member of each repeats the good one."""
    record = read_json(path)
    if not isinstance(record, dict) or not all(isinstance(slots, list) for slots in record.values()):
        raise UserError(f"{path}: patterns are a JSON object from name to a list of slots")
    patterns = [(name, _slots(slots, f"{path}: {name}")) for name, slots in record.items()]
    return [
        Template(f"{path}: pattern {name!r}", name, "", False, "", good=slots, bad=slots)
        for name, slots in patterns
    ]


def read_phrases(path: Path) -> dict[str, tuple[Expansion, ...]]:
    """Read a phrase file: a JSON object from name to expansions, each a list of typed elements."""
    return parse_phrases(read_json(path), str(path))


def parse_phrases(record: object, source: str) -> dict[str, tuple[Expansion, ...]]:
    """Read phrases from their JSON value; ``source`` is for messages."""
    if not isinstance(record, dict):
        raise UserError(f"{source}: phrases are a JSON object from name to a list of expansions")
    phrases: dict[str, tuple[Expansion, ...]] = {}
    for name, value in record.items():
        if not isinstance(value, list) or not value or not all(isinstance(elements, list) for elements in value):
            raise UserError(f"{source}: phrase {name!r} must be a list of expansions, each a list of elements")
        where = f"{source}: phrase {name!r}, expansion"
        phrases[name] = tuple(
            tuple((_element(one, f"{where} {number}, element {place}"),) for place, one in enumerate(elements))
            for number, elements in enumerate(value)
        )
    return phrases


def all_or_error(items: Iterable[Item], function: Callable[[Item], Result]) -> list[Result]:
    """Apply a function to all items; if any raise a ``UserError``, raise one that holds all their messages."""
    results: list[Result] = []
    problems: list[str] = []
    for item in items:
        try:
            results.append(function(item))
        except UserError as error:
            problems.append(str(error))
    if problems:
        raise UserError("\n".join(problems))
    return results


def _slots(texts: Sequence[object], where: str) -> tuple[Slot, ...]:
    """Read the texts of slots; the mistakes of all of them are told together."""

    def read(item: tuple[int, object]) -> Slot:
        position, text = item
        if not isinstance(text, str):
            raise UserError(f"{where}[{position}]: a slot is a text, found {text!r}")
        return parse_slot(text, f"{where}[{position}]")

    return tuple(all_or_error(enumerate(texts), read))


def _element(element: object, where: str) -> Rule:
    """Read an element of an expansion, which unlike a slot of a template says its type."""
    kind, rule = (element.get("type"), element.get("rule")) if isinstance(element, dict) else (None, None)
    if kind not in _ELEMENT_TYPES:
        raise unknown_name("element type", str(kind), _ELEMENT_TYPES, where)
    if kind == "Direct" and isinstance(rule, list) and rule and all(isinstance(word, str) for word in rule):
        return Direct(tuple(rule))
    if kind == "Phrase" and isinstance(rule, dict) and isinstance(rule.get("name"), str):
        return Phrase(rule["name"])
    if kind in ("Lexical", "Matched") and isinstance(rule, dict):
        conditions = []
        for key, value in rule.items():
            values = value if isinstance(value, list) else [value]
            if not values or not all(isinstance(part, str | int) and str(part) for part in values):
                raise UserError(f"{where}: a condition's value is a text or a list of texts, found {value!r}")
            conditions.append((key, "/".join(map(str, values))))
        return word_rule(conditions, where)
    raise UserError(f"{where}: cannot read the rule {rule!r} of a {kind} element")
