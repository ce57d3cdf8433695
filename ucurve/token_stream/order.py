"""The order of the training sequences: a pure function of data hash, data seed and sequence length."""

import abc
import hashlib
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ucurve.token_stream.joining import Joining
from ucurve.token_stream.store import TokenStore

_ROUNDS = 8  # of the Feistel network; another number would be another order of the data of every run
Share = Callable[[NDArray[np.int64]], NDArray[np.int64]]  # from the sequences of a batch to those of one process


class Order(abc.ABC):
    """Where in a token stream each sequence of a run begins: ``length`` tokens and one more, as the last target."""

    length: int

    def starts(self, first: int, count: int) -> NDArray[np.int64]:
        """Return start positions, shape [count], of sequences ``first`` to ``first + count - 1`` of the run."""
        return self.starts_at(np.arange(first, first + count, dtype=np.uint64))

    @abc.abstractmethod
    def starts_at(self, numbers: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the start positions of the sequences of some numbers in the run, counted from 0; both shape [n]."""

    @abc.abstractmethod
    def epochs_at(self, numbers: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return how often the text of each sequence was gone through before; both shape [n]."""


@dataclass(frozen=True)
class DataOrder(Order):
    """A permutation, for every epoch, of the sequences of one stream.

    Sequence s of a stream covers tokens ``[s * length, (s + 1) * length]``: ``length`` inputs and, one position on,
    their ``length`` targets.
    """

    data_sha256: str  # of the token stream
    seed: int
    length: int
    sequences: int  # so many whole ones are in the stream

    def starts_at(self, numbers: NDArray[np.uint64]) -> NDArray[np.int64]:
        """See ``Order``."""
        epochs, places = np.divmod(numbers, np.uint64(self.sequences))
        starts = np.empty(len(numbers), dtype=np.int64)
        for epoch in np.unique(epochs):
            chosen = epochs == epoch
            starts[chosen] = self._permute(places[chosen], int(epoch)).astype(np.int64) * self.length
        return starts

    def epochs_at(self, numbers: NDArray[np.uint64]) -> NDArray[np.int64]:
        """See ``Order``."""
        return (numbers // np.uint64(self.sequences)).astype(np.int64)

    def _permute(self, places: NDArray[np.uint64], epoch: int) -> NDArray[np.uint64]:
        """Map places to sequences one to one: a Feistel network on the smallest even-bit domain, walked into range."""
        # Eight bytes for each round, by the data, the seed, the length and the epoch alone.
        name = f"ucurve data order|{self.data_sha256}|{self.seed}|{self.length}|{epoch}"
        digest = hashlib.blake2b(name.encode(), digest_size=8 * _ROUNDS).digest()
        keys = [np.uint64(key) for key in np.frombuffer(digest, dtype="<u8")]
        # The domain has at most four times as many numbers as there are sequences, so few steps lead into range.
        half = max(1, (max(self.sequences - 1, 1).bit_length() + 1) // 2)
        values = _feistel(places, keys, half)
        outside = values >= self.sequences
        # A permutation of the domain leads each number back into range, and no two to the same place (cycle walking).
        while outside.any():
            values[outside] = _feistel(values[outside], keys, half)
            outside = values >= self.sequences
        return values


@dataclass(frozen=True)
class JoinedOrder(Order):
    """The sequences of several streams that lie one after the other, each stream in the order it has alone."""

    joining: Joining
    length: int
    parts: tuple[Order, ...]
    offsets: tuple[int, ...]  # positions at which the streams begin

    def starts_at(self, numbers: NDArray[np.uint64]) -> NDArray[np.int64]:
        """See ``Order``."""
        owners, places = self.joining.locate(numbers, self.length)
        starts = np.empty(len(numbers), dtype=np.int64)
        for owner in np.unique(owners).tolist():
            chosen = owners == owner
            starts[chosen] = self.parts[owner].starts_at(places[chosen]) + self.offsets[owner]
        return starts

    def epochs_at(self, numbers: NDArray[np.uint64]) -> NDArray[np.int64]:
        """See ``Order``; each stream has epochs of its own."""
        owners, places = self.joining.locate(numbers, self.length)
        epochs = np.empty(len(numbers), dtype=np.int64)
        for owner in np.unique(owners).tolist():
            chosen = owners == owner
            epochs[chosen] = self.parts[owner].epochs_at(places[chosen])
        return epochs


def make_order(store: TokenStore, seed: int, length: int) -> Order:
    """Return the order in which a run takes sequences from a stream, whose last target needs one token more."""
    if store.joining is not None:
        offsets = np.cumsum([0, *(part.length for part in store.parts[:-1])]).tolist()
        parts = tuple(make_order(part, seed, length) for part in store.parts)
        return JoinedOrder(store.joining, length, parts, tuple(offsets))
    whole = (store.length - 1) // length
    assert whole > 0, "the budget check refuses a stream without a whole sequence"
    return DataOrder(store.sha256, seed, length, whole)


def _feistel(values: NDArray[np.uint64], keys: list[np.uint64], half: int) -> NDArray[np.uint64]:
    """Permute numbers of twice ``half`` bits by rounds of a Feistel network, one for each key."""
    shift, mask = np.uint64(half), np.uint64((1 << half) - 1)
    left, right = values >> shift, values & mask
    for key in keys:
        left, right = right, left ^ (mix(right ^ key) & mask)
    return (left << shift) | right


def mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the finaliser of splitmix64 (Steele et al. 2014), which spreads every input bit over all output bits."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


Shorter = Sequence[tuple[int, int]]  # lengths of sequences, and for how many tokens each is that of a run


def split_steps(shorter: Shorter, length: int, tokens: int, last: int = sys.maxsize) -> list[tuple[int, range]]:
    """Return the lengths of sequences in the order of a run, and its 1-based steps up to ``last`` that have each.

    A step has ``tokens`` tokens. A shorter length is that of the steps that its tokens hold, ``length`` of the others.
    """
    stages, first = [], 1
    for stage, budget in shorter:
        end = min(first + budget // tokens, last + 1)
        stages.append((stage, range(first, end)))
        first = end
    return [*stages, (length, range(first, last + 1))]


def draws(name: str, first: int, shape: tuple[int, ...], count: int) -> list[NDArray[np.uint64]]:
    """Return ``count`` random numbers of 64 bits for each place, by name and place alone, from place ``first`` on.

    Each array has ``shape``.
    """
    digest = hashlib.blake2b(f"ucurve {name}".encode(), digest_size=16 * count).digest()
    keys = np.frombuffer(digest, dtype="<u8").reshape(count, 2)  # uint64[count, 2]
    places = np.arange(first, first + int(np.prod(shape)), dtype=np.uint64).reshape(shape)
    return [mix(mix(places ^ before) + after) for before, after in keys]


@dataclass(frozen=True)
class Batches:
    """The global batches of a run, each found from its step number alone.

    A run may begin with ``shorter`` sequences: each of these steps has the batch that it has in a run of that length.
    """

    store: TokenStore
    order: Order
    sequences: int
    shorter: tuple[tuple[range, "Batches"], ...] = ()

    @staticmethod
    def over(store: TokenStore, seed: int, length: int, sequences: int, shorter: Shorter = ()) -> "Batches":
        """Return batches of so many sequences over a stream; in all steps they have equally many tokens."""
        tokens = length * sequences
        *stages, _ = split_steps(shorter, length, tokens)
        parts = [(steps, Batches(store, make_order(store, seed, one), tokens // one)) for one, steps in stages]
        return Batches(store, make_order(store, seed, length), sequences, tuple(parts))

    def at(self, step: int) -> "Batches":
        """Return the batches of equally long sequences that have 1-based ``step``."""
        return next((part for steps, part in self.shorter if step in steps), self)

    def stages(self, after: int, to: int) -> Iterator[tuple["Batches", int, int]]:
        """Yield the batches of each length among the steps ``after + 1`` to ``to``, with such bounds of their own."""
        for steps, part in self.shorter:
            end = min(to, steps.stop - 1)
            if after < end:
                yield part, after, end
                after = end
        if after < to:
            yield self, after, to

    def starts_of_step(self, step: int) -> NDArray[np.int64]:
        """Return the start positions in the stream, shape [sequences], of the sequences of 1-based ``step``."""
        return self.at(step).starts_between(step - 1, step)

    def starts_between(self, after: int, to: int) -> NDArray[np.int64]:
        """Return the start positions in the steps ``after + 1`` to ``to``, which have one length."""
        return self.order.starts(after * self.sequences, (to - after) * self.sequences)

    def of_step(self, step: int, share: Share | None = None) -> NDArray[np.int64]:
        """Return the windows of 1-based ``step``, shape [sequences, length + 1]: inputs and their last target.

        ``share`` takes a part of the sequences; only their tokens are read.
        """
        # Of int64, shape [sequences].
        starts = self.starts_of_step(step)
        return self.store.windows(starts if share is None else share(starts), self.at(step).order.length + 1)

    def count_bytes(self, step: int, windows: NDArray[np.int64]) -> float:
        """Return the UTF-8 bytes of text that the targets of 1-based ``step`` are; see ``TokenStore.count_bytes``."""
        return self.store.count_bytes(self.starts_of_step(step), windows)

    def between(self, after: int, to: int, tokens: int) -> Iterator[NDArray[np.int64]]:
        """Yield the windows of the steps ``after + 1`` to ``to``, in blocks of about ``tokens`` tokens."""
        for part, begin, end in self.stages(after, to):
            length, starts = part.order.length, part.starts_between(begin, end)
            rows = max(1, tokens // length)
            for first in range(0, len(starts), rows):
                yield self.store.windows(starts[first : first + rows], length + 1)
