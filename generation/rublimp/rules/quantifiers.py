"""Agreement of the floating quantifier sam with the one argument of its clause that it can belong to (28 to 30)."""

from collections.abc import Iterator
from functools import partial
from typing import Final

from ucurve.generation.rublimp.grammar.agreement import (
    heads,
    match,
    modifiers,
    other_values,
    reading,
    same_number_and_gender,
)
from ucurve.generation.rublimp.grammar.forms import GENDERS
from ucurve.generation.rublimp.grammar.lists import read_list
from ucurve.generation.rublimp.grammar.morphology import Parse, analyses
from ucurve.generation.rublimp.resources import Resources
from ucurve.generation.rublimp.rule import Found, rules
from ucurve.generation.rublimp.rules.noun_phrases import case_changes, modifier_change, number_changes
from ucurve.generation.treebank import Sentence, Word

QUANTIFIER: Final = frozenset({"сам", "самый"})
"""The second has forms that are spelled as forms of the first; only these are looked at."""

NOMINAL: Final = ("NOUN", "PROPN", "PRON")
SUPERLATIVE: Final = ("ADJ",)  # before which the other word makes a superlative


def _quantified(sentence: Sentence) -> Iterator[tuple[Word, Parse, Word, Parse]]:
    """Yield the only word that each quantifier can belong to, and the quantifier, with analyses that agree."""
    for word in sentence.words:
        readings = [parse for parse in modifiers(word) if parse.normal_form in QUANTIFIER]
        if not readings or readings[0].normal_form != "сам" or _is_other_lexeme(sentence, word):
            continue
        for lexeme in dict.fromkeys(parse.normal_form for parse in readings):
            of_lexeme = [parse for parse in readings if parse.normal_form == lexeme]
            found = _argument(sentence, word, of_lexeme)
            if found is not None:
                yield found[0], found[1], word, found[2]


def _is_other_lexeme(sentence: Sentence, word: Word) -> bool:
    """Say whether a form that samyj ("the very", "most") shares with sam is one of samyj, by lemma or place."""
    if word.form.lower() in ("сам", "сама", "само", "сами"):
        return False
    if word.lemma.lower() in QUANTIFIER:
        return word.lemma.lower() != "сам"
    after = sentence.words[word.id] if word.id < len(sentence.words) else None
    before = [sentence.words[number - 1] for number in (word.id - 1, word.id - 2) if number > 0]
    if after is not None and after.upos in SUPERLATIVE:
        return True
    lists = read_list("quantifiers")
    if any(_normal_form(other) in lists["same"] for other in before):
        return True
    governed = bool(before) and before[0].upos == "ADP"
    return governed and after is not None and _normal_form(after) in lists["limits"]


def _normal_form(word: Word) -> str:
    return str(analyses(word.form)[0].normal_form)


def _argument(sentence: Sentence, word: Word, readings: list[Parse]) -> tuple[Word, Parse, Parse] | None:
    """Return what the quantifier belongs to: its head, or else the only word near it that agrees."""
    head = sentence.head_of(word)
    if head is not None and head.upos in NOMINAL:
        both = _agreeing(head, readings)
        if both is not None:
            return head, *both
    clause = [] if head is None else [head, *sentence.children[head.id]]
    clause = [other for other in clause if other.upos in NOMINAL and other.id != word.id]
    found = [(other, *both) for other in clause if (both := _agreeing(other, readings)) is not None]
    # With two such words it is open what the quantifier belongs to.
    return found[0] if len(found) == 1 else None


def _agreeing(noun: Word, readings: list[Parse]) -> tuple[Parse, Parse] | None:
    """Return the first analyses of a noun and of a quantifier that agree."""
    for parse in readings:
        for head in heads(noun):
            # the first two persons of a pronoun have no gender
            is_pronoun = head.tag.POS == "NPRO" and head.tag.case == parse.tag.case
            if match(reading(head), reading(parse)) or (is_pronoun and same_number_and_gender(head, parse)):
                return head, parse
    return None


def _gender(sentence: Sentence, _: Resources) -> Found:
    for noun, head, word, parse in _quantified(sentence):
        if parse.tag.number == "sing" and head.tag.gender is not None:
            for gender in other_values(GENDERS, parse.tag.gender):
                values = (parse.tag.case, "sing", gender)
                yield from modifier_change(sentence, noun, word, parse, values, "Gender")


RULES: Final = rules(
    "Floating Quant. Agreement",
    floating_quantifier_agreement_number=partial(number_changes, phrases=_quantified, gender="masc"),
    floating_quantifier_agreement_gender=_gender,
    floating_quantifier_agreement_case=partial(case_changes, phrases=_quantified),
)
