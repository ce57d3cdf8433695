"""The n-grams that a run had seen at a step, counted from step to step as far as scores are asked for.

The n-grams of the sentences are numbered order by order, and these alone are counted in the training tokens.

Their probabilities are smoothed by interpolated Witten-Bell (Witten and Bell 1991; Chen and Goodman 1999, section 2.5).
Modified Kneser-Ney would need the different tokens before every n-gram and the counts of the counts of a whole corpus.
"""

import time
from collections.abc import Collection
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ucurve.eval.models.unigram import log_unigrams
from ucurve.eval.scoring.text.sentences import Flags, Ids, Scores, Sentences
from ucurve.progress import log_line
from ucurve.token_stream.order import Batches

ORDERS = (1, 2, 3, 4, 5)
Numbers = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class SentenceNgrams:
    """The numbers of the n-grams that end at each token of some sentences."""

    # Of the orders from 1, int32[tokens]; -1 where fewer tokens precede it in the sentence.
    grams: tuple[Numbers, ...]
    # Of the orders from 2, int32[tokens]: the number of the same n-gram without its last token, among those of the
    # order below.
    contexts: tuple[Numbers, ...]


@dataclass(frozen=True, eq=False)
class Inventory:
    """The n-grams of some sentences, with the start token where sentences are read after one, numbered from 0 by order.

    The key of one of order n above 1 is the number of its first n - 1 tokens times the vocabulary, plus its last token.
    """

    vocabulary: int  # one more than the largest token id
    unigrams: Ids  # int64[vocabulary], the number of each token; -1 for a token that no sentence has
    keys: tuple[Ids, ...]  # of the orders from 2, int64[n-grams], sorted
    # Of the orders from 1, bool[n-grams]: whether it is the context of a token in a sentence.
    continued: tuple[Flags, ...]
    sentences: dict[Sentences, SentenceNgrams]  # where the n-grams are


