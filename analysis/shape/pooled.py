"""Curves pooled over groups of runs: the mean over model sizes, and a curve over training FLOPs.

Runs of a group differ in the seed only. Groups are fixed: nothing is claimed of a size or a budget that was not
trained. What varies are the seeds within groups, whose covariance is estimated from all groups together with as many
degrees of freedom as there are runs beyond the first of each group, and the pairs. All models are scored on the same
pairs, so that the covariance over pairs is that of the mean over all groups and does not shrink with their number (a
crossed design, see ``ucurve.analysis.shape.smoothing``).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import numpy.typing as npt

from ucurve.analysis.data.pair_scores import HALVES, Items
from ucurve.analysis.shape.smoothing import (
    LEAST_FREEDOM,
    Array,
    Curve,
    Design,
    cluster_deviations,
    cluster_freedom,
    design_of,
    smoothing_weights,
)
from ucurve.eval.metrics.levels import Ids
from ucurve.eval.metrics.sampling import FEWEST_CLUSTERS

DRAWS = 100_000  # of a few numbers each: p values as small as families of hundreds of curves need
_ROUNDING = 1e-9  # what computing may leave of heights that are equal


@dataclass(frozen=True, eq=False)
class Groups:
    """The accuracy of G groups of runs at T points each."""

    names: tuple[str, ...]
    runs: Ids  # int64[G], how many runs
    means: Array  # float64[G, T], over pairs and runs
    # float64[G, T, C], of the clusters of pairs; products are covariances of the means over pairs
    deviations: Array
    run_cov: Array  # float64[T, T], of one run around the mean of its group; zeros without freedom
    rest_cov: Array  # float64[T, T], the part of it that is peculiar to a cluster of pairs in one run
    freedom: int  # degrees of freedom of run_cov: runs less groups
    items: int
    design: Design

    @property
    def least(self) -> float:
        """The variance of one item more that changes at every point by itself."""
        return _least(self.items)


def group_runs(runs: Iterable[tuple[str, Array]], strata: Ids, clusters: Ids) -> Groups:
    """Gather runs, each with its group's name and the credits of all items, float64[T, I], as fractions."""
    design = design_of(strata, clusters)
    means: dict[str, list[Array]] = {}
    deviations: dict[str, Array] = {}
    products: Array | float = 0.0
    for name, credits_ in runs:
        apart = cluster_deviations(credits_, design)
        means.setdefault(name, []).append(credits_.mean(axis=1))
        deviations[name] = deviations.get(name, 0.0) + apart
        products = products + apart @ apart.T
    counts = np.array([len(own) for own in means.values()], dtype=np.int64)
    of_groups = np.stack([deviations[name] / len(own) for name, own in means.items()])
    apart = np.concatenate([np.stack(own) - np.mean(own, axis=0) for own in means.values()])
    freedom = int((counts - 1).sum())
    own_items = sum(count * one @ one.T for count, one in zip(counts, of_groups, strict=True))
    own_items += counts.sum() * np.eye(len(own_items)) * _least(len(strata))
    return Groups(
        names=tuple(means),
        runs=counts,
        means=np.stack([np.mean(own, axis=0) for own in means.values()]),
        deviations=of_groups,
        run_cov=apart.T @ apart / max(1, freedom),
        rest_cov=(products - own_items) / freedom if freedom else np.zeros_like(own_items),
        freedom=freedom,
        items=len(strata),
        design=design,
    )


def _least(items: int) -> float:
    # Where no item changes, that is not certain to stay so.
    return 1 / (2 * items**2)


def mean_curve(groups: Groups, tokens: Array) -> Curve:
    """Return the mean over groups, each of equal weight, whose points are at the same tokens.

    ``seeds`` is one more than the degrees of freedom of the seeds, as in a line of so many runs.
    """
    count = len(groups.names)
    deviations = groups.deviations.mean(axis=0)
    # All groups have the same weight, so a group of few runs adds more to the error of the mean.
    of_a_run = float((1 / groups.runs).sum()) / count**2
    return Curve(
        tokens=tokens,
        mean=groups.means.mean(axis=0),
        seeds=1 + groups.freedom,
        items=groups.items,
        item_cov=deviations @ deviations.T + np.eye(len(tokens)) * groups.least,
        seed_cov=of_a_run * groups.run_cov,
        rest_cov=of_a_run * groups.rest_cov,
        item_freedom=cluster_freedom(deviations, groups.design),
        effective_items=groups.design.effective,
        clusters=groups.design.count,
    )


def estimate_curve(
    tokens: Array, half_points: npt.NDArray[np.uint8], strata: Ids, clusters: Ids | None = None
) -> Curve:
    """Estimate the curve of runs of one group from the credits of every item.

    ``half_points`` is uint8[S, T, I], by seed, checkpoint and item; ``strata`` int64[I], the paradigm of each item;
    ``clusters`` int64[I], within its stratum. Without clusters every item is drawn by itself.
    """
    clusters = np.arange(len(strata)) if clusters is None else clusters
    return mean_curve(group_runs((("", one / HALVES) for one in half_points), strata, clusters), tokens)


