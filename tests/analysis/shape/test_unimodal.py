from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression

from measurements.shapes.dip_levels import Cell, measure, simulate
from tests.analysis.shape.test_classify import exact
from ucurve.analysis.shape.pooled import estimate_curve
from ucurve.analysis.shape.unimodal import dip_tests, unimodal_distances, unimodal_fit

LEVELS = st.lists(st.integers(-20, 20), min_size=1, max_size=9).map(
    lambda values: np.array(values, dtype=np.float64)
)
TOKENS = 16384 * 10 ** np.linspace(0, 4, 24)


def weights_of(count: int) -> np.ndarray:
    return np.random.default_rng(count).uniform(0.3, 2, count)


def nearest_by_trying_every_top(curve: np.ndarray, weights: np.ndarray) -> float:
    """The two parts fitted by scipy, for each checkpoint at which the rising part can end."""
    found = []
    for top in range(len(curve) + 1):
        parts = ((curve[:top], weights[:top], True), (curve[top:], weights[top:], False))
        found.append(
            sum(
                float((own * (isotonic_regression(part, weights=own, increasing=up).x - part) ** 2).sum())
                for part, own, up in parts
                if len(part)
            )
        )
    return min(found)


@given(LEVELS)
@settings(max_examples=100, deadline=None)
def test_the_distance_is_that_of_the_nearest_of_all_unimodal_curves(curve: np.ndarray) -> None:
    weights = weights_of(len(curve))
    distance = unimodal_distances(np.stack([curve, curve[::-1]]), weights)[0]
    assert distance == pytest.approx(nearest_by_trying_every_top(curve, weights), abs=1e-9)
    fit = unimodal_fit(curve, weights)
    assert (weights * (fit - curve) ** 2).sum() == pytest.approx(distance, abs=1e-9)
    changes = np.sign(np.round(np.diff(fit), 9))
    assert (np.diff(changes[changes != 0]) <= 0).all(), "it rises first and never again after it fell"


def curve_of(levels: np.ndarray, pairs: int = 400):
    return estimate_curve(TOKENS, exact(levels, pairs), np.zeros(pairs, dtype=np.int64))


def test_curves_without_a_dip_have_a_p_value_of_1_and_dips_a_small_one() -> None:
    place = np.linspace(0, 1, len(TOKENS))
    assert dip_tests(curve_of(0.5 + 0.4 * place), 200) == (1.0, 1.0)
    p_dip, p_bump = dip_tests(curve_of(0.5 + 0.3 * np.sin(np.pi * place)), 999)
    assert (p_dip, p_bump) == (1.0, 0.001)
    assert dip_tests(curve_of(0.9 - 0.3 * np.sin(np.pi * place)), 999) == (0.001, 1.0)


def test_few_draws_are_enough_where_the_p_value_is_large() -> None:
    """Drawing ends after 50 of the first 500 draws; more draws would have given another p value."""
    cell = Cell("flat", "ar1", 300, 24, 3)
    values = [
        dip_tests(estimate_curve(*simulate(cell, np.random.default_rng(k))), 20_000, k)[0] for k in range(20)
    ]
    large = [p for p in values if p > 0.15]
    assert large
    assert all(p * 501 == pytest.approx(round(p * 501)) for p in large if p < 1)


def test_a_late_rise_is_rarely_called_a_dip_and_a_dip_of_5_points_is_found() -> None:
    """The reduced form of measurements/shapes/dip_levels.py; more than 5 of 40 has p = 0.01 where 5 % are."""
    assert measure(Cell("late", "ar1", 300, 24, 3), 40, 199)["u_1"] <= 5 / 40
    assert measure(Cell("u5", "ar1", 300, 24, 3), 40, 199)["u_1"] >= 0.5


def test_a_lasting_distance_between_runs_is_no_error_of_a_dip() -> None:
    """Their levels differ by much more than anything else; the draws are others, and the p value is that of 999."""
    curve = estimate_curve(*simulate(Cell("u5", "ar1", 300, 24, 3), np.random.default_rng(3)))
    apart = replace(curve, seed_cov=curve.seed_cov + 0.1**2)
    assert dip_tests(apart, 999) == pytest.approx(dip_tests(curve, 999), abs=0.03)
