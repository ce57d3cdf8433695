import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t as student
from scipy.stats import ttest_1samp, ttest_ind

from ucurve.analysis.lines.over_seeds import contrast_over_seeds, difference_over_seeds, mean_over_seeds

FLOATS = st.lists(st.floats(-100, 100).map(lambda value: round(value, 3)), min_size=2, max_size=5)


@given(FLOATS.filter(lambda values: np.std(values) > 1e-3))
def test_a_mean_has_the_interval_of_students_t(values):
    known = ttest_1samp(values, 0).confidence_interval(0.95)
    assert mean_over_seeds(values) == pytest.approx((np.mean(values), known.low, known.high))


@given(*[FLOATS.filter(lambda values: np.std(values) > 1e-3)] * 2)
def test_a_difference_has_welchs_interval(first, second):
    known = ttest_ind(first, second, equal_var=False).confidence_interval(0.95)
    found = difference_over_seeds(first, second)
    assert found == pytest.approx((np.mean(first) - np.mean(second), known.low, known.high), abs=1e-6)


def test_too_few_seeds_have_no_interval():
    assert mean_over_seeds([np.nan, 2.0]) == pytest.approx((2.0, np.nan, np.nan), nan_ok=True)
    assert mean_over_seeds([]) == pytest.approx((np.nan,) * 3, nan_ok=True)
    assert difference_over_seeds([3.0], [1.0, 2.0]) == pytest.approx((1.5, np.nan, np.nan), nan_ok=True)
    assert mean_over_seeds([2.0, 2.0]) == (2.0, 2.0, 2.0)


def test_equal_variances_give_a_mean_of_settings_their_degrees_of_freedom_together():
    found = contrast_over_seeds([[0, 1, 2], [5, 6, 7], [10, 11, 12]], [1 / 3] * 3)
    half = student.ppf(0.975, 6) / 3  # variances of 1 and 3 seeds: an error of sqrt(3 / 9 / 3), 3 times 2 degrees
    assert found == pytest.approx((6, 6 - half, 6 + half))


@given(*[FLOATS.filter(lambda values: np.std(values) > 1e-3)] * 3)
def test_a_mean_of_settings_moves_with_them(first, second, third):
    whole = contrast_over_seeds([first, second, third], [1 / 3] * 3)
    assert whole.value == pytest.approx(np.mean([np.mean(first), np.mean(second), np.mean(third)]), abs=1e-9)
    moved = contrast_over_seeds([first, second, [value + 3 for value in third]], [1 / 3] * 3)
    assert np.subtract(moved, whole) == pytest.approx([1, 1, 1], abs=1e-6)
