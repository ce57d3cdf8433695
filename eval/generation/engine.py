"""Draws minimal pairs from a paradigm (the template language of Liu et al., ZhoBLiMP, section 2.1)."""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, TypeVar

from eval.generation.grammar import Choice, Choices, Paradigm, Pool
from eval.generation.rules import Direct, Relation
from eval.generation.vocabulary import Words

DRAWS_PER_PAIR: Final = 50
"""How often a pair is tried before a paradigm is given up, on average over the pairs asked for."""

MAX_DEPTH: Final = 12
"""Phrases nested deeper than this fail the draw."""

Option = TypeVar("Option")


class Reason(StrEnum):
    """Why a draw gave no pair."""

    NO_SAMPLE = "no sample"
    NO_SHARED_VALUE = "no shared value"
    REPEATED_WORD = "repeated word"
    EQUAL = "equal"
    LENGTH = "length"
    DUPLICATE = "duplicate"


class DrawFailed(Exception):  # noqa: N818 - a draw that fails is ordinary, not an error
    """A draw that cannot be completed; it is counted and another one made."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.value)
        self.reason = reason


@dataclass(frozen=True)
class Filled:
    """What a slot holds: its words, and for a vocabulary word its row and the words it could have been."""

    text: tuple[str, ...]
    pool: Pool | None = None
    row: int | None = None


@dataclass(frozen=True)
class Pair:
    """A minimal pair."""

    good: str
    bad: str


@dataclass
class Yield:
    """The pairs of a paradigm, and what became of the draws."""

    pairs: list[Pair] = field(default_factory=list)
    draws: int = 0
    failures: Counter[Reason] = field(default_factory=Counter)


def generate(paradigm: Paradigm, pairs: int, seed: int) -> Yield:
    """Draw pairs with different good members until there are enough or the draws run out.

    The result is a function of the paradigm and the seed alone, whatever else is generated.

    Args:
        paradigm: what to draw from.
        pairs: how many pairs are asked for.
        seed: any integer.

    Returns:
        The pairs, at most ``pairs`` of them, and the counts of failed draws by reason.
    """
    rng = random.Random(f"{paradigm.template.uid}:{seed}")  # noqa: S311 - reproducible sampling, no secret
    result, seen = Yield(), set[str]()
    while len(result.pairs) < pairs and result.draws < DRAWS_PER_PAIR * pairs:
        result.draws += 1
        try:
            pair = draw_pair(paradigm, rng)
            if pair.good in seen:
                raise DrawFailed(Reason.DUPLICATE)
        except DrawFailed as failure:
            result.failures[failure.reason] += 1
            continue
        seen.add(pair.good)
        result.pairs.append(pair)
    return result


def draw_pair(paradigm: Paradigm, rng: random.Random) -> Pair:
    """Draw one pair.

    Raises:
        DrawFailed: a slot has no word, two slots share no value, a word is repeated, or the members are equal or,
            against ``strict_MP``, of unequal length.
    """
    template = paradigm.template
    good = fill(paradigm.good, [None] * len(paradigm.good), rng)
    kept = [good[slot] if isinstance(slot, int) else None for slot in paradigm.bad]
    bad = fill([() if isinstance(slot, int) else slot for slot in paradigm.bad], kept, rng)
    pair = Pair(sentence(good, template.separator), sentence(bad, template.separator))
    if pair.good == pair.bad:
        raise DrawFailed(Reason.EQUAL)
    if template.strict_length and length(pair.good, template.separator) != length(pair.bad, template.separator):
        raise DrawFailed(Reason.LENGTH)
    return pair


def sentence(slots: Sequence[Filled], separator: str) -> str:
    """Join the words of all slots."""
    return separator.join(word for slot in slots for word in slot.text if word)


def length(text: str, separator: str) -> int:
    """Return the length strict templates compare: in characters, or in words where words are separated."""
    return len(text.split(separator)) if separator else len(text)


def fill(slots: Sequence[Choices], kept: Sequence[Filled | None], rng: random.Random, depth: int = 0) -> list[Filled]:
    """Fill slots with words.

    Args:
        slots: the alternatives of each slot.
        kept: for each slot what it already holds, or None to draw it.
        rng: the source of chance.
        depth: how many phrases are around these slots.

    Raises:
        DrawFailed: see ``draw_pair``.
    """
    chosen = [held or _pick(slot, rng) for slot, held in zip(slots, kept, strict=True)]
    pools = _Pools(chosen, rng)
    for position, choice in enumerate(chosen):
        if isinstance(choice, Pool):
            for relation in choice.relations:
                pools.relate(position, relation)
    filled = [_fill_slot(choice, pools.words[position], rng, depth) for position, choice in enumerate(chosen)]
    _refuse_repeats(filled, kept)
    return filled


class _Pools:
    """The words each slot may still hold, narrowed by one relation after another."""

    def __init__(self, chosen: Sequence[Choice | Filled], rng: random.Random) -> None:
        self.words = [_words(choice) for choice in chosen]
        self._domains = [_domain(choice) for choice in chosen]
        self._rng = rng

    def relate(self, position: int, relation: Relation) -> None:
        """Narrow a slot and the slot it is related to, property by property."""
        for name in relation.properties:
            here, there = self.words[position], self.words[relation.position]
            if here is None or there is None:
                raise DrawFailed(Reason.NO_SHARED_VALUE)
            if not here.rows or not there.rows:
                raise DrawFailed(Reason.NO_SAMPLE)
            if relation.agrees:
                self._agree(position, relation.position, name, here, there)
            else:
                self._differ(position, relation.position, name, here, there)

    def _agree(self, position: int, other: int, name: str, here: Words, there: Words) -> None:
        value = self._draw(here.shared(there, name))
        self.words[position], self.words[other] = here.by(name)[value], there.by(name)[value]

    def _differ(self, position: int, other: int, name: str, here: Words, there: Words) -> None:
        """Fix the other slot's word, and here require a value it lacks but other words of that slot have."""
        row = self._draw(there.having(name).rows)
        self.words[other] = there.vocabulary.words([row])
        different = here.apart(name, there.vocabulary.values(row, name))
        value = self._draw(different.shared(self._domains[other] or there, name))
        self.words[position] = different.by(name)[value]

    def _draw(self, options: Sequence[Option]) -> Option:
        if not options:
            raise DrawFailed(Reason.NO_SHARED_VALUE)
        return _pick(options, self._rng)


