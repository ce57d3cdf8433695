import warnings
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from measurements.shapes.change_points import CURVES, run
from measurements.shapes.simulated_curves import INDEPENDENT, SLOW, simulate, token_axis
from ucurve.analysis.change_points.bends import LEAST_APART, can_bend, find_changes, noise_covariance
from ucurve.analysis.shape.pooled import estimate_curve
from ucurve.analysis.shape.smoothing import Curve

TOKENS = token_axis(16, 3.0)


def curve_of(mean: np.ndarray, error: float = 0.004, tokens: np.ndarray = TOKENS) -> Curve:
    """A curve whose error is independent over checkpoints."""
    nothing = np.zeros((len(mean), len(mean)))
    return Curve(tokens, mean, 1, 300, np.eye(len(mean)) * error**2, nothing, nothing, 1e6, 300)


def bent(*changes: tuple[int, float], slope: float = 0.05) -> np.ndarray:
    """A line whose slope grows at each of these checkpoints."""
    logs = np.log10(TOKENS)
    return 0.5 + slope * (logs - logs[0]) + sum(more * np.maximum(0, logs - logs[at]) for at, more in changes)


def plain_squares(mean: np.ndarray, places: tuple[int, ...]) -> float:
    """Sum of squares beside the line that bends there, by a regression of its own."""
    logs = np.log10(TOKENS)
    columns = np.column_stack([np.ones(16), logs, *(np.clip(logs - logs[at], 0, None) for at in places)])
    return float(((mean - columns @ np.linalg.lstsq(columns, mean, rcond=None)[0]) ** 2).sum())


def test_an_exact_bend_is_found_at_its_checkpoint_with_both_slopes() -> None:
    found = find_changes(curve_of(bent((8, 0.1))), draws=500)
    assert found.p < 0.01
    assert found.tokens == pytest.approx([TOKENS[8]])
    assert found.slopes == pytest.approx([0.05, 0.15])
    assert found.levels == pytest.approx([0.5 + 0.05 * 8 * 0.2])
    assert found.low[0] < TOKENS[8] < found.high[0]


@pytest.mark.parametrize("seed", range(3))
def test_the_places_are_those_of_the_best_of_all_regressions(seed: int) -> None:
    draw = np.random.default_rng(seed)
    mean = bent((4, 0.2), (10, -0.25)) + 0.002 * draw.standard_normal(16)
    found = find_changes(curve_of(mean), draws=500)
    logs = np.log10(TOKENS)
    allowed = [
        places for places in combinations(range(2, 14), len(found.tokens))
        if (np.diff(logs[[0, *places, 15]]) >= LEAST_APART - 1e-9).all() and (np.diff([0, *places, 15]) > 1).all()
    ]  # fmt: skip
    best = min(allowed, key=lambda places: plain_squares(mean, places))
    assert len(found.tokens) == 2
    assert found.tokens.tolist() == TOKENS[list(best)].tolist()


@settings(max_examples=15, deadline=None)
@given(st.floats(-0.3, 0.3), st.floats(0.1, 0.9), st.integers(0, 99))
def test_a_straight_line_added_to_a_curve_changes_no_change(slope: float, level: float, seed: int) -> None:
    mean = bent((6, 0.1)) + 0.004 * np.random.default_rng(seed).standard_normal(16)
    line = level + slope * np.log10(TOKENS)
    plain, added = (find_changes(curve_of(one), draws=300) for one in (mean, mean + line))
    assert added.tokens.tolist() == plain.tokens.tolist()
    assert added.p == pytest.approx(plain.p)
    assert added.slopes == pytest.approx(plain.slopes + slope, abs=1e-9)


def test_a_dip_has_three_changes_and_a_step_two() -> None:
    dip = bent((4, -0.25), (8, 0.5), (12, -0.25), slope=0.0)
    step = bent((5, 0.3), (10, -0.3), slope=0.0)
    assert len(find_changes(curve_of(dip), draws=500).tokens) == 3
    assert len(find_changes(curve_of(step), draws=500).tokens) == 2


def test_runs_whose_difference_is_nearly_all_doubt_have_no_changes_and_no_warning() -> None:
    """Two runs that happen to agree: their draws are of so few degrees of freedom that some are 10^30 and more."""
    small, nothing = np.eye(16) * 1e-9, np.zeros((16, 16))
    curve = Curve(TOKENS, bent((5, 0.3), (8, -0.3)), 2, 40, small, np.eye(16) * 1e-3, np.eye(16) * 1e-3, 17, 18)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = find_changes(curve)
    assert found.p > 0.3
    assert len(found.tokens) == 1
    assert find_changes(replace(curve, seed_cov=nothing, rest_cov=nothing)).p < 0.001


