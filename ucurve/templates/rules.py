"""The template language: the text of a slot, read into typed rules. Nothing in it is ever evaluated as code."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ucurve.errors import UserError
from ucurve.templates.vocabulary import Filters

_RELATION_KEYS = {
    "matchedPosition": (True, "position"),
    "mPos": (True, "position"),
    "matchedProperties": (True, "properties"),
    "mPro": (True, "properties"),
    "mismatchedPosition": (False, "position"),
    "mmPos": (False, "position"),
    "mismatchedProperties": (False, "properties"),
    "mmPro": (False, "properties"),
}
_NUMBER = r"-?\d{1,6}"  # of a slot
_OVERRIDE = re.compile(rf"({_NUMBER}):<([^<>]*)>")
_GRAMMAR = (
    "a slot holds alternatives separated by '|', each of them words, "
    "or conditions property:value[/value] with mPos:N mPro:property or mmPos:N mmPro:property "
    "and, in a bad_rule, keep:property or change:property, "
    "or phrase:NAME with overrides N:<property:value>"
)


@dataclass(frozen=True)
class Direct:
    """Literal words, of which one is drawn; the empty string stands for nothing."""

    words: tuple[str, ...]


@dataclass(frozen=True)
class Relation:
    """Agreement, or disagreement, with the word of another slot in the given properties."""

    position: int
    properties: tuple[str, ...]
    agrees: bool


@dataclass(frozen=True)
class Word:
    """A vocabulary word that meets conditions, perhaps related to the words of other slots."""

    filters: Filters
    relations: tuple[Relation, ...] = ()
    # In a slot of the bad member: properties that the good word there shares, and properties in which it differs.
    keeps: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Phrase:
    """A named phrase; an override adds conditions to one element of the expansion that is drawn."""

    name: str
    overrides: tuple[tuple[int, Filters], ...] = ()


Rule = Direct | Word | Phrase
Slot = tuple[Rule, ...]  # alternatives


def parse_slot(text: str, where: str) -> Slot:
    """Read the text of a slot, such as ``"pos:M mPos:3 mPro:classifier | phrase:Det"``, into its alternatives.

    Two texts that differ only in spacing or in the order of conditions give equal slots. ``where`` is for messages.
    """
    return tuple(_parse_alternative(part.strip(), where) for part in text.split("|"))


def word_rule(conditions: Iterable[tuple[str, str]], where: str) -> Word:
    """Build a lexical or matched rule from keys and values; ``/`` separates values, or the properties of a relation."""
    filters: dict[str, tuple[str, ...]] = {}
    relations: dict[bool, dict[str, str]] = {True: {}, False: {}}
    for key, value in conditions:
        agrees, part = _RELATION_KEYS.get(key, (None, key))
        known = filters if agrees is None else relations[agrees]
        if part in known:
            raise UserError(f"{where}: {key!r} is given twice in one alternative")
        if agrees is None:
            filters[key] = _split(key, value, where)
        else:
            relations[agrees][part] = value
    built = []
    for is_match, parts in ((is_match, parts) for is_match, parts in relations.items() if parts):
        short = "m" if is_match else "mm"
        if len(parts) != 2:
            raise UserError(f"{where}: {short}Pos and {short}Pro go together, but only one of them is given")
        if not re.fullmatch(_NUMBER, parts["position"]):
            raise UserError(f"{where}: {short}Pos must be the number of a slot, not {parts['position']!r}")
        properties = _split(f"{short}Pro", parts["properties"], where)
        built.append(Relation(int(parts["position"]), properties, is_match))
    keeps, changes = (filters.pop(key, ()) for key in ("keep", "change"))
    # Sorted, so that the order in which conditions are written makes no other rule.
    return Word(tuple(sorted(filters.items())), tuple(built), keeps, changes)


def _parse_alternative(text: str, where: str) -> Rule:
    """Read one alternative: literal words, a phrase with overrides, or the conditions on a word."""
    overrides = tuple((int(position), _filters(inner, where)) for position, inner in _OVERRIDE.findall(text))
    tokens = _OVERRIDE.sub(" ", text).split()
    typed = [":" in token for token in tokens]
    if not any(typed) and not overrides:
        return Direct(tuple(tokens) or ("",))
    if not all(typed) or any("<" in token or ">" in token for token in tokens):
        raise UserError(f"{where}: cannot read {text!r}; {_GRAMMAR}")
    pairs = [_pair(token, where) for token in tokens]
    if [key for key, _ in pairs] == ["phrase"]:
        return Phrase(pairs[0][1], overrides)
    if overrides or any(key == "phrase" for key, _ in pairs):
        raise UserError(f"{where}: cannot read {text!r}; overrides belong to phrase:NAME, which stands alone")
    return word_rule(pairs, where)


def _filters(text: str, where: str) -> Filters:
    rule = word_rule([_pair(token, where) for token in text.split()], where)
    if not rule.filters or rule != Word(rule.filters):
        raise UserError(f"{where}: an override holds conditions property:value, not {text!r}")
    return rule.filters


def _pair(token: str, where: str) -> tuple[str, str]:
    key, separator, value = token.partition(":")
    if not key or not separator or not value:
        raise UserError(f"{where}: cannot read {token!r}; {_GRAMMAR}")
    return key, value


def _split(key: str, value: str, where: str) -> tuple[str, ...]:
    values = tuple(value.split("/"))
    if not all(values):
        raise UserError(f"{where}: {key}:{value} has an empty value")
    return values
