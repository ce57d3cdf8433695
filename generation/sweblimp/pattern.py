"""The patterns of the paradigms: words that are drawn from lists, and two texts that they are filled into."""

import random
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from pydantic.dataclasses import dataclass

from ucurve.fields import STRICT
from ucurve.generation.sweblimp.words import Row, WordLists
from ucurve.templates.pair import DrawFailed, Pair
from ucurve.yaml_files import read_yaml

PATTERNS: Final = Path(__file__).with_name("patterns.yaml")
# {slot.column} is a form of a word, {slot[other.code]} the form that a code of another word names.
_FIELD = re.compile(r"\{(?P<slot>\w+)(?:\.(?P<column>\w+)|\[(?P<chooser>\w+)\.(?P<code>\w+)\])\}")
_NOT = "not "  # it stands before a condition that must not hold


@dataclass(frozen=True, config=STRICT)
class Pattern:
    """A paradigm; the head of ``patterns.yaml`` explains every field."""

    name: str  # as in the published file
    category: str  # the group of paradigms that the paper puts it into
    draw: dict[str, dict[str, str | list[str]]]  # each slot names a list and conditions on its columns
    good: str  # a text with fields, as is the next
    bad: str
    edit: str  # this regular expression matches ``good => bad``
    longer: int = 0  # by how many words the bad sentence is longer

    def candidate(self, lists: WordLists, rng: random.Random) -> Pair:
        """Draw words and fill them in; ``DrawFailed`` where no word is left for a slot."""
        words: dict[str, Row] = {}
        for slot, conditions in self.draw.items():
            fitting = _fitting(conditions, words, lists)
            if not fitting:
                raise DrawFailed("no word fits")
            words[slot] = rng.choice(fitting)
        # The first column of a list is the word by which people know it.
        drawn = "; ".join(f"{slot}={next(iter(row.cells.values()))}" for slot, row in words.items())
        return Pair(_fill(self.good, words), _fill(self.bad, words), {"category": self.category, "words": drawn})


@cache
def read_patterns() -> tuple[Pattern, ...]:
    """Read the 25 patterns, in the order of the published file."""
    return read_yaml(PATTERNS, tuple[Pattern, ...])


def _fitting(conditions: Mapping[str, str | list[str]], words: Mapping[str, Row], lists: WordLists) -> list[Row]:
    """Return the words of a list that meet conditions, given the words drawn before; no word is drawn twice."""
    asked = []
    for column, given in conditions.items():
        texts = [given] if isinstance(given, str) else given
        for condition in texts if column != "from" else ():
            slot, _, of_slot = condition.removeprefix(_NOT).partition(".")
            # A condition is a code, or the codes of a word that was drawn before.
            codes = words[slot].codes(of_slot) if of_slot else frozenset({slot})
            asked.append((column, codes, condition.startswith(_NOT)))
    drawn = {id(word) for word in words.values()}
    return [
        row
        for row in lists[str(conditions["from"])]
        if id(row) not in drawn
        and all(row.codes(column).isdisjoint(codes) is opposite for column, codes, opposite in asked)
    ]


def _fill(text: str, words: Mapping[str, Row]) -> str:
    """Return the sentence of a text whose fields are forms of words."""

    def form(field: re.Match[str]) -> str:
        column = field["column"] or words[field["chooser"]].cells[field["code"]]
        return words[field["slot"]].cells[column]

    sentence = _FIELD.sub(form, text)
    return sentence[0].upper() + sentence[1:]
