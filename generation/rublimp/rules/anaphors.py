"""Agreement of a relative pronoun with its antecedent (paradigms 23 and 24)."""

from collections.abc import Iterator
from typing import Final

from ucurve.generation.rublimp.grammar.agreement import (
    ADJECTIVAL,
    heads,
    modifier_forms,
    modifiers,
    other_values,
    same_number_and_gender,
)
from ucurve.generation.rublimp.grammar.forms import CASE_OF, GENDERS, NUMBERS, forms_of
from ucurve.generation.rublimp.grammar.morphology import Parse, analyses
from ucurve.generation.rublimp.resources import Resources
from ucurve.generation.rublimp.rule import Found, replace_by_each, rules
from ucurve.generation.treebank import Sentence, Word

PRONOUN: Final = "который"


def _relatives(sentence: Sentence) -> Iterator[tuple[Word, Parse, Word, Parse]]:
    """Yield relative pronouns that are not subjects with their antecedents, and analyses of both that agree."""
    for word in sentence.words:
        # All forms of the pronoun begin in this way.
        if not word.form.lower().startswith("котор"):
            continue
        siblings = [other for other in sentence.children[word.head] if other.id != word.id]
        # A parser often takes an accusative for a subject beside the real one.
        if word.relation == "nsubj" and not any(other.relation == "nsubj" for other in siblings):
            continue
        antecedent = _antecedent(sentence, word)
        if antecedent is not None:
            found = _agreement(word, antecedent)
            if found is not None:
                yield word, found[0], antecedent, found[1]


def _antecedent(sentence: Sentence, pronoun: Word) -> Word | None:
    """Return the head of the relative clause; where the tree has none, the nearest noun before that agrees."""
    word: Word | None = pronoun
    for _ in sentence.words:  # a parser may give heads that go round in a circle
        if word is None:
            break
        head = sentence.head_of(word)
        if word.relation == "acl" and head is not None and head.id < pronoun.id:
            return head
        word = head
    before = [other for other in sentence.words[: pronoun.id - 1] if other.upos in ("NOUN", "PROPN")]
    return next((noun for noun in reversed(before) if _agreement(pronoun, noun) is not None), None)


def _agreement(pronoun: Word, noun: Word) -> tuple[Parse, Parse] | None:
    """Return the first analyses of a relative pronoun and of a noun that agree; None where none do."""
    case = CASE_OF.get(pronoun.feats.get("Case", ""))
    readings = [p for p in modifiers(pronoun) if p.normal_form == PRONOUN and p.tag.case != "nomn"]
    # The reading in the case of the tree comes first.
    readings.sort(key=lambda parse: parse.tag.case != case)
    both = ((parse, head) for parse in readings for head in heads(noun))
    return next(((parse, head) for parse, head in both if same_number_and_gender(head, parse)), None)


def _pronoun_changes(
    sentence: Sentence,
    pronoun: Word,
    parse: Parse,
    antecedent: tuple[Word, Parse],
    number: str,
    gender: str | None,
    feature: str,
) -> Found:
    """Yield the sentence with a relative pronoun of another number or gender, unless another noun agrees with it."""
    noun = antecedent[1]
    # With another noun as its antecedent, the new form may be right.
    possible = [noun, *_rivals(sentence, pronoun, antecedent[0])]
    old, new = (noun.tag.number, number) if feature == "Number" else (noun.tag.gender, gender)
    subtype = f"anaphor_agreement_{feature.lower()}"
    forms = modifier_forms(parse, parse.tag.case, number, gender, None if gender else parse.tag.animacy)

    def is_right(form: str) -> bool:
        readings = [found for found in analyses(form) if found.normal_form == PRONOUN]
        return any(same_number_and_gender(one, found) for one in possible for found in readings)

    yield from replace_by_each(sentence, pronoun, forms, is_right, feature, (str(old), str(new)), subtype)


def _rivals(sentence: Sentence, pronoun: Word, antecedent: Word) -> list[Parse]:
    """Return other nouns that a relative pronoun may refer to: those after its antecedent, and the head of that."""
    between = sentence.words[antecedent.id : pronoun.id - 1]
    head = sentence.head_of(antecedent)
    return [parse for word in (*between, *([] if head is None else [head])) for parse in heads(word)]


def _number(sentence: Sentence, _: Resources) -> Found:
    for pronoun, parse, antecedent, noun in _relatives(sentence):
        [number] = other_values(NUMBERS, parse.tag.number)
        gender = noun.tag.gender if number == "sing" else None
        yield from _pronoun_changes(sentence, pronoun, parse, (antecedent, noun), number, gender, "Number")
        yield from _noun_changes(sentence, pronoun, antecedent, noun, number)


def _noun_changes(sentence: Sentence, pronoun: Word, antecedent: Word, noun: Parse, number: str) -> Found:
    """Yield the sentence with the antecedent in the other number, unless something else agrees with it."""
    tied = antecedent.relation == "nsubj" or any(
        child.relation in ADJECTIVAL and child.id < antecedent.id for child in sentence.children[antecedent.id]
    )
    # A verb or an adjective would show the old number of the noun.
    if tied or noun.tag.POS != "NOUN":
        return
    readings = [parse for parse in modifiers(pronoun) if parse.normal_form == PRONOUN]
    forms = forms_of(noun, {noun.tag.case, number})

    rivals = _rivals(sentence, pronoun, antecedent)
    if any(same_number_and_gender(rival, parse) for rival in rivals for parse in readings):
        return

    def is_right(form: str) -> bool:
        heads_of_form = [p for p in analyses(form) if p.tag.POS == "NOUN" and p.tag.case == noun.tag.case]
        return form == noun.word or any(
            same_number_and_gender(head, parse) for head in heads_of_form for parse in readings
        )

    values = (str(noun.tag.number), number)
    yield from replace_by_each(
        sentence, antecedent, forms, is_right, "Number", values, "anaphor_agreement_number"
    )


def _gender(sentence: Sentence, _: Resources) -> Found:
    for pronoun, parse, antecedent, noun in _relatives(sentence):
        if parse.tag.number == "sing":
            for gender in other_values(GENDERS, noun.tag.gender or parse.tag.gender):
                yield from _pronoun_changes(
                    sentence, pronoun, parse, (antecedent, noun), "sing", gender, "Gender"
                )


RULES: Final = rules(
    "Anaphor Agreement",
    anaphor_agreement_number=_number,
    anaphor_agreement_gender=_gender,
)
