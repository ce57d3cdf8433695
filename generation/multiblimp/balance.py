"""The weights that balance the features of a sample (MultiBLiMP, section 4.4)."""

from collections import Counter
from collections.abc import Sequence

from eval.templates.pair import Pair

BALANCED = ("subject", "verb", "distance", "all_congruent", "all_incongruent")


def inverse_probabilities(candidates: Sequence[Pair]) -> list[float]:
    """Return Q(x), the inverse of the probability of a candidate's features, taken as independent; they sum to 1.

    Q(x) = P(x)^-1 / sum of P^-1 over all candidates, with P(x) the product of the relative frequencies of the
    candidate's values of ``BALANCED``.
    """
    counts = {name: Counter(_value(candidate, name) for candidate in candidates) for name in BALANCED}
    inverse = []
    for candidate in candidates:
        product = 1.0
        for name in BALANCED:
            product *= len(candidates) / counts[name][_value(candidate, name)]
        inverse.append(product)
    total = sum(inverse)
    return [weight / total for weight in inverse]


def _value(candidate: Pair, name: str) -> object:
    value = candidate.columns[name]
    return value.lower() if isinstance(value, str) else value
