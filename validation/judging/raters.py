"""Ratings of single sentences: who rated how, and the file that the analysis takes."""

import math

import numpy as np
import pandas as pd

from ucurve.eval.metrics.levels import Array
from ucurve.eval.metrics.ratings import SENTENCE, average_ratings
from ucurve.validation.judging.exclusion import Seconds


def judge_raters(ratings: pd.DataFrame, item_seconds: Seconds | None) -> pd.DataFrame:
    """Decide for each rater whether the ratings count, by the least median time for a sentence if there is one.

    Returns:
        ``annotator``, ``answers``, ``mean`` and ``spread`` (population standard deviation) of the ratings;
        ``others`` (Pearson's r with the mean of the other raters' z-scores; NaN where one of the two does not vary);
        ``item_seconds`` (median), ``excluded`` and ``reason``.
    """
    table, by_rater = rating_matrix(ratings), ratings.groupby("annotator")
    own = by_rater["rating"]
    facts = pd.DataFrame({"answers": own.count(), "mean": own.mean(), "spread": own.std(ddof=0)})
    facts["others"] = [_agreement_with_others(table.to_numpy(), place) for place in range(table.shape[1])]
    facts["item_seconds"] = by_rater["seconds"].median().round(3)
    slow = facts["item_seconds"] < (-math.inf if item_seconds is None else item_seconds)
    reasons = [
        f"a median of {seconds:.1f} s for an item, below {item_seconds:g} s" if excluded else ""
        for seconds, excluded in zip(facts["item_seconds"], slow, strict=True)
    ]
    return facts.assign(excluded=slow, reason=reasons).reset_index()


def rating_matrix(ratings: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each sentence, in the order of the answers, and a column for each rater, by name."""
    table = ratings.pivot_table(index="item", columns="annotator", values="rating")
    return table.loc[list(dict.fromkeys(ratings["item"]))]


def rating_file(ratings: pd.DataFrame) -> pd.DataFrame:
    """Return the file for ``ratings=``: ``sentence``, and a column for each rater."""
    table = rating_matrix(ratings)
    table.columns = pd.Index([f"rater {name}" for name in table.columns])
    return table.rename_axis(SENTENCE).reset_index()


def _agreement_with_others(numbers: Array, place: int) -> float:
    own, others = numbers[:, place], np.delete(numbers, place, axis=1)
    both = ~np.isnan(own) & ~np.isnan(others).all(axis=1)
    if both.sum() < 2:
        return math.nan
    mean = average_ratings(others[both])[0]
    if np.ptp(own[both]) == 0 or np.ptp(mean) == 0:
        return math.nan
    return float(np.corrcoef(own[both], mean)[0, 1])
