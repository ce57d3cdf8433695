"""The common form of every source of pairs: what a maker gives, and how pairs are chosen from it.

A maker is a folder with a module ``make`` that has two names: ``Settings``, a frozen dataclass that pydantic checks,
whose fields are the keys of a file of ``conf/source``; and ``make(settings, seed)``, which returns a ``Made``. A key
``stage`` that is not ``PAIRS`` asks for tables alone.
"""

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path

from eval.templates.pair import Draw, DrawFailed, Pair, Reason, Value, draw_pairs, fault_of, seeded
from generation.lengths import Balance, Lengths
from generation.order import Order, shuffled

SURPLUS = "more than asked for"
PAIRS = "pairs"
UNBALANCED = "no pair of opposite lengths"


@dataclass(frozen=True, kw_only=True)
class Paradigm:
    """A paradigm to make pairs of.

    Attributes:
        name: names its file too.
        note: what the user should know of it, such as why nothing can be made; empty when there is nothing.
    """

    name: str
    phenomenon: str
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Drawn(Paradigm):
    """A paradigm whose pairs are drawn one by one, as from a grammar."""

    draw: Draw


@dataclass(frozen=True, kw_only=True)
class Listed(Paradigm):
    """A paradigm whose candidates are all known, as from a treebank.

    Attributes:
        candidates: in an order that depends on the input alone.
        dropped: how many were dropped, by reason.
        order: in which candidates are taken until there are enough.
    """

    candidates: Sequence[Pair]
    dropped: Mapping[str, int] = field(default_factory=dict)
    order: Order = shuffled


@dataclass(frozen=True, kw_only=True)
class Made:
    """What a maker gives.

    Attributes:
        paradigms: in the order in which they are made and reported.
        card: keys of the benchmark's card (``eval.benchmarks.card.Card``), such as language, license, citation,
            columns, scorer and quirks; name and files are added.
        inputs: the files that were read; the card names them with their hashes.
        libraries: whose versions the card gives.
        across: whether a pair may stand in one paradigm only.
        default_pairs: how many pairs of a paradigm are made where the user does not say; None for all.
        tables: what stages found, as rows, by the name of the file that they are written to.
        notes: what the user should know of the whole.
    """

    paradigms: Sequence[Drawn | Listed]
    card: Mapping[str, object]
    inputs: Sequence[Path] = ()
    libraries: Sequence[str] = ()
    across: bool = False
    default_pairs: int | None = None
    tables: Mapping[str, Sequence[Mapping[str, Value]]] = field(default_factory=dict)
    notes: Sequence[str] = ()


@dataclass
class Outcome:
    """The pairs of a paradigm.

    Attributes:
        pairs: at most as many as were asked for, in the order in which they are written.
        candidates: pairs that were looked at: draws, or candidates and what was dropped before.
        reasons: how many of these were not kept, by reason.
        facts: what else the report says, such as lengths and what a filter found.
    """

    paradigm: Paradigm
    pairs: list[Pair] = field(default_factory=list)
    candidates: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    facts: dict[str, Value] = field(default_factory=dict)


class Chooser:
    """Chooses the pairs of one paradigm after the other; the result is a function of paradigms, ``pairs`` and seed.

    No pair has two equal members, and no good sentence stands twice in a paradigm.

    Args:
        pairs: how many of each paradigm; None for all candidates of those that are listed.
        across: whether a pair may stand in one paradigm only.
        lengths: which pairs are left out for their lengths.
    """

    def __init__(self, pairs: int | None, seed: int, across: bool = False, lengths: Lengths | None = None) -> None:
        self._pairs = pairs
        self._seed = seed
        self._across = across
        self._lengths = lengths or Lengths()
        self._taken: set[tuple[str, str]] = set()

    def choose(self, paradigm: Drawn | Listed) -> Outcome:
        """Choose the pairs of a paradigm.

        A paradigm whose draws run out keeps the pairs it has.
        """
        rng = seeded(paradigm.name, self._seed)
        taking = _Taking(self._pairs, self._lengths, self._taken if self._across else set(), Outcome(paradigm))
        outcome = taking.outcome
        if isinstance(paradigm, Drawn):
            assert self._pairs is not None
            for drawn in draw_pairs(paradigm.draw, 0 if taking.full else self._pairs, rng, taking.goods):
                outcome.candidates += 1
                taking.offer(drawn)
                if taking.full:
                    break
        else:
            outcome.candidates = len(paradigm.candidates) + sum(paradigm.dropped.values())
            outcome.reasons.update(paradigm.dropped)
            for pair in paradigm.order(paradigm.candidates, rng):
                taking.offer(pair)
        taking.end()
        self._taken.update((pair.good, pair.bad) for pair in outcome.pairs)
        return outcome


class _Taking:
    """The pairs of one paradigm while they are taken.

    Args:
        pairs: how many are wanted; None for all.
        elsewhere: pairs of other paradigms, which may not stand in this one.
    """

    def __init__(self, pairs: int | None, lengths: Lengths, elsewhere: Set[tuple[str, str]], outcome: Outcome) -> None:
        self.outcome = outcome
        self._pairs = pairs
        self._lengths = lengths
        self._elsewhere = elsewhere
        self.goods = set[str]()
        self._balance = Balance(lengths.difference) if lengths.balanced else None

    @property
    def full(self) -> bool:
        """Whether no more pairs can be taken."""
        room = self._room()
        return room == 0 or (room is not None and self._balance is not None and self._balance.ends(room))

    def offer(self, pair: Pair | DrawFailed) -> None:
        """Take a pair, hold it back, or count why it is left out."""
        if isinstance(pair, DrawFailed):
            self.outcome.reasons[pair.reason] += 1
            return
        fault = SURPLUS if self.full else self._fault(pair)
        if fault:
            self.outcome.reasons[fault] += 1
            return
        balance = self._balance
        for one in [pair] if balance is None else balance.admit(pair, self._room(), self.goods):
            self.goods.add(one.good)
            self.outcome.pairs.append(one)

    def end(self) -> None:
        """Count what is still held back."""
        if self._balance is not None and self._balance.held:
            self.outcome.reasons[UNBALANCED] += self._balance.held

    def _room(self) -> int | None:
        return None if self._pairs is None else self._pairs - len(self.outcome.pairs)

    def _fault(self, pair: Pair) -> str | None:
        failure = fault_of(pair, self.goods)
        if failure is not None:
            return failure.reason
        if (pair.good, pair.bad) in self._elsewhere:
            return Reason.DUPLICATE
        return None if self._lengths.fits(pair) else self._lengths.too_long
