"""The patterns of the paradigms: words that are drawn from lists, and two texts that they are filled into."""

import random
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pydantic.dataclasses import dataclass

from eval.generation.candidate import Candidate, Rejected
from eval.generation.sweblimp.words import Row, WordLists
from ucurve.fields import STRICT
from ucurve.yaml_files import read_yaml

PATTERNS: Final = Path(__file__).with_name("patterns.yaml")
NO_WORD = "no word fits"
_FIELD = re.compile(r"\{(?P<slot>\w+)(?:\.(?P<column>\w+)|\[(?P<chooser>\w+)\.(?P<code>\w+)\])\}")
_NOT = "not "


@dataclass(frozen=True, config=STRICT)
class Pattern:
    """A paradigm (the form is explained at the head of ``patterns.yaml``).

    Attributes:
        name: as in the published file.
        category: the group of paradigms that the paper puts it into.
        draw: for each slot, in the order in which words are drawn, the conditions on the word by column; ``from`` names
            the list.
        good, bad: texts with ``{slot.column}`` for a form of the word, or ``{slot[other.code]}`` for the form whose
            column is named by a code of another word.
        edit: regular expression, with lines ignored, that ``good => bad`` must match as a whole.
        longer: how many words more the bad sentence has.
    """

    name: str
    category: str
    draw: dict[str, dict[str, str | list[str]]]
    good: str
    bad: str
    edit: str
    longer: int = 0

    def candidate(self, lists: WordLists, rng: random.Random) -> Candidate:
        """Draw words and fill them in.

        Raises:
            Rejected: when no word is left for a slot.
        """
        words: dict[str, Row] = {}
        for slot, conditions in self.draw.items():
            fitting = [row for row in lists[str(conditions["from"])] if _fits(row, conditions, words)]
            if not fitting:
                raise Rejected(NO_WORD)
            words[slot] = rng.choice(fitting)
        drawn = " ".join(f"{slot}={next(iter(row.cells.values()))}" for slot, row in words.items())
        return Candidate(_fill(self.good, words), _fill(self.bad, words), {"category": self.category, "words": drawn})


def read_patterns() -> list[Pattern]:
    """Read the 25 patterns, in the order of the paper."""
    return read_yaml(PATTERNS, list[Pattern])


def _fits(row: Row, conditions: Mapping[str, str | list[str]], words: Mapping[str, Row]) -> bool:
    """Whether a word meets conditions, given the words drawn before; no word is drawn twice."""
    return all(row is not word for word in words.values()) and all(
        _meets(row, column, condition, words)
        for column, given in conditions.items()
        if column != "from"
        for condition in ([given] if isinstance(given, str) else given)
    )


def _meets(row: Row, column: str, condition: str, words: Mapping[str, Row]) -> bool:
    wanted = condition.removeprefix(_NOT)
    slot, _, other = wanted.partition(".")
    codes = words[slot].codes(other) if other else (wanted,)
    return (not set(row.codes(column)).isdisjoint(codes)) is not condition.startswith(_NOT)


def _fill(text: str, words: Mapping[str, Row]) -> str:
    def form(field: re.Match[str]) -> str:
        column = field["column"] or words[field["chooser"]].cells[field["code"]]
        return words[field["slot"]].cells[column]

    sentence = _FIELD.sub(form, text)
    return sentence[0].upper() + sentence[1:]
