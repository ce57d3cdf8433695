import json
import warnings
from dataclasses import asdict, replace

import numpy as np
import pytest

from measurements.shapes.dip_levels import Cell, simulate
from ucurve.analysis.shape.pooled import estimate_curve
from ucurve.analysis.shape.power import DIP_WIDTH, dip_power, more_seeds, what_limits, with_more
from ucurve.analysis.shape.smoothing import Curve, errors, smoothing_weights

STEPS = 24
PLACE = np.linspace(0, 1, STEPS)
SMOOTH = np.exp(-(((PLACE[:, None] - PLACE) / 0.2) ** 2) / 2) + 1e-6 * np.eye(STEPS)  # what runs do by themselves
LEVEL = 0.05


def curve_of_parts(items: float, rest: float, seeds: float, runs: int = 3, steps: int = STEPS) -> Curve:
    """A flat curve by the variances, in squared points, of pairs in all runs, of pairs in each run, and of seeds."""
    chosen = np.linspace(0, STEPS - 1, steps).round().astype(int)
    smooth, one = SMOOTH[np.ix_(chosen, chosen)], np.eye(steps)
    of_items, of_rest, of_seeds = items * smooth / 1e4, rest * one / 1e4, seeds * smooth / 1e4
    return Curve(
        16384 * 10 ** (4 * PLACE[chosen]), np.full(steps, 0.7), runs, 300, of_items + of_rest, of_seeds + of_rest,
        of_rest, item_freedom=294.0, effective_items=300.0,
    )  # fmt: skip


def test_power_grows_with_the_depth_from_the_level_to_certainty() -> None:
    power = dip_power(curve_of_parts(1, 2, 1)).of_dips(np.array([0, 0.02, 0.04, 0.08, 0.4]), LEVEL)
    assert (np.diff(power) > 0).all()
    assert power[0] < 1.5 * LEVEL
    assert power[-1] > 0.99


def test_the_smallest_dip_is_found_in_four_of_five_cases() -> None:
    found = dip_power(curve_of_parts(1, 2, 1))
    depth = found.smallest_dip(LEVEL)
    assert found.of_dips(np.array([depth]), LEVEL)[0] == pytest.approx(0.8, abs=0.02)
    assert found.smallest_dip(LEVEL / 16) > 1.2 * depth


def test_twice_the_error_needs_a_dip_of_twice_the_depth() -> None:
    once, twice = (dip_power(curve_of_parts(k, 2 * k, k)).smallest_dip(LEVEL) for k in (1, 4))
    assert twice == pytest.approx(2 * once, rel=1e-3)


def test_where_nearly_nothing_is_known_of_the_error_no_dip_is_found_and_no_warning_shown() -> None:
    curve = replace(curve_of_parts(1, 2000, 1, runs=2), item_cov=np.eye(STEPS) * 1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert dip_power(curve).smallest_dip(LEVEL / 90) == np.inf


def test_more_seeds_and_more_pairs_lessen_the_parts_that_they_have() -> None:
    curve = curve_of_parts(3, 2, 4)
    weights = smoothing_weights(curve.log_tokens)
    # Without what is the same at all checkpoints, as in the test of a dip.
    weights = weights - weights.mean(axis=0)
    smooth, white = (float(((weights @ part) * weights).sum(axis=1).mean()) for part in (SMOOTH, np.eye(STEPS)))

    def variance(seeds: int, pairs: float) -> float:
        return 1e4 * float(errors(with_more(curve, seeds, pairs), weights).variance.mean())

    assert variance(3, 1) == pytest.approx(3 * smooth + 2 * white + 4 * smooth, rel=0.01)
    assert variance(6, 1) == pytest.approx(3 * smooth + 1 * white + 2 * smooth, rel=0.01)
    assert variance(3, 2) == pytest.approx(1.5 * smooth + 1 * white + 4 * smooth, rel=0.01)


@pytest.mark.parametrize(
    ("curve", "limit"),
    [
        (curve_of_parts(9, 0.1, 0.1), "edits"),
        (curve_of_parts(0.1, 0.1, 9), "seeds"),
        (curve_of_parts(1, 1, 0, runs=1), "edits"),
        (curve_of_parts(1, 1, 1, steps=8), "checkpoints"),
    ],
)
def test_what_limits_is_what_would_help_most(curve: Curve, limit: str) -> None:
    assert what_limits(curve, "edits", 0.05, LEVEL) == limit


def test_seeds_are_asked_for_where_they_would_show_the_dip() -> None:
    dip = -0.05 * np.exp(-(((PLACE - 0.5) / DIP_WIDTH) ** 2) / 2)
    smooth = smoothing_weights(curve_of_parts(1, 1, 1).log_tokens) @ dip
    few, many = (more_seeds(curve_of_parts(0.2, 0.5, seeds), smooth, LEVEL) for seeds in (2, 4))
    assert 1 <= few < many <= 20
    assert more_seeds(curve_of_parts(16, 0.5, 2), smooth, LEVEL) == np.inf
    assert more_seeds(curve_of_parts(0.2, 0.5, 4), 4 * smooth, LEVEL) == 1


def test_the_power_that_is_said_is_that_of_the_test() -> None:
    """measurements/shapes/dip_levels.py found a dip of 5 points in 78 % of 400 such curves, at 5 % / 16 in 29 %."""
    cell = Cell("u5", "ar1", 300, STEPS, 3)
    said = []
    for number in range(20):
        draw = np.random.default_rng([number, *map(ord, json.dumps(asdict(cell)))])
        found = dip_power(estimate_curve(*simulate(cell, draw)))
        said.append([found.of_dips(np.array([0.05]), LEVEL / family)[0] for family in (1, 16)])
    assert np.mean(said, axis=0) == pytest.approx([0.78, 0.29], abs=0.15)


def test_a_curve_without_room_for_a_dip_has_no_smallest_dip() -> None:
    steps = 2
    curve = replace(curve_of_parts(1, 1, 1, steps=steps), tokens=np.array([1e4, 1e6]))
    assert dip_power(curve).smallest_dip(LEVEL) == np.inf


def test_where_checkpoints_leave_no_room_for_a_dip_none_is_found() -> None:
    """Three of the four checkpoints are one after smoothing, and no division by an empty distance is made."""
    curve = replace(curve_of_parts(1, 1, 1, steps=4), tokens=1e4 * np.array([1, 1.0001, 1.0002, 100]))
    with np.errstate(all="raise", under="ignore"):
        found = dip_power(curve)
        assert found.of_dips(np.array([0.05, 0.4]), LEVEL) == pytest.approx(0)
        assert found.smallest_dip(LEVEL) == np.inf
