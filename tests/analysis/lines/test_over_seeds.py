import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import f as f_distribution
from scipy.stats import t as student
from scipy.stats import ttest_1samp, ttest_ind

from ucurve.analysis.lines.over_seeds import (
    contrast,
    mean_over_seeds,
    moderate,
    moderate_table,
    of_curve,
    p_of_contrast,
    seeds_alone,
)
from ucurve.eval.metrics.moderated import MOST_PRIOR

FLOATS = st.lists(st.floats(-100, 100).map(lambda value: round(value, 3)), min_size=2, max_size=5).filter(
    lambda values: np.std(values) > 1e-3
)


@given(FLOATS)
def test_a_mean_has_the_interval_of_students_t(values):
    known = ttest_1samp(values, 0).confidence_interval(0.95)
    assert mean_over_seeds(values) == pytest.approx((np.mean(values), known.low, known.high))


@given(FLOATS, FLOATS)
def test_two_settings_alone_have_welchs_interval_and_p(first, second):
    known = ttest_ind(first, second, equal_var=False)
    interval = known.confidence_interval(0.95)
    sides = moderate([first, second])
    found = contrast(sides, [1, -1])
    assert found == pytest.approx((np.mean(first) - np.mean(second), interval.low, interval.high), abs=1e-6)
    assert p_of_contrast(sides, [1, -1]) == pytest.approx(known.pvalue, abs=1e-9)


def test_too_few_seeds_have_no_interval():
    assert mean_over_seeds([np.nan, 2.0]) == pytest.approx((2.0, np.nan, np.nan), nan_ok=True)
    assert mean_over_seeds([]) == pytest.approx((np.nan,) * 3, nan_ok=True)
    of_one = [seeds_alone([3.0]), seeds_alone([1.0, 2.0])]
    assert contrast(of_one, [1, -1]) == pytest.approx((1.5, np.nan, np.nan), nan_ok=True)
    assert np.isnan(p_of_contrast(of_one, [1, -1]))
    assert mean_over_seeds([2.0, 2.0]) == (2.0, 2.0, 2.0)


def test_equal_seeds_on_both_sides_have_no_p():
    # .1 + .2 is not .3 in binary: three equal runs may have a variance above 0
    first, second = [0.1 + 0.2, 0.3, 0.3], [0.4] * 3
    assert np.isnan(p_of_contrast(moderate([first, second]), [1, -1]))
    others = np.random.default_rng(3).normal(0.6, 0.03, (6, 3)).tolist()
    sides = moderate([first, second, *others])
    assert np.isnan(p_of_contrast(sides[:2], [1, -1]))
    assert p_of_contrast([sides[0], sides[2]], [1, -1]) < 0.05


def test_equal_variances_give_a_mean_of_settings_their_degrees_of_freedom_together():
    found = contrast([seeds_alone(values) for values in ([0, 1, 2], [5, 6, 7], [10, 11, 12])], [1 / 3] * 3)
    half = student.ppf(0.975, 6) / 3  # variances of 1 and 3 seeds: an error of sqrt(3 / 9 / 3), 3 times 2 degrees
    assert found == pytest.approx((6, 6 - half, 6 + half))


@given(FLOATS, FLOATS, FLOATS)
def test_a_mean_of_settings_moves_with_them(first, second, third):
    whole = contrast(moderate([first, second, third]), [1 / 3] * 3)
    assert whole.value == pytest.approx(np.mean([np.mean(first), np.mean(second), np.mean(third)]), abs=1e-9)
    moved = contrast(moderate([first, second, [value + 3 for value in third]]), [1 / 3] * 3)
    assert np.subtract(moved, whole) == pytest.approx([1, 1, 1], abs=1e-6)


def test_settings_that_vary_alike_are_read_as_such():
    """Equal true variances: four degrees of freedom come from the other settings, and accidents of two runs go."""
    draws = np.random.default_rng(1).normal(0, 0.02, (40, 3))
    found = moderate(draws.tolist())
    assert {one.freedom for one in found} == {2 + MOST_PRIOR}
    widths = [contrast([one], [1.0]).high - contrast([one], [1.0]).value for one in found]
    alone = [mean_over_seeds(values).high - np.mean(values) for values in draws.tolist()]
    assert max(widths) / min(widths) < 4
    assert max(alone) / min(alone) > 6


@pytest.mark.parametrize(("true", "least", "most"), [(0.7, 0.7, 1.7), (1.5, 1.5, 3), (30, 4, 4)])
def test_the_less_alike_settings_vary_the_less_they_are_believed(true, least, most):
    """Variances from a scaled F distribution with so many prior degrees of freedom; raising the smallest adds some."""
    variances = f_distribution.rvs(2, true, size=4000, random_state=np.random.default_rng(2))
    settings = [[-one, 0.0, one] for one in np.sqrt(variances)]  # of three seeds with this variance
    assert least <= moderate(settings)[0].freedom - 2 <= most


def test_no_interval_is_narrower_than_half_the_median():
    settings = [[0.5, 0.5, 0.5], *np.random.default_rng(4).normal(0.6, 0.03, (30, 3)).tolist()]
    widths = np.array([contrast([one], [1.0]).high - one.mean for one in moderate(settings)])
    assert widths.min() >= 0.499 * np.median(widths)


def test_intervals_hold_and_are_a_third_as_wide_for_two_seeds():
    """Half of the settings vary three times as much as the others, as their curves tell."""
    draw, held, widths, alone = np.random.default_rng(5), [], [], []
    rough = np.repeat([0.01, 0.03], 15)
    for _ in range(60):
        values = draw.normal(0, rough[:, None], (30, 2))
        for own, one in zip(values.tolist(), moderate(values.tolist(), np.log(rough[:, None] ** 2)), strict=True):
            estimate = contrast([one], [1.0])
            held.append(estimate.low <= 0 <= estimate.high)
            widths.append(estimate.high - estimate.value)
            alone.append(mean_over_seeds(own).high - np.mean(own))
    assert 0.95 <= np.mean(held) < 0.99  # somewhat more than 95 %, because the smallest variances are raised
    assert np.median(widths) < 0.35 * np.median(alone)


def test_a_curve_says_how_rough_and_steep_it_is():
    tokens = 10.0 ** np.arange(3, 7, 0.1)
    places = np.log10(tokens)
    straight = of_curve(tokens, 0.5 + 0.1 * (places - 3), np.array([1e4, tokens[-1]]))
    assert straight["roughness"] == pytest.approx([1e-6] * 2, rel=1e-6)
    assert straight["slope"][0] == pytest.approx(0.01 + 0.0004)
    zigzag = 0.5 + 0.02 * (-1.0) ** np.arange(len(tokens))
    assert of_curve(tokens, zigzag, np.array([1e5]))["roughness"] == pytest.approx(0.04**2 + 1e-6)


def test_a_table_moderates_the_mean_over_all_pairs_apart():
    draw = np.random.default_rng(6)
    rows = [
        (name, phenomenon, value)
        for name in "abcde"
        for phenomenon, sd in (("all", 0.001), ("p", 0.05), ("q", 0.05))
        for value in draw.normal(0.7, sd, 3)
    ]
    found = moderate_table(pd.DataFrame(rows, columns=["line", "phenomenon", "accuracy"]), ["line", "phenomenon"])
    assert list(found)[:3] == [("a", "all"), ("a", "p"), ("a", "q")]
    assert max(one.error for (_, name), one in found.items() if name == "all") < 0.003**2
    assert min(one.error for (_, name), one in found.items() if name != "all") > 0.01**2
