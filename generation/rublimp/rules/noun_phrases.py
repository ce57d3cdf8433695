"""Agreement of a noun and its only modifier (paradigms 25 to 27)."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from ucurve.generation.rublimp.grammar.agreement import (
    agrees_somehow,
    modifier_forms,
    modifiers_of,
    other_values,
    pairs,
)
from ucurve.generation.rublimp.grammar.forms import CASES, GENDERS, NUMBERS, forms_of
from ucurve.generation.rublimp.grammar.morphology import Grammeme, Parse
from ucurve.generation.rublimp.resources import Resources
from ucurve.generation.rublimp.rule import Found, replace_by_each, rules
from ucurve.generation.rublimp.rules.predicates import wrong_values
from ucurve.generation.treebank import Sentence, Word

Phrases = Callable[[Sentence], Iterator[tuple[Word, Parse, Word, Parse]]]
"""Yields nouns and words that agree with them, each with its analysis."""


def _phrases(sentence: Sentence) -> Iterator[tuple[Word, Parse, Word, Parse]]:
    """Yield nouns and their only modifiers, with analyses of both that agree."""
    for noun in sentence.words:
        found = modifiers_of(sentence, noun)
        if noun.upos in ("NOUN", "PROPN") and len(found) == 1 and found[0].id < noun.id:
            both = next(pairs(noun, found[0]), None)
            if both is not None:
                yield noun, both[0], found[0], both[1]


def modifier_change(
    sentence: Sentence, noun: Word, modifier: Word, parse: Parse, values: tuple[Grammeme, ...], feature: str
) -> Found:
    """Yield the sentence with forms of a modifier of another case, number and gender; ``feature`` is what differs."""
    case, number, gender = values
    at = ("Case", "Number", "Gender").index(feature)
    own, new = (parse.tag.case, parse.tag.number, parse.tag.gender)[at], values[at]
    # Animacy is marked in one case only, so it says nothing of a form of another case.
    animacy = parse.tag.animacy if parse.tag.case == case else None
    forms = modifier_forms(parse, case, number, gender, animacy)
    is_right = partial(agrees_somehow, noun.form)
    yield from replace_by_each(
        sentence, modifier, forms, is_right, feature, (str(own), str(new)), feature.lower()
    )


def _noun_change(sentence: Sentence, noun: Word, head: Parse, modifier: Word) -> Found:
    """Yield the sentence with a noun in its other number, unless something else agrees with it or asks for a number."""
    # a numeral, a relative clause or a conjunct ties a noun to its number
    is_tied = any(child.relation in ("nummod", "acl", "conj") for child in sentence.children[noun.id])
    if head.tag.POS != "NOUN" or noun.relation == "nsubj" or is_tied:
        return
    [number] = other_values(NUMBERS, head.tag.number)
    forms = forms_of(head, {number, head.tag.case})
    values = (str(head.tag.number), number)
    yield from replace_by_each(
        sentence, noun, forms, lambda form: agrees_somehow(form, modifier.form), "Number", values, "number"
    )


def number_changes(sentence: Sentence, _: Resources, phrases: Phrases, gender: Grammeme) -> Found:
    """Yield the sentence with a noun or its modifier in the other number; nouns without a gender have ``gender``."""
    for noun, head, modifier, parse in phrases(sentence):
        [number] = other_values(NUMBERS, parse.tag.number)
        if len(modifiers_of(sentence, noun)) <= 1:
            yield from _noun_change(sentence, noun, head, modifier)
        values = (parse.tag.case, number, head.tag.gender or gender)
        yield from modifier_change(sentence, noun, modifier, parse, values, "Number")


def _gender(sentence: Sentence, _: Resources) -> Found:
    """Yield the sentence with a modifier of another gender than its noun's."""
    for noun, head, modifier, parse in _phrases(sentence):
        if noun.upos == "PROPN" and "Fixd" in head.tag:
            yield "the gender of a name that does not inflect is open"
        elif parse.tag.number == "sing":
            wrong = wrong_values(noun, "Gender") if parse.tag.case == "nomn" else None  # others show the gender
            for gender in other_values(GENDERS, head.tag.gender):
                if wrong is None or gender in wrong:
                    values = (parse.tag.case, "sing", gender)
                    yield from modifier_change(sentence, noun, modifier, parse, values, "Gender")


def case_changes(sentence: Sentence, _: Resources, phrases: Phrases) -> Found:
    """Yield the sentence with the word that agrees with a noun in every other case."""
    for noun, _head, modifier, parse in phrases(sentence):
        for case in other_values(CASES, parse.tag.case):
            values = (case, parse.tag.number, parse.tag.gender)
            yield from modifier_change(sentence, noun, modifier, parse, values, "Case")


RULES: Final = rules(
    "Noun Phrase Agreement",
    np_agreement_number=partial(number_changes, phrases=_phrases, gender=None),
    np_agreement_gender=_gender,
    np_agreement_case=partial(case_changes, phrases=_phrases),
)