def curve_of_groups(groups: Groups, places: Array, mix: Array | None = None) -> Curve:
    """Return the curve that has a group of one point (T = 1) at each place of an ascending axis, such as FLOPs.

    The variance of a seed is one for all groups, and the runs of one group are others than those of the next.

    ``mix`` is given where the groups are no function of the axis: cells of equal FLOPs that spent them on another mix
    of size and tokens. The curve is then that at the mean mix, and each group also varies by itself, by what is left of
    its ``scatter``, where that is more than seeds do.
    """
    adjust, of_seeds, freedom = np.eye(len(places)), groups.run_cov[0, 0] / groups.runs, groups.freedom
    if mix is not None:
        adjust = at_mean_mix(np.log10(places), mix)
        apart, its_freedom = scatter(np.log10(places), adjust @ groups.means[:, 0])
        if apart > of_seeds.mean():
            of_seeds, freedom = np.maximum(of_seeds, apart), its_freedom
    deviations = adjust @ groups.deviations[:, 0]
    return Curve(
        tokens=places,
        mean=adjust @ groups.means[:, 0],
        seeds=1 + freedom,
        items=groups.items,
        item_cov=deviations @ deviations.T + np.eye(len(places)) * groups.least,
        seed_cov=(adjust * of_seeds) @ adjust.T,
        rest_cov=(adjust * groups.rest_cov[0, 0] / groups.runs) @ adjust.T,
        item_freedom=cluster_freedom(deviations, groups.design),
        effective_items=groups.design.effective,
        clusters=groups.design.count,
        most_turns=1,
    )


def at_mean_mix(places: Array, mix: Array) -> Array:
    """Return the matrix, float64[T, T], that takes the linear effect of a second variable from the heights of points.

    The effect is the regression of the distances of heights to their neighbors on those of the variable, from which
    the curve over the axis has dropped out (Yatchew 1997, "An elementary estimator of the partial linear model").
    """
    differences = _to_neighbors(places)
    apart = differences @ mix
    square = float(apart @ apart)
    if square < _ROUNDING:  # the mix follows from the axis, so its effect cannot be told from the curve
        return np.eye(len(places))
    return np.asarray(np.eye(len(places)) - np.outer(mix - mix.mean(), apart @ differences / square))


def scatter(places: Array, heights: Array) -> tuple[float, int]:
    """Return the variance of points around a smooth curve, and its degrees of freedom.

    It is the mean square of the distance of each point to the straight line between its two neighbors (Gasser, Sroka
    and Jennen-Steinmetz 1986, "Residual variance and residual pattern in nonlinear regression"), of which one is spent
    on the effect of the mix. These distances overlap, so that they are worth fewer than they are: 18 of 35 at equal
    distances.
    """
    apart = _to_neighbors(places) @ heights
    left = max(1, len(apart) - 1)
    return float(apart @ apart) / left, max(1, round(left * 18 / 35))


def _to_neighbors(places: Array) -> Array:
    """Return the distance of each inner point to the line between its neighbors, float64[T - 2, T], in units of sd."""
    width = places[2:] - places[:-2]
    share = np.divide(places[1:-1] - places[:-2], width, out=np.full(len(width), 0.5), where=width > 0)
    rows, matrix = np.arange(len(width)), np.zeros((len(width), len(places)))
    matrix[rows, rows], matrix[rows, rows + 1], matrix[rows, rows + 2] = 1 - share, -1, share
    return np.asarray(matrix / np.sqrt((matrix**2).sum(axis=1, keepdims=True)))


@dataclass(frozen=True, eq=False)
class SizeContrast:
    """How much of the turn of a mean curve each group has, and whether the groups differ in it."""

    names: tuple[str, ...]
    runs: Ids  # int64[G]
    p: float  # NaN where no group has two runs, or there are too few clusters of pairs
    depths: Array  # float64[G], as fractions; their mean is the depth of the mean curve
    half_width: Array  # float64[G], of simultaneous 95 % intervals of the depths; NaN where p is


