"""Tense against a temporal adverbial: the verb's tense changed, or the adverbial (paradigms 43 to 45)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from ucurve.generation.rublimp.grammar.agreement import modifiers
from ucurve.generation.rublimp.grammar.forms import forms_of
from ucurve.generation.rublimp.grammar.lists import read_list
from ucurve.generation.rublimp.grammar.morphology import Parse, analyses
from ucurve.generation.rublimp.grammar.verbs import other_tense, verb_parses
from ucurve.generation.rublimp.resources import Resources
from ucurve.generation.rublimp.rule import Found, replace_word, rules
from ucurve.generation.treebank import Sentence, Word

PAST, FUTURE = "past", "futr"
OTHER: Final = {PAST: FUTURE, FUTURE: PAST}
SIMPLE, EXPRESSION = "simple_marker", "expression_marker"


@dataclass(frozen=True)
class Marker:
    """A temporal adverbial: the word that depends on the verb, the one that shows the tense, and its tense."""

    head: Word
    shows: Word
    tense: str
    kind: str


def _markers(sentence: Sentence) -> Iterator[Marker]:
    """Yield the temporal adverbials of a sentence whose tense is known."""
    lists = read_list("tense")
    for word in sentence.words:
        form = word.form.lower()
        if form in lists["past_adverbs"] or form in lists["future_adverbs"]:
            yield Marker(word, word, PAST if form in lists["past_adverbs"] else FUTURE, SIMPLE)
        elif form == lists["ago"] and word.id > 2:
            # The phrase may depend on the verb by one of the three words before "ago".
            for before in sentence.words[max(0, word.id - 4) : word.id]:
                yield Marker(before, word, PAST, EXPRESSION)
        elif [form, _form(sentence, word.id + 1)] in lists["past_phrases"]:
            yield Marker(word, word, PAST, EXPRESSION)
        else:
            yield from _phrase(sentence, word)


def _form(sentence: Sentence, number: int) -> str:
    return sentence.words[number - 1].form.lower() if 0 < number <= len(sentence.words) else ""


def _phrase(sentence: Sentence, word: Word) -> Iterator[Marker]:
    """Yield a marker for an adjective of time between a preposition and the noun that it belongs to."""
    lists = read_list("tense")
    if word.id < 2 or word.id >= len(sentence.words) or _form(sentence, word.id - 1) not in lists["prepositions"]:
        return
    adjective = _adjective(word)
    noun = sentence.words[word.id]
    if adjective is not None and noun.upos in ("NOUN", "PROPN"):
        tense = PAST if adjective.normal_form in lists["past_adjectives"] else FUTURE
        yield Marker(noun, word, tense, EXPRESSION)


def _adjective(word: Word) -> Parse | None:
    lists = read_list("tense")
    known = lists["past_adjectives"] + lists["future_adjectives"]
    return next((parse for parse in modifiers(word) if parse.normal_form in known), None)


def _verbs(sentence: Sentence, marker: Marker, grammemes: Sequence[str]) -> Iterator[tuple[Word, Parse]]:
    """Yield the verb of a marker's tense that it depends on, with its analysis."""
    for word in [*_above(sentence, marker.head), *_near(sentence, marker.head)]:
        parses = verb_parses(word, "indc", marker.tense, *grammemes)
        if parses:
            yield word, parses[0]
            return


def _above(sentence: Sentence, word: Word) -> Iterator[Word]:
    """Yield the heads above a word, up to the third."""
    for _ in range(3):
        head = sentence.head_of(word)
        if head is None:
            return
        yield head
        word = head


def _near(sentence: Sentence, word: Word) -> Iterator[Word]:
    """Yield the words after a word, then those before it, up to punctuation: adverbs are often attached wrongly."""
    for words in (sentence.words[word.id :], reversed(sentence.words[: word.id - 1])):
        for other in words:
            if other.upos == "PUNCT":
                break
            yield other


def _marked(sentence: Sentence, *grammemes: str) -> Iterator[tuple[Marker, Word, Parse]]:
    """Yield each marker with its verb, each verb once; the verb has the grammemes."""
    done: set[int] = set()
    for marker in _markers(sentence):
        for verb, parse in _verbs(sentence, marker, grammemes):
            # Two markers may belong to one verb.
            if verb.id not in done:
                done.add(verb.id)
                yield marker, verb, parse


def _is_joined(sentence: Sentence, verb: Word, *relations: str) -> bool:
    """Say whether a verb, or a verb that depends on it, has one of these relations."""
    family = [verb, *sentence.children[verb.id]]
    return any(word.relation in relations and word.upos in ("VERB", "AUX") for word in family)


def _verb_tense(sentence: Sentence, _: Resources, paradigm: str, conjoined: bool) -> Found:
    """Yield the sentence with the verb of a temporal adverbial in the other tense."""
    for marker, verb, parse in _marked(sentence, "perf"):
        # parsers call many conjuncts parataxis
        joined = (
            _is_joined(sentence, verb, "conj", "parataxis") if conjoined else _is_joined(sentence, verb, "conj")
        )
        if joined is not conjoined:
            continue
        forms = other_tense(sentence, verb, parse)
        if not forms:
            yield "the verb has no form of the other tense"
        for form in forms:
            values = (marker.tense, OTHER[marker.tense])
            yield replace_word(sentence, verb, form, "Tense", values, f"{paradigm}_{marker.kind}")


def _tense_marker(sentence: Sentence, resources: Resources) -> Found:
    for marker, _, _ in _marked(sentence):
        for form in _opposites(resources, marker):
            subtype = "tense_marker_simple" if marker.kind == SIMPLE else "tense_marker_expression"
            values = (marker.tense, OTHER[marker.tense])
            yield replace_word(sentence, marker.shows, form, "TenseMarker", values, subtype)


def _opposites(resources: Resources, marker: Marker) -> Iterator[str]:
    """Yield what stands for a marker in the other tense, in the same form."""
    lists = read_list("tense")
    form = marker.shows.form.lower()
    if marker.kind == SIMPLE:
        counterpart = lists["past_adverbs" if marker.tense == PAST else "future_adverbs"][form]
        yield from [counterpart] if counterpart else []
        return
    parse = _adjective(marker.shows)
    if parse is None:
        return
    for lemma in _collocates(resources, marker):
        other = next((p for p in analyses(lemma) if p.tag.POS == "ADJF"), None)
        wanted = {parse.tag.case, parse.tag.number} | (
            {parse.tag.gender} if parse.tag.number == "sing" else set()
        )
        if other is not None:
            yield from forms_of(other, wanted)[:1]


def _collocates(resources: Resources, marker: Marker) -> Sequence[str]:
    """Return the adjectives of the other tense that go with a marker's noun."""
    lists = read_list("tense")
    allowed = lists["future_adjectives" if marker.tense == PAST else "past_adjectives"]
    given = resources.future_markers if marker.tense == PAST else resources.past_markers
    lemmas = dict.fromkeys(parse.normal_form for parse in analyses(marker.head.form))
    for lemma in lemmas:
        found = [*given.get(lemma, ()), *lists["collocations"].get(lemma, ())]
        if found:
            return [adjective for adjective in dict.fromkeys(found) if adjective in allowed]
    return []


RULES: Final = rules(
    "Tense",
    single_verb_tense=partial(_verb_tense, paradigm="single_verb_tense", conjoined=False),
    conj_verb_tense=partial(_verb_tense, paradigm="conj_verb_tense", conjoined=True),
    tense_marker=_tense_marker,
)
