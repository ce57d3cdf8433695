"""The test of one curve: how many times its slope changes on the log axis of tokens, and where.

A curve without a change is a straight line over log tokens; one with m changes is a continuous line that bends at m of
its checkpoints ("broken stick"). Both are fitted by least squares. The gain of m bends is how much they reduce the sum
of squares, at the best of all sets of m checkpoints.

That there is any change is tested by the double maximum of Bai and Perron (1998, "Estimating and testing linear models
with multiple structural changes", section 4.2; the weighted form, WDmax): the largest over m of the gain, each divided
by its own critical value. How many there are is found by their sequential test of m + 1 bends against m (section 4.3),
from one bend on, because a dip can hide from the test of a single bend.

Their tables of critical values are for independent errors. Those of a curve over checkpoints are not independent: it is
the same pairs and the same runs at every checkpoint. The law of each statistic is therefore drawn: the fitted line with
fewer bends plus draws of the curve's error (``analysis.shape.smoothing.curve_draws``), fitted again in the same way.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np

from ucurve.analysis.shape.classify import LEVEL
from ucurve.analysis.shape.smoothing import Array, Curve, curve_draws
from ucurve.eval.metrics.levels import Ids
from ucurve.eval.metrics.sampling import TAIL

MOST_CHANGES = 3
LEAST_CHECKPOINTS = 8
LEAST_APART = 0.3  # decades between two changes, and between one and an end of the curve: a factor of 2 in tokens
TEST_DRAWS = 10_000  # a hundred curves and more can be significant after Holm
_PLACE_DRAWS = 1000  # of the places, 25 of which lie beyond each end of an interval
_NOISE_DRAWS = 300
_CORRELATIONS = (0.0, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8)  # above these, bends follow nearly all of the noise
# The number of sets of three changes grows with the third power of this number.
_MOST_PLACES = 48  # checkpoints that a change may be at; of more, so many are taken at even distances
_NEAR = 1e-9
_BLOCK = 500  # draws that are compared at once, so that the gains of all sets of bends fit into memory


@dataclass(frozen=True, eq=False)
class Changes:
    """The m changes of slope of one curve."""

    p: float  # that the curve has no change, not adjusted for the number of curves
    tokens: Array  # float64[m], the changes that the sequential test finds, at least one even if p is large
    low: Array  # float64[m], percentile intervals of these places at 95 %, for m changes
    high: Array
    # float64[m + 1], change of the curve per decade of tokens, before the first change and after each
    slopes: Array
    levels: Array  # float64[m], height of the bent line at the changes
    may_be_more: bool  # as many as are looked for on this axis, so that the curve may have more


def can_bend(tokens: Array) -> bool:
    """Say whether a curve has enough checkpoints to find a change: eight, with room for a bend between them."""
    return len(tokens) >= LEAST_CHECKPOINTS and _most(tuple(tokens)) > 0


def find_changes(curve: Curve, seed: int = 0, draws: int = TEST_DRAWS) -> Changes:
    """Test whether the slope of a curve that ``can_bend`` changes, count the changes, and place them."""
    axis = tuple(curve.tokens)
    most = _most(axis)
    from_line = _off_line(axis)
    noise = curve_draws(curve, from_line, draws, seed)
    rest = from_line @ curve.mean
    observed = [_largest_gains(axis, m, rest[None]) for m in range(1, most + 1)]
    gains = [float(gain[0]) for gain, _ in observed]
    fits = [_fit(curve, _places(axis, m)[int(best[0])]) for m, (_, best) in enumerate(observed, 1)]
    by_chance = np.stack([_largest_gains(axis, m, noise)[0] for m in range(1, most + 1)])
    # The p value of WDmax from the gains, float64[M], and those of draws without a change, float64[M, D].
    # More bends gain more by chance too, so each gain is divided by its own critical value.
    critical = np.quantile(by_chance, 1 - LEVEL, axis=1)
    p = _share_beyond(float((np.array(gains) / critical).max()), (by_chance / critical[:, None]).max(axis=0))
    count = 1
    for m in range(1, most):  # Bai and Perron: all of these tests, the first of one bend against none is left out
        under = noise + from_line @ fits[m - 1].values
        fewer, more = (_largest_gains(axis, n, under)[0] for n in (m, m + 1))
        if _share_beyond(gains[m] - gains[m - 1], more - fewer) <= LEVEL:
            count = m + 1
    chosen = fits[count - 1]
    _, best = _largest_gains(axis, count, noise[:_PLACE_DRAWS] + from_line @ chosen.values)
    low, high = np.quantile(_places(axis, count)[best], (TAIL, 1 - TAIL), axis=0, method="nearest")
    # The quantiles of the draws may leave the estimate out, so the interval is widened to hold it.
    first, last = np.minimum(low, chosen.places), np.maximum(high, chosen.places)
    # The true change may lie between two checkpoints, so the interval reaches half way to the next ones.
    return Changes(
        p=p,
        tokens=curve.tokens[chosen.places],
        low=_halfway(axis, first, -1),
        high=_halfway(axis, last, 1),
        slopes=chosen.slopes,
        levels=chosen.values[chosen.places],
        may_be_more=count == most,
    )


def noise_covariance(tokens: Array, curves: Array) -> tuple[Array, float]:
    """Estimate the noise of curves float64[S, T], one for each run, as a covariance over checkpoints, float64[T, T].

    Neighboring checkpoints have similar noise (autoregressive of first order), and a line with bends follows some of
    it: what is left of each run beside its own line with the most bends is smaller and less alike than the noise. The
    correlation and the variance are those whose draws leave as much beside their lines (indirect inference: Gourieroux,
    Monfort and Renault 1993, section 2). The degrees of freedom, which come second, are those of the residuals, less
    what neighbors share (Bayley and Hammersley 1946, "The effective number of independent observations in an
    autocorrelated time series"); every bend takes two, its place and its change of slope.
    """
    axis = tuple(tokens)
    drawn = _left_by_noise(axis)
    squares, products = _left_over(axis, curves)
    if not squares:
        return np.zeros((len(axis), len(axis))), 1.0
    correlation = float(np.interp(products / squares, drawn[:, 1] / drawn[:, 0], _CORRELATIONS))
    variance = squares / float(np.interp(correlation, _CORRELATIONS, drawn[:, 0]))
    independent = (1 - correlation**2) / (1 + correlation**2)
    freedom = max(1.0, len(curves) * max(1, len(axis) - 2 - 2 * _most(axis)) * independent)
    return variance * _fading(len(axis), correlation), freedom


def _left_over(axis: tuple[float, ...], curves: Array) -> tuple[float, float]:
    """Return the mean sum of squares beside the lines with the most bends, and that of products of neighbors."""
    most, rest = _most(axis), curves @ _off_line(axis)
    best = _largest_gains(axis, most, rest)[1]
    directions = _directions(axis, most).reshape(-1, most, len(axis))[best].astype(np.float64)
    followed = np.einsum("smt,smu,su->st", directions, directions, rest, optimize=True)
    left = rest - followed
    squares, products = left**2, left[:, 1:] * left[:, :-1]
    return float(squares.sum(axis=1).mean()), float(products.sum(axis=1).mean())


@lru_cache(maxsize=8)
def _left_by_noise(axis: tuple[float, ...]) -> Array:
    """Return what draws of noise of variance 1 leave, for each of ``_CORRELATIONS`` what ``_left_over`` returns."""
    white = np.random.default_rng(0).standard_normal((_NOISE_DRAWS, len(axis)))
    roots = (np.linalg.cholesky(_fading(len(axis), one)) for one in _CORRELATIONS)
    return np.array([_left_over(axis, white @ root.T) for root in roots])


def _fading(steps: int, correlation: float) -> Array:
    """Return the correlations of ``steps`` checkpoints whose neighbors have this one."""
    return np.asarray(correlation ** np.abs(np.subtract.outer(np.arange(steps), np.arange(steps))))


def _share_beyond(statistic: float, drawn: Array) -> float:
    # The curve itself counts as a draw, so that p is never 0.
    return float((1 + (drawn >= statistic).sum()) / (1 + len(drawn)))


@dataclass(frozen=True, eq=False)
class _Fit:
    places: Ids  # int64[m]
    slopes: Array  # float64[m + 1], per decade of tokens
    values: Array  # float64[T], the height of the line at the checkpoints


def _fit(curve: Curve, places: Ids) -> _Fit:
    """Fit the line that bends at these checkpoints."""
    logs = curve.log_tokens
    hinges = np.maximum(0, logs[:, None] - logs[places])
    columns = np.column_stack([np.ones_like(logs), logs, hinges])
    coefficients = np.linalg.lstsq(columns, curve.mean, rcond=None)[0]
    return _Fit(places, np.cumsum(coefficients[1:]), columns @ coefficients)


@lru_cache(maxsize=8)  # the curves of a line share their axis
def _off_line(tokens: tuple[float, ...]) -> Array:
    """Return what takes a straight line out of a curve, float64[T, T]."""
    logs = np.log10(tokens)
    basis = np.linalg.qr(np.column_stack([np.ones_like(logs), logs]))[0]
    return np.asarray(np.eye(len(logs)) - basis @ basis.T)


@lru_cache(maxsize=8)
def _most(tokens: tuple[float, ...]) -> int:
    """Return how many changes are looked for: two checkpoints are left for each, and a place that is far enough."""
    by_points = (len(tokens) - 2) // 3
    return max(
        (m for m in range(min(MOST_CHANGES, by_points) + 1) if m == 0 or len(_places(tokens, m))), default=0
    )


def _halfway(tokens: tuple[float, ...], places: Ids, to: int) -> Array:
    """Return the tokens halfway, on the log axis, from tried checkpoints to the next one before or after them."""
    tried, known = _tried(tokens), np.array(tokens)
    stops = np.concatenate([tried[:1] - 1, tried, tried[-1:] + 1])  # checkpoints between them were not tried
    return np.asarray(np.sqrt(known[places] * known[stops[np.searchsorted(stops, places) + to]]))


@lru_cache(maxsize=8)
def _tried(tokens: tuple[float, ...]) -> Ids:
    """Return the checkpoints at which a curve may bend, at least two from both ends."""
    inner = np.arange(2, len(tokens) - 2)
    if len(inner) > _MOST_PLACES:
        logs = np.log10(tokens)[inner]
        even = np.linspace(logs[0], logs[-1], _MOST_PLACES)
        inner = inner[np.unique(np.abs(logs[:, None] - even).argmin(axis=0))]
    return inner


@lru_cache(maxsize=32)
def _places(tokens: tuple[float, ...], count: int) -> Ids:
    """Return every set of ``count`` checkpoints that lie far enough apart for a curve to bend at, int64[N, count]."""
    logs = np.log10(tokens)
    sets = np.array(list(combinations(_tried(tokens).tolist(), count)), dtype=np.int64).reshape(-1, count)
    stops = np.pad(sets, ((0, 0), (1, 1)), constant_values=(0, len(logs) - 1))
    # Less a little, so that rounding of logarithms decides nothing.
    far = np.diff(logs[stops], axis=1) >= LEAST_APART - _NEAR
    with_one_between = np.diff(stops, axis=1) > 1
    apart = far.all(axis=1) & with_one_between.all(axis=1)
    return np.asarray(sets[apart])


@lru_cache(maxsize=16)
def _directions(tokens: tuple[float, ...], count: int) -> np.ndarray:
    """Return an orthonormal basis of what each set of bends adds to a straight line, float32[N * count, T]."""
    logs = np.log10(tokens)
    sets = _places(tokens, count)
    hinges = np.maximum(0, logs[None, :, None] - logs[sets][:, None, :])  # N, T, count
    bases = np.linalg.qr(_off_line(tokens) @ hinges)[0]
    return bases.transpose(0, 2, 1).reshape(-1, len(logs)).astype(np.float32)


def _largest_gains(tokens: tuple[float, ...], count: int, rest: Array) -> tuple[Array, Ids]:
    """Return the largest gain of so many bends, float64[D], and which set has it, for curves less their line, [D, T].

    The gain of a set is the length, squared, of the part of the curve in the directions that the set adds.
    """
    directions = _directions(tokens, count)
    gains, best = [], []
    for start in range(0, len(rest), _BLOCK):
        block = rest[start : start + _BLOCK]
        # Draws with few degrees of freedom are beyond float32.
        scale = np.maximum(np.abs(block).max(axis=1), _NEAR)
        parts = (directions @ (block.T / scale).astype(np.float32)).reshape(-1, count, len(block))
        of_sets = np.einsum("ncd,ncd->nd", parts, parts)
        gains.append(of_sets.max(axis=0) * scale**2)
        best.append(of_sets.argmax(axis=0))
    return np.concatenate(gains), np.concatenate(best)
