"""Groups of runs: the mean over sizes, a curve over groups, and whether groups differ in a turn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ucurve.analysis.shape.classify import change_tests, shape_test
from ucurve.analysis.shape.pooled import (
    at_mean_mix,
    curve_of_groups,
    estimate_curve,
    group_runs,
    mean_curve,
    scatter,
    size_contrast,
    turn_function,
)
from ucurve.analysis.shape.smoothing import errors, smoothing_weights

TOKENS = 2.0 ** np.arange(14, 26)
PARADIGMS = np.arange(120) % 4
PAIRS = np.arange(120)


def credits_(accuracies: np.ndarray, seed: int, pairs: int = 120) -> np.ndarray:
    """Half points, uint8[runs, T, pairs], of runs with these accuracies, float64[runs, T]."""
    draw = np.random.default_rng(seed)
    difficulty = draw.normal(0, 0.1, pairs)
    return (2 * (draw.random((*accuracies.shape, pairs)) < accuracies[..., None] + difficulty)).astype(np.uint8)


def sizes_of(half_points: np.ndarray, seeds: int):
    return [(str(number // seeds), one / 2) for number, one in enumerate(half_points)]


@settings(deadline=None)  # a busy machine takes longer
@given(st.integers(2, 4), st.integers(0, 20))
def test_one_size_alone_is_estimated_as_its_line_is(seeds: int, seed: int) -> None:
    half_points = credits_(np.full((seeds, 12), 0.6), seed)
    clusters = PAIRS // 2
    one = estimate_curve(TOKENS, half_points, PARADIGMS, clusters)
    pooled = mean_curve(group_runs(sizes_of(half_points, seeds), PARADIGMS, clusters), TOKENS)
    for name, value in vars(one).items():
        assert getattr(pooled, name) == pytest.approx(value, rel=1e-9, abs=1e-15), name


def test_the_seeds_of_all_sizes_count_and_the_pairs_count_once() -> None:
    half_points = credits_(np.full((6, 12), 0.6), 1)
    same = np.concatenate([half_points[:3]] * 4)
    line = estimate_curve(TOKENS, half_points[:3], PARADIGMS, PAIRS)
    pooled = mean_curve(group_runs(sizes_of(same, 3), PARADIGMS, PAIRS), TOKENS)
    assert pooled.item_cov == pytest.approx(line.item_cov)  # four equal sizes: the same pairs, no more
    assert pooled.seed_cov == pytest.approx(line.seed_cov / 4)
    assert pooled.seeds - 1 == 8
    assert pooled.mean == pytest.approx(line.mean)


def test_sizes_of_unequal_numbers_of_runs_have_equal_weight() -> None:
    half_points = credits_(np.repeat([[0.5], [0.8]], [1, 3], axis=0) * np.ones(12), 2)
    runs = [("small", half_points[0] / 2), *(("large", one / 2) for one in half_points[1:])]
    groups = group_runs(runs, PARADIGMS, PAIRS)
    curve = mean_curve(groups, TOKENS)
    by_hand = (half_points[0].mean(axis=1) + half_points[1:].mean(axis=(0, 2))) / 4
    assert curve.mean == pytest.approx(by_hand)
    assert groups.freedom == 2
    apart = half_points[1:].mean(axis=2) / 2
    assert groups.run_cov == pytest.approx(np.cov(apart.T))
    assert curve.seed_cov == pytest.approx(np.cov(apart.T) * (1 + 1 / 3) / 4)


def test_a_dip_that_sizes_share_is_found_in_their_mean_and_not_in_one_of_them() -> None:
    heights = 0.7 - 0.08 * np.exp(-((np.arange(12) - 6) ** 2) / 4)
    half_points = credits_(np.tile(heights, (12, 1)), 3, 120)
    pooled = mean_curve(group_runs(sizes_of(half_points, 3), PARADIGMS, PAIRS), TOKENS)
    single = estimate_curve(TOKENS, half_points[:3], PARADIGMS, PAIRS)
    assert shape_test(pooled)["p_u"] < 0.001
    assert shape_test(single)["p_u"] > 0.05


def test_sizes_differ_in_a_dip_of_one_of_them_and_not_in_a_shared_one() -> None:
    dip = 0.1 * np.exp(-((np.arange(12) - 6) ** 2) / 4)
    share = np.repeat([0.0, 0.0, 3.0], 3)[:, None]
    for depths, differs in ((share, True), (np.ones((9, 1)), False)):
        levels = np.repeat([0.6, 0.7, 0.8], 3)[:, None]
        groups = group_runs(
            sizes_of(credits_(levels - depths * dip, 4, 600), 3), np.zeros(600, int), np.arange(600)
        )
        curve = mean_curve(groups, TOKENS)
        function = turn_function(curve, is_dip=True)
        assert function is not None
        found = size_contrast(groups, function)
        assert (found.p < 0.01) == differs
        assert found.depths.mean() == pytest.approx(shape_test(curve)["dip"])
        truths = function @ -(depths[::3] * dip).T
        assert (np.abs(found.depths - truths) < found.half_width).all()


def test_without_a_second_run_of_any_size_no_difference_between_sizes_is_tested() -> None:
    groups = group_runs(sizes_of(credits_(np.full((3, 12), 0.6), 5), 1), PARADIGMS, PAIRS)
    found = size_contrast(groups, np.ones(12))
    assert np.isnan(found.p)
    assert np.isnan(found.half_width).all()
    assert mean_curve(groups, TOKENS).seeds == 1


def test_the_depth_of_a_turn_is_that_between_its_shoulders_whatever_level_and_slope_are_added() -> None:
    heights = np.array([0.5, 0.6, 0.7, 0.7, 0.66, 0.6, 0.58, 0.63, 0.7, 0.8, 0.9, 0.9])
    half_points = np.zeros((1, 12, 100), np.uint8)
    for step, height in enumerate(heights):
        half_points[0, step, : round(100 * height)] = 2
    curve = estimate_curve(TOKENS, half_points, np.zeros(100, int))
    function = turn_function(curve, is_dip=True)
    assert function is not None
    assert function @ curve.mean == pytest.approx(shape_test(curve)["dip"])
    weights = smoothing_weights(curve.log_tokens)
    line = np.linalg.solve(weights, 0.3 + 0.2 * curve.log_tokens)  # what smoothing makes a straight line of
    assert function @ line == pytest.approx(0, abs=1e-9)
    rising = estimate_curve(TOKENS, np.sort(half_points, axis=1), np.zeros(100, int))
    assert turn_function(rising, is_dip=True) is None


def test_the_groups_of_a_curve_have_one_variance_of_seeds() -> None:
    half_points = credits_(np.full((6, 1), 0.6), 6)
    groups = group_runs(sizes_of(half_points, 2), PARADIGMS, PAIRS)
    curve = curve_of_groups(groups, np.array([1e17, 1e18, 1e19]))
    means = half_points.mean(axis=(1, 2)).reshape(3, 2) / 2
    variance = means.var(axis=1, ddof=1).mean()
    assert curve.seed_cov == pytest.approx(np.eye(3) * variance / 2)
    assert curve.seeds - 1 == 3
    if (found := errors(curve, np.eye(3))).seed_share:
        assert found.freedom < curve.item_freedom


def test_a_fall_over_groups_is_found() -> None:
    accuracies = np.repeat(np.linspace(0.85, 0.6, 5), 3)[:, None]
    groups = group_runs(sizes_of(credits_(accuracies, 7, 600), 3), np.zeros(600, int), np.arange(600))
    rise, fall, dip, *_ = change_tests(curve_of_groups(groups, 10.0 ** np.linspace(17, 19, 5)))
    assert fall < 0.001
    assert min(rise, dip) > 0.05


def test_the_scatter_is_that_around_lines_between_neighbors() -> None:
    places = np.array([0.0, 1.0, 3.0, 4.0, 5.0])
    assert scatter(places, 2 + 3 * places) == (pytest.approx(0), 1)
    heights = np.array([0.0, 3.0, 0.0, 0.0, 0.0])
    by_hand = (3**2 / (1 + 4 / 9 + 1 / 9) + 1**2 / (1 + 4 / 9 + 1 / 9) + 0) / 2
    assert scatter(places, heights)[0] == pytest.approx(by_hand)
    assert np.isfinite(scatter(np.array([0.0, 1.0, 1.0, 1.0]), np.ones(4))[0])


ZIGZAG = 10.0 ** np.linspace(15, 19, 8)


def zigzag(heights):
    accuracies = np.repeat(heights, 3)[:, None]
    return group_runs(sizes_of(credits_(accuracies, 8, 600), 3), np.zeros(600, int), np.arange(600))


def test_a_zigzag_between_budgets_is_no_dip_in_a_curve_at_the_mean_mix() -> None:
    groups = zigzag([0.5, 0.75, 0.55, 0.8, 0.6, 0.85, 0.65, 0.9])
    mix = np.array([1.0, 2.0] * 4)  # every second point has more tokens per parameter
    assert change_tests(curve_of_groups(groups, ZIGZAG))[2] < 0.001
    curve = curve_of_groups(groups, ZIGZAG, mix)
    rise, fall, dip, *_ = change_tests(curve)
    assert rise < 0.001
    assert min(fall, dip) > 0.05
    assert curve.mean == pytest.approx(np.linspace(0.625, 0.775, 8), abs=0.03)


def test_what_the_mix_does_not_explain_counts_as_error() -> None:
    groups = zigzag([0.5, 0.7, 0.6, 0.7, 0.9, 0.65, 0.6, 0.9])
    assert change_tests(curve_of_groups(groups, ZIGZAG))[2] < 0.001
    curve = curve_of_groups(groups, ZIGZAG, np.array([1.0, 2.0] * 4))
    assert change_tests(curve)[2] > 0.05
    assert curve.seeds == 1 + 3


def test_the_linear_effect_of_a_mix_is_taken_away_and_a_constant_one_is_not() -> None:
    places, mix = np.log10(ZIGZAG), np.array([1.0, 3.0, 0.0, 2.0, 5.0, 1.0, 0.0, 4.0])
    line = 2 * places
    assert at_mean_mix(places, mix) @ (line + 0.7 * mix) == pytest.approx(line + 0.7 * mix.mean())
    assert at_mean_mix(places, np.ones(8)) == pytest.approx(np.eye(8))
