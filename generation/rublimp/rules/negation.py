"""Negative concord: the particle ne moved, negative and indefinite pronouns exchanged (paradigms 32 to 34)."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from ucurve.generation.rublimp.grammar.lists import read_list
from ucurve.generation.rublimp.resources import Resources
from ucurve.generation.rublimp.rule import Found, change, replace_word, rules
from ucurve.generation.treebank import Sentence, Word, spelled_like
from ucurve.templates.pair import Pair

NOT: Final = "не"
STOPS: Final = frozenset({"PUNCT", "CCONJ", "SCONJ"})  # at which a clause may end
CONSTITUENTS: Final = frozenset({"ADP", "NOUN", "PROPN", "PRON", "ADJ", "DET", "ADV", "NUM"})
PREFIX: Final = "ни"  # negative pronouns begin so
NOT_NEGATIVE: Final = frozenset({"ни", "ним", "них", "ними", "ниц"})  # the last: prostrate
VERBS: Final = ("VERB", "AUX")
# A word that heads a clause has one of these.
CLAUSES: Final = (
    "root",
    "conj",
    "parataxis",
    "acl",
    "advcl",
    "ccomp",
)
INFINITIVES: Final = ("xcomp", "csubj", "aux", "cop")  # these verbs belong to the verb above them


def _is_statement(sentence: Sentence) -> bool:
    others = ("?", *read_list("pronouns")["conditional"])
    return not any(word.form.lower() in others for word in sentence.words)


def _negative(word: Word) -> bool:
    form = word.form.lower()
    # "They" and "it" have forms that begin so too, and so does the particle itself.
    return form.startswith(PREFIX) and form not in NOT_NEGATIVE and word.upos in ("PRON", "DET", "ADV", "ADJ")


def _negated_verbs(sentence: Sentence) -> Iterator[tuple[Word, Word]]:
    """Yield each particle that stands before a verb, with the verb."""
    for particle, verb in pairwise(sentence.words):
        if particle.form.lower() == NOT and verb.upos in VERBS:
            yield particle, verb


def _verbs_above(sentence: Sentence, word: Word) -> list[Word]:
    """Return the verbs of a word's clause: what it depends on, what governs an infinitive, auxiliaries and copulas."""
    found: list[Word] = []
    above = sentence.head_of(word)
    for _ in sentence.words:
        if above is None:
            break
        found += [child for child in sentence.children[above.id] if child.upos == "AUX"]
        is_verb = above.upos in VERBS
        found += [above] if is_verb else []
        if above.relation in CLAUSES or (is_verb and above.relation not in INFINITIVES):
            break
        above = sentence.head_of(above)
    return found


def _negative_concord(sentence: Sentence, _: Resources) -> Found:
    """Yield the sentence with the particle of a negated verb moved before each phrase that follows the verb."""
    if not _is_statement(sentence):
        return
    # The particle may be moved only from a verb that a negative pronoun asks to be negated.
    concord = {verb.id for word in sentence.words if _negative(word) for verb in _verbs_above(sentence, word)}
    for particle, verb in _negated_verbs(sentence):
        if verb.id in concord:
            for target in _phrases_after(sentence, verb):
                yield _moved(sentence, particle, target)


def _phrases_after(sentence: Sentence, verb: Word) -> Iterator[Word]:
    """Yield the words that begin a phrase after a verb, up to the end of its clause."""
    previous = verb
    for word in sentence.words[verb.id :]:
        if word.upos in STOPS:
            return
        inside = previous.upos in ("ADP", "ADJ", "DET", "NUM") and previous.id != verb.id
        if word.upos in CONSTITUENTS and not inside and not _negative(word):
            yield word
        previous = word


def _moved(sentence: Sentence, particle: Word, target: Word) -> Pair | str:
    """Return the sentence with the particle before another word: all words between take one place to the left."""
    forms: dict[int, str] = {}
    for number in range(particle.id, target.id - 1):
        form = sentence.words[number].form
        forms[number] = form if number > particle.id else spelled_like(form, particle.form)
    forms[target.id - 1] = NOT
    values = (sentence.words[particle.id].form, target.form)
    return change(sentence, forms, (particle.form, NOT), "Position", values, "negative_concord")


def _to_indefinite(sentence: Sentence, _: Resources) -> Found:
    """Yield the sentence with indefinite pronouns in place of a negative one beside a negated verb."""
    if not _is_statement(sentence):
        return
    negated = {verb.id for _, verb in _negated_verbs(sentence)}
    content = read_list("pronouns")
    for word in sentence.words:
        bases = [base for base, negatives in content["negative_forms"].items() if word.form.lower() in negatives]
        if bases and not any(verb.id in negated for verb in _verbs_above(sentence, word)):
            yield "the pronoun stands with no negated verb"
            continue
        for base in bases:
            for particle in content["series"].get(base, content["series"]["default"]):
                yield replace_word(
                    sentence, word, base + particle, "PronType", ("Neg", "Ind"), "negative_pronouns_from"
                )


def _to_negative(sentence: Sentence, _: Resources) -> Found:
    """Yield the sentence with negative pronouns in place of an indefinite one where no verb is negated."""
    content = read_list("pronouns")
    for word in sentence.words:
        # Some texts have the hyphen at which no line is broken.
        base, dash, particle = word.form.lower().replace("\u2011", "-").partition("-")
        if f"{dash}{particle}" not in content["indefinite_particles"]:
            continue
        reason = _unfit_for_negative(sentence, word)
        if reason:
            yield reason
            continue
        for target in content["negative_forms"].get(base.replace("ё", "е"), ()):
            yield replace_word(sentence, word, target, "PronType", ("Ind", "Neg"), "negative_pronouns_to")


def _unfit_for_negative(sentence: Sentence, word: Word) -> str:
    """Return why a negative pronoun would be good in the place of an indefinite one; empty where it is wrong."""
    if not _is_statement(sentence):
        return "a question or a condition"
    verbs = _verbs_above(sentence, word)
    if not verbs:
        return "the pronoun stands with no verb"
    negations = read_list("pronouns")["negations"]
    around = [*verbs, *(child for verb in verbs for child in sentence.children[verb.id])]
    around += [head for verb in verbs if (head := sentence.head_of(verb)) is not None]
    around += [sentence.words[verb.id - 2] for verb in verbs if verb.id > 1]
    return "the verb is negated" if any(other.form.lower() in negations for other in around) else ""


RULES: Final = rules(
    "Negation",
    negative_concord=_negative_concord,
    negative_pronoun_to_indefinite=_to_indefinite,
    indefinite_pronoun_to_negative=_to_negative,
)
