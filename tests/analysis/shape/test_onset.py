import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.analysis.shape.test_classify import exact
from ucurve.analysis.shape.onset import Milestone, onset, saturation
from ucurve.analysis.shape.pooled import estimate_curve
from ucurve.analysis.shape.smoothing import Curve, smoothing_weights

TOKENS = np.logspace(4, 8, 17)


def curve_of(levels: np.ndarray, items: int = 4000) -> Curve:
    return estimate_curve(TOKENS, exact(levels, items), np.zeros(items, dtype=np.int64))


def sigmoid(middle: float, start: float = 0.5, end: float = 0.9) -> np.ndarray:
    return start + (end - start) / (1 + np.exp(-(np.log10(TOKENS) - middle) / 0.2))


def test_onset_is_where_the_curve_itself_crosses_the_level() -> None:
    levels = sigmoid(6.0)
    found = onset(curve_of(levels))
    by_hand = np.interp(0.55, levels, np.log10(TOKENS))
    assert np.log10(found.tokens) == pytest.approx(by_hand, abs=0.005)
    assert found.low < found.tokens < found.high


def test_the_interval_of_an_abrupt_onset_reaches_to_the_checkpoints_around_it() -> None:
    found = onset(curve_of(np.where(np.arange(17) < 8, 0.5, 0.9)))
    assert TOKENS[6] < found.low <= TOKENS[7] < found.tokens < found.high == pytest.approx(TOKENS[8])


def test_the_interval_of_an_onset_among_many_checkpoints_is_two_kernels_wide_on_both_sides() -> None:
    tokens = np.logspace(4, 8, 401)
    half_points = exact(np.where(np.arange(401) < 200, 0.5, 0.9), 4000)
    found = onset(estimate_curve(tokens, half_points, np.zeros(4000, dtype=np.int64)))
    assert np.log10(found.tokens) == pytest.approx(6, abs=0.08)
    assert np.log10(found.low) <= np.log10(found.tokens) - 0.1
    assert 6 < np.log10(found.high) < 6.15


def test_a_curve_that_does_not_leave_chance_has_no_onset() -> None:
    assert np.isnan(onset(curve_of(np.full(17, 0.5))).tokens)
    assert np.isnan(onset(curve_of(np.full(17, 0.56), items=60)).tokens)  # above the level, but not significantly


def test_a_curve_that_is_always_above_has_its_onset_at_the_first_checkpoint() -> None:
    assert onset(curve_of(np.full(17, 0.8))).tokens == pytest.approx(TOKENS[0])


def test_the_last_crossing_counts_not_the_first() -> None:
    levels = sigmoid(7.0)
    levels[2:5] = 0.7  # up early, and back to chance
    assert onset(curve_of(levels)).tokens > 1e6


def test_an_onset_that_some_draws_do_not_reach_has_no_upper_bound() -> None:
    levels = np.full(17, 0.5)
    levels[-3:] = 0.585
    found = [onset(curve_of(levels, items)) for items in range(300, 1500, 20)]
    unsure = [one for one in found if np.isfinite(one.tokens) and one.high == np.inf]
    assert unsure  # between the one-sided test at 5 % and the two-sided interval
    assert len(unsure) < len(found) / 2


def test_saturation_is_where_the_rest_stays_within_two_points() -> None:
    levels = sigmoid(6.0)
    smooth = smoothing_weights(np.log10(TOKENS)) @ levels
    by_hand = np.interp(smooth[-1] - 0.02, smooth, np.log10(TOKENS))
    assert np.log10(saturation(curve_of(levels)).tokens) == pytest.approx(by_hand, abs=0.02)


def test_a_curve_that_still_moves_at_the_end_has_not_settled() -> None:
    assert np.isnan(saturation(curve_of(np.linspace(0.5, 0.9, 17))).tokens)


def test_a_flat_curve_is_settled_from_the_start() -> None:
    assert saturation(curve_of(np.full(17, 0.7))).tokens == pytest.approx(TOKENS[0])


@pytest.mark.parametrize("level", [0.5, 0.53, 0.47])
def test_a_curve_that_never_left_chance_has_no_saturation(level: float) -> None:
    assert np.isnan(saturation(curve_of(np.full(17, level))).tokens)


def test_a_curve_that_is_only_perhaps_off_chance_has_no_saturation() -> None:
    assert np.isnan(saturation(curve_of(np.full(17, 0.56), items=60)).tokens)


def test_a_curve_that_settles_below_chance_has_a_saturation() -> None:
    assert saturation(curve_of(1 - sigmoid(5.5))).tokens == pytest.approx(
        saturation(curve_of(sigmoid(5.5))).tokens
    )


@given(st.lists(st.integers(0, 20), min_size=12, max_size=12))
@settings(max_examples=30, deadline=None)
def test_milestones_lie_on_the_axis_and_in_their_intervals(levels: list[int]) -> None:
    curve = curve_of(np.array([*levels, 19, 19, 19, 19, 19]) / 20, 400)  # it ends high, and has come to rest
    for found in (onset(curve, draws=100), saturation(curve, draws=100)):
        assert isinstance(found, Milestone)
        assert TOKENS[0] * (1 - 1e-9) <= found.low <= found.tokens <= found.high
        assert found.tokens <= TOKENS[-1]


@given(st.integers(0, 3))
@settings(max_examples=4, deadline=None)
def test_a_curve_that_is_later_everywhere_has_the_later_onset(shift: int) -> None:
    early, late = (onset(curve_of(sigmoid(middle)), draws=50).tokens for middle in (5.5, 5.5 + shift / 2))
    assert early <= late
