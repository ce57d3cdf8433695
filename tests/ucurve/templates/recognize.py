"""Parses sentences with a paradigm: tells whether it can generate a given sentence or pair."""

from collections.abc import Iterator, Sequence

from ucurve.templates.engine import MAX_DEPTH, Filled
from ucurve.templates.grammar import Alternative, Alternatives, Pool, TiedTemplate
from ucurve.templates.pair import Pair
from ucurve.templates.rules import Direct, Relation
from ucurve.templates.vocabulary import WordSet


def derives(paradigm: TiedTemplate, sentence: str) -> bool:
    """Tell whether the good rule of a paradigm yields a sentence.

    Words may repeat here: only the structure and the relations between slots are checked.
    """
    return next(parses(paradigm.good, sentence, paradigm.template.separator), None) is not None


def derives_pair(paradigm: TiedTemplate, pair: Pair) -> bool:
    """Tell whether a paradigm yields a pair: the bad member from the words of some reading of the good one."""
    separator = paradigm.template.separator
    for good in parses(paradigm.good, pair.good, separator):
        slots = [good[slot] if isinstance(slot, int) else slot for slot in paradigm.bad]
        if next(parses(slots, pair.bad, separator), None) is not None:
            return True
    return False


def parses(slots: Sequence[Alternatives | Filled], text: str, separator: str) -> Iterator[list[Filled]]:
    """Yield every way to fill slots so that they read as a text."""
    for filled, end in _Reader(text, separator).sequence(slots, 0, 0):
        if end == len(text):
            yield filled


class _Reader:
    """Reads slots off a text from left to right, trying every alternative."""

    def __init__(self, text: str, separator: str) -> None:
        self._text = text
        self._separator = separator

    def sequence(
        self, slots: Sequence[Alternatives | Filled], start: int, depth: int
    ) -> Iterator[tuple[list[Filled], int]]:
        for filled, end in self._rest(slots, 0, start, depth):
            if all(_holds(filled, position, relation) for position, relation in _relations(filled, slots)):
                yield filled, end

    def _rest(
        self, slots: Sequence[Alternatives | Filled], position: int, start: int, depth: int
    ) -> Iterator[tuple[list[Filled], int]]:
        if position == len(slots):
            yield [], start
            return
        for first, middle in self._slot(slots[position], start, depth):
            for others, end in self._rest(slots, position + 1, middle, depth):
                yield [first, *others], end

    def _slot(self, slot: Alternatives | Filled, start: int, depth: int) -> Iterator[tuple[Filled, int]]:
        if isinstance(slot, Filled):
            yield from self._read(slot, start)
            return
        for choice in slot:
            yield from self._choice(choice, start, depth)

    def _choice(self, choice: Alternative, start: int, depth: int) -> Iterator[tuple[Filled, int]]:
        if isinstance(choice, Direct):
            candidates = [Filled((word,)) for word in choice.words]
        elif isinstance(choice, Pool):
            candidates = [
                Filled((choice.words.vocabulary.surface(row),), choice, row) for row in choice.words.rows
            ]
        elif depth == MAX_DEPTH:
            return
        else:
            for expansion in choice.expansions:
                for inside, end in self.sequence(expansion, start, depth + 1):
                    yield Filled(tuple(word for slot in inside for word in slot.text)), end
            return
        for filled in candidates:
            yield from self._read(filled, start)

    def _read(self, filled: Filled, start: int) -> Iterator[tuple[Filled, int]]:
        end = start
        for word in filled.text:
            expected = self._separator + word if word and end else word
            if not self._text.startswith(expected, end):
                return
            end += len(expected)
        yield filled, end


def _relations(
    filled: Sequence[Filled], slots: Sequence[Alternatives | Filled]
) -> Iterator[tuple[int, Relation]]:
    """Yield the relations of the slots that were read here; a slot held from before has had its own checked."""
    for position, (slot, given) in enumerate(zip(filled, slots, strict=True)):
        if slot.pool and not isinstance(given, Filled):
            for relation in slot.pool.relations:
                yield position, relation


def _holds(filled: Sequence[Filled], position: int, relation: Relation) -> bool:
    here, there = filled[position], filled[relation.position]
    if here.pool is None or here.row is None or there.pool is None or there.row is None:
        return False
    for name in relation.properties:
        mine, theirs = _values(here.pool.words, here.row, name), _values(there.pool.words, there.row, name)
        different = {value for value in mine - theirs if value in there.pool.words.by(name)} if theirs else set()
        if not (mine & theirs if relation.agrees else different):
            return False
    return True


def _values(words: WordSet, row: int, name: str) -> set[str]:
    return set(words.vocabulary.values(row, name))
