"""A minimal pair, and the one loop that draws pairs: of the demo, of every maker and of the workbench."""

import random
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

DRAWS_PER_PAIR: Final = 50  # after so many a paradigm is given up
Value = str | int | float | bool | None


@dataclass(frozen=True)
class Pair:
    """A minimal pair."""

    good: str
    bad: str
    # Further columns of its line; all pairs of a source should have the same ones, each of one type or None.
    columns: Mapping[str, Value] = field(default_factory=dict)

    def record(self, uid: str, phenomenon: str, number: int) -> dict[str, Value]:
        """Return it in the line format of the published ZhoBLiMP, with the further columns behind."""
        return {
            "UID": uid,
            "phenomenon": phenomenon,
            "sentence_good": self.good,
            "sentence_bad": self.bad,
            "pairID": number,
            **self.columns,
        }


class Reason(StrEnum):
    """Why a draw gave no pair; a maker may have further reasons, each a text."""

    NO_SAMPLE = "no sample"
    NO_SHARED_VALUE = "no shared value"
    REPEATED_WORD = "repeated word"
    EQUAL = "equal"
    LENGTH = "length"
    DUPLICATE = "duplicate"
    TOO_LONG = "too long"


class DrawFailed(Exception):  # noqa: N818 - a draw that fails is ordinary, not an error
    """A draw that gives no pair; its reason is counted."""

    def __init__(self, reason: str, slot: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.slot = slot
        self.member: str | None = None

    def at(self, slot: int) -> "DrawFailed":
        """Set the slot; that around a phrase replaces the one within it."""
        self.slot = slot
        return self


Draw = Callable[[random.Random], Pair]
"""Draws one pair with the random numbers given, and nothing else that is random; raises ``DrawFailed``."""


def seeded(paradigm: str, seed: int) -> random.Random:
    """Return the random numbers of a paradigm, which do not depend on other paradigms."""
    return random.Random(f"{paradigm}:{seed}")  # noqa: S311 - reproducible sampling, no secret


def draw_pairs(draw: Draw, count: int, rng: random.Random, taken: Collection[str]) -> Iterator[Pair | DrawFailed]:
    """Yield each draw, a pair or why there is none, until enough are taken or the draws run out.

    The caller adds the good sentences that it takes to ``taken``; none of them is yielded again.
    """
    draws = 0
    while len(taken) < count and draws < DRAWS_PER_PAIR * count:
        draws += 1
        try:
            drawn = draw(rng)
        except DrawFailed as failure:
            yield failure
        else:
            yield fault_of(drawn, taken) or drawn


def fault_of(pair: Pair, taken: Collection[str]) -> DrawFailed | None:
    """Return why two sentences are not a new pair; None if they are."""
    if pair.good == pair.bad:
        return DrawFailed(Reason.EQUAL)
    return DrawFailed(Reason.DUPLICATE) if pair.good in taken else None