def size_contrast(groups: Groups, function: Array, seed: int = 0) -> SizeContrast:
    """Test whether a linear function of the curve, float64[T], differs between groups that share a common curve.

    The statistic is the sum of squares between groups; its law is that of normal draws with the covariance of the
    groups over pairs and seeds and a common divisor (a parametric bootstrap of the analysis of variance).
    """
    depths, count = groups.means @ function, len(groups.names)
    if not groups.freedom or groups.design.count < FEWEST_CLUSTERS:
        return SizeContrast(groups.names, groups.runs, np.nan, depths, np.full(count, np.nan))
    of_items = np.einsum("t,gtc->gc", function, groups.deviations)
    # All groups are scored on the same pairs, so their depths are correlated.
    covariance = of_items @ of_items.T + np.eye(count) * groups.least * float(function @ function)
    run, rest = (float(function @ part @ function) for part in (groups.run_cov, groups.rest_cov))
    between = max(0.0, run - rest)
    item_freedom = cluster_freedom(of_items, groups.design)
    centered = np.eye(count) - 1 / count
    spread_of_items = float(np.trace(centered @ covariance))
    runs_of_groups = float(np.trace(centered @ np.diag(1 / groups.runs)))
    # Satterthwaite (1946), as in estimate_level: the mean square of the seeds holds the rest.
    doubt = (runs_of_groups * run) ** 2 / groups.freedom + spread_of_items**2 / item_freedom
    freedom = max(LEAST_FREEDOM, (spread_of_items + runs_of_groups * between) ** 2 / doubt)
    covariance += np.diag(between / groups.runs)  # the seeds of one group are others than those of the next
    random = np.random.default_rng(seed)
    drawn = random.standard_normal((DRAWS, count)) @ np.linalg.cholesky(covariance).T
    # All variances are estimated from the same few runs, so each draw has one divisor, as a t value has.
    drawn /= np.sqrt(random.chisquare(freedom, (DRAWS, 1)) / freedom)
    squares = ((drawn - drawn.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
    beyond = int((squares >= ((depths - depths.mean()) ** 2).sum()).sum())
    errors = np.sqrt(np.diag(covariance))
    critical = float(np.quantile(np.abs(drawn / errors).max(axis=1), 0.95))
    return SizeContrast(
        names=groups.names,
        runs=groups.runs,
        p=(1 + beyond) / (1 + DRAWS),
        depths=depths,
        half_width=critical * errors,
    )


def turn_function(curve: Curve, *, is_dip: bool) -> Array | None:
    """Return the linear function of a curve, float64[T], that is the depth of its deepest dip; None without a dip.

    It tells how far the smoothed curve lies, at the lowest checkpoint, below the straight line (on the log axis)
    between the two places beside it where the curve is as high as its lower shoulder. A curve that differs by a level
    and a slope has the same depth. Of a bump it is the height above that line.
    """
    weights = smoothing_weights(curve.log_tokens)
    heights = (weights @ curve.mean) * (1 if is_dip else -1)
    before, after = np.maximum.accumulate(heights), np.maximum.accumulate(heights[::-1])[::-1]
    sides = np.minimum(before, after) - heights
    place = int(sides.argmax())
    if sides[place] < _ROUNDING:
        return None
    level = float(heights[place] + sides[place])
    left, right = (_shoulder(heights, place, step, level) for step in (-1, 1))
    logs = curve.log_tokens
    share = (logs[place] - left @ logs) / (right @ logs - left @ logs)
    line = (1 - share) * left + share * right
    line[place] -= 1
    return np.asarray(line @ weights if is_dip else -(line @ weights))


def _shoulder(heights: Array, place: int, step: int, level: float) -> Array:
    """Return the weights of two checkpoints, float64[T], between which heights come up to a level beside a place."""
    outer = place
    while heights[outer] < level - _ROUNDING:
        outer += step
    inner = outer - step
    share = min(1.0, (level - heights[inner]) / (heights[outer] - heights[inner]))
    found = np.zeros(len(heights))
    found[outer], found[inner] = share, 1 - share
    return found


def common_tokens(members: Sequence[Items]) -> Array:
    """Return the tokens, float64[T], at which all runs are compared; empty where their ranges do not overlap.

    They are the checkpoints that all runs have, where these are at least half of the fewest that a run has in the range
    of all; otherwise those of that run, and the others are interpolated on log tokens.
    """
    trained = [one.tokens[one.tokens > 0] for one in members]
    if not all(map(len, trained)):
        return np.empty(0)
    low, high = max(own[0] for own in trained), min(own[-1] for own in trained)
    inside = [own[(own >= low) & (own <= high)] for own in trained]
    # A value interpolated between two checkpoints has less noise than a checkpoint, so common checkpoints are
    # preferred.
    shared, fewest = reduce(np.intersect1d, inside), min(inside, key=len)
    return np.asarray(shared if 2 * len(shared) >= len(fewest) else fewest)


def credits_of(member: Items, grid: Array, chosen: npt.NDArray[np.bool_]) -> Array:
    """Return the credits of chosen pairs at given tokens, float64[T, I], interpolated linearly on log tokens."""
    trained = member.tokens > 0
    logs = np.log10(member.tokens[trained])
    weights = np.stack([np.interp(np.log10(grid), logs, one) for one in np.eye(len(logs))], axis=1)
    return np.asarray(weights @ (member.half_points[trained][:, chosen] / HALVES))
