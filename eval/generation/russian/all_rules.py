"""The rules of all paradigms, in the order of the paper."""

from typing import Final

from eval.generation.russian.rule import Rule
from eval.generation.russian.rules import (
    anaphors,
    argument_structure,
    aspect,
    negation,
    noun_phrases,
    quantifiers,
    reflexives,
    tense,
)

_MODULES: Final = (anaphors, noun_phrases, quantifiers, reflexives, negation, argument_structure, aspect, tense)

RULES: Final[tuple[Rule, ...]] = tuple(rule for module in _MODULES for rule in module.RULES)
