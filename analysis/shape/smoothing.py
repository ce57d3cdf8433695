"""Curves over log tokens: the smoothed estimate and its error over items and over seeds.

The error of a curve that is the mean of S runs on the same I items has three parts, as in any crossed design: the
items drawn, the seeds drawn, and what is left (Owen 2007, "The pigeonhole bootstrap": drawing both again naively counts
what is left three times). Each is estimated from its own mean products, whole covariance matrices over checkpoints.
Items that are alike, such as the pairs of a template that differ in the same word, are drawn together as one cluster.
Resampling 3 seeds with replacement yields only two thirds of the seed variance and 10 distinct samples; the seed
covariance is therefore estimated directly.
Draws are of the multiplier bootstrap: every item and seed gets a normal weight, and its deviation is multiplied with
it (Chernozhukov, Chetverikov and Kato 2013). Given the data these draws are normal with the estimated covariance, so
they are drawn from that law.
Few clusters do not tell how much clusters differ: with less than 10 effective ones of several runs, or 4 of one run,
too little is known of other pairs, and the error that is left is over seeds.
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from ucurve.eval.metrics.clusters import PAIR, PARADIGM, names_a_column
from ucurve.eval.metrics.levels import Ids
from ucurve.eval.metrics.sampling import FEWEST_CLUSTERS

Array = npt.NDArray[np.float64]
SMOOTHING = 0.15  # decades: standard deviation of the kernel, a factor of 1.41 in tokens
DRAWS = 1000
_SMOOTH_TURNS = 2  # independent differences in what a run does by itself over some decades
# effective ones, from which on curves of several runs are compared with those of other pairs
ENOUGH_CLUSTERS = 10
# With fewer degrees of freedom, as with 0.1, no turn is found, and quantiles and draws leave what numbers can hold.
LEAST_FREEDOM = 0.1


@dataclass(frozen=True, eq=False)
class Curve:
    """Accuracy of a line at its trained checkpoints, mean over seeds, with the parts of its error."""

    tokens: Array  # float64[T], above 0 and ascending
    mean: Array  # float64[T], over all items and over seeds
    seeds: int
    items: int
    # float64[T, T], covariance of the mean over draws of clusters of items, the seeds as they are
    item_cov: Array
    seed_cov: Array  # float64[T, T], over draws of seeds, the items as they are; zeros for one seed
    rest_cov: Array  # float64[T, T], the part that both hold: what is peculiar to a cluster in one run
    item_freedom: float  # degrees of freedom of item_cov
    # How many clusters of equal size would weigh as these do, and how many are drawn; both infinite where the error is
    # not over pairs.
    effective_items: float = np.inf
    clusters: float = np.inf
    # How many independent functions the seeds' mean square may count for; 1 where it is one variance of all points.
    most_turns: float = np.inf

    @property
    def log_tokens(self) -> Array:
        """Decimal logarithms of the tokens, float64[T]."""
        return np.log10(self.tokens)

    @property
    def has_error(self) -> bool:
        """Whether its error is known: a few clusters of pairs do not tell how much clusters differ."""
        is_enough = self.seeds == 1 or self.effective_items >= ENOUGH_CLUSTERS
        return is_enough and self.clusters >= FEWEST_CLUSTERS


def without_seed_error(curve: Curve) -> Curve:
    """Return a curve whose error is over items only: it says nothing about other seeds."""
    nothing = np.zeros_like(curve.item_cov)
    return replace(curve, seeds=1, seed_cov=nothing, rest_cov=nothing)


def without_pair_error(curve: Curve) -> Curve:
    """Return a curve of several seeds whose error is over seeds only: it says nothing about other pairs.

    The mean square of the seeds, which ``errors`` makes of its parts, is all of that error. A distance between runs
    that lasts is no error of a shape and is taken out.
    """
    steps = len(curve.mean)
    centering = np.eye(steps) - 1 / steps
    seed_cov, rest_cov = (centering @ part @ centering for part in (curve.seed_cov, curve.rest_cov))
    return _over_seeds(replace(curve, seed_cov=seed_cov, rest_cov=rest_cov))


def with_known_error(curve: Curve) -> Curve:
    """Return a curve with what is known of its error: with few clusters of pairs, that over seeds alone.

    With one seed nothing is left, and the curve is returned as it is (``has_error`` is False).
    """
    return curve if curve.has_error or curve.seeds == 1 else _over_seeds(curve)


def _over_seeds(curve: Curve) -> Curve:
    """Take the error over pairs away: what is left is the mean square of the seeds.

    Of that, what is peculiar to an item in one run is fast and gives degrees of freedom of its own; what is peculiar to
    a cluster may be slow, and is not told apart.
    """
    is_of_clusters = FEWEST_CLUSTERS <= curve.clusters < curve.items
    rest_cov = np.zeros_like(curve.rest_cov) if is_of_clusters else curve.rest_cov
    one_item_more = np.eye(len(curve.mean)) / (2 * curve.items**2) * curve.seeds / (curve.seeds - 1)
    item_cov = rest_cov + one_item_more
    return replace(curve, item_cov=item_cov, rest_cov=rest_cov, effective_items=np.inf, clusters=np.inf)


@dataclass(frozen=True, eq=False)
class Errors:
    """Error of some linear functions of a curve."""

    variance: Array  # float64[J]
    freedom: float  # degrees of freedom, one number for all variances
    seed_share: float  # share of the seeds' covariance that is not in the items' already, 0 to 1


@dataclass(frozen=True, eq=False)
class Level:
    """The mean over items and seeds of one number for each item, such as a credit at the end of training."""

    mean: float
    variance: float  # over draws of items and, with two seeds or more, of seeds
    freedom: float
    item_variance: float  # over draws of items, the seeds as they are
    item_freedom: float  # the clusters that these are worth less the strata
    effective_items: float  # see Curve
    clusters: int


def estimate_level(credits_: Array, strata: Ids, clusters: Ids) -> Level:
    """Estimate a mean and its error from credits, float64[S, I], by the parts that ``estimate_curve`` has.

    The variance over the seeds is a difference of mean squares, that of the seeds less the rest, with the degrees of
    freedom of Satterthwaite (1946). It is of one function alone, so that its mean square counts S - 1.
    """
    seeds, items = credits_.shape
    design = design_of(strata, clusters)
    (apart,) = cluster_deviations(credits_.mean(axis=0)[None], design)
    # One item more is counted, which is right or wrong with equal chance. Otherwise an accuracy of 0 or 1 would have no
    # error.
    of_items = float((apart**2).sum()) + 1 / (2 * items**2)
    item_freedom = max(1.0, design.effective - len(np.unique(design.strata)))
    variance, freedom = of_items, item_freedom
    if seeds > 1:
        # The noise of runs on single clusters is in the variance over seeds and in that over items, so it is subtracted
        # once.
        within = float((cluster_deviations(credits_, design) ** 2).sum()) / seeds
        of_seeds = float(credits_.mean(axis=1).var(ddof=1)) / seeds
        between = max(0.0, of_seeds - (within - of_items) / (seeds - 1))
        if between:
            variance = of_items + between
            freedom = variance**2 / (of_seeds**2 / (seeds - 1) + of_items**2 / item_freedom)
    return Level(
        mean=float(credits_.mean()),
        variance=variance,
        freedom=freedom,
        item_variance=of_items,
        item_freedom=item_freedom,
        effective_items=design.effective,
        clusters=design.count,
    )


def smoothing_weights(log_tokens: Array, width: float = SMOOTHING) -> Array:
    """Return the weights of a normal kernel on the log axis, each row summing to 1, float64[T, T].

    ``width`` is its standard deviation in decades.

    Normal kernels are totally positive and so are these weights: a curve has no more turns after smoothing than before
    (Karlin 1968, "Total Positivity", chapter 5). Smoothing cannot make a dip in a rising curve.
    """
    distance = (log_tokens[:, None] - log_tokens[None, :]) / width
    kernel = np.exp(-(distance**2) / 2)
    return np.asarray(kernel / kernel.sum(axis=1, keepdims=True))


def errors(curve: Curve, functions: Array) -> Errors:
    """Return the error of linear functions of a curve, float64[J, T], over items and, with two seeds or more, seeds.

    A few seeds tell little about how they vary in one function alone, and of many functions the one where they happen
    to agree would win: all functions get the mean variance over the seeds. It is a difference of mean squares, that of
    the seeds less the rest, or zero where that is below zero. Degrees of freedom are Satterthwaite's (1946, "An
    approximate distribution of estimates of variance components"), whose denominator has the squares of the mean
    squares and not of their difference. This holds where the difference is zero too, which was found by a mean square
    as uncertain as any: the degrees of freedom are a continuous function of all three parts. Without differences
    between runs they are those of the items, without items 2 (S - 1). The mean square of the seeds is a mean over all
    functions, which counts S - 1 as often as there are independent ones: twice for what runs do by themselves, which is
    smooth (measured: docs/shape.md), and for the rest as often as its covariance says.
    """
    parts = (curve.item_cov, curve.seed_cov, curve.rest_cov)
    items, seeds, rest = (np.maximum(0, ((functions @ part) * functions).sum(axis=1)) for part in parts)
    of_items, of_seeds = float(items.mean()), float(seeds.mean())
    if not of_seeds:
        return Errors(items, curve.item_freedom, 0.0)
    left = min(of_seeds, float(rest.mean()))
    between = of_seeds - left
    product = (functions.T @ functions) @ curve.rest_cov
    square = np.trace(product @ product)
    independent = float(np.trace(product) ** 2 / square) if square else 1.0  # functions that these are worth
    turns, independent = min(_SMOOTH_TURNS, curve.most_turns), min(independent, curve.most_turns)
    doubt_of_seeds = between / np.sqrt(turns) + left / np.sqrt(independent)
    doubt = doubt_of_seeds**2 / (curve.seeds - 1) + of_items**2 / curve.item_freedom
    freedom = max(LEAST_FREEDOM, (between + of_items) ** 2 / doubt)
    return Errors(items + between, freedom, between / of_seeds)


def covariance_root(curve: Curve, seed_share: float) -> Array:
    """Return R, float64[T, T], such that R R' is the covariance of a curve's draws."""
    return np.asarray(np.linalg.cholesky(curve.item_cov + seed_share * curve.seed_cov))


def curve_draws(curve: Curve, functions: Array, draws: int = DRAWS, seed: int = 0) -> Array:
    """Draw deviations of linear functions, float64[draws, J]: multivariate t with the freedom of ``errors``."""
    found = errors(curve, functions)
    random = np.random.default_rng(seed)
    normal = random.standard_normal((draws, len(curve.mean)))
    spread = np.sqrt(random.chisquare(found.freedom, (draws, 1)) / found.freedom)
    return np.asarray(normal @ (functions @ covariance_root(curve, found.seed_share)).T / spread)


@dataclass(frozen=True, eq=False)
class Design:
    """How items are drawn."""

    strata: Ids  # int64[I]
    clusters: Ids  # int64[I], numbered from 0 over all strata; where there are too few, every item by itself
    scale: Array  # float64[I], weights of the deviations, so that products of clusters sum to a variance
    count: int  # of the clusters
    effective: float  # effective number of clusters


def design_of(strata: Ids, clusters: Ids) -> Design:
    """Number clusters within strata and weigh them.

    The variance is that of a stratified mean over clusters of unequal sizes, linearized (Cochran 1977, "Sampling
    Techniques", chapters 5 and 9). A stratum of one cluster has no variance of its own: such strata are put together
    ("collapsed strata", chapter 5A.12), which takes the way in which they differ for error. The effective number of
    clusters is the inverse Simpson index of their sizes. With too few clusters to tell how they differ, items are drawn
    in their place: that tells how much of what a run does by itself is noise of single items.
    """
    # A cluster that lies in several strata is one cluster in each of them, because strata are drawn independently.
    kinds = np.unique(np.stack([strata, clusters]), axis=1, return_inverse=True)[1].ravel().astype(np.int64)
    sizes = np.bincount(kinds)
    if len(sizes) < FEWEST_CLUSTERS:
        kinds = np.arange(len(strata), dtype=np.int64)
    count = np.bincount(strata_of_clusters(strata, kinds))
    lonely, others = np.flatnonzero(count == 1), np.flatnonzero(count > 1)
    if len(lonely):
        # A single one has no other to go with, so it goes to the stratum with the fewest clusters.
        home = lonely[0] if len(lonely) > 1 or not len(others) else others[count[others].argmin()]
        strata = np.where(np.isin(strata, lonely), home, strata)
        count = np.bincount(strata_of_clusters(strata, kinds))
    return Design(
        strata=strata,
        clusters=kinds,
        scale=np.sqrt(count / np.maximum(1, count - 1))[strata] / len(strata),
        count=len(sizes),
        effective=float(sizes.sum() ** 2 / (sizes**2).sum()),
    )


def strata_of_clusters(strata: Ids, clusters: Ids) -> Ids:
    """Return the stratum of each cluster, int64[C], from those of the items."""
    of_cluster = np.zeros(clusters.max() + 1, dtype=np.int64)
    of_cluster[clusters] = strata
    return of_cluster


def cluster_deviations(share: Array, design: Design) -> Array:
    """Return how far each cluster lies from its stratum, float64[T, C]; products are the covariance of the means."""
    # Where strata were put together, some numbers have no items. The 1 avoids a division by 0 for them.
    n = np.bincount(design.strata)
    means = np.stack([np.bincount(design.strata, row, minlength=len(n)) for row in share]) / np.maximum(1, n)
    apart = np.asarray((share - means[:, design.strata]) * design.scale)
    clusters = 1 + int(design.clusters.max())
    if clusters == apart.shape[1]:
        return apart
    return np.stack([np.bincount(design.clusters, row, minlength=clusters) for row in apart])


def cluster_freedom(deviations: Array, design: Design) -> float:
    """Return the degrees of freedom of the variance of differences between checkpoints, at least 1.

    Satterthwaite's for a sum of squares of unequal expectation, those of the clusters, which are estimated from all
    checkpoints. A stratum has one less than its clusters are worth.
    """
    # A shift of a cluster that is the same at all checkpoints cancels in differences between them.
    squares = ((deviations - deviations.mean(axis=0)) ** 2).sum(axis=0)
    if not squares.any():
        return max(1.0, design.effective - 1)
    of_cluster = strata_of_clusters(design.strata, design.clusters)
    sums, sums_of_squares = np.bincount(of_cluster, squares), np.bincount(of_cluster, squares**2)
    varying = sums > 0
    sums, sums_of_squares = sums[varying], sums_of_squares[varying]
    freedoms = np.maximum(1, sums**2 / sums_of_squares - 1)
    return float(sums.sum() ** 2 / (sums**2 / freedoms).sum())


def drawn_together(paradigms: Ids, clusters: Ids, cluster: str) -> tuple[Ids, Ids, str]:
    """Choose the strata and clusters of the bootstrap of one curve, whose pairs were clustered by ``cluster``.

    With them comes what is drawn, for people: ``edits``, ``pairs``, ``paradigms`` or the column. Clusters that go
    across paradigms are drawn from all pairs.
    """
    one_by_one = np.arange(len(clusters), dtype=np.int64)
    if cluster in (PAIR, PARADIGM):
        return paradigms, clusters if cluster == PARADIGM else one_by_one, f"{cluster}s"
    across = pd.Series(paradigms).groupby(clusters).nunique().gt(1).any()
    strata = np.zeros_like(paradigms) if across else paradigms
    if names_a_column(cluster):
        return strata, clusters, cluster
    if len(np.unique(clusters)) == len(clusters):
        return strata, one_by_one, "pairs"
    return strata, clusters, "edits"
