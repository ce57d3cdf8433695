"""How long the members of pairs are: which are too long, and equal shares of longer good and longer bad ones."""

from collections import deque
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from ucurve.errors import refuse_missing_folder
from ucurve.templates.pair import Pair

LOPSIDED: Final = 0.6
"""The share of pairs with a longer bad member above which a paradigm is named."""


@dataclass(frozen=True)
class Lengths:
    """How sentences are measured, and which pairs are left out for their lengths."""

    longest: int | None = None  # the most that the longer member of a pair may have; None for no limit
    balanced: bool = False  # whether there are as many pairs with a longer good member as with a longer bad one
    measure: Callable[[str], int] = len
    unit: str = "characters"  # what ``measure`` counts

    @property
    def too_long(self) -> str:
        """Why a pair is left out that is longer than allowed."""
        return f"longer than {self.longest} {self.unit}"

    def fits(self, pair: Pair) -> bool:
        """Say whether a pair is not too long."""
        return self.longest is None or max(self.measure(pair.good), self.measure(pair.bad)) <= self.longest

    def difference(self, pair: Pair) -> int:
        """Return by how much the bad member of a pair is longer than the good one."""
        return self.measure(pair.bad) - self.measure(pair.good)


def read_lengths(longest: int | None, balanced: bool, tokenizer: Path | None) -> Lengths:
    """Return lengths in characters, or in the tokens of a tokenizer, without special tokens, as scoring counts them."""
    if tokenizer is None:
        return Lengths(longest, balanced)
    refuse_missing_folder("tokenizer", tokenizer)
    from ucurve.huggingface.pretrained import load_tokenizer

    loaded = load_tokenizer(tokenizer)

    # A sentence is measured several times: for the limit, for the balance and for the report.
    @lru_cache(100_000)
    def count(text: str) -> int:
        # Not by ``tokenize`` of scoring, which is for many texts at once: it reads the whole vocabulary at each call.
        return len(loaded(text, add_special_tokens=False)["input_ids"])

    return Lengths(longest, balanced, count, "tokens")


@dataclass
class Balance:
    """Admits pairs one by one so that as many have a longer good member as a longer bad one.

    Pairs of equally long members pass. Another waits until one comes whose longer member is the other; the first that
    waits goes with it.
    """

    difference: Callable[[Pair], int]
    held: int = 0  # how many pairs have not been admitted
    # Under True are those with a longer bad member.
    _waiting: dict[bool, deque[Pair]] = field(default_factory=lambda: {True: deque(), False: deque()})
    equal: bool = False  # whether pairs of equally long members have come

    def ends(self, room: int) -> bool:
        """Say whether no more pairs are worth looking at: two are needed, and none of equal lengths has come."""
        return room == 1 and not self.equal

    def admit(self, pair: Pair, room: int | None, taken: Set[str]) -> list[Pair]:
        """Return the pairs that can be taken now that one more has come: none, it alone, or one that waited and it.

        Args:
            pair: the one that has come.
            room: how many more pairs are wanted; None for no end.
            taken: the good sentences of those taken.
        """
        difference = self.difference(pair)
        if difference == 0:
            self.equal = True
            return [pair]
        # A pair of pairs needs room for two.
        partner = None if room == 1 else self._partner(self._waiting[difference < 0], pair, taken)
        if partner is None:
            self._waiting[difference > 0].append(pair)
            self.held += 1
            return []
        self.held -= 1
        return [partner, pair]

    @staticmethod
    def _partner(waiting: deque[Pair], pair: Pair, taken: Set[str]) -> Pair | None:
        """Take the first pair that waits and whose good sentence is another, and has not been taken since."""
        while waiting and waiting[0].good in taken:
            waiting.popleft()
        partner = next((one for one in waiting if one.good not in taken and one.good != pair.good), None)
        if partner is not None:
            waiting.remove(partner)
        return partner


class Shares(NamedTuple):
    """Of the pairs of a paradigm, how many have which longer member; the names are those of the report."""

    good_longer: int
    bad_longer: int
    equally_long: int
    # What taking the shorter member gets, in percent; a tie counts half; None without pairs.
    accuracy_of_shorter: float | None

    @property
    def lopsided(self) -> bool:
        """Whether the bad member is longer in so many pairs that length alone helps to tell it."""
        return self.bad_longer > LOPSIDED * (self.good_longer + self.bad_longer + self.equally_long)


def shares(pairs: Sequence[Pair], lengths: Lengths) -> Shares:
    """Count which member of each pair is longer."""
    differences = [lengths.difference(pair) for pair in pairs]
    good, bad = sum(one < 0 for one in differences), sum(one > 0 for one in differences)
    equal = len(pairs) - good - bad
    return Shares(good, bad, equal, round(100 * (bad + equal / 2) / len(pairs), 1) if pairs else None)
