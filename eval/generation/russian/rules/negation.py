"""Negative concord: the particle ne moved, negative and indefinite pronouns exchanged (paradigms 32 to 34)."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from eval.generation.candidate import Candidate
from eval.generation.russian.grammar.forms import spell
from eval.generation.russian.grammar.lists import read_list
from eval.generation.russian.rule import Rule, Tools, change
from eval.generation.treebank import Sentence, Word

NOT: Final = "не"
STOPS: Final = frozenset({"PUNCT", "CCONJ", "SCONJ"})
CONSTITUENTS: Final = frozenset({"ADP", "NOUN", "PROPN", "PRON", "ADJ", "DET", "ADV", "NUM"})
PREFIX: Final = "ни"


def _is_statement(sentence: Sentence) -> bool:
    conditional = read_list("pronouns")["conditional"]
    return not any(word.form == "?" or word.form.lower() in conditional for word in sentence.words)


def _negative(word: Word) -> bool:
    return word.form.lower().startswith(PREFIX) and word.upos in ("PRON", "DET", "ADV", "ADJ") and len(word.form) > 3


def _negated_verbs(sentence: Sentence) -> Iterator[tuple[Word, Word]]:
    """Yield each particle that stands before a verb, with the verb."""
    for particle in sentence.words[:-1]:
        verb = sentence.words[particle.id]
        if particle.form.lower() == NOT and verb.upos in ("VERB", "AUX"):
            yield particle, verb


def _negative_concord(sentence: Sentence, tools: Tools) -> Iterator[Candidate | str]:
    if not _is_statement(sentence) or not any(_negative(word) for word in sentence.words):
        return
    for particle, verb in _negated_verbs(sentence):
        for target in _phrases_after(sentence, verb):
            yield _moved(sentence, tools, particle, target)


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


def _moved(sentence: Sentence, tools: Tools, particle: Word, target: Word) -> Candidate | str:
    """Return the sentence with the particle before another word: all words between take one place to the left."""
    forms: dict[int, str] = {}
    for number in range(particle.id, target.id - 1):
        form = sentence.words[number].form
        forms[number] = form if number > particle.id else tools.morphology.spelled_like(form, particle.form)
    forms[target.id - 1] = NOT
    return change(
        sentence,
        forms,
        source_word=particle.form,
        target_word=NOT,
        feature="Position",
        source_value=sentence.words[particle.id].form,
        target_value=target.form,
        subtype="negative_concord",
    )


def _to_indefinite(sentence: Sentence, tools: Tools) -> Iterator[Candidate | str]:
    if not any(word.form.lower() == NOT for word in sentence.words):
        return
    for word in sentence.words:
        for target in _indefinite(word):
            yield _replaced(sentence, tools, word, target, "negative_pronouns_from")


def _indefinite(word: Word) -> Iterator[str]:
    form = word.form.lower()
    content = read_list("pronouns")
    bases: Mapping[str, Sequence[str]] = content["negative_forms"]
    for base, negatives in bases.items():
        if form in negatives:
            for particle in content["series"].get(base, content["series"]["default"]):
                yield base + particle


def _to_negative(sentence: Sentence, tools: Tools) -> Iterator[Candidate | str]:
    if any(word.form.lower() == NOT for word in sentence.words):
        negated = {verb.id for _, verb in _negated_verbs(sentence)}
    else:
        negated = set()
    content = read_list("pronouns")
    for word in sentence.words:
        base, dash, particle = word.form.lower().replace("\u2011", "-").partition("-")
        if word.head in negated or f"{dash}{particle}" not in content["indefinite_particles"]:
            continue
        for target in content["negative_forms"].get(base.replace("ё", "е"), ()):
            yield _replaced(sentence, tools, word, target, "negative_pronouns_to")


def _replaced(sentence: Sentence, tools: Tools, word: Word, target: str, subtype: str) -> Candidate | str:
    form = spell(tools.morphology, target, word)
    return change(
        sentence,
        {word.id: form},
        source_word=word.form,
        target_word=form,
        feature="PronType",
        source_value="Neg" if subtype.endswith("from") else "Ind",
        target_value="Ind" if subtype.endswith("from") else "Neg",
        subtype=subtype,
    )


_rule = partial(Rule, phenomenon="Negation", level="Syntax")

RULES: Final = (
    _rule(paradigm="negative_concord", find=_negative_concord),
    _rule(paradigm="negative_pronoun_to_indefinite", find=_to_indefinite),
    _rule(paradigm="indefinite_pronoun_to_negative", find=_to_negative),
)
