"""How a model and an n-gram model agree on the pairs of a benchmark: margins, verdicts beyond chance, errors."""

import numpy as np
import numpy.typing as npt
import pandas as pd

from ucurve.analysis.items.verdicts import RIGHT, TIE, WRONG, Verdicts
from ucurve.analysis.shape.smoothing import Array
from ucurve.eval.metrics.accuracy import TIES_CREDIT, TiesRule
from ucurve.eval.metrics.kappa import cohens_kappa
from ucurve.eval.metrics.levels import Ids

_NO_VARIANCE = 1e-20  # of the sum of squares: what rounding leaves


def ngram_agreement(
    phenomena: pd.Series, verdicts: tuple[Verdicts, Verdicts], margins: tuple[Array, Array], rule: TiesRule
) -> pd.DataFrame:
    """Compare a model with an n-gram model, over all pairs and by phenomenon; of two values the model's is first.

    Margins are what the linking function decides by, good less bad sentence; ``rule`` is what a tie counts in the
    accuracies, and nowhere else. ``pearson`` is the product-moment correlation of the margins; ``kappa`` (Cohen 1960)
    is of right and not right, where a tie is not right; ``ngram_wrong`` are the pairs on which the n-gram model prefers
    the bad sentence, and ``accuracy_where_wrong`` is the model's accuracy on them. NaN where there is no such pair, and
    where a correlation or kappa is not defined because nothing varies.
    """
    names = sorted(set(phenomena.unique()) - {"", "all"}, key=str.casefold)
    groups = pd.Index(names).get_indexer(pd.Index(phenomena)).astype(np.int64)
    kept = groups >= 0
    parts = [_at_level(np.zeros_like(groups), ["all"], verdicts, margins, rule)]
    if kept.any():
        of_named = ((verdicts[0][kept], verdicts[1][kept]), (margins[0][kept], margins[1][kept]))
        parts.append(_at_level(groups[kept], names, *of_named, rule))
    return pd.concat(parts, ignore_index=True)


def _at_level(
    groups: Ids, names: list[str], verdicts: tuple[Verdicts, Verdicts], margins: tuple[Array, Array], rule: TiesRule
) -> pd.DataFrame:
    ours, theirs = verdicts
    credit, of_ngram = ((given == RIGHT) + TIES_CREDIT[rule] * (given == TIE) for given in verdicts)
    pairs = np.bincount(groups, minlength=len(names)).astype(np.float64)
    wrong = theirs == WRONG
    n_wrong = np.bincount(groups[wrong], minlength=len(names))
    of_wrong = np.bincount(groups[wrong], credit[wrong], minlength=len(names))
    return pd.DataFrame({
        "phenomenon": names, "pairs": pairs.astype(np.int64),
        "accuracy": ratio(np.bincount(groups, credit, len(names)), pairs),
        "ngram_accuracy": ratio(np.bincount(groups, of_ngram, len(names)), pairs),
        "pearson": pearson(groups, *margins, len(names)),
        "kappa": group_kappa(groups, ours == RIGHT, theirs == RIGHT, len(names)),
        "ngram_wrong": n_wrong, "accuracy_where_wrong": ratio(of_wrong, n_wrong),
    })  # fmt: skip


def pearson(groups: Ids, one: Array, other: Array, count: int) -> Array:
    """Return the correlation of two numbers of each pair within each of ``count`` groups, float64[count]."""
    size = np.maximum(1, np.bincount(groups, minlength=count))
    centered, squares = [], []
    for values in (one, other):
        apart = values - (np.bincount(groups, values, count) / size)[groups]
        square = np.bincount(groups, apart**2, count)
        squares.append(np.where(square > _NO_VARIANCE * np.bincount(groups, values**2, count), square, 0))
        centered.append(apart)
    return ratio(np.bincount(groups, centered[0] * centered[1], count), np.sqrt(squares[0] * squares[1]))


def group_kappa(groups: Ids, one: npt.NDArray[np.bool_], other: npt.NDArray[np.bool_], count: int) -> Array:
    """Return Cohen's kappa of two truth values of each pair within each of ``count`` groups, float64[count].

    Agreement beyond that of two raters who say yes as often as these but independently of each other, as a share of the
    most that it could be (Cohen 1960). NaN where both say the same of all pairs.
    """
    size = np.bincount(groups, minlength=count)
    first, second, both = (ratio(np.bincount(groups, said, count), size) for said in (one, other, one == other))
    return cohens_kappa(first, second, both)


def ratio(above: Array | Ids, below: Array | Ids) -> Array:
    """Divide; NaN where the divisor is 0."""
    return np.asarray(np.divide(above, below, out=np.full(np.shape(above), np.nan), where=below != 0))
