"""How large a dip must be to be found with these runs, what limits that, and how many more seeds would find a dip.

The test of a dip (``unimodal``) compares the distance of a smoothed curve to its best unimodal fit with the distances
of draws of the error around that fit. For a curve that is taken for true, both are drawn here with the error of the
curve at hand, and power is how often the first distance lies beyond the critical one. Two steps need no draws: the
distances under the null have about the distribution of a scaled chi-square (Box 1954, "Some theorems on quadratic
forms", section 3), over the chi-square of the estimated error an F; and that chi-square is integrated out. Simulations
of the whole test agree (docs/shape-simulations.md).
"""

from bisect import bisect_left
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy.stats import chi2
from scipy.stats import f as fisher

from ucurve.analysis.shape.classify import LEVEL, Row
from ucurve.analysis.shape.smoothing import (
    Array,
    Curve,
    covariance_root,
    errors,
    smoothing_weights,
    with_known_error,
)
from ucurve.analysis.shape.tables import Shapes, unproven_turn
from ucurve.analysis.shape.unimodal import ROUNDING, unimodal_distances, unimodal_fit

# This is the usual aim (Cohen 1988): four of five real dips are found.
POWER = 0.8
DIP_WIDTH = 0.1  # standard deviation of the dip that is looked for, a normal curve, as a share of the axis
MOST_SEEDS = 20  # more of them are not proposed
_VISIBLE = 0.01  # depth of a turn below which it is not asked how many seeds would show it
SEEDS = "seeds"
_DEEPEST = 0.5  # of a dip: a curve has no more room below or above chance
_FARTHEST = np.log10(2.5)  # decades between checkpoints, beyond which smoothing averages hardly any noise
# draws of the error, and those of them with a fit of their own, which is made one at a time
_DRAWS, _FITS = 100, 5
_AROUND = np.geomspace(0.7, 4, 7)  # times the depth that alone would be at the critical distance


def add_limits(shapes: Shapes) -> pd.DataFrame:
    """Say in the table of classes how large a dip must be to be found, and what limits that.

    ``detectable_dip`` is the depth (a fraction) of the dip that these runs would show with power .8 in a flat curve
    with this error, at the level that the first step of Holm's procedure asks for; infinite where that is more than 50
    points. Where the class is undetermined, or a turn is seen and not shown, ``limited_by`` names what would help most:
    seeds, pairs (or what else is drawn) or checkpoints; and where a turn of a point or more is seen, ``more_seeds`` is
    the number of further seeds with which the smoothed curve, if it were the true one, would be found to turn with
    power .8, infinite beyond 20. With too few edits of the pairs no dip and no number of seeds is enough.
    """
    table = shapes.classes
    limits = [_limits(row, shapes) for row in table.to_dict("records")]
    return pd.concat([table, pd.DataFrame(limits, index=table.index)], axis=1)


def holm_level(table: pd.DataFrame, *, is_one_run: bool) -> float:
    """Return the level that the smallest p value of a family must pass: those of one run, or those of several."""
    family = (table["runs"] == 1) == is_one_run
    return LEVEL / max(1, int((family & table["p_rise"].notna()).sum()))


def _limits(row: Row, shapes: Shapes) -> dict[str, object]:
    """Return the columns of one row of classes (``add_limits``)."""
    estimate = shapes.estimates.get((row["line"], row["phenomenon"]))
    if estimate is None:
        return {"detectable_dip": np.nan, "limited_by": "", "more_seeds": np.nan}
    curve = with_known_error(estimate)
    level = holm_level(shapes.classes, is_one_run=row["runs"] == 1)
    depth = dip_power(curve).smallest_dip(level) if curve.has_error else np.inf
    is_open = row["class"] == "undetermined" or unproven_turn(row)
    limit = what_limits(curve, str(row["drawn"]), depth, level) if is_open else ""
    seeds = np.nan
    if limit and curve.seeds > 1 and max(row["dip"], row["bump"]) >= _VISIBLE:
        smooth = smoothing_weights(curve.log_tokens) @ curve.mean
        seeds = more_seeds(curve, smooth if row["dip"] >= row["bump"] else -smooth, level)
    return {"detectable_dip": depth, "limited_by": limit, "more_seeds": seeds}


