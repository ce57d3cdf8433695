"""The arguments of a transitive verb: an intransitive verb, or an inanimate noun where a person stands (35 to 39)."""

import random
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Final

from eval.generation.candidate import Candidate
from eval.generation.rublimp.morphology import Morphology
from eval.generation.rublimp.resources import Resources
from eval.generation.rublimp.rule import Rule, Tools, change
from eval.generation.rublimp.rules.agreement import modifiers_of
from eval.generation.rublimp.rules.forms import UNKNOWN, Parse, forms_of, spell
from eval.generation.rublimp.rules.lists import read_list
from eval.generation.rublimp.rules.nouns import MINIMUM_IPM, animate, inanimate, inanimate_forms
from eval.generation.rublimp.rules.verbs import form_like, verb_parses
from eval.generation.treebank import Sentence, Word

CASES_OF_PRONOUNS: Final = ("NPRO",)
PREPOSED: Final = frozenset({"его", "ее", "им", "ей", "их", "ему", "ими"})


def _relative(sentence: Sentence, verb: Word, *relations: str) -> Iterator[Word]:
    for child in sentence.children[verb.id]:
        if child.deprel in relations or child.relation in relations:
            yield child


def _has_preposition(sentence: Sentence, word: Word) -> bool:
    return any(child.relation == "case" for child in sentence.children[word.id])


def _is_bare(sentence: Sentence, word: Word) -> bool:
    """Say whether nothing agrees with a noun and nothing is coordinated with it."""
    children = sentence.children[word.id]
    return not modifiers_of(children) and not any(child.relation == "conj" for child in children)


def _transitive_verbs(sentence: Sentence, tools: Tools) -> Iterator[tuple[Word, Parse]]:
    for verb in sentence.words:
        if verb.upos == "VERB":
            parses = verb_parses(tools.morphology, verb, "tran", "indc")
            if parses:
                yield verb, parses[0]


# The verb.


@cache
def _intransitive(morphology: Morphology, lemmas: tuple[str, ...]) -> dict[str, tuple[Parse, ...]]:
    """Return the verbs without a direct object by aspect; a verb that has a transitive reading too is left out."""
    found: dict[str, list[Parse]] = {"perf": [], "impf": []}
    for lemma in lemmas:
        parses = [parse for parse in morphology.forms_with(lemma) if parse.tag.POS == "INFN" and parse.is_known]
        if parses and all("intr" in parse.tag for parse in parses) and not lemma.endswith("ся"):
            found[str(parses[0].tag.aspect)].append(parses[0])
    return {aspect: tuple(verbs) for aspect, verbs in found.items()}


def _verb_lemmas(resources: Resources) -> tuple[str, ...]:
    ours = [lemma for lemmas in read_list("verbs")["intransitive"].values() for lemma in lemmas]
    given = [lemma for (lemma, pos), ipm in resources.frequencies.items() if pos == "v" and ipm >= MINIMUM_IPM]
    return tuple(dict.fromkeys([*ours, *given]))


@cache
def _like(parse: Parse, lexeme: Parse) -> str | None:
    return form_like(parse, lexeme)


def _transitive_verb(sentence: Sentence, tools: Tools) -> Iterator[Candidate | str]:
    verbs = _intransitive(tools.morphology, _verb_lemmas(tools.resources))
    for verb, parse in _transitive_verbs(sentence, tools):
        if not any(_relative(sentence, verb, "obj")):
            continue
        forms = [form for lexeme in verbs[parse.tag.aspect] if (form := _like(parse, lexeme)) is not None]
        yield from _each(sentence, tools, forms, lambda form, verb=verb: {verb.id: form}, verb, "Transitivity", "transitive_verb")


# The arguments.


def _each(
    sentence: Sentence,
    tools: Tools,
    forms: list[str],
    edit: Callable[[str], dict[int, str]],
    word: Word,
    feature: str,
    subtype: str,
) -> Iterator[Candidate | str]:
    """Yield the sentence with each of the words that fit; with a few of them, drawn by the sentence, where so many are not needed."""
    if not forms:
        yield UNKNOWN
    few = tools.resources.words_per_place
    if few is not None and len(forms) > few:
        forms = random.Random(f"{sentence.text}:{word.id}:{subtype}").sample(forms, few)  # noqa: S311 - no secret
    for form in forms:
        target = spell(tools.morphology, form, word)
        yield change(
            sentence,
            edit(target),
            source_word=word.form,
            target_word=target,
            feature=feature,
            source_value="Anim" if feature == "Animacy" else "Tran",
            target_value="Inan" if feature == "Animacy" else "Intr",
            subtype=subtype,
        )


def _random_noun(sentence: Sentence, tools: Tools, word: Word, parse: Parse, subtype: str) -> Iterator[Candidate | str]:
    """Yield the sentence with inanimate nouns of the same gender, number and case in place of an animate noun."""
    forms = [*inanimate_forms(tools.morphology, tools.resources, parse.tag.gender, parse.tag.case, parse.tag.number)]
    yield from _each(sentence, tools, forms, lambda form: {word.id: form}, word, "Animacy", subtype)


