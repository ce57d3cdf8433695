"""Agreement among people: raw, Fleiss' kappa and Krippendorff's alpha."""

import math

import numpy as np

from ucurve.eval.metrics.levels import Array


def raw_agreement(counts: Array) -> float:
    """Return the observed agreement of Fleiss 1971: the share of equal answers among the pairs of answers to an item.

    ``counts``, here and below, says how many people gave each label, float64[items, labels]; items with one answer say
    nothing. NaN where no item has two answers.
    """
    given = counts.sum(axis=1)  # how many answers each item has
    counts, given = counts[given >= 2], given[given >= 2]
    if not len(counts):
        return math.nan
    return float(((counts * (counts - 1)).sum(axis=1) / (given * (given - 1))).mean())


def fleiss_kappa(counts: Array) -> float:
    """Return Fleiss' kappa (1971): agreement beyond what the frequencies of the labels give by chance.

    Where items have different numbers of answers, the agreement of each item counts the same and the frequencies are
    those of all answers; with equal numbers this is Fleiss' formula. NaN where no item has two answers, or all answers
    are the same.
    """
    counts = counts[counts.sum(axis=1) >= 2]
    if not len(counts) or (counts.sum(axis=0) > 0).sum() < 2:
        return math.nan
    chance = float(((counts.sum(axis=0) / counts.sum()) ** 2).sum())  # that two answers are equal
    return (raw_agreement(counts) - chance) / (1 - chance)


def krippendorff_alpha(counts: Array) -> float:
    """Return Krippendorff's alpha for nominal labels (2011, "Computing Krippendorff's Alpha-Reliability", section C).

    It allows different numbers of answers. NaN where no item has two answers, or all answers are the same.
    """
    return _alpha(counts, 1 - np.eye(counts.shape[1]))


def interval_alpha(numbers: Array) -> float:
    """Return Krippendorff's alpha for float64[items, people], whose disagreement is the square of their difference.

    A person who gave no number has NaN. NaN is returned where no item has two numbers, or all numbers are the same.
    """
    values = np.unique(numbers[~np.isnan(numbers)])
    counts = (numbers[:, :, None] == values).sum(axis=1).astype(np.float64)
    return _alpha(counts, (values[:, None] - values[None, :]) ** 2)


def _alpha(counts: Array, distance: Array) -> float:
    """Return 1 - observed / expected disagreement, of values whose distances are float64[values, values]."""
    given = counts.sum(axis=1)
    counts, given = counts[given >= 2], given[given >= 2]
    totals = counts.sum(axis=0)  # how many answers have each value
    expected = float(totals @ distance @ totals)
    if not len(counts) or expected == 0:
        return math.nan
    observed = float((((counts @ distance) * counts).sum(axis=1) / (given - 1)).sum())
    return 1 - float(totals.sum() - 1) * observed / expected