def _words(choice: Choice | Filled) -> Words | None:
    if isinstance(choice, Filled):
        return choice.pool.words.vocabulary.words([choice.row]) if choice.pool and choice.row is not None else None
    return choice.words if isinstance(choice, Pool) else None


def _domain(choice: Choice | Filled) -> Words | None:
    pool = choice.pool if isinstance(choice, Filled) else choice
    return pool.words if isinstance(pool, Pool) else None


def _fill_slot(choice: Choice | Filled, words: Words | None, rng: random.Random, depth: int) -> Filled:
    if isinstance(choice, Filled):
        return choice
    if isinstance(choice, Direct):
        return Filled((_pick(choice.words, rng),))
    if isinstance(choice, Pool):
        if not words:
            raise DrawFailed(Reason.NO_SAMPLE)
        row = _pick(words.rows, rng)
        return Filled((words.vocabulary.surface(row),), choice, row)
    if depth == MAX_DEPTH:
        raise DrawFailed(Reason.NO_SAMPLE)
    expansion = _pick(choice.expansions, rng)
    inside = fill(expansion, [None] * len(expansion), rng, depth + 1)
    return Filled(tuple(word for slot in inside for word in slot.text))


def _refuse_repeats(filled: Sequence[Filled], kept: Sequence[Filled | None]) -> None:
    """Refuse a newly drawn word that stands in the sentence already; literals, copies and phrases may repeat words."""
    seen = {slot.text for slot in kept if slot and slot.pool and not slot.pool.copies}
    for slot, held in zip(filled, kept, strict=True):
        if held or not slot.pool or slot.pool.copies:
            continue
        if slot.text in seen:
            raise DrawFailed(Reason.REPEATED_WORD)
        seen.add(slot.text)


def _pick(options: Sequence[Option], rng: random.Random) -> Option:
    return options[int(rng.random() * len(options))]
