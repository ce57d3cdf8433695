"""Human ratings of sentences: read, averaged over raters, and compared with linked values."""

import math
from pathlib import Path

import numpy as np
import pandas as pd

from ucurve.errors import UserError
from ucurve.eval.linking import Linking
from ucurve.eval.metrics.levels import Array
from ucurve.eval.pairs import pair_table
from ucurve.storage.tabular import read_number, read_rows

SENTENCE = "sentence"
FEWEST_RATED = 3  # sentences; any two points correlate perfectly


def read_ratings(path: Path) -> pd.DataFrame:
    """Read ratings and average them: every rater's are z-scored first (ZhoBLiMP, appendix A).

    The file is csv in UTF-8 with the column ``sentence`` and one of numbers for each rater, who may leave sentences
    out. ``rating`` is the mean of the z-scores (population standard deviation), ``raters`` their number.
    """
    rows = read_rows(path, "fit.ratings", (SENTENCE,))
    raters_there = [column for column in rows[0][1] if column != SENTENCE]
    if not raters_there:
        raise UserError(f"{path}:1: no column of ratings beside {SENTENCE!r}; give one for each rater")
    for line, row in rows:
        if not row[SENTENCE].strip():
            raise UserError(f"{path}:{line}: {SENTENCE!r} is empty")
    read = [[_parse_rating(row[rater], rater, f"{path}:{line}") for rater in raters_there] for line, row in rows]
    numbers = np.array(read, dtype=np.float64)
    sentences = [row[SENTENCE] for _, row in rows]
    if len(sentences) < FEWEST_RATED:
        raise UserError(f"{path}: {len(sentences)} rated sentences; {FEWEST_RATED} at least are needed")
    for place in np.flatnonzero(np.isnan(numbers).all(axis=1)):
        raise UserError(f"{path}:{rows[place][0]}: no rating of {sentences[place]!r}")
    rating, raters = average_ratings(numbers)
    if np.ptp(rating) < 1e-12:
        raise UserError(f"{path}: the ratings do not vary, so that nothing can be fitted to them")
    return pd.DataFrame({SENTENCE: sentences, "rating": rating, "raters": raters})


def average_ratings(numbers: Array) -> tuple[Array, np.ndarray]:
    """Average ratings over raters, each rater's z-scored first (ZhoBLiMP, appendix A), and count the raters.

    Ratings are float64[sentences, raters], NaN where a rater gave none; every sentence has one at least.
    """
    given = ~np.isnan(numbers)
    raters, rated = given.sum(axis=1), np.maximum(given.sum(axis=0), 1)
    centered = np.where(given, numbers - np.where(given, numbers, 0).sum(axis=0) / rated, 0)
    spread = np.sqrt((centered**2).sum(axis=0) / rated)
    # Who gives one number throughout says nothing: 0.
    z_scores = centered / np.where(spread > 1e-12, spread, np.inf)
    return np.where(given, z_scores, 0.0).sum(axis=1) / raters, raters


def rating_pairs(ratings: pd.DataFrame) -> pd.DataFrame:
    """Make a pair table of rated sentences, each as both members of its pair, so that scorers can score them."""
    names = {"UID": "ratings", "phenomenon": "ratings"}
    records = [
        (f"ratings row {row}", {**names, "sentence_good": text, "sentence_bad": text})
        for row, text in enumerate(ratings[SENTENCE])
    ]
    return pair_table(records, "ratings", "und")


def rating_correlation(rated: pd.DataFrame, linking: Linking) -> float:
    """Return Pearson's correlation with ratings (ZhoBLiMP, appendix A, point-wise), positive where better; or NaN."""
    values = better_values(rated, linking)
    if np.ptp(values) == 0:
        return math.nan
    return float(np.corrcoef(values, rated["rating"].to_numpy(np.float64))[0, 1])


def better_values(rated: pd.DataFrame, linking: Linking) -> Array:
    """Return the linked value of each sentence, float64[sentences], higher where it is better."""
    return np.asarray(linking.values(rated, "good") * (-1 if linking.lower_is_better else 1), dtype=np.float64)


def _parse_rating(text: str, rater: str, place: str) -> float:
    """Read a cell of ratings; NaN for an empty one."""
    if not text.strip():
        return math.nan
    number = read_number(text)
    if number is None:
        raise UserError(
            f"{place}: {rater!r} is {text!r}; a number is expected, or nothing where there is no rating"
        )
    return number
