"""Agreement of a noun and its only modifier (paradigms 25 to 27)."""

from collections.abc import Iterator
from functools import partial
from typing import Final

from eval.templates.pair import Pair
from generation.rublimp.grammar.agreement import (
    agrees_somehow,
    modifier_forms,
    modifiers_of,
    other_values,
    pairs,
)
from generation.rublimp.grammar.forms import AMBIGUOUS, CASES, GENDERS, NUMBERS, UNKNOWN, Parse, forms_of, spell
from generation.rublimp.rule import Rule, Tools, change
from generation.treebank import Sentence, Word

NOUNS: Final = ("NOUN", "PROPN")


def _phrases(sentence: Sentence, tools: Tools) -> Iterator[tuple[Word, Parse, Word, Parse]]:
    """Yield nouns and their only modifiers, with analyses of both that agree."""
    for noun in sentence.words:
        found = modifiers_of(sentence.children[noun.id])
        if noun.upos in NOUNS and len(found) == 1 and found[0].id < noun.id:
            both = next(pairs(tools.morphology, noun, found[0]), None)
            if both is not None:
                yield noun, both[0], found[0], both[1]


def modifier_change(
    sentence: Sentence,
    tools: Tools,
    noun: Word,
    modifier: Word,
    parse: Parse,
    values: tuple[str, str, str | None],
    feature: str,
) -> Iterator[Pair | str]:
    """Yield the sentence with other forms of a modifier, for case, number and gender.

    Args:
        parse: the modifier's analysis.
        feature: which of them differs, as ``Case``.
    """
    case, number, gender = values
    animacy = parse.tag.animacy if parse.tag.case == case else None
    forms = modifier_forms(parse, case, number, gender, animacy)
    if not forms:
        yield UNKNOWN
    for form in forms:
        if agrees_somehow(tools.morphology, noun.form, form):
            yield AMBIGUOUS
            continue
        target, at = spell(tools.morphology, form, modifier), ("Case", "Number", "Gender").index(feature)
        yield change(
            sentence,
            {modifier.id: target},
            source_word=modifier.form,
            target_word=target,
            feature=feature,
            source_value=str((parse.tag.case, parse.tag.number, parse.tag.gender)[at]),
            target_value=str(values[at]),
            subtype=feature.lower(),
        )


def noun_change(sentence: Sentence, tools: Tools, noun: Word, head: Parse, modifier: Word) -> Iterator[Pair | str]:
    """Yield the sentence with a noun in its other number, unless something else agrees with it or asks for a number."""
    if head.tag.POS != "NOUN" or noun.relation == "nsubj" or is_counted(sentence, noun):
        return
    [number] = other_values(NUMBERS, head.tag.number)
    forms = forms_of(head, {number, head.tag.case})
    if not forms:
        yield UNKNOWN
    for form in forms:
        if agrees_somehow(tools.morphology, form, modifier.form):
            yield AMBIGUOUS
            continue
        target = spell(tools.morphology, form, noun)
        yield change(
            sentence,
            {noun.id: target},
            source_word=noun.form,
            target_word=target,
            feature="Number",
            source_value=str(head.tag.number),
            target_value=number,
            subtype="number",
        )


def is_counted(sentence: Sentence, noun: Word) -> bool:
    """Say whether a numeral, a relative clause or a conjunct ties a noun to its number."""
    return any(child.relation in ("nummod", "acl", "conj") for child in sentence.children[noun.id])


def _number(sentence: Sentence, tools: Tools) -> Iterator[Pair | str]:
    for noun, head, modifier, parse in _phrases(sentence, tools):
        [number] = other_values(NUMBERS, parse.tag.number)
        yield from noun_change(sentence, tools, noun, head, modifier)
        values = (parse.tag.case, number, head.tag.gender)
        yield from modifier_change(sentence, tools, noun, modifier, parse, values, "Number")


def _gender(sentence: Sentence, tools: Tools) -> Iterator[Pair | str]:
    for noun, head, modifier, parse in _phrases(sentence, tools):
        if noun.upos == "PROPN" and "Fixd" in head.tag:
            yield "the gender of a name that does not inflect is open"
        elif parse.tag.number == "sing":
            for gender in other_values(GENDERS, head.tag.gender):
                values = (parse.tag.case, "sing", gender)
                yield from modifier_change(sentence, tools, noun, modifier, parse, values, "Gender")


def _case(sentence: Sentence, tools: Tools) -> Iterator[Pair | str]:
    for noun, _, modifier, parse in _phrases(sentence, tools):
        for case in other_values(CASES, parse.tag.case):
            values = (case, parse.tag.number, parse.tag.gender)
            yield from modifier_change(sentence, tools, noun, modifier, parse, values, "Case")


_rule = partial(Rule, phenomenon="Noun Phrase Agreement", level="Syntax")

RULES: Final = (
    _rule(paradigm="np_agreement_number", find=_number),
    _rule(paradigm="np_agreement_gender", find=_gender),
    _rule(paradigm="np_agreement_case", find=_case),
)
