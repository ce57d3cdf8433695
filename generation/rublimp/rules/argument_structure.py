"""The arguments of a transitive verb: an intransitive verb, or an inanimate noun where a person stands (35 to 39)."""

import random
from collections.abc import Iterator
from functools import cache
from typing import Final

from ucurve.generation.rublimp.grammar.agreement import has_preposition, is_bare
from ucurve.generation.rublimp.grammar.forms import UNKNOWN, forms_of, plain
from ucurve.generation.rublimp.grammar.lists import read_list
from ucurve.generation.rublimp.grammar.morphology import Parse, analyses
from ucurve.generation.rublimp.grammar.nouns import Argument, animate, inanimate, inanimate_forms
from ucurve.generation.rublimp.grammar.verbs import form_like, verb_parses
from ucurve.generation.rublimp.resources import NOUN, VERB, Resources
from ucurve.generation.rublimp.rule import Found, change, rules
from ucurve.generation.rublimp.rules.predicates import agreeing_words, finite_parse, may_agree
from ucurve.generation.treebank import Sentence, Word

NOMINAL: Final = ("NOUN", "PROPN", "PRON")
AGENT: Final = "obl:agent"  # only some trees name agents so
UNMARKED_AGENTS: Final = ("obl", "iobj", "nmod", "nsubj")  # many parsers give an agent one of these
_form_like = cache(form_like)  # the same verbs are tried in every sentence
RECIPROCAL: Final = "друг"  # in "each other", whose second part is no argument by itself


def _relative(sentence: Sentence, verb: Word, *relations: str) -> Iterator[Word]:
    children = sentence.children[verb.id]
    return (child for child in children if child.deprel in relations or child.relation in relations)


def _transitive_verbs(sentence: Sentence) -> Iterator[tuple[Word, Parse]]:
    """Yield the transitive verbs of a sentence, each with its likeliest analysis."""
    for verb in sentence.words:
        if verb.upos == "VERB":
            parses = verb_parses(verb, "tran", "indc")
            if parses:
                yield verb, parses[0]


@cache
def _intransitive(lemmas: tuple[str, ...]) -> dict[str, tuple[Parse, ...]]:
    """Return the verbs without a direct object by aspect; a verb that has a transitive reading too is left out."""
    found: dict[str, list[Parse]] = {"perf": [], "impf": []}
    for lemma in lemmas:
        parses = [parse for parse in analyses(lemma) if parse.tag.POS == "INFN" and parse.is_known]
        if parses and all("intr" in parse.tag for parse in parses) and not lemma.endswith("ся"):
            found[str(parses[0].tag.aspect)].append(parses[0])
    return {aspect: tuple(verbs) for aspect, verbs in found.items()}


def _lemmas(resources: Resources, name: str, kind: str, pos: str) -> tuple[str, ...]:
    """Return the words of a list of ours, and those of the list of frequencies that are common enough."""
    ours = [lemma for lemmas in read_list(name)[kind].values() for lemma in lemmas]
    return tuple(dict.fromkeys([*ours, *resources.common.get(pos, ())]))


def _transitive_verb(sentence: Sentence, resources: Resources) -> Found:
    """Yield the sentence with intransitive verbs of the same aspect in place of one with an object."""
    verbs = _intransitive(_lemmas(resources, "verbs", "intransitive", VERB))
    for verb, parse in _transitive_verbs(sentence):
        if not any(_relative(sentence, verb, "obj")):
            continue
        forms = [
            form for lexeme in verbs[str(parse.tag.aspect)] if (form := _form_like(parse, lexeme)) is not None
        ]
        yield from _each(sentence, resources, forms, verb, "Transitivity", "transitive_verb")


def _each(
    sentence: Sentence, resources: Resources, forms: list[str], word: Word, feature: str, subtype: str
) -> Found:
    """Yield the sentence with each of the words that fit, or with a few that are drawn by the sentence."""
    if not forms:
        yield UNKNOWN
    few = resources.words_per_place
    if few is not None and len(forms) > few:
        # The same sentence gets the same words, whatever else is read with it.
        forms = random.Random(f"{sentence.text}:{word.id}:{subtype}").sample(forms, few)  # noqa: S311 - no secret
    values = ("Anim", "Inan") if feature == "Animacy" else ("Tran", "Intr")
    for form in forms:
        target = _common(form, word)
        yield change(sentence, {word.id: target}, (word.form, target), feature, values, subtype)