def _swapped(
    sentence: Sentence, tools: Tools, one: Word, two: Word, parses: tuple[Parse, Parse], subtype: str
) -> Iterator[Candidate | str]:
    """Yield the sentence with two nouns of the same gender and number in each other's place and case."""
    first, second = parses
    same = first.tag.number == second.tag.number and (first.tag.gender is None or first.tag.gender == second.tag.gender)
    if not same:
        return
    into_first = forms_of(second, {first.tag.case, first.tag.number})[:1]
    into_second = forms_of(first, {second.tag.case, first.tag.number})[:1]
    if not into_first or not into_second:
        yield UNKNOWN
        return
    capitals = tools.morphology
    a = spell(capitals, into_first[0], one)
    b = into_second[0] if one.id == 1 and one.upos != "PROPN" else spell(capitals, into_second[0], one)
    b = b[:1].upper() + b[1:] if two.id == 1 else b
    a = a if one.id == 1 else spell(capitals, into_first[0], two) if two.id != 1 else into_first[0]
    yield change(
        sentence,
        {one.id: a, two.id: b.replace("ё", "е")},
        source_word=one.form,
        target_word=a,
        feature="Animacy",
        source_value="Anim",
        target_value="Inan",
        subtype=subtype,
    )


def _subject(sentence: Sentence, tools: Tools) -> Iterator[Candidate | str]:
    for verb, _ in _transitive_verbs(sentence, tools):
        objects = [word for word in _relative(sentence, verb, "obj") if not _has_preposition(sentence, word)]
        for subject in _relative(sentence, verb, "nsubj"):
            parse = animate(tools.morphology, subject)
            if parse is None or not _is_bare(sentence, subject) or not objects:
                continue
            yield from _swaps(sentence, tools, subject, parse, objects, "transitive_verb_subject_perm")
            if parse.tag.POS == "NOUN":
                yield from _random_noun(sentence, tools, subject, parse, "transitive_verb_subject_rand")


def _swaps(
    sentence: Sentence, tools: Tools, word: Word, parse: Parse, others: list[Word], subtype: str
) -> Iterator[Candidate | str]:
    for other in others:
        second = inanimate(tools.morphology, other)
        if second is not None and _is_bare(sentence, other):
            yield from _swapped(sentence, tools, word, other, (parse, second), subtype)


def _passive(sentence: Sentence, tools: Tools) -> Iterator[Candidate | str]:
    for verb in sentence.words:
        subjects = [*_relative(sentence, verb, "nsubj")]
        for agent in _agents(sentence, verb):
            parse = animate(tools.morphology, agent)
            if parse is None or parse.tag.case != "ablt" or not _is_bare(sentence, agent):
                continue
            yield from _swaps(sentence, tools, agent, parse, subjects, "transitive_verb_passive_perm")
            yield from _random_noun(sentence, tools, agent, parse, "transitive_verb_passive_rand")


def _agents(sentence: Sentence, verb: Word) -> Iterator[Word]:
    """Yield the agents of a passive: words in the instrumental without a preposition."""
    if verb.feats.get("Voice") in ("Pass", "Mid") or any(_relative(sentence, verb, "nsubj:pass")):
        for word in _relative(sentence, verb, "obl", "iobj"):
            if word.feats.get("Case") == "Ins" and not _has_preposition(sentence, word):
                yield word


def _object(sentence: Sentence, tools: Tools) -> Iterator[Candidate | str]:
    for verb in sentence.words:
        clauses = [*_relative(sentence, verb, "xcomp", "ccomp", "obl", "advcl")]
        for word in _relative(sentence, verb, "obj", "iobj"):
            parse = animate(tools.morphology, word)
            after = any(_is_complement(clause) and clause.id > word.id for clause in clauses)
            if parse is not None and parse.tag.case == "accs" and parse.tag.POS == "NOUN" and after:
                yield from _random_noun(sentence, tools, word, parse, "transitive_verb_obj")


def _is_complement(word: Word) -> bool:
    return word.relation == "xcomp" or word.feats.get("VerbForm") == "Inf" or word.feats.get("Case") == "Ins"


def _indirect_object(sentence: Sentence, tools: Tools) -> Iterator[Candidate | str]:
    for verb in sentence.words:
        if verb.upos != "VERB":
            continue
        others = [word for word in _relative(sentence, verb, "obj", "nsubj") if not _has_preposition(sentence, word)]
        for word in _relative(sentence, verb, "iobj", "obl"):
            parse = animate(tools.morphology, word)
            if parse is None or parse.tag.case != "datv" or _has_preposition(sentence, word) or not _is_bare(sentence, word):
                continue
            yield from _swaps(sentence, tools, word, parse, others, "transitive_verb_iobj_perm")
            if parse.tag.POS == "NOUN":
                yield from _random_noun(sentence, tools, word, parse, "transitive_verb_iobj_rand")


_rule = partial(Rule, phenomenon="argument_structure", level="semantics")

RULES: Final = (
    _rule(paradigm="transitive_verb", find=_transitive_verb),
    _rule(paradigm="transitive_verb_subject", find=_subject),
    _rule(paradigm="transitive_verb_passive", find=_passive),
    _rule(paradigm="transitive_verb_object", find=_object),
    _rule(paradigm="transitive_verb_iobject", find=_indirect_object),
)