def list_ngrams(sentences: Collection[Sentences], start: int | None, vocabulary: int) -> Inventory:
    """Number the n-grams of sentences, each after the token ``start``; ``vocabulary`` is the largest id + 1."""
    distinct = list(dict.fromkeys(sentences))
    # All sentences, each behind the start token: where those of each are, the tokens, and how many precede each.
    begun = 0 if start is None else 1
    places: list[Ids] = []
    length = 0
    for one in distinct:
        places.append(length + np.arange(len(one.tokens)) + begun * (one.owner + 1))
        length += len(one.tokens) + begun * len(one.texts)
    tokens = np.full(length, start or 0, dtype=np.int64)
    depths = np.zeros(length, dtype=np.int64)
    for one, place in zip(distinct, places, strict=True):
        tokens[place] = one.tokens
        depths[place] = np.arange(len(one.tokens)) - one.starts[one.owner] + begun
    types, numbers = np.unique(tokens, return_inverse=True)
    unigrams = np.full(vocabulary, -1, dtype=np.int64)
    unigrams[types] = np.arange(len(types))
    grams, keys, continued, sizes = [numbers], [], [], [len(types)]
    for order in ORDERS[1:]:
        ends = np.flatnonzero(depths >= order - 1)
        before = grams[-1][ends - 1]
        found, numbers = np.unique(before * vocabulary + tokens[ends], return_inverse=True)
        continued.append(np.bincount(before, minlength=sizes[-1]) > 0)
        grams.append(np.full(len(tokens), -1, dtype=np.int64))
        grams[-1][ends] = numbers
        keys.append(found)
        sizes.append(len(found))
    continued.append(np.zeros(sizes[-1], dtype=bool))
    standing = {}
    for one, place in zip(distinct, places, strict=True):
        numbers_here = tuple(gram[place].astype(np.int32) for gram in grams)
        contexts = (np.where(gram[place] < 0, -1, shorter[place - 1]) for shorter, gram in pairwise(grams))
        standing[one] = SentenceNgrams(numbers_here, tuple(context.astype(np.int32) for context in contexts))
    return Inventory(vocabulary, unigrams, tuple(keys), tuple(continued), standing)


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
        vocabulary = self._inventory.vocabulary
        self.unigrams += np.bincount(sequences[:, 1:].ravel(), minlength=vocabulary)
        self.tokens += sequences[:, 1:].size
        width, tokens = sequences.shape[1], sequences.ravel()
        ends, numbers = np.arange(len(tokens)), self._inventory.unigrams[tokens]
        for level in range(len(ORDERS) - 1):
            # N-grams that are contexts in a sentence and before another token of their sequence.
            alive = (numbers >= 0) & (ends % width != width - 1)
            ends, numbers = ends[alive], numbers[alive]
            alive = self._inventory.continued[level][numbers]
            ends, contexts = ends[alive] + 1, numbers[alive]
            keys = contexts * vocabulary + tokens[ends]
            counted = self._counted[tokens[ends]]
            self.followed[level] += np.bincount(contexts[counted], minlength=len(self.followed[level]))
            new = self._followers[level].add(keys[counted])
            self.distinct[level] += np.bincount(new // vocabulary, minlength=len(self.distinct[level]))
            # Where which n-grams of the next order end.
            known = self._inventory.keys[level]
            numbers = np.minimum(np.searchsorted(known, keys), max(len(known) - 1, 0))
            there = known[numbers] == keys if len(known) else np.zeros(len(keys), dtype=bool)
            self.grams[level] += np.bincount(numbers[there & counted], minlength=len(known))
            ends, numbers = ends[there], numbers[there]


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
            merged.sort(kind="stable")  # which goes through two sorted parts once
            self._parts[-1] = merged
        return new


_BLOCK = 2**20  # tokens that are counted at once
_SECONDS_BETWEEN_LINES = 10.0
SMOOTHING = "interpolated Witten-Bell, counts within a training sequence, 1"


def log_probabilities(
    counts: NgramCounts, ngrams: SentenceNgrams, tokens: Ids, order: int, excluded: Collection[int], add_k: float
) -> Scores:
    """Compute the natural log probability of each token after the ``order - 1`` tokens before it in its sentence.

    With c the counts, h a context, h' the context without its first token, and N1+(h, .) the number of different tokens
    after h: p(w | h) = (c(h w) + N1+(h, .) p(w | h')) / (c(h) + N1+(h, .)), and p(w | h') where h was never seen. The
    probabilities of order 1 are those of ``log_unigrams``. Over the tokens that are not excluded, they sum to 1 after
    every context.
    """
    probabilities = np.exp(log_unigrams(counts.unigrams, excluded, add_k))[tokens]
    for level in range(order - 1):
        gram, context = ngrams.grams[level + 1], ngrams.contexts[level]
        seen = np.flatnonzero(context >= 0)
        seen = seen[counts.followed[level][context[seen]] > 0]
        followed, distinct = counts.followed[level][context[seen]], counts.distinct[level][context[seen]]
        share = counts.grams[level][gram[seen]] + distinct * probabilities[seen]
        probabilities[seen] = share / (followed + distinct)
    return np.asarray(np.log(probabilities))


class SeenNgrams:
    """Counts of the n-grams of sentences in the tokens of a run up to a step, in place of a loaded model."""

    def __init__(
        self,
        training: Batches,
        sentences: Collection[Sentences],
        start: int | None,
        vocabulary: int,
        excluded: Collection[int],  # ids that no sentence is made of
    ) -> None:
        self._training, self._excluded = training, excluded
        self._inventory = list_ngrams(sentences, start, vocabulary)
        self._counted = np.ones(vocabulary, dtype=bool)
        self._counted[list(excluded)] = False
        self._step, self._counts = 0, NgramCounts(self._inventory, self._counted)

    @property
    def followers(self) -> tuple[int, ...]:
        """How many different tokens after contexts of each order are kept, 8 bytes each."""
        return self._counts.followers

    def up_to(self, step: int) -> "SeenNgrams":
        """Continue counting up to a step; from the beginning if more is counted already."""
        if step < self._step:
            self._step, self._counts = 0, NgramCounts(self._inventory, self._counted)
        last_line = time.monotonic()
        for block in self._training.between(self._step, step, _BLOCK):
            self._counts.add(block)
            if time.monotonic() - last_line > _SECONDS_BETWEEN_LINES:
                last_line = time.monotonic()
                log_line(f"n-grams counted in {self._counts.tokens:,} training tokens, on the way to step {step}")
        self._step = step
        return self

    def log_probabilities(self, sentences: Sentences, order: int, add_k: float) -> Scores:
        """Compute natural log probabilities of the tokens of sentences by the model of an order, float64[tokens]."""
        ngrams = self._inventory.sentences[sentences]
        return log_probabilities(self._counts, ngrams, sentences.tokens, order, self._excluded, add_k)
