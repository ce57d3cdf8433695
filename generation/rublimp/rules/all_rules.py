"""The rules of all 45 paradigms, in the order of the paper's tables."""

from typing import Final

from ucurve.generation.rublimp.rule import Rule
from ucurve.generation.rublimp.rules import (
    anaphors,
    argument_structure,
    aspect,
    government,
    inflection,
    negation,
    noun_phrases,
    predicates,
    quantifiers,
    reflexives,
    tense,
    word_formation,
)

_MODULES: Final = (
    word_formation, inflection, government, predicates, anaphors, noun_phrases, quantifiers, reflexives, negation,
    argument_structure, aspect, tense,
)  # fmt: skip
RULES: Final[tuple[Rule, ...]] = tuple(rule for module in _MODULES for rule in module.RULES)
