"""Endings of another declension or conjugation (paradigms 4 to 6)."""

from functools import partial
from typing import Final

from ucurve.generation.rublimp.grammar.agreement import heads, modifiers_of
from ucurve.generation.rublimp.grammar.lists import read_list
from ucurve.generation.rublimp.grammar.morphology import analyses, is_known
from ucurve.generation.rublimp.resources import Resources
from ucurve.generation.rublimp.rule import Found, rules
from ucurve.generation.rublimp.rules.word_formation import nonword
from ucurve.generation.treebank import Sentence

# The endings of the first conjugation and those of the second stand for each other.
_CONJUGATIONS: Final = {
    "ет": "ит", "ешь": "ишь", "ем": "им", "ете": "ите", "ут": "ат", "ют": "ят", "ит": "ет", "ишь": "ешь", "им": "ем",
    "ите": "ете", "ат": "ут", "ят": "ют",
}  # fmt: skip
_REFLEXIVE: Final = ("ся", "сь")  # it follows the ending


def _declension(sentence: Sentence, _: Resources, modified: bool) -> Found:
    """Yield the sentence with a noun that has an ending of another declension, in the same case and number."""
    endings: dict[str, dict[str, list[str]]] = read_list("endings")
    for word in sentence.words:
        if word.upos != "NOUN" or bool(modifiers_of(sentence, word)) != modified:
            continue
        found = heads(word)
        if not found or not is_known(word.form):
            continue
        tag = found[0].tag
        possible = endings.get(str(tag.number), {}).get(str(tag.case), [])
        form = word.form.lower()
        # A longer ending may end with a shorter one.
        own = max((ending for ending in possible if form.endswith(ending)), key=len, default=None)
        if own is None:
            continue
        stem = form[: len(form) - len(own)]
        for ending in possible:
            if ending != own:
                yield nonword(sentence, word, stem + ending, "declension", (own, ending), "declension")


def _conjugation(sentence: Sentence, _: Resources) -> Found:
    """Yield the sentence with a verb that has the same ending of the other conjugation."""
    for word in sentence.words:
        form = word.form.lower()
        # The past and the imperative have no endings by which conjugations differ.
        if (
            word.upos not in ("VERB", "AUX")
            or word.feats.get("Tense") == "Past"
            or word.feats.get("Mood") == "Imp"
        ):
            continue
        reflexive = form[-2:] if form.endswith(_REFLEXIVE) else ""
        stem = form.removesuffix(reflexive)
        ending = next((end for end in _CONJUGATIONS if stem.endswith(end)), None)
        if ending is None or not any(parse.tag.POS == "VERB" for parse in analyses(form)):
            continue
        wrong = stem.removesuffix(ending) + _CONJUGATIONS[ending] + reflexive
        yield nonword(sentence, word, wrong, "conjugation", (ending, _CONJUGATIONS[ending]), "conjugation")


RULES: Final = rules(
    "Word Inflection",
    change_declension_ending=partial(_declension, modified=False),
    change_declension_ending_has_dep=partial(_declension, modified=True),
    change_verb_conjugation=_conjugation,
)
