"""The n-grams of sentences, numbered order by order, so that only these are counted in a corpus."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ucurve.eval.scoring.text.sentences import Flags, Ids, Sentences

ORDERS = (1, 2, 3, 4, 5)
Numbers = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class SentenceNgrams:
    """The numbers of the n-grams that end at each token of some sentences."""

    grams: tuple[Numbers, ...]  # of the orders from 1, int32[tokens]; -1 where fewer tokens precede it in the sentence
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
    tokens, depths, places = _join(distinct, start)
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


def _join(sentences: Sequence[Sentences], start: int | None) -> tuple[Ids, Ids, list[Ids]]:
    """Join all sentences, each behind the start token: tokens, how many precede each, and where those of each are."""
    begun = 0 if start is None else 1
    places: list[Ids] = []
    length = 0
    for one in sentences:
        places.append(length + np.arange(len(one.tokens)) + begun * (one.owner + 1))
        length += len(one.tokens) + begun * len(one.texts)
    tokens = np.full(length, start or 0, dtype=np.int64)
    depths = np.zeros(length, dtype=np.int64)
    for one, place in zip(sentences, places, strict=True):
        tokens[place] = one.tokens
        depths[place] = np.arange(len(one.tokens)) - one.starts[one.owner] + begun
    return tokens, depths, places
