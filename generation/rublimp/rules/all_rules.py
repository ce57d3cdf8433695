"""The rules of all 45 paradigms, in the order of the paper's tables."""

from typing import Final

from generation.rublimp.rule import Rule
from generation.rublimp.rules import (
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

RULES: Final[tuple[Rule, ...]] = (
    *word_formation.RULES,
    *inflection.RULES,
    *government.RULES,
    *predicates.RULES,
    *anaphors.RULES,
    *noun_phrases.RULES,
    *quantifiers.RULES,
    *reflexives.RULES,
    *negation.RULES,
    *argument_structure.RULES,
    *aspect.RULES,
    *tense.RULES,
)
