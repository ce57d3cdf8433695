"""Russian morphology by pymorphy3."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import pymorphy3

Parse = Any  # pymorphy3 has no types


class Morphology:
    """The analyses of forms; each form is analysed once."""

    def __init__(self) -> None:
        self._analyzer = pymorphy3.MorphAnalyzer()
        self._analyses = lru_cache(100_000)(self._analyzer.parse)

    def forms_with(self, form: str) -> Sequence[Parse]:
        """Return the analyses of a form, the likeliest first."""
        return list(self._analyses(form.lower()))

    def is_known(self, form: str) -> bool:
        """Say whether a form is in the dictionary."""
        return bool(self._analyzer.word_is_known(form))

    @staticmethod
    def spelled_like(form: str, original: str) -> str:
        """Return a form with the capitals of another."""
        if original.isupper() and len(original) > 1:
            return form.upper()
        return form[:1].upper() + form[1:] if original[:1].isupper() else form
