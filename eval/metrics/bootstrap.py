"""Bootstrap intervals over clusters of pairs, and length biases with theirs.

Draws are of the multiplier bootstrap: the deviation of every cluster from its paradigm gets a normal weight
(Chernozhukov, Chetverikov and Kato 2013). Given the data the draws are normal with the covariance of the clusters, so
they are drawn from that law. Few clusters do not tell how much they vary: intervals are as much wider as Student's t
is than the normal (Hesterberg 2015, "What teachers should know about the bootstrap", section 5).
"""

import numpy as np
import pandas as pd
from scipy.special import ndtr

from ucurve.eval.metrics.accuracy import Split, delta_acc, split_masks
from ucurve.eval.metrics.levels import Array, Ids, Levels
from ucurve.eval.metrics.sampling import Clusters, Spread, deviations, spread_of, student_quantile

SAMPLES = 1000
_SPLITS: tuple[Split, ...] = ("good_longer", "bad_longer", "equal")  # in the order of ``delta_acc``
LENGTH_BIASES = ("delta_acc", "good_longer_minus_equal", "bad_longer_minus_equal")


def bootstrap_interval(spread: Spread, mean: Array) -> tuple[Array, Array]:
    """Return the 95 % interval of every row's mean that many draws come to, float64[rows]; NaN below 4 clusters.

    Where clusters are few and nearly all equal, it is too narrow; ``effective_size`` gives one that is not.
    """
    half = np.where(spread.enough, spread.quantile * np.sqrt(spread.variance), np.nan)
    return mean - half, mean + half


def draw_sums(sums: Array, covariance: Array, samples: int, seed: int) -> Array:
    """Draw sums of credits, float64[samples, ..., K], from the sums and their covariance, float64[..., K, K]."""
    values, vectors = np.linalg.eigh(covariance)
    roots = vectors * np.sqrt(np.maximum(values, 0))[..., None, :]
    normal = np.random.default_rng(seed).standard_normal((samples, *sums.shape))
    return np.asarray(sums + np.einsum("...ij,...j->...i", roots, normal))


def percentiles(drawn: Array, freedom: Array) -> Array:
    """Return the bounds of 95 % of the draws of each column, float64[2, columns], farther out for few clusters.

    ``freedom``, float64[columns], are degrees of freedom, NaN for no interval. Draws that are not finite do not count.
    """
    ordered = np.sort(np.where(np.isfinite(drawn), drawn, np.nan), axis=0)
    last = np.maximum(0, np.isfinite(drawn).sum(axis=0) - 1)
    tail = np.nan_to_num(ndtr(-student_quantile(freedom)))
    place = np.stack([tail, 1 - tail]) * last
    below = place.astype(np.int64)
    low, high = (np.take_along_axis(ordered, at, axis=0) for at in (below, np.minimum(below + 1, last)))
    return np.where(np.isfinite(freedom), low + (place - below) * (high - low), np.nan)


def draw_correlations(values: Array, other: Array, clusters: Ids, samples: int = SAMPLES, seed: int = 0) -> Array:
    """Return Pearson's correlations of each row of ``values``, float64[rows, items], with ``other``, float64[items].

    In float64[1 + samples, rows], the first is of the items as they are, the others of as many clusters drawn with
    replacement, the same for all rows, so that their differences have draws too. NaN where one does not vary.
    """
    both = np.vstack([other, values])
    apart = both - both.mean(axis=1, keepdims=True)
    # A draw of clusters has weighted sums of their moments, so that no item is looked at again.
    products = np.stack([np.ones_like(other), *apart, *apart**2, *(apart[0] * apart[1:])])
    clusters = np.unique(clusters, return_inverse=True)[1]
    count = int(clusters.max()) + 1
    sums = np.stack([np.bincount(clusters, one, count) for one in products])
    drawn = np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), samples)
    size, *rest = sums @ np.vstack([np.ones(count), drawn]).T
    means, squares, with_other = np.split(np.array(rest) / size, [len(both), 2 * len(both)])
    variance = squares - means**2
    # Less than that is what rounding leaves of no variance.
    known = variance > 1e-12 * (apart**2).mean(axis=1, keepdims=True) + 1e-24 * (both**2).max(
        axis=1, keepdims=True
    )
    sd = np.sqrt(np.where(known, variance, np.nan))
    return np.asarray(((with_other - means[0] * means[1:]) / (sd[0] * sd[1:])).T)


def length_biases(
    clusters: Clusters, scores: pd.DataFrame, credit: Array, samples: int = SAMPLES, seed: int = 0
) -> dict[str, Array]:
    """Return ``LENGTH_BIASES`` of every row with percentile intervals at 95 %, from ``credit``, float64[pairs].

    Delta_acc (ZhoBLiMP, section 4.2) is a mean of absolute values: near 0 chance makes it larger, so that its interval
    lies above the true value. The two signed differences it is made of have no such bias. The two means are over the
    paradigms or phenomena with pairs of a split; a row without pairs of a split is NaN, and without 4 clusters of each
    it has no interval.
    """
    levels, masks = clusters.levels, split_masks(scores["n_good"].to_numpy(), scores["n_bad"].to_numpy())
    credits_ = np.stack([clusters.sums(credit * masks[split]) for split in _SPLITS])
    size = np.stack([clusters.sums(masks[split]) for split in _SPLITS])
    sums, n = clusters.by_paradigm(credits_), clusters.by_paradigm(size)
    spread, apart = spread_of(clusters, credits_, size), deviations(clusters, credits_, size)
    covariance = np.moveaxis(clusters.by_paradigm(apart[:, None] * apart), -1, 0)
    drawn = np.ascontiguousarray(np.moveaxis(draw_sums(sums.T, covariance, samples, seed), -1, 0))
    found, draws = _length_biases(levels, sums, n), _length_biases(levels, drawn, n[:, None])
    freedom = np.where(spread.enough, spread.freedom, np.nan).min(axis=0)
    columns: dict[str, Array] = {}
    for name, value, of_draws in zip(LENGTH_BIASES, found, draws, strict=True):
        low, high = percentiles(of_draws, np.where(np.isnan(value), np.nan, freedom))
        columns |= {name: value, f"{name}_low": low, f"{name}_high": high}
    return columns


def _length_biases(levels: Levels, sums: Array, n: Array) -> tuple[Array, Array, Array]:
    """Turn credits and pairs by split, float64[splits, ..., paradigms], into biases, float64[..., rows] each."""
    good_longer, bad_longer, equal = levels.means(sums, n)
    return delta_acc(good_longer, bad_longer, equal), good_longer - equal, bad_longer - equal
