"""How sure a row's accuracy is, where pairs come in clusters.

Pairs of a template that differ in the same words are right or wrong together, so that 300 pairs with 16 different edits
tell less than 300 pairs that have nothing in common. The paradigms are strata, and clusters of pairs are drawn within
them. The variance of a row is that of a stratified mean over clusters of unequal sizes, linearized (Cochran 1977,
"Sampling Techniques", chapters 5 and 9).
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import betaincinv, stdtrit

from ucurve.eval.metrics.clusters import pair_clusters
from ucurve.eval.metrics.levels import Array, Ids, Levels

CONFIDENCE = 0.95
TAIL = (1 - CONFIDENCE) / 2  # of the confidence on either side
FEWEST_CLUSTERS = 4  # fewer do not tell how much clusters differ, and there is no interval and no test
# Of a cluster that is half right, so much is added to the variance, so that it is not 0 where all are right.
_AT_CHANCE = 0.1


@dataclass(frozen=True, eq=False)
class Clusters:
    """The clusters of a table of pairs."""

    levels: Levels
    of: Ids  # int64[pairs], the cluster of each pair; those of one paradigm have consecutive numbers from 0 on
    first: Ids  # int64[paradigms], the first cluster of each

    @property
    def size(self) -> int:
        """Number of clusters."""
        return int(self.of.max()) + 1

    def sums(self, values: npt.NDArray[np.float64 | np.bool_]) -> Array:
        """Sum a number or truth value of every pair by cluster, float64[clusters]."""
        return np.bincount(self.of, values).astype(np.float64)

    def by_paradigm(self, values: npt.NDArray[np.float64 | np.bool_]) -> Array:
        """Sum a number of every cluster by paradigm, float64[..., clusters] to float64[..., paradigms]."""
        return np.asarray(np.add.reduceat(values, self.first, axis=-1, dtype=np.float64))

    def spread(self, values: Array) -> Array:
        """Repeat a number of every paradigm for its clusters, float64[..., paradigms] to float64[..., clusters]."""
        return np.repeat(values, np.diff(self.first, append=self.size), axis=-1)


def clusters_of(pairs: pd.DataFrame, levels: Levels) -> Clusters:
    """Find the clusters of pairs: those of one paradigm with the same edit, and with it the pairs of one set."""
    edits = pair_clusters(pairs)
    codes, of = np.unique(levels.paradigm_of * (1 + edits.max()) + edits, return_inverse=True)
    return Clusters(levels, of, np.searchsorted(codes, np.arange(levels.paradigms) * (1 + edits.max())))


def whole_paradigms(levels: Levels) -> Clusters:
    """Return clusters that are the paradigms themselves: enough for accuracies, too coarse for their intervals."""
    return Clusters(levels, levels.paradigm_of, np.arange(levels.paradigms))


def deviations(clusters: Clusters, credit: Array, size: Array) -> Array:
    """Return how far the credit of each cluster is from that of its paradigm, float64[..., clusters].

    The squares of a paradigm sum to the variance of its total. ``credit`` and ``size`` (pairs) are sums by cluster. A
    paradigm of one cluster has no variance of its own: it is compared with its phenomenon or, where that has no other
    cluster, with all pairs, which takes the way in which paradigms differ for error (Cochran 1977, chapter 5A.12).
    """
    membership = clusters.levels.membership
    of_paradigm = [clusters.by_paradigm(values) for values in (credit, size, size > 0)]
    of_phenomenon = [values @ membership for values in of_paradigm]
    alone = of_phenomenon[2] < 2
    wider = [
        np.where(alone, values.sum(axis=-1, keepdims=True), values) @ membership.T for values in of_phenomenon
    ]
    right, n, count = (
        np.where(of_paradigm[2] < 2, other, own) for own, other in zip(of_paradigm, wider, strict=True)
    )
    # As an unbiased variance divides by one less than the number of clusters.
    scale = np.sqrt(count / np.maximum(1, count - 1))
    return np.asarray((credit - size * clusters.spread(right / np.maximum(n, 1))) * clusters.spread(scale))


@dataclass(frozen=True, eq=False)
class Spread:
    """What clusters tell about the mean of each row, all of it float64[..., rows]."""

    clusters: Array  # how many have pairs
    effective: Array  # how many of equal size would weigh as these do
    freedom: Array  # degrees of freedom of the variance
    variance: Array  # of the mean over draws of clusters

    @property
    def enough(self) -> npt.NDArray[np.bool_]:
        """Whether there are enough clusters for an interval or a test, bool[..., rows]."""
        return self.clusters >= FEWEST_CLUSTERS

    @property
    def quantile(self) -> Array:
        """``student_quantile`` of the variance."""
        return student_quantile(self.freedom)


def student_quantile(freedom: Array) -> Array:
    """Return the quantile of Student's t for an interval at 95 %, by its degrees of freedom."""
    return np.asarray(stdtrit(freedom, 1 - TAIL))


