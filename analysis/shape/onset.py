"""When a curve leaves chance for good, when it has gone half of its way, and when it has arrived.

Onset: the tokens at which the curve crosses a level above chance for the last time upwards. Half way: the tokens at
which it does so at the middle of the untrained and the last accuracy. Saturation: the tokens from which the smoothed
curve stays within a margin of its last value, where that is not chance. All are read between checkpoints by a straight
line over log tokens.
"""

from dataclasses import dataclass

import numpy as np

from ucurve.analysis.shape.smoothing import DRAWS, SMOOTHING, Array, Curve, curve_draws, smoothing_weights
from ucurve.eval.metrics.sampling import CONFIDENCE, TAIL
from ucurve.eval.metrics.significance import CHANCE

ONSET_ABOVE_CHANCE = 0.05
SATURATION_MARGIN = 0.02
# The smoothing of shapes makes an abrupt rise begin up to a width of its kernel too early. A curve is therefore hardly
# smoothed for its onset: only so that one checkpoint of many does not decide.
_ONSET_SMOOTHING = SMOOTHING / 3
_NEAR = 1e-9  # decades that computing a logarithm may add to a checkpoint
_LATEST_SATURATION = 0.5  # of the tokens: a curve that moved after half of them has not settled


@dataclass(frozen=True)
class Milestone:
    """A place on the token axis with its percentile interval at 95 %; NaN when it is not reached."""

    tokens: float
    low: float
    high: float  # infinite when more than 2.5 % of the draws do not reach it


def onset(curve: Curve, draws: int = DRAWS) -> Milestone:
    """Return the tokens at which the curve comes above 0.55 to stay.

    That is the first trained checkpoint when it is never below, and NaN when it does not end above that level by the
    one-sided test at 5 %. The interval has the percentiles of draws of the curve's error and reaches on both sides to
    the next checkpoint, as the curve may rise anywhere between two of them, and at least two widths of the kernel.
    """
    height, deviations = _above_level(curve, draws)
    found = _milestone(curve, height, deviations, _ends_above(height, deviations, 0), np.inf)
    return _reach_out(found, curve.log_tokens)


def ends_below(curve: Curve, draws: int = DRAWS) -> bool:
    """Test at 5 %, one-sided, whether a curve ends below 0.55, so that nothing was learned."""
    height, deviations = _above_level(curve, draws)
    return _ends_above(-height, -deviations, 0)


def draw_onsets(curve: Curve, seed: int, draws: int = DRAWS) -> Array:
    """Draw decimal logarithms of the onset from the curve's error, float64[draws].

    They lie anywhere between the checkpoints around the crossing, as the curve may rise anywhere between two of them.
    Negative infinity where the drawn curve is above the level from the first checkpoint on, infinity where it ends
    below.
    """
    height, deviations = _above_level(curve, draws, seed)
    logs = curve.log_tokens
    found = last_crossing(logs, height + deviations)
    after = np.searchsorted(logs, found).clip(1, len(logs) - 1)
    between = np.random.default_rng([seed, draws]).uniform(logs[after - 1], logs[after])
    return np.where(np.isfinite(found), between, found)


def half_way(curve: Curve, untrained: float, draws: int = DRAWS) -> Milestone:
    """Return the tokens at which the curve comes half way from the untrained accuracy to its last one, to stay.

    NaN where it does not end above the untrained accuracy, by the one-sided test at 5 %. That accuracy is taken as it
    is: the interval has the error of the trained checkpoints, and reaches as far as that of an onset.
    """
    weights = smoothing_weights(curve.log_tokens, _ONSET_SMOOTHING)
    rise, deviations = weights @ curve.mean - untrained, curve_draws(curve, weights, draws)
    # The middle moves with the end of each draw, whose error is that of the last accuracy.
    halves = rise - rise[-1] / 2, deviations - deviations[:, -1:] / 2
    return _reach_out(_milestone(curve, *halves, _ends_above(rise, deviations, 0), np.inf), curve.log_tokens)


