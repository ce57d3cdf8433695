"""Tense against a temporal adverbial: the verb's tense changed, or the adverbial (paradigms 43 to 45)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from eval.templates.pair import Pair
from generation.rublimp.grammar.agreement import modifiers
from generation.rublimp.grammar.forms import Parse, forms_of, spell
from generation.rublimp.grammar.lists import read_list
from generation.rublimp.grammar.verbs import other_tense, verb_parses
from generation.rublimp.rule import Rule, Tools, change
from generation.treebank import Sentence, Word

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


def _markers(sentence: Sentence, tools: Tools) -> Iterator[Marker]:
    lists = read_list("tense")
    for word in sentence.words:
        form = word.form.lower()
        if form in lists["past_adverbs"] or form in lists["future_adverbs"]:
            yield Marker(word, word, PAST if form in lists["past_adverbs"] else FUTURE, SIMPLE)
        elif form == lists["ago"] and word.id > 2:
            for before in sentence.words[max(0, word.id - 4) : word.id]:
                yield Marker(before, word, PAST, EXPRESSION)
        elif [form, _form(sentence, word.id + 1)] in lists["past_phrases"]:
            yield Marker(word, word, PAST, EXPRESSION)
        else:
            yield from _phrase(sentence, tools, word)


def _form(sentence: Sentence, number: int) -> str:
    return sentence.words[number - 1].form.lower() if 0 < number <= len(sentence.words) else ""


def _phrase(sentence: Sentence, tools: Tools, word: Word) -> Iterator[Marker]:
    """Yield a marker for an adjective of time between a preposition and the noun that it belongs to."""
    lists = read_list("tense")
    if word.id < 2 or word.id >= len(sentence.words) or _form(sentence, word.id - 1) not in lists["prepositions"]:
        return
    adjective = _adjective(tools, word)
    noun = sentence.words[word.id]
    if adjective is not None and noun.upos in ("NOUN", "PROPN"):
        tense = PAST if adjective.normal_form in lists["past_adjectives"] else FUTURE
        yield Marker(noun, word, tense, EXPRESSION)


def _adjective(tools: Tools, word: Word) -> Parse | None:
    lists = read_list("tense")
    known = lists["past_adjectives"] + lists["future_adjectives"]
    return next((parse for parse in modifiers(tools.morphology, word) if parse.normal_form in known), None)


def _verbs(sentence: Sentence, tools: Tools, marker: Marker, grammemes: Sequence[str]) -> Iterator[tuple[Word, Parse]]:
    """Yield the verb of a marker's tense that it depends on, with its analysis."""
    for word in [*_above(sentence, marker.head), *_near(sentence, marker.head)]:
        parses = verb_parses(tools.morphology, word, "indc", marker.tense, *grammemes)
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


def _marked(sentence: Sentence, tools: Tools, *grammemes: str) -> Iterator[tuple[Marker, Word, Parse]]:
    """Yield each marker with its verb, each verb once; the verb has the grammemes."""
    done: set[int] = set()
    for marker in _markers(sentence, tools):
        for verb, parse in _verbs(sentence, tools, marker, grammemes):
            if verb.id not in done:
                done.add(verb.id)
                yield marker, verb, parse


def _is_conjoined(sentence: Sentence, verb: Word) -> bool:
    """Say whether a verb has another beside it; parsers call many of these parataxis."""
    family = [verb, *sentence.children[verb.id]]
    return any(word.relation in ("conj", "parataxis") and word.upos in ("VERB", "AUX") for word in family)


def _is_single(sentence: Sentence, verb: Word) -> bool:
    family = [verb, *sentence.children[verb.id]]
    return not any(word.relation == "conj" and word.upos in ("VERB", "AUX") for word in family)


def _verb_tense(sentence: Sentence, tools: Tools, paradigm: str, conjoined: bool) -> Iterator[Pair | str]:
    for marker, verb, parse in _marked(sentence, tools, "perf"):
        if not (_is_conjoined(sentence, verb) if conjoined else _is_single(sentence, verb)):
            continue
        forms = other_tense(sentence, tools.morphology, verb, parse)
        if not forms:
            yield "the verb has no form of the other tense"
        for form in forms:
            target = spell(tools.morphology, form, verb)
            subtype = f"{paradigm}_{marker.kind}"
            yield _changed(sentence, verb, target, "Tense", marker.tense, subtype)


def _changed(sentence: Sentence, word: Word, target: str, feature: str, tense: str, subtype: str) -> Pair | str:
    return change(
        sentence,
        {word.id: target},
        source_word=word.form,
        target_word=target,
        feature=feature,
        source_value=tense,
        target_value=OTHER[tense],
        subtype=subtype,
    )


def _tense_marker(sentence: Sentence, tools: Tools) -> Iterator[Pair | str]:
    for marker, _, _ in _marked(sentence, tools):
        for form in _opposites(tools, marker):
            target = spell(tools.morphology, form, marker.shows)
            subtype = "tense_marker_simple" if marker.kind == SIMPLE else "tense_marker_expression"
            yield _changed(sentence, marker.shows, target, "TenseMarker", marker.tense, subtype)


def _opposites(tools: Tools, marker: Marker) -> Iterator[str]:
    """Yield what stands for a marker in the other tense, in the same form."""
    lists = read_list("tense")
    form = marker.shows.form.lower()
    if marker.kind == SIMPLE:
        counterpart = lists["past_adverbs" if marker.tense == PAST else "future_adverbs"][form]
        yield from [counterpart] if counterpart else []
        return
    parse = _adjective(tools, marker.shows)
    if parse is None:
        return
    for lemma in _collocates(tools, marker):
        other = next((p for p in tools.morphology.forms_with(lemma) if p.tag.POS == "ADJF"), None)
        wanted = {parse.tag.case, parse.tag.number} | ({parse.tag.gender} if parse.tag.number == "sing" else set())
        if other is not None:
            yield from forms_of(other, wanted)[:1]


def _collocates(tools: Tools, marker: Marker) -> Sequence[str]:
    """Return the adjectives of the other tense that go with a marker's noun."""
    lists = read_list("tense")
    allowed = lists["future_adjectives" if marker.tense == PAST else "past_adjectives"]
    resources = tools.resources
    given = resources.future_markers if marker.tense == PAST else resources.past_markers
    lemmas = dict.fromkeys(parse.normal_form for parse in tools.morphology.forms_with(marker.head.form))
    for lemma in lemmas:
        found = [*given.get(lemma, ()), *lists["collocations"].get(lemma, ())]
        if found:
            return [adjective for adjective in dict.fromkeys(found) if adjective in allowed]
    return []


_rule = partial(Rule, phenomenon="Tense", level="Semantics")

RULES: Final = (
    _rule(paradigm="single_verb_tense", find=lambda s, t: _verb_tense(s, t, "single_verb_tense", conjoined=False)),
    _rule(paradigm="conj_verb_tense", find=lambda s, t: _verb_tense(s, t, "conj_verb_tense", conjoined=True)),
    _rule(paradigm="tense_marker", find=_tense_marker),
)
