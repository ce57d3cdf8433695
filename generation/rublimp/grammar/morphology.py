"""Russian morphology by pymorphy3."""

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

import pymorphy3

Parse = Any  # pymorphy3 has no types


@cache
def _analyzer() -> pymorphy3.MorphAnalyzer:
    return pymorphy3.MorphAnalyzer()


@lru_cache(100_000)
def _analyses(form: str) -> tuple[Parse, ...]:
    return tuple(_analyzer().parse(form))


def analyses(form: str) -> Sequence[Parse]:
    """Return the analyses of a form, the likeliest first."""
    return _analyses(form.lower())


def is_known(form: str) -> bool:
    """Say whether a form is in the dictionary."""
    return bool(_analyzer().word_is_known(form))
