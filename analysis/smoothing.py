"""Curves over log tokens: their smoothed estimate and what is known of its error, over items and over seeds.

The error of a curve that is the mean of S runs on the same I items has three parts, as in any crossed design: the
items drawn, the seeds drawn, and what is left (Owen 2007, "The pigeonhole bootstrap": drawing both again naively counts
what is left three times). Each is estimated from its own mean products, whole covariance matrices over checkpoints.
Drawing 3 seeds again cannot stand for the second part: such draws have two thirds of its variance and take 10 values.
Draws are of the multiplier bootstrap: every item and seed gets a normal weight, and its deviation is multiplied with
it (Chernozhukov, Chetverikov and Kato 2013). Given the data these draws are normal with the estimated covariance, so
they are drawn from that law.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.items import HALVES

Array = npt.NDArray[np.float64]
SMOOTHING = 0.15  # decades: standard deviation of the kernel, a factor of 1.41 in tokens
DRAWS = 1000


@dataclass(frozen=True, eq=False)
class Curve:
    """Accuracy of a line at its trained checkpoints, mean over seeds, with the parts of its error.

    Attributes:
        tokens: float64[T], above 0 and ascending.
        mean: float64[T], accuracy over all items, mean over seeds.
        seeds: number of runs.
        items: number of items.
        item_cov: float64[T, T], covariance of ``mean`` over draws of items, the seeds as they are.
        seed_cov: float64[T, T], covariance of ``mean`` over draws of seeds, the items as they are; zeros for one seed.
        rest_cov: float64[T, T], the part that both hold: what is peculiar to an item in one run.
    """

    tokens: Array
    mean: Array
    seeds: int
    items: int
    item_cov: Array
    seed_cov: Array
    rest_cov: Array

    @property
    def log_tokens(self) -> Array:
        """Decimal logarithms of the tokens, float64[T]."""
        return np.log10(self.tokens)


@dataclass(frozen=True, eq=False)
class Errors:
    """Error of some linear functions of a curve.

    Attributes:
        variance: float64[J].
        freedom: degrees of freedom of the variances, one number for all.
        seed_share: share of the seeds' covariance that is not in the items' already, 0 to 1.
    """

    variance: Array
    freedom: float
    seed_share: float


def estimate_curve(tokens: Array, half_points: npt.NDArray[np.uint8], strata: npt.NDArray[np.int64]) -> Curve:
    """Estimate a curve and its error from the credits of every item.

    Args:
        tokens: float64[T], above 0 and ascending.
        half_points: uint8[S, T, I], half points by seed, checkpoint and item.
        strata: int64[I], the paradigm of each item; items vary within it.

    Returns:
        The curve.
    """
    seeds, steps, items = half_points.shape
    scale = _item_scale(strata)
    total, within = np.zeros((steps, items)), np.zeros((steps, steps))
    for one in half_points:
        share = one.astype(np.float64) / HALVES
        total += share
        within += _product(share, strata, scale)
    item_cov = _product(total / seeds, strata, scale)
    # One item more that changes at every checkpoint by itself: where no item changes, that is not certain to stay so.
    item_cov += np.eye(steps) / (2 * items**2)
    means = half_points.mean(axis=2) / HALVES
    mean = means.mean(axis=0)
    if seeds == 1:
        return Curve(tokens, mean, 1, items, item_cov, np.zeros_like(item_cov), np.zeros_like(item_cov))
    apart = means - mean
    seed_cov = apart.T @ apart / (seeds * (seeds - 1))
    rest_cov = (within / seeds - item_cov) / (seeds - 1)
    return Curve(tokens, mean, seeds, items, item_cov, seed_cov, rest_cov)


def smoothing_weights(log_tokens: Array, width: float = SMOOTHING) -> Array:
    """Return the weights of a normal kernel on the log axis, each row summing to 1, float64[T, T].

    Normal kernels are totally positive and so are these weights: a curve has no more turns after smoothing than before
    (Karlin 1968, "Total Positivity", chapter 5). Smoothing cannot make a dip in a rising curve.
    """
    distance = (log_tokens[:, None] - log_tokens[None, :]) / width
    kernel = np.exp(-(distance**2) / 2)
    return np.asarray(kernel / kernel.sum(axis=1, keepdims=True))


def errors(curve: Curve, functions: Array) -> Errors:
    """Return the error of linear functions of a curve, over items and, with two seeds or more, over seeds.

    A few seeds tell little of how they vary in one function alone, and of many functions the one where they happen to
    agree would win: all functions get the mean variance over the seeds. Degrees of freedom are Satterthwaite's, with
    twice S - 1 for that mean, as it is over curves of several independent turns (measured: docs/shape.md).

    Args:
        curve: the curve.
        functions: float64[J, T], one function in each row.
    """
    parts = (curve.item_cov, curve.seed_cov, curve.rest_cov)
    items, seeds, rest = (np.maximum(0, ((functions @ part) * functions).sum(axis=1)) for part in parts)
    if curve.seeds == 1 or not seeds.sum():
        return Errors(items, max(1.0, curve.items - 1.0), 0.0)
    share = max(0.0, 1 - float(rest.sum() / seeds.sum()))
    between = share * float(seeds.mean())
    part = between / (between + float(items.mean()))
    freedom = 1 / (part**2 / (2 * (curve.seeds - 1)) + (1 - part) ** 2 / max(1, curve.items - 1))
    return Errors(items + between, freedom, share)


def covariance_root(curve: Curve, seed_share: float) -> Array:
    """Return R, float64[T, T], such that R R' is the covariance of a curve's draws."""
    return np.asarray(np.linalg.cholesky(curve.item_cov + seed_share * curve.seed_cov))


def curve_draws(curve: Curve, functions: Array, draws: int = DRAWS, seed: int = 0) -> Array:
    """Draw deviations of linear functions of a curve.

    They are multivariate t with the degrees of freedom of ``errors``.

    Args:
        curve: the curve.
        functions: float64[J, T].
        draws: number of draws.
        seed: of the draws.

    Returns:
        float64[draws, J].
    """
    found = errors(curve, functions)
    random = np.random.default_rng(seed)
    normal = random.standard_normal((draws, len(curve.mean)))
    spread = np.sqrt(random.chisquare(found.freedom, (draws, 1)) / found.freedom)
    return np.asarray(normal @ (functions @ covariance_root(curve, found.seed_share)).T / spread)


def _item_scale(strata: npt.NDArray[np.int64]) -> Array:
    """Return the weight of each item's deviation, so that products sum to the variance of a stratified mean."""
    n = np.bincount(strata)
    factor = np.sqrt(n / np.maximum(1, n - 1)) / len(strata)
    return np.asarray(factor[strata])


def _product(share: Array, strata: npt.NDArray[np.int64], scale: Array) -> Array:
    """Return the covariance of the means of ``share``, float64[T, I], over draws of items within their stratum."""
    n = np.bincount(strata)
    means = np.stack([np.bincount(strata, row, minlength=len(n)) for row in share]) / np.maximum(1, n)
    apart = (share - means[:, strata]) * scale
    return np.asarray(apart @ apart.T)
