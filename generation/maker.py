"""The common form of every source of pairs: what a maker gives, and how pairs are chosen from it.

A maker is a folder with a module ``make`` that has two names: ``Settings``, a frozen dataclass that pydantic checks,
whose fields are the keys of a file of ``conf/source``; and ``make(settings, seed)``, which returns a ``Made``. A key
``stage`` that is not ``PAIRS`` asks for tables alone. Its module ``check``, if it has one, has ``CHECKS``.
"""

import importlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

import pandas as pd

from ucurve.errors import unknown_name
from ucurve.generation.differences import Lemmas
from ucurve.generation.lengths import Balance, Lengths
from ucurve.generation.order import Order, shuffled
from ucurve.templates.pair import Draw, DrawFailed, Pair, Reason, Value, draw_pairs, fault_of, seeded

MAKERS = Path(__file__).parent  # each maker is a folder here, with the name of its source
SURPLUS = "more than asked for"
PAIRS = "pairs"
UNBALANCED = "no pair of opposite lengths"

CheckOf = Callable[[pd.DataFrame], pd.Series]
"""A check: returns for each pair of a table whether it breaks a rule."""


@dataclass(frozen=True, kw_only=True)
class Paradigm:
    """A paradigm to make pairs of; its name is that of its file."""

    name: str
    phenomenon: str
    note: str = ""  # what the user should know of it, such as why nothing can be made


@dataclass(frozen=True, kw_only=True)
class Drawn(Paradigm):
    """A paradigm whose pairs are drawn one by one, as from a grammar."""

    draw: Draw


@dataclass(frozen=True, kw_only=True)
class Listed(Paradigm):
    """A paradigm whose candidates are all known, as from a treebank, in an order that depends on the input alone."""

    candidates: Sequence[Pair]
    dropped: Mapping[str, int] = field(default_factory=dict)  # how many were dropped before, by reason
    order: Order = shuffled  # in which candidates are taken until there are enough


@dataclass(frozen=True, kw_only=True)
class Made:
    """What a maker gives."""

    paradigms: Sequence[Drawn | Listed]  # in the order in which they are made and reported
    # Keys of the benchmark's card, such as language and license; name and files are added.
    card: Mapping[str, object]
    inputs: Sequence[Path] = ()  # the files that were read; the card names them with their hashes
    libraries: Sequence[str] = ()  # whose versions the card gives
    lemmas: Lemmas | None = None  # of the words, where the source knows them
    across: bool = False  # whether a pair may stand in one paradigm only
    word: str = (
        ""  # the column with the word that pairs change, of which it is told where one is most of a paradigm
    )
    default_pairs: int | None = None  # of a paradigm, where the user does not say; None for all
    # The tables of stages, by the file's name.
    tables: Mapping[str, Sequence[Mapping[str, Value]]] = field(default_factory=dict)
    notes: Sequence[str] = ()  # what the user should know of the whole


@dataclass
class Outcome:
    """The pairs of a paradigm, in the order in which they are written."""

    paradigm: Paradigm
    pairs: list[Pair] = field(default_factory=list)
    candidates: int = 0  # how many were looked at: draws, or candidates and what was dropped before
    reasons: Counter[str] = field(default_factory=Counter)  # how many of these were not kept, by reason
    facts: dict[str, Value] = field(default_factory=dict)  # what else the report says, such as lengths


def each_pair(breaks: Callable[..., bool], *columns: str) -> CheckOf:
    """Return the check that looks at one pair at a time, at what it has in these columns."""

    def check(pairs: pd.DataFrame) -> pd.Series:
        rows = zip(*(pairs[name] for name in columns), strict=True)
        return pd.Series([breaks(*row) for row in rows], index=pairs.index, dtype=bool)

    return check


def makers() -> list[str]:
    """Return the names of all makers, sorted."""
    return sorted(file.parent.name for file in MAKERS.glob("*/make.py"))


def import_part(source: str, part: str) -> ModuleType:
    """Import a module of the maker of a source."""
    if source not in makers():
        raise unknown_name("source", source, makers())
    return importlib.import_module(f"ucurve.generation.{source}.{part}")


class Chooser:
    """Chooses the pairs of one paradigm after the other; the result is a function of paradigms, ``pairs`` and seed.

    No pair has two equal members, and no good sentence stands twice in a paradigm.
    """

    def __init__(
        self, pairs: int | None, seed: int, across: bool = False, lengths: Lengths | None = None
    ) -> None:
        self._pairs = pairs  # of each paradigm; None for all candidates of those that are listed
        self._seed = seed
        self._across = across  # whether a pair may stand in one paradigm only
        self._lengths = lengths or Lengths()
        self._taken: set[tuple[str, str]] = set()

    def choose(self, paradigm: Drawn | Listed) -> Outcome:
        """Choose the pairs of a paradigm; one whose draws run out keeps the pairs it has."""
        # Each paradigm has its own random numbers, so that its draws do not depend on which others are made.
        rng = seeded(paradigm.name, self._seed)
        outcome = Outcome(paradigm)
        taking = _Taking(self._pairs, self._lengths, self._taken if self._across else set(), outcome)
        if isinstance(paradigm, Drawn):
            assert self._pairs is not None  # all pairs are refused for what is drawn
            for drawn in draw_pairs(paradigm.draw, 0 if taking.full else self._pairs, rng, taking.goods):
                outcome.candidates += 1
                taking.offer(drawn)
                if taking.full:
                    break
        else:
            outcome.candidates = len(paradigm.candidates) + sum(paradigm.dropped.values())
            # What a maker dropped before counts as a candidate that was not kept.
            outcome.reasons.update(paradigm.dropped)
            for pair in paradigm.order(paradigm.candidates, rng):
                taking.offer(pair)
        # Those that still wait for a pair of the opposite length.
        outcome.reasons.update({UNBALANCED: taking.balance.held} if taking.balance.held else {})
        self._taken.update((pair.good, pair.bad) for pair in outcome.pairs)
        return outcome


class _Taking:
    """The pairs of one paradigm while they are taken."""

    def __init__(
        self, pairs: int | None, lengths: Lengths, elsewhere: Set[tuple[str, str]], outcome: Outcome
    ) -> None:
        self.goods = set[str]()
        self._outcome = outcome
        self._pairs = pairs  # how many are wanted; None for all
        self._lengths = lengths
        self._elsewhere = elsewhere  # pairs of other paradigms, which may not stand in this one
        # Where the lengths need no balance, all pairs pass as those of equal lengths do.
        self.balance = Balance(lengths.difference) if lengths.balanced else Balance(lambda _pair: 0, equal=True)

    @property
    def full(self) -> bool:
        """Whether no more pairs can be taken."""
        room = self._room()
        return room is not None and (room == 0 or self.balance.ends(room))

    def offer(self, pair: Pair | DrawFailed) -> None:
        """Take a pair, hold it back, or count why it is left out."""
        if isinstance(pair, DrawFailed):
            reason = pair.reason
        elif self.full:  # after the last pair the others are only counted, for the report
            reason = SURPLUS
        elif (failure := fault_of(pair, self.goods)) is not None:
            reason = failure.reason
        elif (pair.good, pair.bad) in self._elsewhere:
            reason = Reason.DUPLICATE
        elif not self._lengths.fits(pair):
            reason = self._lengths.too_long
        else:
            for one in self.balance.admit(pair, self._room(), self.goods):
                self.goods.add(one.good)
                self._outcome.pairs.append(one)
            return
        self._outcome.reasons[reason] += 1

    def _room(self) -> int | None:
        return None if self._pairs is None else self._pairs - len(self._outcome.pairs)
