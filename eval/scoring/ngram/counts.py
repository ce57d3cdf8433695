"""Counts of the n-grams of an inventory in a growing corpus, with the number of different tokens after each context."""

import numpy as np

from ucurve.eval.scoring.ngram.inventory import ORDERS, Inventory
from ucurve.eval.scoring.text.sentences import Flags, Ids


class NgramCounts:
    """Counts of n-grams in the training sequences that were added so far.

    Each token but the first of a sequence is counted after the tokens before it in the same sequence. Tokens that no
    sentence is made of, such as the document separator (not in ``counted``, bool[vocabulary]), are contexts and not
    counted themselves. Memory is that of the inventory, and 8 bytes for each different token after each context.
    """

    def __init__(self, inventory: Inventory, counted: Flags) -> None:
        self._inventory, self._counted = inventory, counted
        sizes = [len(one) for one in inventory.continued]
        self.tokens = 0
        self.unigrams = np.zeros(inventory.vocabulary, dtype=np.int64)
        self.grams = [np.zeros(size, dtype=np.int64) for size in sizes[1:]]
        self.followed = [np.zeros(size, dtype=np.int64) for size in sizes[:-1]]
        self.distinct = [np.zeros(size, dtype=np.int64) for size in sizes[:-1]]
        self._followers = [GrowingSet() for _ in ORDERS[1:]]

    @property
    def followers(self) -> tuple[int, ...]:
        """How many different tokens after contexts of these orders are kept, 8 bytes each."""
        return tuple(map(len, self._followers))

    def add(self, sequences: Ids) -> None:
        """Count training sequences, int64[sequences, length + 1], the inputs and their last target."""
        self.unigrams += np.bincount(sequences[:, 1:].ravel(), minlength=self._inventory.vocabulary)
        self.tokens += sequences[:, 1:].size
        width, tokens = sequences.shape[1], sequences.ravel()
        ends, numbers = np.arange(len(tokens)), self._inventory.unigrams[tokens]
        for level in range(len(ORDERS) - 1):
            # N-grams that are contexts in a sentence and before another token of their sequence.
            alive = (numbers >= 0) & (ends % width != width - 1)
            ends, numbers = ends[alive], numbers[alive]
            alive = self._inventory.continued[level][numbers]
            ends, numbers = ends[alive] + 1, numbers[alive]
            ends, numbers = self._extend(level, ends, numbers, tokens[ends])

    def _extend(self, level: int, ends: Ids, contexts: Ids, tokens: Ids) -> tuple[Ids, Ids]:
        """Count the tokens after contexts and return where which n-grams of the next order end."""
        keys = contexts * self._inventory.vocabulary + tokens
        counted = self._counted[tokens]
        self.followed[level] += np.bincount(contexts[counted], minlength=len(self.followed[level]))
        new = self._followers[level].add(keys[counted])
        self.distinct[level] += np.bincount(new // self._inventory.vocabulary, minlength=len(self.distinct[level]))
        known = self._inventory.keys[level]
        numbers = np.minimum(np.searchsorted(known, keys), max(len(known) - 1, 0))
        there = known[numbers] == keys if len(known) else np.zeros(len(keys), dtype=bool)
        self.grams[level] += np.bincount(numbers[there & counted], minlength=len(known))
        return ends[there], numbers[there]


class GrowingSet:
    """A set of numbers to which many are added at once, as sorted arrays, each at most half as long as the one before.

    An array that has become longer is merged with the one before it.
    """

    def __init__(self) -> None:
        self._parts: list[Ids] = []

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def add(self, numbers: Ids) -> Ids:
        """Add numbers and return those that were not in the set, sorted, each once."""
        new = np.unique(numbers)
        for part in self._parts:
            place = np.minimum(np.searchsorted(part, new), len(part) - 1)
            new = new[part[place] != new]
        if len(new):
            self._parts.append(new)
        while len(self._parts) > 1 and len(self._parts[-2]) < 2 * len(self._parts[-1]):
            last = self._parts.pop()
            merged = np.concatenate([self._parts[-1], last])
            merged.sort(kind="stable")
            self._parts[-1] = merged
        return new
