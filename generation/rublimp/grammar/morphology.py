"""Russian morphology by pymorphy3."""

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Protocol

import pymorphy3

Grammeme = str | None  # in the names of OpenCorpora; None for a category that a form does not have


class Tag(Protocol):
    """The grammemes of a form."""

    POS: Grammeme
    case: Grammeme
    number: Grammeme
    gender: Grammeme
    animacy: Grammeme
    person: Grammeme
    tense: Grammeme
    aspect: Grammeme
    mood: Grammeme
    voice: Grammeme
    involvement: Grammeme
    grammemes: frozenset[str]

    def __contains__(self, grammeme: str) -> bool: ...


class Parse(Protocol):
    """An analysis of a form by pymorphy3, which has no types of its own."""

    word: str
    normal_form: str
    tag: Tag
    is_known: bool
    lexeme: Sequence["Parse"]

    def __hash__(self) -> int: ...


@cache
def _analyzer() -> pymorphy3.MorphAnalyzer:
    return pymorphy3.MorphAnalyzer()


@lru_cache(100_000)  # of forms, as most come again and again
def _analyses(form: str) -> tuple[Parse, ...]:
    return tuple(_analyzer().parse(form))


def analyses(form: str) -> Sequence[Parse]:
    """Return the analyses of a form, the likeliest first."""
    return _analyses(form.lower())


def is_known(form: str) -> bool:
    """Say whether a form is in the dictionary."""
    return bool(_analyzer().word_is_known(form))
