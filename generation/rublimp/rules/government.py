"""Cases that verbs, prepositions and nouns of actions ask for (paradigms 7 to 11)."""

from collections.abc import Sequence
from functools import partial
from typing import Final

from ucurve.generation.rublimp.grammar.agreement import has_preposition, heads, in_its_case
from ucurve.generation.rublimp.grammar.forms import CASE_OF, CASES, forms_of, plain
from ucurve.generation.rublimp.grammar.lists import read_list
from ucurve.generation.rublimp.grammar.morphology import Parse, analyses
from ucurve.generation.rublimp.resources import Resources
from ucurve.generation.rublimp.rule import Found, replace_by_each, rules
from ucurve.generation.rublimp.rules.predicates import is_negated
from ucurve.generation.treebank import Sentence, Word

_NOUNS: Final = ("NOUN", "PRON", "PROPN")
_AFTER_PREPOSITION: Final = "Af-p"  # the mark of pronouns with an n, which stand after prepositions only
# These are the endings of nouns of actions in all cases.
_NOMINALIZATIONS: Final = (
    "ние", "ния", "нию", "нием", "нии", "ний", "ниям", "ниями", "ниях", "тие", "тия", "тию", "тием", "тии", "тий",
    "нье", "нья", "нью", "ньем",
)  # fmt: skip
_NEVER_AFTER_NOUNS: Final = ("nomn", "loct")  # without a preposition; others may be an agent or a receiver
_CASE_NAMES: Final = {theirs: ours for ours, theirs in CASE_OF.items()}


def _other_cases(sentence: Sentence, word: Word, cases: Sequence[str], subtype: str) -> Found:
    """Yield the sentence with a noun or pronoun in each of the cases."""
    for parse in heads(word)[:1]:  # the likeliest reading comes first
        for case in cases:
            yield from _in_case(sentence, word, parse, case, subtype)


def _in_case(sentence: Sentence, word: Word, parse: Parse, case: str, subtype: str) -> Found:
    """Yield the sentence with a noun in another case and the same number, a pronoun in the same gender too."""
    # Some pronouns have no number, and of the others only the third person has a gender.
    numbers = [parse.tag.number] if parse.tag.number else []
    gender = (
        [parse.tag.gender] if parse.tag.POS == "NPRO" and parse.tag.number == "sing" and parse.tag.gender else []
    )
    # After a preposition the new form of a pronoun has the n too.
    mark = {_AFTER_PREPOSITION} & parse.tag.grammemes
    wanted = {case, *numbers, *gender}
    elsewhere = {other.word for other in parse.lexeme if _AFTER_PREPOSITION not in other.tag.grammemes}
    forms = [form for form in forms_of(parse, wanted | mark) if mark or form in elsewhere]

    def is_right(form: str) -> bool:
        # A form that can be read in the old case is no error.
        as_it_is = (
            (one.normal_form, one.tag.case) == (parse.normal_form, parse.tag.case) for one in analyses(form)
        )
        return plain(form) == plain(word.form.lower()) or any(as_it_is)

    values = (_CASE_NAMES.get(str(parse.tag.case), str(parse.tag.case)), _CASE_NAMES[case])
    yield from replace_by_each(sentence, word, forms[:2], is_right, "Case", values, subtype)


def _preposition(sentence: Sentence, _: Resources) -> Found:
    """Yield the sentence with a noun in each case that the preposition before it does not govern."""
    governed: dict[str, list[str]] = read_list("prepositions")["cases"]
    for word in sentence.words:
        # What stands in the case of the noun would have to change with it.
        if word.upos not in _NOUNS or in_its_case(sentence, word):
            continue
        for child in sentence.children[word.id]:
            preposition = child.form.lower()
            if child.relation == "case" and preposition in governed and child.id == word.id - 1:
                cases = [case for case in CASES[1:] if case not in governed[preposition]]
                yield from _other_cases(sentence, word, cases, "adp_government_case")


def _object(sentence: Sentence, _: Resources, case: str, others: Sequence[str], subtype: str) -> Found:
    """Yield the sentence with an object of a verb in other cases."""
    for word in sentence.words:
        head = sentence.head_of(word)
        if word.upos not in _NOUNS or word.feats.get("Case") != case or head is None or head.upos != "VERB":
            continue
        allowed = ("obj", "iobj", "obl", "nmod", "xcomp", "advmod") if case == "Ins" else ("obj", "iobj", "obl")
        if word.relation not in allowed or in_its_case(sentence, word) or has_preposition(sentence, word):
            continue
        if word.feats.get("PronType") in ("Int", "Rel"):
            continue
        # A negated verb may have its object in the genitive, so the genitive would be no error.
        negated = case == "Acc" and is_negated(sentence, head)
        yield from _other_cases(sentence, word, ("datv",) if negated else others, subtype)


def _nominalization(sentence: Sentence, _: Resources) -> Found:
    """Yield the sentence with what depends on a noun of an action in a case that never follows nouns."""
    for word in sentence.words:
        head = sentence.head_of(word)
        if head is None or head.upos != "NOUN" or word.upos not in (*_NOUNS, "DET"):
            continue
        if not head.form.lower().endswith(_NOMINALIZATIONS) or word.relation not in ("nmod", "obl", "obj", "det"):
            continue
        if in_its_case(sentence, word) or has_preposition(sentence, word):
            continue
        yield from _other_cases(sentence, word, _NEVER_AFTER_NOUNS, "nominalization_case")


RULES: Final = rules(
    "Government",
    adposition_government=_preposition,
    verb_acc_object=partial(_object, case="Acc", others=("gent", "datv"), subtype="verb_acc_object"),
    verb_gen_object=partial(_object, case="Gen", others=("ablt",), subtype="verb_gen_object"),
    verb_ins_object=partial(_object, case="Ins", others=("datv",), subtype="verb_ins_object"),
    nominalization_case=_nominalization,
)