def test_changes_lie_apart_and_within_their_intervals() -> None:
    draw = np.random.default_rng(1)
    items = simulate(CURVES[-1].curve, TOKENS, SLOW, draw, seeds=3, items=200)
    found = find_changes(estimate_curve(TOKENS, items, np.zeros(200, dtype=np.int64)), draws=500)
    assert (np.diff(np.log10(found.tokens)) >= LEAST_APART - 1e-9).all()
    assert (found.low < found.tokens).all()
    assert (found.tokens < found.high).all()


def test_straight_lines_rarely_have_a_change_and_bends_nearly_always() -> None:
    flat, rise, bend = (run(CURVES[place], INDEPENDENT, 200, 3, 60, draws=400) for place in (0, 1, 2))
    assert flat["found"] <= 0.13  # 5 % of 60: at most 7 of them in 99 of 100 cases
    assert rise["found"] <= 0.13
    assert bend["found"] >= 0.95
    assert bend["held"] >= 0.85


def test_an_error_of_levels_and_slopes_hides_no_change() -> None:
    """The error is far larger than the bend, but it is a straight line in every draw."""
    logs = np.log10(TOKENS)
    shared = np.column_stack([np.ones(16), logs - logs.mean()])
    nothing = np.zeros((16, 16))
    covariance = 0.04**2 * shared @ shared.T + 1e-8 * np.eye(16)
    curve = Curve(TOKENS, bent((8, 0.002)), 1, 300, covariance, nothing, nothing, 1e6, 300)
    assert find_changes(curve, draws=500).p < 0.01


@pytest.mark.parametrize(
    ("tokens", "can"),
    [
        (token_axis(7, 3), False),
        (token_axis(8, 3), True),
        (token_axis(20, 0.5), False),  # no place that is a factor of 2 away from both ends
        (token_axis(200, 3), True),
    ],
)
def test_a_curve_needs_eight_checkpoints_and_room(tokens: np.ndarray, can: bool) -> None:
    assert can_bend(tokens) == can


@pytest.mark.parametrize("place", [19, 20, 21, 22, 23])
def test_every_inner_checkpoint_of_the_usual_schedule_can_be_a_change(place: int) -> None:
    tokens = token_axis(47, 3.2)
    logs = np.log10(tokens)
    found = find_changes(curve_of(0.5 + 0.2 * np.maximum(0, logs - logs[place]), tokens=tokens), draws=200)
    assert found.tokens.tolist() == [tokens[place]]
    assert found.low[0] < tokens[place] < found.high[0]


@pytest.mark.parametrize("place", [98, 99, 100, 101, 102])
def test_many_checkpoints_are_thinned_and_intervals_reach_to_the_next_that_is_tried(place: int) -> None:
    tokens = token_axis(200, 3.0)
    logs = np.log10(tokens)
    found = find_changes(curve_of(0.5 + 0.2 * np.maximum(0, logs - logs[place]), 0.007, tokens), draws=200)
    assert found.p < 0.01
    assert len(found.tokens) == 1
    assert np.log10(found.tokens[0]) == pytest.approx(logs[place], abs=0.05)
    assert found.low[0] <= tokens[place] <= found.high[0]


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.8])
def test_the_noise_of_runs_is_known_from_what_is_left_beside_their_own_bent_lines(correlation: float) -> None:
    tokens = token_axis(24, 3.2)
    logs = np.log10(tokens)
    of_runs = np.array([0.1, 0.2, 0.3])[:, None] * np.maximum(0, logs - logs[10])
    alike = correlation ** np.abs(np.subtract.outer(np.arange(24), np.arange(24)))
    noise = np.random.default_rng(0).standard_normal((300, 24)) @ np.linalg.cholesky(alike).T
    covariance, freedom = noise_covariance(tokens, np.tile(of_runs, (100, 1)) + 0.01 * noise)
    assert np.sqrt(covariance[5, 5]) == pytest.approx(0.01, rel=0.15)
    assert covariance[5, 6] / covariance[5, 5] == pytest.approx(correlation, abs=0.15)
    assert freedom == pytest.approx(300 * (24 - 2 - 6) * (1 - correlation**2) / (1 + correlation**2), rel=0.4)


def test_runs_that_are_bent_lines_have_no_noise() -> None:
    logs = np.log10(TOKENS)
    covariance, freedom = noise_covariance(TOKENS, 0.1 * np.maximum(0, logs - logs[8])[None])
    assert np.abs(covariance).max() < 1e-12
    assert freedom >= 1


def test_a_curve_with_as_many_changes_as_are_looked_for_may_have_more() -> None:
    zigzag = bent((3, 0.4), (6, -0.8), (9, 0.8), (12, -0.8), slope=0.0)
    found = find_changes(curve_of(zigzag), draws=500)
    assert len(found.tokens) == 3
    assert found.may_be_more
    assert not find_changes(curve_of(bent((8, 0.1))), draws=500).may_be_more
