"""The weights that balance the features of a sample (MultiBLiMP, section 4.4)."""

from collections import Counter
from collections.abc import Sequence
from math import prod

from ucurve.eval.templates.pair import Pair

BALANCED = ("subject", "verb", "distance", "all_congruent", "all_incongruent")


def inverse_probabilities(candidates: Sequence[Pair]) -> list[float]:
    """Return P(x)^-1 over the sum of all P^-1, P(x) the product of the frequencies of the ``BALANCED`` values of x."""
    rows = [[_value(candidate, name) for name in BALANCED] for candidate in candidates]
    counts = [Counter(column) for column in zip(*rows, strict=True)]
    inverse = [prod(len(rows) / count[value] for count, value in zip(counts, row, strict=True)) for row in rows]
    total = sum(inverse)
    return [weight / total for weight in inverse]


def _value(candidate: Pair, name: str) -> object:
    value = candidate.columns[name]
    return value.lower() if isinstance(value, str) else value
