import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ucurve.analysis.scaling.laws import (
    LOGISTIC_LAW,
    POWER_LAW,
    Law,
    fit_logistic_law,
    fit_power_law,
    fit_tables,
    logistic_law,
    power_law,
)

FLOPS = np.geomspace(1e15, 1e20, 12)


@settings(max_examples=25, deadline=None)
@given(st.floats(0.3, 2), st.floats(0.5, 3), st.floats(0.05, 0.5))
def test_a_power_law_without_noise_is_found_again(floor: float, above: float, exponent: float) -> None:
    truth = np.array([floor, above * 1e17**exponent, exponent])
    values = power_law(FLOPS, truth)
    found = fit_power_law(FLOPS, values)
    assert power_law(FLOPS, found) == pytest.approx(values, rel=2e-3)


def test_the_parameters_of_a_power_law_are_found_and_an_outlier_moves_them_little() -> None:
    truth = np.array([1.0, 60.0, 0.1])
    values = power_law(np.geomspace(1e15, 1e22, 30), truth)
    values[4] *= 1.5  # a loss spike
    assert fit_power_law(np.geomspace(1e15, 1e22, 30), values) == pytest.approx(truth, rel=0.03)


@settings(max_examples=25, deadline=None)
@given(st.floats(0.65, 1), st.floats(1, 6), st.floats(16, 19))
def test_a_logistic_curve_without_noise_is_found_again(top: float, slope: float, middle: float) -> None:
    values = logistic_law(FLOPS, np.array([top, slope, middle]))
    assert logistic_law(FLOPS, fit_logistic_law(FLOPS, values)) == pytest.approx(values, abs=2e-3)


def test_the_logistic_law_is_at_chance_far_below_its_middle_half_way_at_it_and_at_its_top_far_above() -> None:
    values = logistic_law(np.array([1.0, 1e18, 1e40]), np.array([0.9, 2.0, 18.0]))
    assert values == pytest.approx([0.5, 0.7, 0.9])


def test_a_curve_that_falls_below_chance_has_a_top_below_chance() -> None:
    values = logistic_law(FLOPS, np.array([0.3, 3.0, 17.0]))
    assert fit_logistic_law(FLOPS, values)[0] == pytest.approx(0.3, abs=0.01)


def test_lines_of_fewer_than_four_different_flops_are_not_fitted() -> None:
    few = pd.DataFrame({"line": "a", "flops": [1e15, 1e16, 1e17] * 3, "value": [0.5, 0.6, 0.7] * 3})
    for table in fit_tables(few, LOGISTIC_LAW):
        assert table.empty
        assert "line" in table.columns


@pytest.mark.parametrize("law", [POWER_LAW, LOGISTIC_LAW])
def test_lines_of_fewer_than_eight_different_flops_have_a_fit_and_no_interval(law: Law) -> None:
    flops = np.tile(np.geomspace(1e15, 1e20, 7), 2)
    parameters, curves = fit_tables(pd.DataFrame({"line": "a", "flops": flops, "value": 0.6 + 1e14 / flops}), law)
    assert parameters["value"].notna().all()
    assert parameters[["low", "high"]].isna().all(axis=None)
    assert curves[curves["source"] == "fit"]["value"].notna().all()
    assert curves[["low", "high"]].isna().all(axis=None)


def test_a_parameter_at_the_end_of_its_range_has_no_interval() -> None:
    values = logistic_law(FLOPS, np.array([1.0, 1.0, 20.5]))  # the curve ends before it bends: the top is open
    values += np.random.default_rng(0).normal(0, 0.005, len(FLOPS))
    parameters, _ = fit_tables(
        pd.DataFrame({"line": "a", "flops": FLOPS, "value": values}), LOGISTIC_LAW, samples=60
    )
    found = parameters.set_index("parameter")
    assert found.loc["top", "value"] == pytest.approx(1)
    assert found.loc["top", ["low", "high"]].isna().all()
    assert found.loc[["slope", "middle"], ["low", "high"]].notna().all(axis=None)


def test_points_of_one_size_and_budget_are_drawn_together() -> None:
    """Seeds that repeat a cell's value tell nothing new: they do not make the interval narrower."""
    values = logistic_law(FLOPS, np.array([0.85, 1.5, 17.0])) + np.random.default_rng(3).normal(
        0, 0.02, len(FLOPS)
    )
    alone = pd.DataFrame({"line": "a", "flops": FLOPS, "value": values})
    widths = []
    for seeds in (1, 5):
        parameters, _ = fit_tables(pd.concat([alone] * seeds), LOGISTIC_LAW, samples=60)
        widths.append((parameters["high"] - parameters["low"]).to_numpy())
    assert widths[1] == pytest.approx(widths[0], rel=0.05)


def test_an_irreducible_part_at_its_bound_gives_no_warning() -> None:
    """These draws of points without an irreducible part once led the search to NaN."""
    values = np.array([2.98, 2.97, 2.99, 2.93, 2.94, 2.91, 2.85, 2.88, 2.84, 2.84, 2.79])
    flops, random = np.geomspace(1e15, 1e18, 11), np.random.default_rng(0)
    start = fit_power_law(flops, values)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for drawn in random.integers(0, 11, (150, 11)):
            assert np.isfinite(fit_power_law(flops[drawn], values[drawn], start)).all()


def test_the_tables_hold_every_parameter_and_the_points_beside_the_curve() -> None:
    random = np.random.default_rng(1)
    flops = np.tile(FLOPS, 3)
    values = power_law(flops, np.array([1.0, 400.0, 0.15])) * np.exp(random.normal(0, 0.01, len(flops)))
    points = pd.DataFrame({"line": "a", "flops": flops, "value": values})
    parameters, curves = fit_tables(points, POWER_LAW, samples=60)
    assert parameters["parameter"].tolist() == ["E", "A", "b"]
    assert (parameters["low"] <= parameters["value"]).all()
    assert (parameters["value"] <= parameters["high"]).all()
    assert parameters["points"].tolist() == [36] * 3
    assert curves["source"].value_counts().to_dict() == {"fit": 60, "observed": 36}
    fit = curves[curves["source"] == "fit"]
    truth = power_law(fit["flops"].to_numpy(), np.array([1.0, 400.0, 0.15]))
    assert fit["value"].to_numpy() == pytest.approx(truth, rel=0.01)


@pytest.mark.parametrize(("law", "truth"), [(POWER_LAW, [1.0, 400.0, 0.15]), (LOGISTIC_LAW, [0.85, 1.5, 17.0])])
def test_bands_hold_the_true_curve_about_as_often_as_they_say(law: Law, truth: list[float]) -> None:
    random = np.random.default_rng(2)
    flops = np.tile(FLOPS, 3)
    inside = []
    for _ in range(20):
        values = law.curve(flops, np.array(truth)) + random.normal(0, 0.01, len(flops))
        _, curves = fit_tables(pd.DataFrame({"line": "a", "flops": flops, "value": values}), law, samples=40)
        fit = curves[curves["source"] == "fit"]
        true = law.curve(fit["flops"].to_numpy(dtype=float), np.array(truth))
        inside.append(((fit["low"] <= true) & (true <= fit["high"])).mean())
    assert 0.8 < np.mean(inside) < 0.99


def test_the_same_points_give_the_same_intervals() -> None:
    points = pd.DataFrame({"line": "a", "flops": FLOPS, "value": np.linspace(0.5, 0.8, 12)})
    first, second = (fit_tables(points, LOGISTIC_LAW, samples=20)[0] for _ in range(2))
    pd.testing.assert_frame_equal(first, second)
