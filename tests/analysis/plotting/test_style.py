import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from ucurve.analysis.plotting.style import TokenAxis, log_ticks, percent_axis, power_label


def _labels(tokens: list[float], most: int = 7) -> list[str]:
    axes = Figure().add_subplot()
    TokenAxis(tokens).apply(axes, most, minor=True)
    return [text.get_text() for text in axes.get_xticklabels()]


def test_ticks_are_counts_at_powers_of_ten_with_0_first() -> None:
    assert _labels([0, 16_384, 99_991_552]) == ["0", "100K", "1M", "10M", "100M"]


def test_few_ticks_keep_the_last_power() -> None:
    assert _labels([0, 1e4, 1e9], most=3) == ["0", "100K", "10M", "1B"]


def test_an_axis_within_one_decade_has_round_ticks() -> None:
    assert _labels([0, 16_384, 196_608]) == ["0", "20K", "50K", "100K", "200K"]


def test_an_axis_too_short_for_round_ticks_is_labelled_at_its_ends() -> None:
    assert _labels([0, 16_384, 17_000]) == ["0", "16384", "17K"]


@given(st.floats(1, 1e25), st.floats(0, 12), st.integers(1, 8))
def test_ticks_are_few_and_within_the_axis(low: float, decades: float, most: int) -> None:
    high = low * 10**decades
    ticks = log_ticks(low, high, most)
    assert ticks == sorted(set(ticks))
    assert 1 <= len(ticks) <= max(2, most)
    assert low / 1.03 <= ticks[0]
    assert ticks[-1] <= high * 1.03


def test_large_numbers_are_labelled_in_powers_of_ten() -> None:
    assert power_label(1e15) == "$10^{15}$"
    assert power_label(2e15) == r"$2{\times}10^{15}$"


def test_an_axis_of_step_0_alone_can_be_drawn() -> None:
    assert _labels([0])[0] == "0"


@given(st.lists(st.integers(1, 10**13), min_size=1, max_size=20))
def test_zero_stands_left_of_all_and_the_rest_where_it_is(tokens: list[int]) -> None:
    axis = TokenAxis([0, *tokens, math.nan])
    places = axis.places([0, *tokens])
    assert 0 < places[0] < min(tokens) / 1.9
    assert places[1:].tolist() == tokens


@pytest.mark.parametrize(("lowest", "bottom"), [(0.62, 0.45), (0.37, 0.35), (0.0, 0.0), (math.nan, 0.45)])
def test_the_percent_axis_reaches_down_to_the_lowest_value(lowest: float, bottom: float) -> None:
    axes = Figure().add_subplot()
    percent_axis(axes, lowest)
    assert axes.get_ylim()[0] == pytest.approx(bottom)