def spread_of(clusters: Clusters, credit: Array, size: Array) -> Spread:
    """Describe the rows of some credits and sizes (pairs) by cluster, float64[..., clusters]."""
    levels, n = clusters.levels, clusters.by_paradigm(size)
    count = clusters.by_paradigm(size > 0)
    effective = 1 / levels.variances(clusters.by_paradigm(size**2), n)
    # Paradigms of one cluster are one stratum of their phenomenon.
    together = (count == 1) @ levels.membership > 0
    overall = np.repeat(together.sum(axis=-1, keepdims=True), 3, axis=-1)
    strata = levels.totals((count > 1).astype(np.float64)) + np.concatenate(
        [np.zeros_like(count), together, overall], axis=-1
    )
    variance = levels.variances(clusters.by_paradigm(deviations(clusters, credit, size) ** 2), n)
    return Spread(levels.totals(count), effective, np.maximum(1, effective - strata), variance)


def effective_size(spread: Spread, mean: Array, size: Array) -> Array:
    """Return how many independent pairs tell as much as the clusters of each row, float64[..., rows].

    That is the effective sample size of Korn and Graubard (1998, "Confidence intervals for proportions with small
    expected number of positive counts estimated from survey data", Survey Methodology 24), adjusted for the degrees of
    freedom. ``size`` is that of the row with its pairs taken as independent, and the largest. For the variance alone a
    tenth of a cluster that is half right is added, so that a few clusters which are all right are not certain. NaN
    with fewer than 4 clusters.
    """
    added = _AT_CHANCE / spread.effective
    center = (mean + added / 2) / (1 + added)
    variance = spread.variance + added * (mean - 0.5) ** 2 / spread.effective
    ratio = student_quantile(np.maximum(1, size - 1)) / spread.quantile
    with np.errstate(divide="ignore"):
        effective = center * (1 - center) / variance * ratio**2
    return np.where(spread.enough, np.minimum(size, effective), np.nan)


def row_intervals(clusters: Clusters, credit: Array, size: Array) -> tuple[Array, Array]:
    """Return the 95 % interval of each row's accuracy over clusters, float64[steps, rows]; NaN with fewer than 4.

    ``credit`` is float64[steps, clusters], ``size`` (pairs) float64[clusters], the same at all steps.
    """
    sums = clusters.by_paradigm(credit)
    right, n = samples_by_level(clusters.levels, sums, np.broadcast_to(clusters.by_paradigm(size), sums.shape))
    accuracy = right / np.where(n > 0, n, 1)
    effective = effective_size(spread_of(clusters, credit, size), accuracy, n)
    return exact_interval(accuracy * effective, effective)


def exact_interval(right: Array, n: Array) -> tuple[Array, Array]:
    """Clopper-Pearson interval at 95 % for ``right`` out of ``n``; the beta quantiles extend to half credits.

    NaN where one of both is NaN.
    """
    wrong = n - right
    # Bounds of 0 and 1 are of no beta distribution; they are multiples of 0, so that NaN stays NaN.
    low = np.where(right > 0, betaincinv(np.where(right > 0, right, 1), wrong + 1, TAIL), 0 * right)
    high = np.where(wrong > 0, betaincinv(right + 1, np.where(wrong > 0, wrong, 1), 1 - TAIL), 1 - 0 * wrong)
    return low, high


def effective_sample(right: Array, n: Array) -> tuple[Array, Array]:
    """Return the mean over strata of their accuracies, and the effective sample size (Korn and Graubard 1998).

    That is the n of a simple sample whose variance equals that of the stratified mean. For the variance alone, half a
    right and half a wrong item are added to each stratum, so that strata at 0 or 1 do not have variance 0. Credits and
    pairs are float64[..., strata]; strata without pairs do not count.
    """
    some = n > 0
    strata = np.maximum(some.sum(axis=-1), 1)
    size = np.maximum(n, 1)
    mean = (right / size).sum(axis=-1, where=some) / strata
    smoothed = (right + 0.5) / (n + 1)
    center = smoothed.sum(axis=-1, where=some) / strata
    variance = (smoothed * (1 - smoothed) / size).sum(axis=-1, where=some) / strata**2
    return mean, np.divide(center * (1 - center), variance, out=np.zeros_like(variance), where=variance > 0)


def samples_by_level(levels: Levels, right: Array, n: Array) -> tuple[Array, Array]:
    """Return the sample behind each row's accuracy: its pairs, and for a mean the effective sample.

    Credits and pairs are float64[..., paradigms]; credits and sizes of rows, float64[..., rows], give the accuracy.
    """
    means = [
        effective_sample(right @ cells, n @ cells) for cells in (np.eye(levels.paradigms), levels.membership)
    ]
    credited, size = levels.totals(right), levels.totals(n)
    for place, (mean, effective) in zip((-2, -1), means, strict=True):
        credited[..., place], size[..., place] = mean * effective, effective
    return credited, size
