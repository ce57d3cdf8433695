import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from analysis.smoothing import curve_draws, errors, estimate_curve, smoothing_weights

LOGS = np.linspace(4, 7, 12)
ONE_STRATUM = np.zeros(4, dtype=np.int64)


def test_the_curve_is_the_mean_over_seeds_and_items() -> None:
    half_points = np.array([[[0, 2, 2, 2], [2, 2, 2, 2]], [[0, 0, 1, 1], [0, 0, 0, 2]]], dtype=np.uint8)
    curve = estimate_curve(np.array([1.0, 10.0]), half_points, ONE_STRATUM)
    assert curve.mean == pytest.approx([(0.75 + 0.25) / 2, (1 + 0.25) / 2])


def test_item_variance_of_one_seed_is_the_textbook_variance_of_a_mean() -> None:
    half_points = np.array([0, 0, 2, 2, 2, 1, 0, 2], dtype=np.uint8)
    curve = estimate_curve(np.array([1.0]), half_points[None, None, :], np.zeros(8, dtype=np.int64))
    one_item_more = 1 / (2 * 8**2)
    assert curve.item_cov[0, 0] - one_item_more == pytest.approx(np.var(half_points / 2, ddof=1) / 8)


def test_strata_take_their_differences_out_of_the_variance() -> None:
    half_points = np.array([0, 0, 0, 0, 2, 2, 2, 2], dtype=np.uint8)[None, None, :]
    strata = np.repeat([0, 1], 4)
    assert estimate_curve(np.array([1.0]), half_points, strata).item_cov[0, 0] == pytest.approx(1 / (2 * 8**2))


def test_seed_and_rest_variance_are_those_of_a_crossed_design() -> None:
    """Mean squares of a two-way layout with one observation a cell: seeds 3, items 5."""
    cells = np.array([[2, 0, 2, 1, 0], [2, 2, 2, 0, 0], [1, 0, 2, 0, 0]], dtype=np.uint8)
    shares = cells / 2
    curve = estimate_curve(np.array([1.0]), cells[:, None, :], np.zeros(5, dtype=np.int64))
    rest = shares - shares.mean(axis=0) - shares.mean(axis=1, keepdims=True) + shares.mean()
    mean_square = (rest**2).sum() / (2 * 4)
    assert curve.seed_cov[0, 0] == pytest.approx(np.var(shares.mean(axis=1), ddof=1) / 3)
    pad = 1 / (2 * 5**2) / 2  # what one item more adds, over seeds - 1
    assert curve.rest_cov[0, 0] + pad == pytest.approx(mean_square / (3 * 5))


def test_offsets_of_seeds_are_no_error_of_differences() -> None:
    """Two seeds with a level of their own and nothing else: levels are uncertain, differences are not."""
    half_points = np.zeros((2, 3, 100), dtype=np.uint8)
    half_points[0, :, :60], half_points[1, :, :80] = 2, 2
    curve = estimate_curve(np.array([1.0, 10.0, 100.0]), half_points, np.zeros(100, dtype=np.int64))
    assert errors(curve, np.array([[1.0, 0, -1.0]])).seed_share == 0
    assert errors(curve, np.eye(3)).seed_share > 0.8


def test_draws_have_the_variance_of_the_error() -> None:
    rng = np.random.default_rng(1)
    half_points = (2 * (rng.random((1, 6, 200)) < 0.7)).astype(np.uint8)
    curve = estimate_curve(np.logspace(4, 6, 6), half_points, np.zeros(200, dtype=np.int64))
    functions = smoothing_weights(curve.log_tokens)
    drawn = curve_draws(curve, functions, draws=20_000)
    assert drawn.var(axis=0) == pytest.approx(errors(curve, functions).variance, rel=0.05)


def test_few_seeds_give_heavy_tails() -> None:
    rng = np.random.default_rng(3)
    levels = np.clip(0.6 + 0.1 * rng.standard_normal((3, 6, 1)), 0.1, 0.9)
    half_points = (2 * (rng.random((3, 6, 200)) < levels)).astype(np.uint8)
    curve = estimate_curve(np.logspace(4, 6, 6), half_points, np.zeros(200, dtype=np.int64))
    assert 4 < errors(curve, np.eye(6)).freedom < 5  # twice the seeds but one, and a little for the items


@given(hnp.arrays(np.float64, 12, elements=st.floats(0, 1)))
@settings(max_examples=50, deadline=None)
def test_smoothing_keeps_the_range_and_the_order(values: np.ndarray) -> None:
    weights = smoothing_weights(LOGS)
    assert weights.sum(axis=1) == pytest.approx(np.ones(12))
    smooth = weights @ values
    assert values.min() - 1e-12 <= smooth.min() <= smooth.max() <= values.max() + 1e-12
    assert np.all(np.diff(weights @ np.sort(values)) >= -1e-12)  # a rising curve stays one


@given(hnp.arrays(np.float64, 12, elements=st.floats(0, 1)))
@settings(max_examples=50, deadline=None)
def test_smoothing_adds_no_turn(values: np.ndarray) -> None:
    def turns(curve: np.ndarray) -> int:
        steps = np.diff(curve)
        signs = np.sign(steps[np.abs(steps) > 1e-9])
        return int((signs[1:] != signs[:-1]).sum())

    raw = np.diff(values)
    signs = np.sign(raw[raw != 0])
    assert turns(smoothing_weights(LOGS) @ values) <= int((signs[1:] != signs[:-1]).sum())
