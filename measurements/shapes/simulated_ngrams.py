"""Simulated learners beside n-gram models whose margins they follow for a while, or do not follow."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from measurements.shapes.simulated_curves import slow_numbers
from ucurve.analysis.shape.smoothing import Array
from ucurve.eval.metrics.levels import Ids

ORDERS = (1, 2, 3, 4, 5)
_ALIKE = 0.8  # correlation of the margins of two neighboring orders
_OFFSET_MEAN, _OFFSET_SD = (
    -0.3,
    0.8,
)  # of a paradigm's margins; pairs of a paradigm have a standard deviation of 1
_CLUSTER_PAIRS, _CLUSTER_SHARE = (
    5,
    0.3,
)  # pairs of one edit, and the share of their variance that they have in common
_FROM_HEURISTIC, _TO_GRAMMAR, _WIDTH = 1.1, 2.2, 0.12  # decades of training, and how sharp the steps are
_OWN, _SLOW_SHARE = (
    0.7,
    0.6,
)  # standard deviation of what a run does by itself, and the part of it that changes slowly


@dataclass(frozen=True)
class Learner:
    """What a learner follows in the middle of its training, before a grammar: sums of these parts.

    Attributes:
        name: for tables.
        truth: the order that its dip follows; None where it follows none.
        follows: how strongly it follows the margins of ``truth``.
        other: how strongly it follows margins of the same kind that have nothing to do with the n-gram models.
        same_paradigms: whether these have the mean of the bigram in each paradigm.
        always: how strongly it follows the bigram at all times.
        early: how strongly it follows the bigram before its dip.
        shift: what all pairs get in the dip, in standard deviations of a pair.
    """

    name: str
    truth: int | None = None
    follows: float = 0.0
    other: float = 0.0
    same_paradigms: bool = False
    always: float = 0.0
    early: float = 0.0
    shift: float = 0.0


FOLLOWERS = (
    Learner("follows the 2-gram", truth=2, follows=1.0),
    Learner("follows the 2-gram weakly", truth=2, follows=0.5),
    Learner("follows the 1-gram", truth=1, follows=1.0),
    Learner("follows the 3-gram", truth=3, follows=1.0),
)
OTHERS = (
    Learner("the same dip on other pairs", other=1.0),
    Learner("on other pairs of the same paradigms", other=1.0, same_paradigms=True),
    Learner("all pairs alike", shift=-0.6),
    Learner("all pairs alike, always near the 2-gram", always=0.5, shift=-0.6),
    Learner("away from the reverse of the 2-gram", early=-0.7, shift=-0.3),
)


@dataclass(frozen=True, eq=False)
class Learned:
    """One simulated phenomenon.

    Attributes:
        margins: float64[orders, checkpoints, items], of the n-gram models.
        half_points: uint8[seeds, checkpoints, items], of the learner.
        paradigms: int64[items].
        clusters: int64[items], pairs with the same edit.
    """

    margins: Array
    half_points: npt.NDArray[np.uint8]
    paradigms: Ids
    clusters: Ids


def learn(
    learner: Learner,
    tokens: Array,
    draw: np.random.Generator,
    *,
    items: int = 300,
    paradigms: int = 6,
    seeds: int = 3,
) -> Learned:
    """Simulate n-gram models and runs of a learner on the pairs of one phenomenon."""
    paradigm_of = np.arange(items) * paradigms // items
    cluster_of = np.arange(items) // _CLUSTER_PAIRS
    offsets = _OFFSET_MEAN + _OFFSET_SD * _alike_orders(draw, paradigms)
    pairs = _pair_parts(draw, cluster_of)
    logs = np.log10(tokens)
    since = logs - logs[0]
    little_data = np.exp(-since / 0.8)[None, :, None] * 0.25 * np.array(ORDERS)[:, None, None]
    settled = (offsets[:, paradigm_of] + pairs)[:, None, :]
    margins = settled + little_data * draw.standard_normal((len(ORDERS), 1, items))
    foreign = _foreign(learner, offsets, draw, paradigm_of, cluster_of)

    first, last = _step(since, _FROM_HEURISTIC), _step(since, _TO_GRAMMAR)
    early, middle, late = ((1 - first)[:, None], (first * (1 - last))[:, None], last[:, None])
    heuristic = 0.4 + draw.standard_normal(items) + learner.early * margins[1]
    followed = learner.follows * margins[(learner.truth or 1) - 1] + learner.other * foreign + learner.shift
    grammar = 1.4 + 0.6 * draw.standard_normal(items)
    shared = early * heuristic + middle * followed + late * grammar + learner.always * margins[1]
    own = np.sqrt(_SLOW_SHARE) * slow_numbers(logs, draw, (seeds, len(tokens), items), 0.5)
    own += np.sqrt(1 - _SLOW_SHARE) * draw.standard_normal(own.shape)
    half_points = (2 * (shared + _OWN * own > 0)).astype(np.uint8)
    return Learned(margins, half_points, paradigm_of, cluster_of)


def _alike_orders(draw: np.random.Generator, count: int) -> Array:
    """Return normal numbers of each order, float64[orders, count]; those of orders j and k correlate by .8^|j - k|."""
    distance = np.abs(np.subtract.outer(ORDERS, ORDERS))
    return np.asarray(np.linalg.cholesky(np.power(_ALIKE, distance)) @ draw.standard_normal((len(ORDERS), count)))


def _pair_parts(draw: np.random.Generator, cluster_of: Ids) -> Array:
    shared = _alike_orders(draw, int(cluster_of.max()) + 1)[:, cluster_of]
    return np.asarray(
        np.sqrt(_CLUSTER_SHARE) * shared + np.sqrt(1 - _CLUSTER_SHARE) * _alike_orders(draw, len(cluster_of))
    )


def _foreign(
    learner: Learner, offsets: Array, draw: np.random.Generator, paradigm_of: Ids, cluster_of: Ids
) -> Array:
    """Return margins like those of the bigram that are independent of it, perhaps with its mean in each paradigm."""
    own = (
        offsets[1]
        if learner.same_paradigms
        else _OFFSET_MEAN + _OFFSET_SD * draw.standard_normal(offsets.shape[1])
    )
    return np.asarray(own[paradigm_of] + _pair_parts(draw, cluster_of)[1])


def _step(since: Array, at: float) -> Array:
    return np.asarray(1 / (1 + np.exp(-(since - at) / _WIDTH)))
