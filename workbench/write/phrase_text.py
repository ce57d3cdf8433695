"""Phrases as lines of text, in the words of the slots: ``NAME = element + element``, a line for each expansion."""

import json
import re

from ucurve.errors import UserError
from ucurve.templates.rules import Direct, Phrase, Word, parse_slot
from ucurve.templates.template import Expansion, parse_phrases

_LINE = re.compile(r"(?P<name>[^=]*)=(?P<rest>.*)", re.DOTALL)
_BETWEEN = " + "
_NOTHING = "∅"

Element = dict[str, object]


def phrase_lines(content: str) -> str:
    """Return the content of a phrase file as lines; as it is where lines cannot say what it holds."""
    try:
        record = json.loads(content or "{}")
        phrases = parse_phrases(record, "phrases")
        text = "".join(
            f"{name} = {_BETWEEN.join(_element_text(slot[0]) for slot in expansion)}\n"
            for name, expansions in phrases.items()
            for expansion in expansions
        )
        again = parse_phrases(text_to_phrases(text), "phrases")
    except (UserError, ValueError, RecursionError):
        return content
    return text if again == phrases else content


def text_to_phrases(text: str) -> dict[str, list[list[Element]]]:
    """Read lines of phrases into the JSON value of their file."""
    phrases: dict[str, list[list[Element]]] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        where = f"phrases, line {number}"
        parts = _LINE.fullmatch(line)
        if parts is None or not parts["name"].strip():
            raise UserError(f"{where}: a phrase is written as NAME = element + element")
        elements = [_element_of(part, where) for part in parts["rest"].split(_BETWEEN)]
        phrases.setdefault(parts["name"].strip(), []).append(elements)
    return phrases


def phrase_file(text: str) -> str:
    """Return the content of a phrase file for lines of phrases; JSON stays as it is."""
    if _is_json(text):
        return text
    return json.dumps(text_to_phrases(text), ensure_ascii=False, indent=1) + "\n"


def parse_phrase_text(text: str) -> dict[str, tuple[Expansion, ...]]:
    """Read lines of phrases, or the JSON of their file, into rules."""
    if not _is_json(text):
        return parse_phrases(text_to_phrases(text), "phrases")
    try:
        return parse_phrases(json.loads(text), "phrases")
    except (ValueError, RecursionError) as error:
        raise UserError(f"phrases: not JSON ({str(error)[:200]})") from error


def _is_json(text: str) -> bool:
    return text.lstrip().startswith("{")


def _element_of(part: str, where: str) -> Element:
    text = part.strip().replace(_NOTHING, "")
    slot = parse_slot(text, where)
    if len(slot) != 1:
        raise UserError(
            f"{where}: '|' separates the alternatives of a slot; here each of them has a line of its own"
        )
    (rule,) = slot
    if isinstance(rule, Phrase):
        if rule.overrides:
            raise UserError(f"{where}: overrides N:<property:value> belong to slots and not to phrases")
        return {"type": "Phrase", "rule": {"name": rule.name}}
    if isinstance(rule, Direct):
        return {"type": "Direct", "rule": list(rule.words)}
    conditions = dict(token.partition(":")[::2] for token in text.split())
    return {"type": "Matched" if rule.relations else "Lexical", "rule": conditions}


def _element_text(rule: Direct | Word | Phrase) -> str:
    if isinstance(rule, Phrase):
        return f"phrase:{rule.name}"
    if isinstance(rule, Direct):
        return " ".join(word or _NOTHING for word in rule.words)
    parts = [f"{name}:{'/'.join(values)}" for name, values in rule.filters]
    for relation in rule.relations:
        mark = "m" if relation.agrees else "mm"
        parts += [f"{mark}Pos:{relation.position}", f"{mark}Pro:{'/'.join(relation.properties)}"]
    return " ".join(parts)
