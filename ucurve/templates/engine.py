"""Draws a minimal pair from a template (the template language of Liu et al., ZhoBLiMP, section 2.1)."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, TypeVar

from ucurve.templates.grammar import Alternative, Alternatives, Pool, TiedTemplate
from ucurve.templates.pair import DrawFailed, Pair, Reason
from ucurve.templates.rules import Direct, Relation
from ucurve.templates.vocabulary import WordSet

MAX_DEPTH: Final = 12  # of phrases within one another
MAX_ELEMENTS: Final = 10_000  # of phrases in one sentence, since phrases of phrases can grow without end
Option = TypeVar("Option")


class Filled(NamedTuple):
    """The content of a slot: its words, and for a vocabulary word its row and the pool it was drawn from."""

    text: tuple[str, ...]
    pool: Pool | None = None
    row: int | None = None


@dataclass
class _Size:
    elements: int = 0  # of phrases, that a sentence has so far

    def add(self, elements: int) -> None:
        """Count elements; a ``DrawFailed`` where the sentence gets too long."""
        self.elements += elements
        if self.elements > MAX_ELEMENTS:
            raise DrawFailed(Reason.TOO_LONG)


def draw_pair(tied: TiedTemplate, rng: random.Random) -> Pair:
    """Draw one pair; a ``DrawFailed`` says why there is none."""
    template = tied.template
    good = _fill_member("good", tied.good, [None] * len(tied.good), rng)
    kept = [good[slot] if isinstance(slot, int) else None for slot in tied.bad]
    drawn = [
        () if isinstance(slot, int) else tuple(_form_of(word, choice) for choice in slot)
        for word, slot in zip(good, tied.bad, strict=True)
    ]
    bad = _fill_member("bad", drawn, kept, rng)
    pair = Pair(sentence(good, template.separator), sentence(bad, template.separator))
    if template.strict_length and length(pair.good, template.separator) != length(pair.bad, template.separator):
        raise DrawFailed(Reason.LENGTH)
    return pair


def _form_of(good: Filled, choice: Alternative) -> Alternative:
    """Narrow the words of a bad slot to those that keep and change what the slot says of the good word there."""
    if not isinstance(choice, Pool) or not (choice.keeps or choice.changes):
        return choice
    words = choice.words
    vocabulary = words.vocabulary
    for name in choice.keeps:
        parts = words.by(name)
        values = () if good.row is None else vocabulary.values(good.row, name)
        words = vocabulary.words({row for value in values if value in parts for row in parts[value].rows})
    for name in choice.changes:
        values = () if good.row is None else vocabulary.values(good.row, name)
        words = words.apart(name, values) if values else vocabulary.words([])
    return replace(choice, words=words)


def sentence(slots: Sequence[Filled], separator: str) -> str:
    """Join the words of all slots."""
    return separator.join(word for slot in slots for word in slot.text if word)


def length(text: str, separator: str) -> int:
    """Return the length strict templates compare: in characters, or in words where words are separated."""
    return len(text.split(separator)) if separator and text else len(text)


def _fill_member(
    member: str, slots: Sequence[Alternatives], kept: Sequence[Filled | None], rng: random.Random
) -> list[Filled]:
    """Fill the slots of a member, whose name a draw that fails tells."""
    try:
        return fill(slots, kept, rng)
    except DrawFailed as failure:
        failure.member = member
        raise


def fill(
    slots: Sequence[Alternatives],
    kept: Sequence[Filled | None],
    rng: random.Random,
    size: _Size | None = None,
    depth: int = 0,
) -> list[Filled]:
    """Fill slots, each with its alternatives, with words, where ``kept`` does not say what a slot already holds.

    ``size`` is that of the sentence so far, ``depth`` how many phrases are around these slots.
    """
    size = size or _Size()
    chosen = [held or _pick(slot, rng) for slot, held in zip(slots, kept, strict=True)]
    narrowed = _Narrowed(chosen, rng)
    for position, choice in enumerate(chosen):
        if isinstance(choice, Pool):
            for relation in choice.relations:
                try:
                    narrowed.relate(position, relation)
                except DrawFailed as failure:
                    raise failure.at(position) from None
    filled = []
    for position, choice in enumerate(chosen):
        try:
            filled.append(_fill_slot(choice, narrowed.words.get(position), rng, size, depth))
        except DrawFailed as failure:
            raise failure.at(position) from None
    if not depth:
        _refuse_repeats(filled, kept)
    return filled


class _Narrowed:
    """The words that slots may still hold, narrowed by one relation after another."""

    def __init__(self, chosen: Sequence[Alternative | Filled], rng: random.Random) -> None:
        self.words: dict[int, WordSet] = {}
        self._chosen = chosen
        self._rng = rng

    def relate(self, position: int, relation: Relation) -> None:
        """Narrow a slot and the slot it is related to, property by property."""
        other = relation.position
        for name in relation.properties:
            here, there = self._open(position), self._open(other)
            if relation.agrees:
                value = self._draw(here.shared(there, name))
                self.words[position], self.words[other] = here.by(name)[value], there.by(name)[value]
            else:
                # The other slot's word is fixed; here a value is required that it lacks and other words there have.
                vocabulary, row = there.vocabulary, self._draw(there.apart(name).rows)
                different = here.apart(name, vocabulary.values(row, name))
                value = self._draw(different.shared(self._pool(other).words, name))
                self.words[position], self.words[other] = different.by(name)[value], vocabulary.words([row])

    def _open(self, position: int) -> WordSet:
        """Return the words that a slot may still hold; a ``DrawFailed`` where there are none."""
        words = self.words.get(position)
        if not words:
            choice, pool = self._chosen[position], self._pool(position)
            words = pool.words
            if isinstance(choice, Filled) and choice.row is not None:
                words = words.vocabulary.words([choice.row])
        if not words.rows:
            raise DrawFailed(Reason.NO_SAMPLE)
        return words

    def _pool(self, position: int) -> Pool:
        choice = self._chosen[position]
        pool = choice.pool if isinstance(choice, Filled) else choice
        if not isinstance(pool, Pool):  # the alternative drawn there is no vocabulary word
            raise DrawFailed(Reason.NO_SHARED_VALUE)
        return pool

    def _draw(self, options: Sequence[Option]) -> Option:
        if not options:
            raise DrawFailed(Reason.NO_SHARED_VALUE)
        return _pick(options, self._rng)


def _fill_slot(
    choice: Alternative | Filled, words: WordSet | None, rng: random.Random, size: _Size, depth: int
) -> Filled:
    """Fill a slot: draw a word, take what is kept, or write out a phrase, ``depth`` phrases deep."""
    if isinstance(choice, Pool):
        words = words or choice.words
        if not words.rows:
            raise DrawFailed(Reason.NO_SAMPLE)
        row = _pick(words.rows, rng)
        return Filled((words.vocabulary.surface(row),), choice, row)
    if isinstance(choice, Direct):
        return Filled((_pick(choice.words, rng),))
    if isinstance(choice, Filled):
        return choice
    if depth == MAX_DEPTH:
        raise DrawFailed(Reason.NO_SAMPLE)
    expansion = _pick(choice.expansions, rng)
    size.add(len(expansion))
    if len(expansion) == 1:  # no relations to resolve
        return Filled(_fill_slot(expansion[0][0], None, rng, size, depth + 1).text)
    inside = fill(expansion, [None] * len(expansion), rng, size, depth + 1)
    return Filled(tuple(word for slot in inside for word in slot.text))


def _refuse_repeats(filled: Sequence[Filled], kept: Sequence[Filled | None]) -> None:
    """Refuse a newly drawn word that the sentence has already; literals, copies and phrases may repeat words."""
    seen = {slot.text for slot in kept if slot and slot.pool and not slot.pool.copies}
    for position, (slot, held) in enumerate(zip(filled, kept, strict=True)):
        if held or not slot.pool or slot.pool.copies:
            continue
        if slot.text in seen:
            raise DrawFailed(Reason.REPEATED_WORD, position)
        seen.add(slot.text)


def _pick(options: Sequence[Option], rng: random.Random) -> Option:
    count = len(options)
    # Python promises the same random() for a seed in all its versions, but not the same choice().
    return options[0] if count == 1 else options[int(rng.random() * count)]
