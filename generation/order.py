"""The orders in which candidates are taken until there are enough: by chance, by weights, in proportion to strata."""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeVar

from ucurve.templates.pair import Pair

Item = TypeVar("Item")
Order = Callable[[Sequence[Pair], random.Random], list[Pair]]
"""Returns all candidates in another order, drawn with the random numbers given."""


def shuffled(candidates: Sequence[Pair], rng: random.Random) -> list[Pair]:
    """Order candidates by chance, all orders equally likely."""
    return _by_key(candidates, [rng.random() for _ in candidates])


def weighted(weights_of: Callable[[Sequence[Pair]], Sequence[float]]) -> Order:
    """Return the order in which candidates come when they are drawn one by one in proportion to positive weights.

    The first n are a sample of n without replacement. Source: Efraimidis and Spirakis 2006, Weighted random sampling
    with a reservoir, algorithm A.
    """

    def order(candidates: Sequence[Pair], rng: random.Random) -> list[Pair]:
        # An exponential number is -log(u) / w, so the smallest ones are the largest u ^ (1 / w) of the paper.
        return _by_key(candidates, [rng.expovariate(weight) for weight in weights_of(candidates)])

    return order


def stratified(columns: Sequence[str]) -> Order:
    """Return an order of which every beginning holds each stratum about in proportion to its size.

    The values of the columns together are the stratum of a candidate, None for a column that it does not have.
    """

    def order(candidates: Sequence[Pair], rng: random.Random) -> list[Pair]:
        strata = [tuple(candidate.columns.get(name) for name in columns) for candidate in candidates]
        sizes, ranks, keys = Counter(strata), Counter[tuple[object, ...]](), [0.0] * len(candidates)
        for at in _by_key(range(len(candidates)), [rng.random() for _ in candidates]):
            stratum = strata[at]
            # The members of a stratum lie evenly between 0 and 1, each at a random place of its own interval.
            keys[at] = (ranks[stratum] + rng.random()) / sizes[stratum]
            ranks[stratum] += 1
        return _by_key(candidates, keys)

    return order


def _by_key(items: Sequence[Item], keys: Sequence[float]) -> list[Item]:
    return [items[at] for at in sorted(range(len(items)), key=keys.__getitem__)]