@dataclass(frozen=True, eq=False)
class DipPower:
    """The power of the test of a dip for curves with the error of one."""

    noise: Array  # float64[N, T], draws of the smoothed error
    precision: Array  # float64[T]
    freedom: float
    dip: Array  # float64[T], smoothed, 1 deep, in the middle of the axis

    def of_curves(self, smooth: Array, level: float) -> Array:
        """Return how often a dip is found where smoothed curves, float64[K, T], are the true ones, float64[K]."""
        seen = smooth[:, None] + self.noise
        fits = np.array([[unimodal_fit(one, self.precision) for one in draws[:_FITS]] for draws in seen])
        # The draws are taken in reverse order, so that a curve and its null do not share their noise.
        under_null = np.tile(fits, (1, _DRAWS // _FITS, 1)) + self.noise[::-1]
        both = np.stack([seen, under_null]).reshape(-1, smooth.shape[1])
        distances, null_distances = unimodal_distances(both, self.precision).reshape(2, *seen.shape[:2])
        critical = [self._critical(of_curve, level) for of_curve in null_distances]
        ratios = self.freedom * distances / np.array(critical)[:, None]
        return np.asarray(chi2.cdf(ratios, self.freedom).mean(axis=1))

    def of_dips(self, depths: Array, level: float) -> Array:
        """Return how often dips so deep (fractions) in the middle of a flat curve are found."""
        return self.of_curves(-depths[:, None] * self.dip, level)

    def smallest_dip(self, level: float) -> float:
        """Return the depth, a fraction, of the dip that is found with power .8; infinite where none is."""
        alone = unimodal_distances(-self.dip[None], self.precision)[0]
        if not alone:  # the few checkpoints have no room for a dip
            return np.inf
        critical = self._critical(unimodal_distances(self.noise, self.precision), level)
        depths = np.sqrt(critical / alone) * _AROUND
        # Power grows with the depth; by chance the draws may not.
        power = np.maximum.accumulate(self.of_dips(depths, level))
        depth = float(np.exp(np.interp(POWER, power, np.log(depths), right=np.inf)))
        return depth if depth <= _DEEPEST else np.inf

    def _critical(self, distances: Array, level: float) -> float:
        """Return the distance beyond which a dip is found, from distances under the null."""
        mean = float(distances.mean())
        if mean < ROUNDING:  # checkpoints so close together that their errors have no room for a dip
            return ROUNDING
        return mean * float(fisher.isf(level, 2 * mean**2 / distances.var(), self.freedom))


def dip_power(curve: Curve) -> DipPower:
    """Prepare the draws of the error of a curve."""
    logs = curve.log_tokens
    weights = smoothing_weights(logs)
    found = errors(curve, weights - weights.mean(axis=0))  # as in dip_tests
    root = weights @ covariance_root(curve, found.seed_share)
    precision = 1 / found.variance
    middle = (logs[0] + logs[-1]) / 2
    dip = np.exp(-(((logs - middle) / (DIP_WIDTH * (logs[-1] - logs[0]))) ** 2) / 2)
    return DipPower(
        noise=np.random.default_rng(0).standard_normal((_DRAWS, len(logs))) @ root.T,
        precision=precision / precision.mean(),
        freedom=found.freedom,
        dip=weights @ dip,
    )


def more_seeds(curve: Curve, smooth: Array, level: float) -> float:
    """Return how many more seeds find the dip of a smoothed curve with power .8; infinite where 20 do not."""
    if not curve.has_error:
        return np.inf

    def is_found(seeds: int) -> bool:
        return bool(dip_power(with_more(curve, curve.seeds + seeds)).of_curves(smooth[None], level)[0] >= POWER)

    # Power grows with the seeds, so bisection finds the fewest in five steps instead of twenty.
    more = 1 + bisect_left(range(1, MOST_SEEDS + 1), True, key=is_found)
    return more if more <= MOST_SEEDS else np.inf


def what_limits(curve: Curve, drawn: str, depth: float, level: float) -> str:
    """Say what would help most to find a dip so deep: ``checkpoints``, ``seeds``, or more of what is ``drawn``.

    Checkpoints limit where they are far apart; otherwise twice the seeds are compared with twice the pairs. Of one run
    nothing is known about seeds, and with too few edits only more of them help.
    """
    if not curve.has_error:
        return drawn
    if np.median(np.diff(curve.log_tokens)) > _FARTHEST:
        return "checkpoints"
    if curve.seeds == 1:
        return drawn
    more = (with_more(curve, 2 * curve.seeds), with_more(curve, curve.seeds, pairs=2))
    by_seeds, by_pairs = (dip_power(one).of_dips(np.array([min(depth, _DEEPEST)]), level)[0] for one in more)
    return SEEDS if by_seeds >= by_pairs else drawn


def with_more(curve: Curve, seeds: int, pairs: float = 1.0) -> Curve:
    """Return what a curve would be with so many seeds, and with so many times its pairs.

    What the pairs share over all runs falls with the pairs, what runs do by themselves with the seeds, the rest with
    both.
    """
    runs = seeds / curve.seeds
    weights = smoothing_weights(curve.log_tokens)
    share = errors(curve, weights - weights.mean(axis=0)).seed_share
    rest = curve.rest_cov / runs / pairs
    one_item_more = np.eye(len(curve.mean)) / (2 * (pairs * curve.items) ** 2)
    # An estimated covariance can have negative parts, which are no variance.
    values, vectors = np.linalg.eigh(curve.item_cov - curve.rest_cov)
    shared = np.asarray((vectors * np.maximum(0, values)) @ vectors.T) / pairs
    return replace(
        curve,
        seeds=seeds,
        item_cov=shared + rest + one_item_more,
        rest_cov=rest,
        seed_cov=share * curve.seed_cov / runs + rest,
        item_freedom=curve.item_freedom * pairs,
    )