def saturation(curve: Curve, draws: int = DRAWS) -> Milestone:
    """Return the tokens from which the smoothed curve stays within 2 points of its last value.

    NaN when that is later than half of the tokens, as the curve was then still on the move, and when the curve does not
    end 5 points above or below chance by the one-sided test at 5 %, as then nothing was learned that could be complete.
    """
    weights = smoothing_weights(curve.log_tokens)
    smooth, deviations = weights @ curve.mean, curve_draws(curve, weights, draws)
    inside = SATURATION_MARGIN - np.abs(smooth - smooth[-1])
    drawn = smooth + deviations
    drawn_inside = SATURATION_MARGIN - np.abs(drawn - drawn[:, -1:])
    left = any(_ends_above(sign * (smooth - CHANCE), sign * deviations, ONSET_ABOVE_CHANCE) for sign in (1, -1))
    return _milestone(curve, inside, drawn_inside - inside, left, _LATEST_SATURATION * curve.tokens[-1])


def _above_level(curve: Curve, draws: int, seed: int = 0) -> tuple[Array, Array]:
    """Return how far the hardly smoothed curve lies above 0.55, float64[T], and its drawn errors, float64[draws, T]."""
    weights = smoothing_weights(curve.log_tokens, _ONSET_SMOOTHING)
    return weights @ curve.mean - CHANCE - ONSET_ABOVE_CHANCE, curve_draws(curve, weights, draws, seed)


def _ends_above(heights: Array, deviations: Array, level: float) -> bool:
    """Test at 5 %, one-sided, whether a curve ends above a level, from the deviations of its draws."""
    return bool(heights[-1] > level and np.mean(heights[-1] + deviations[:, -1] <= level) <= 1 - CONFIDENCE)


def _milestone(curve: Curve, height: Array, deviations: Array, reached: bool, latest: float) -> Milestone:
    """Return where ``height`` becomes positive for good, unless that is after ``latest`` tokens."""
    logs = curve.log_tokens
    (place,) = np.maximum(logs[0], last_crossing(logs, height[None, :]))
    if not reached or not 10**place <= latest:
        return Milestone(np.nan, np.nan, np.nan)
    # A draw that is above the level at every checkpoint is counted at the first one, because nothing is known before
    # it.
    drawn = np.sort(np.maximum(logs[0], last_crossing(logs, height + deviations)))
    # A quantile between a finite and an infinite draw can be NaN, so a draw itself is taken.
    low, high = (drawn[round(share * (len(drawn) - 1))] for share in (TAIL, 1 - TAIL))
    return Milestone(10**place, 10 ** min(low, place), 10 ** max(high, place))


def _reach_out(found: Milestone, logs: Array) -> Milestone:
    """Widen an interval to the checkpoints around it, and by two widths of the kernel at least.

    One that ends at the first checkpoint stays as it is.
    """
    if not found.high > 10 ** logs[0]:
        return found
    low, high = np.log10(found.low), np.log10(found.high)
    before = logs[logs <= low + _NEAR].max()
    after = logs[logs >= high - _NEAR].min(initial=np.inf)
    low = max(logs[0], min(before, low - 2 * _ONSET_SMOOTHING))
    high = max(after, high + 2 * _ONSET_SMOOTHING)
    return Milestone(found.tokens, 10**low, 10 ** (min(high, logs[-1]) if np.isfinite(after) else np.inf))


def last_crossing(logs: Array, heights: Array) -> Array:
    """Return where each row of ``heights``, float64[rows, T], comes above 0 for good, on the log axis.

    Infinity where it ends below 0, negative infinity where it is never below.
    """
    below = heights < 0
    steps = len(logs)
    last = steps - 1 - below[:, ::-1].argmax(axis=1)
    inner = np.minimum(last, steps - 2)
    rows = np.arange(len(heights))
    left, right = heights[rows, inner], heights[rows, inner + 1]
    share = np.divide(-left, right - left, out=np.zeros_like(left), where=right > left)
    crossing = logs[inner] + share * (logs[inner + 1] - logs[inner])
    crossing = np.where(below[:, -1], np.inf, crossing)
    return np.asarray(np.where(below.any(axis=1), crossing, -np.inf))
