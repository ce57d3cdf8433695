"""Human ratings of sentences: read, averaged over raters, and compared with linked values."""

import csv
import math
from pathlib import Path

import numpy as np
import pandas as pd

from eval.levels import Array
from eval.linking import Linking
from eval.pairs import pair_table
from ucurve.errors import UserError, nearest

SENTENCE = "sentence"
_FEWEST = 3  # sentences; two points correlate perfectly whatever they are


def read_ratings(path: Path) -> pd.DataFrame:
    """Read ratings and average them: every rater's are z-scored first (ZhoBLiMP, appendix A).

    Args:
        path: csv in UTF-8 with a header: the column ``sentence``, and one column of numbers for each rater. A rater may
            leave sentences out.

    Returns:
        ``sentence``, ``rating`` (mean of the z-scores; population standard deviation) and ``raters`` (how many).

    Raises:
        UserError: naming file and line of what is missing or no number, or when fewer than three sentences are left or
            the averages are all the same.
    """
    places, sentences, numbers = _read(path)
    if len(sentences) < _FEWEST:
        raise UserError(f"{path}: {len(sentences)} rated sentences; {_FEWEST} at least are needed")
    given = ~np.isnan(numbers)
    for place in np.flatnonzero(~given.any(axis=1)):
        raise UserError(f"{path}:{places[place]}: no rating of {sentences[place]!r}")
    raters = given.sum(axis=1)
    rating = np.where(given, _z_scores(numbers, given), 0.0).sum(axis=1) / raters
    if np.ptp(rating) < 1e-12:
        raise UserError(f"{path}: the ratings do not vary, so that nothing can be fitted to them")
    return pd.DataFrame({SENTENCE: sentences, "rating": rating, "raters": raters})


def rating_pairs(ratings: pd.DataFrame) -> pd.DataFrame:
    """Put rated sentences into a pair table, each as both members of its pair, so that scorers can score them.

    Args:
        ratings: of ``read_ratings``; row i becomes pair i.
    """
    names = {"UID": "ratings", "phenomenon": "ratings"}
    records = [
        (f"ratings row {row}", {**names, "sentence_good": text, "sentence_bad": text})
        for row, text in enumerate(ratings[SENTENCE])
    ]
    return pair_table(records, "ratings", "und")


def rating_correlation(rated: pd.DataFrame, linking: Linking) -> float:
    """Return Pearson's correlation of linked values with ratings (ZhoBLiMP, appendix A, point-wise).

    Args:
        rated: score table of ``rating_pairs`` with the column ``rating``.
        linking: the linking function.

    Returns:
        r, with its sign turned where lower values are better; NaN where the linked values do not vary.
    """
    values = linking.values(rated, "good") * (-1 if linking.lower_is_better else 1)
    if np.ptp(values) == 0:
        return math.nan
    return float(np.corrcoef(values, rated["rating"].to_numpy(np.float64))[0, 1])


def _read(path: Path) -> tuple[list[int], list[str], Array]:
    """Return lines, sentences and ratings, float64[sentences, raters], NaN where a rater gave none."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            raters = _raters(path, list(reader.fieldnames or []))
            rows = [(reader.line_num, _row(row, f"{path}:{reader.line_num}", raters)) for row in reader]
    except OSError as error:
        raise UserError(f"fit.ratings: cannot read {path} ({error.strerror})") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"fit.ratings: {path} is no csv in UTF-8 ({error})") from error
    numbers = np.array([given for _, (_, given) in rows], dtype=np.float64).reshape(len(rows), len(raters))
    return [line for line, _ in rows], [sentence for _, (sentence, _) in rows], numbers


def _raters(path: Path, columns: list[str]) -> list[str]:
    if SENTENCE not in columns:
        close = nearest(SENTENCE, columns)
        hint = f" Did you mean {close!r}?" if close else ""
        raise UserError(f"{path}:1: no column {SENTENCE!r}; the columns are {', '.join(columns) or 'none'}.{hint}")
    raters = [column for column in columns if column != SENTENCE]
    if not raters:
        raise UserError(f"{path}:1: no column of ratings beside {SENTENCE!r}; give one for each rater")
    return raters


def _row(row: dict[str, str | None], place: str, raters: list[str]) -> tuple[str, list[float]]:
    if None in row or None in row.values():
        raise UserError(f"{place}: {len(raters) + 1} cells are expected, as in the header")
    sentence = str(row[SENTENCE])
    if not sentence.strip():
        raise UserError(f"{place}: {SENTENCE!r} is empty")
    return sentence, [_number(str(row[rater]), rater, place) for rater in raters]


def _number(text: str, rater: str, place: str) -> float:
    if not text.strip():
        return math.nan
    try:
        number = float(text)
    except ValueError:
        number = math.inf
    if not math.isfinite(number):
        raise UserError(f"{place}: {rater!r} is {text!r}; a number is expected, or nothing where there is no rating")
    return number


def _z_scores(numbers: Array, given: np.ndarray) -> Array:
    """Standardise each column over what is given; a rater who gives one number throughout says nothing: 0."""
    count = np.maximum(given.sum(axis=0), 1)
    centred = np.where(given, numbers - np.where(given, numbers, 0).sum(axis=0) / count, 0)
    spread = np.sqrt((centred**2).sum(axis=0) / count)
    return centred / np.where(spread > 1e-12, spread, np.inf)