def _common(form: str, place: Word) -> str:
    """Return a common word as it is spelled in the place of another: with a capital at the beginning only."""
    return form[:1].upper() + form[1:] if place.id == 1 and place.form[:1].isupper() else form


def _inanimate(
    sentence: Sentence, resources: Resources, word: Word, argument: Argument, others: list[Word], name: str
) -> Found:
    """Yield the sentence with an inanimate noun in place of an animate one: one of the others, or any."""
    yield from _swaps(sentence, word, argument, others, f"{name}_perm")
    if word.upos != "PRON":
        yield from _random_noun(sentence, resources, word, argument, f"{name}_rand")


def _random_noun(sentence: Sentence, resources: Resources, word: Word, argument: Argument, subtype: str) -> Found:
    """Yield the sentence with inanimate nouns of the same gender, number and case in place of an animate noun."""
    lemmas = _lemmas(resources, "nouns", "inanimate", NOUN)
    if argument.case == "ablt":  # most of them can be an instrument or a cause
        lemmas = tuple(read_list("nouns")["no_instruments"])
    forms = inanimate_forms(lemmas, argument.gender, argument.case, argument.number)
    yield from _each(sentence, resources, list(forms), word, "Animacy", subtype)


def _swapped(sentence: Sentence, one: Word, two: Word, parses: tuple[Parse, Parse], subtype: str) -> Found:
    """Yield the sentence with two nouns of the same gender and number in each other's place and case."""
    first, second = parses[0].tag, parses[1].tag
    if first.number != second.number or first.gender not in (None, second.gender):
        return
    into_first = forms_of(parses[1], {first.case, first.number})
    into_second = forms_of(parses[0], {second.case, first.number})
    if not into_first or not into_second:
        yield UNKNOWN
        return
    here, there = plain(into_first[0]), plain(into_second[0])
    # A capital inside of a sentence is that of a name, and goes where the name goes.
    name = one.form[:1].isupper() and one.id > 1
    target = here.capitalize() if two.upos == "PROPN" and two.form[:1].isupper() else _common(here, one)
    forms = {one.id: target, two.id: there.capitalize() if name else _common(there, two)}
    yield change(sentence, forms, (one.form, target), "Animacy", ("Anim", "Inan"), subtype)


def _subject(sentence: Sentence, resources: Resources) -> Found:
    """Yield the sentence with inanimate nouns in place of an animate subject."""
    for verb, parse in _transitive_verbs(sentence):
        objects = [word for word in _relative(sentence, verb, "obj") if not has_preposition(sentence, word)]
        for subject in _relative(sentence, verb, "nsubj"):
            argument = animate(subject)
            # What stands with the noun would have to agree with the new one.
            if argument is None or argument.case != "nomn" or not is_bare(sentence, subject) or not objects:
                continue
            # The gender of a name is that of the person.
            argument = argument._replace(gender=parse.tag.gender or argument.gender)
            yield from _inanimate(sentence, resources, subject, argument, objects, "transitive_verb_subject")


def _swaps(sentence: Sentence, word: Word, argument: Argument, others: list[Word], subtype: str) -> Found:
    """Yield the sentence with an animate noun and each inanimate one among others in each other's place."""
    parse = argument.parse
    if parse is None:
        return
    for other in others:
        second = inanimate(other)
        if second is None or not is_bare(sentence, other):
            continue
        if all(_goes_with(sentence, one, noun) for one, noun in ((word, second), (other, parse))):
            yield from _swapped(sentence, word, other, (parse, second), subtype)
        else:
            yield "the verb would not agree with the other noun"


