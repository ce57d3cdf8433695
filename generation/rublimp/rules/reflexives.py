"""A reflexive pronoun as external possessor: u nego byli to u sebya byli (paradigm 31)."""

from itertools import pairwise
from typing import Final

from ucurve.generation.rublimp.grammar.agreement import is_bare
from ucurve.generation.rublimp.resources import Resources
from ucurve.generation.rublimp.rule import Found, change, rules
from ucurve.generation.treebank import Sentence, Word, spelled_like

# These are the forms of "to be".
BE: Final = frozenset({"есть", "был", "была", "было", "были", "будет", "будут", "быть"})
REFLEXIVE: Final = "себя"
REACH: Final = 10
"""Words between the phrase and the verb, at most."""


def _verb_after(sentence: Sentence, noun: Word) -> Word | None:
    """Return the form of to be that follows a noun, unless a subject, another finite verb or a sign stands between."""
    for word in sentence.words[noun.id : noun.id + REACH]:
        if word.form.lower() in BE:
            return word
        if (
            word.upos == "PUNCT"
            or word.feats.get("VerbForm") == "Fin"
            or (word.feats.get("Case") == "Nom" and word.relation == "nsubj" and word.upos == "PRON")
        ):
            return None
    return None


def _external_possessor(sentence: Sentence, _: Resources) -> Found:
    """Yield the sentence with a reflexive pronoun in the place of whoever has something."""
    for preposition, noun in pairwise(sentence.words):
        if preposition.form.lower() != "у" or noun.upos not in ("NOUN", "PROPN", "PRON"):
            continue
        verb = _verb_after(sentence, noun)
        if verb is None or not is_bare(sentence, noun):
            continue
        around = {noun.id, noun.head, verb.id, verb.head}
        # For many parsers what somebody has is an object.
        if not any(word.relation in ("nsubj", "obj") and word.head in around for word in sentence.words):
            continue
        if noun.form.lower() == REFLEXIVE:
            yield "the possessor is a reflexive pronoun"
            continue
        # The pronoun has no capital in the place of a name.
        forms = {noun.id: spelled_like(REFLEXIVE, noun.form.lower())}
        yield change(sentence, forms, (noun.form, REFLEXIVE), "Reflex", ("No", "Yes"), "external_possessor")


RULES: Final = rules("Reflexives", external_possessor=_external_possessor)
