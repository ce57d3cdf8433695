"""Bootstrap intervals: pairs are drawn again within their paradigm, and a row's number is computed from the draw."""

import numpy as np
import numpy.typing as npt
import pandas as pd

from eval.metrics.accuracy import TAIL, Split, delta_acc, split_masks
from eval.metrics.levels import Array, Ids, Levels

SAMPLES = 1000
_SPLITS: tuple[Split, ...] = ("good_longer", "bad_longer", "equal")  # in the order of ``delta_acc``
LENGTH_BIASES = ("delta_acc", "good_longer_minus_equal", "bad_longer_minus_equal")


def bootstrap_interval(levels: Levels, values: Array, samples: int = SAMPLES, seed: int = 0) -> tuple[Array, Array]:
    """Return the percentile interval at 95 % of every row's mean, float64[rows], pairs drawn within paradigms.

    ``values``, float64[pairs], are credits or differences of credits. Where pairs of a paradigm are few and nearly all
    equal, the interval is too narrow; the exact one of ``accuracy.csv`` is not.
    """
    drawn = bootstrap_sums(levels.paradigm_of, values[:, None], samples, seed)[..., 0]
    low, high = _percentiles(levels.means(drawn, levels.n))
    return low, high


def bootstrap_sums(strata: npt.NDArray[np.int64], values: Array, samples: int, seed: int) -> Array:
    """Draw the pairs of every stratum again, with replacement, and sum their values: float64[samples, strata, K].

    Values are float64[pairs, K]; strata are numbered from 0. Equal values are drawn together, by a multinomial.
    """
    draw = np.random.default_rng(seed)
    sums = np.empty((samples, int(strata.max()) + 1, values.shape[1]))
    for stratum in range(sums.shape[1]):
        distinct, counts = _distinct(values[strata == stratum])
        sums[:, stratum] = draw.multinomial(counts.sum(), counts / counts.sum(), size=samples) @ distinct
    return sums


def length_biases(
    levels: Levels, scores: pd.DataFrame, credit: Array, samples: int = SAMPLES, seed: int = 0
) -> dict[str, Array]:
    """Return ``LENGTH_BIASES`` of every row with percentile intervals at 95 %, from ``credit``, float64[pairs].

    Delta_acc (ZhoBLiMP, section 4.2) is a mean of absolute values: near 0 chance makes it larger, so that its interval
    lies above the true value. The two signed differences it is made of have no such bias. The two means are over the
    paradigms or phenomena with pairs of a split; a row without pairs of a split is NaN.
    """
    masks = split_masks(scores["n_good"].to_numpy(), scores["n_bad"].to_numpy())
    chosen = np.column_stack([masks[split] for split in _SPLITS]).astype(np.float64)
    values = np.concatenate([credit[:, None] * chosen, chosen], axis=1)
    found = _length_biases(levels, np.stack([levels.sums(column) for column in values.T], axis=-1))
    drawn = _length_biases(levels, bootstrap_sums(levels.paradigm_of, values, samples, seed))
    columns: dict[str, Array] = {}
    for name, value, draws in zip(LENGTH_BIASES, found, drawn, strict=True):
        low, high = _percentiles(np.where(np.isnan(value), np.nan, draws))
        columns |= {name: value, f"{name}_low": low, f"{name}_high": high}
    return columns


def _distinct(rows: Array) -> tuple[Array, Ids]:
    """Return the distinct rows in order, and how many there are of each."""
    # Sorting whole rows is slow, and few of hundreds of pairs differ: rows of equal bytes are put together first.
    codes, _ = pd.factorize(np.array([row.tobytes() for row in rows], dtype=object))
    _, first = np.unique(codes, return_index=True)
    distinct, place = np.unique(rows[first], axis=0, return_inverse=True)
    return distinct, np.bincount(place.ravel()[codes], minlength=len(distinct))


def _percentiles(drawn: Array) -> Array:
    """Return the bounds of 95 % of the draws of each column, float64[2, columns], without draws that are NaN."""
    bounds = np.quantile(drawn, [TAIL, 1 - TAIL], axis=0)
    partial = np.flatnonzero(np.isnan(drawn).any(axis=0) & ~np.isnan(drawn).all(axis=0))
    for column in partial:  # a draw may miss a split that has few pairs
        bounds[:, column] = np.nanquantile(drawn[:, column], [TAIL, 1 - TAIL])
    return np.asarray(bounds)


def _length_biases(levels: Levels, sums: Array) -> tuple[Array, Array, Array]:
    """Turn credits and pairs by split, float64[..., paradigms, 2 * splits], into biases, float64[..., rows] each."""
    credited, n = np.split(np.moveaxis(sums, -1, 0), 2)
    good_longer, bad_longer, equal = levels.means(credited, n)
    return delta_acc(good_longer, bad_longer, equal), good_longer - equal, bad_longer - equal