def _goes_with(sentence: Sentence, word: Word, noun: Parse) -> bool:
    """Say whether a noun can stand in the place of a word so that what agreed with it still does."""
    head = sentence.head_of(word)
    if head is None or word.relation != "nsubj":
        return True
    shown = [finite_parse(verb) for verb in agreeing_words(sentence, head)]
    return all(may_agree(parse, noun) for parse in shown if parse is not None)


def _passive(sentence: Sentence, resources: Resources) -> Found:
    """Yield the sentence with inanimate nouns in place of the animate agent of a passive."""
    for agent in sentence.words:
        verb = _passive_of(sentence, agent)
        if verb is None or has_preposition(sentence, agent) or not is_bare(sentence, agent):
            continue
        argument = animate(agent)
        if argument is not None and argument.case == "ablt":
            subjects = [*_relative(sentence, verb, "nsubj")]
            yield from _inanimate(sentence, resources, agent, argument, subjects, "transitive_verb_passive")


def _passive_of(sentence: Sentence, agent: Word) -> Word | None:
    """Return the passive verb of which a word in the instrumental is the agent, also where the tree does not say so."""
    head = sentence.head_of(agent)
    if head is None or agent.feats.get("Case") != "Ins" or agent.upos not in NOMINAL:
        return None
    active = head.feats.get("Voice") == "Act"  # a first person may be spelled as a participle
    short = (parse for parse in analyses(head.form) if parse.tag.POS == "PRTS")
    participle = None if active else next(short, None)
    if agent.deprel == AGENT:
        return head if participle is not None or head.feats.get("Voice") in ("Pass", "Mid") else None
    # many parsers call an agent oblique, but "was appointed director" has no agent
    predicative = participle is None or participle.normal_form in read_list("verbs")["with_predicate"]
    return head if agent.relation in UNMARKED_AGENTS and not predicative else None


def _object(sentence: Sentence, resources: Resources) -> Found:
    """Yield the sentence with inanimate nouns in place of a person of whom it is said what they do or are."""
    naming = read_list("verbs")["naming"]  # which everything can have as an object
    for verb in (
        one for one in sentence.words if not any(parse.normal_form in naming for parse in verb_parses(one))
    ):
        for word in _relative(sentence, verb, "obj", "iobj"):
            argument = animate(word)
            if argument is None or argument.case != "accs" or word.upos == "PRON":
                continue
            if not is_bare(sentence, word) or has_preposition(sentence, word):
                continue
            both = [*sentence.children[verb.id], *sentence.children[word.id]]
            followers = [other for other in both if other.id > word.id and other.id != verb.id]
            # Of an object, an infinitive or a noun for persons in the instrumental says what it does or is.
            if any(
                (other.feats.get("VerbForm") == "Inf" and other.relation != "conj")
                or (other.feats.get("Case") == "Ins" and animate(other) is not None)
                for other in followers
            ):
                yield from _random_noun(sentence, resources, word, argument, "transitive_verb_obj")


def _indirect_object(sentence: Sentence, resources: Resources) -> Found:
    """Yield the sentence with inanimate nouns in place of an animate dative."""
    for word in sentence.words:
        verb = sentence.head_of(word)
        # Parsers attach many datives to the object.
        if verb is not None and verb.upos == "NOUN":
            verb = sentence.head_of(verb)
        # Numbers count from 1, so this is the word before.
        before = sentence.words[word.id - 2].form.lower() if word.id > 1 else ""
        is_argument = word.upos in NOMINAL and word.relation not in ("amod", "det") and before != RECIPROCAL
        if verb is None or verb.upos != "VERB" or word.feats.get("Case") != "Dat" or not is_argument:
            continue
        argument = animate(word)
        if argument is None or has_preposition(sentence, word) or not is_bare(sentence, word):
            continue
        others = [
            other for other in _relative(sentence, verb, "obj", "nsubj") if not has_preposition(sentence, other)
        ]
        yield from _inanimate(sentence, resources, word, argument, others, "transitive_verb_iobj")


RULES: Final = rules(
    "Argument Structure",
    transitive_verb=_transitive_verb,
    transitive_verb_subject=_subject,
    transitive_verb_passive=_passive,
    transitive_verb_object=_object,
    transitive_verb_iobject=_indirect_object,
)
