"""Curves that end below chance, and how long they were there."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest, ttest_1samp

from ucurve.analysis.shape.over_tokens import below_chance, name_below
from ucurve.analysis.shape.smoothing import estimate_level

TOKENS = 16_384 * 10 ** np.linspace(0, 2.4, 13)
PAIRS = 200


def credits_at(levels, draw, runs=1, pairs=PAIRS):
    """Half points of independent pairs at the levels of a curve."""
    return (2 * (draw.random((runs, len(TOKENS), pairs)) < np.asarray(levels)[:, None])).astype(np.uint8)


def run_test(half_points, clusters=None):
    items = half_points.shape[2]
    return below_chance(
        TOKENS, half_points, np.zeros(items, dtype=np.int64), np.arange(items) if clusters is None else clusters
    )


def name_one(found, runs):
    return name_below(pd.DataFrame([{"runs": runs, **found}]))["below"].item()


def test_a_curve_that_stays_wrong_is_stable_and_wrong_from_its_first_checkpoint():
    found = run_test(credits_at(np.full(13, 0.3), np.random.default_rng(1)))
    assert found["p_below"] < 1e-6
    assert found["below_from"] == TOKENS[0]
    assert name_one(found, 1) == "stable and wrong (this run)"
    assert name_one(found, 2) == "stable and wrong (2 runs: indicative)"
    assert name_one(found, 3) == "stable and wrong"


def test_a_curve_that_fell_late_only_ends_below_chance():
    levels = np.where(np.arange(13) < 12, 0.95, 0.0)
    found = run_test(credits_at(levels, np.random.default_rng(1)))
    assert found["below_from"] == TOKENS[-1]
    assert name_one(found, 1) == "ends below chance (this run)"


@pytest.mark.parametrize("level", [0.5, 0.8])
def test_a_curve_at_or_above_chance_has_no_name(level):
    found = run_test(credits_at(np.full(13, level), np.random.default_rng(2)))
    assert found["p_below"] > 0.05
    assert name_one(found, 1) == ""


def test_a_curve_that_ends_above_chance_is_below_from_nowhere():
    assert np.isnan(run_test(credits_at(np.full(13, 0.8), np.random.default_rng(2)))["below_from"])


def test_pairs_of_one_run_are_tested_by_students_t():
    """One run, one paradigm, every pair by itself: the textbook's test of a mean."""
    values = np.random.default_rng(3).random(50)
    level = estimate_level(values[None], np.zeros(50, dtype=np.int64), np.arange(50))
    usual = ttest_1samp(values, 0.5, alternative="less")
    assert level.item_freedom == usual.df
    error = np.sqrt(level.item_variance - 1 / (2 * 50**2))
    assert (level.mean - 0.5) / error == pytest.approx(usual.statistic)


def test_clusters_that_are_all_wrong_prove_no_more_than_as_many_coins():
    clusters = np.arange(60) // 10
    found = run_test(np.zeros((1, len(TOKENS), 60), dtype=np.uint8), clusters)
    assert found["p_below"] == pytest.approx(binomtest(0, 6, alternative="less").pvalue)


def test_runs_that_differ_say_nothing_of_other_seeds():
    draw = np.random.default_rng(4)
    runs = np.concatenate([credits_at(np.full(13, level), draw) for level in (0.1, 0.45, 0.6)])
    found = run_test(runs)
    assert found["p_below"] > 0.05 > found["p_below_these_runs"]
    assert name_one(found, 3) == "these runs: stable and wrong"


def test_seeds_add_their_variance_to_that_of_pairs():
    """Runs whose pairs all move together: the variance is that of a mean of three numbers."""
    draw = np.random.default_rng(5)
    levels = np.array([0.2, 0.4, 0.3])
    values = np.clip(levels[:, None] + 0.01 * draw.standard_normal((3, 500)), 0, 1)
    level = estimate_level(values, np.zeros(500, dtype=np.int64), np.arange(500))
    assert level.variance == pytest.approx(np.var(levels, ddof=1) / 3, rel=0.02)
    assert level.freedom == pytest.approx(2, rel=0.02)


def test_holm_is_over_all_curves_and_lines_of_one_run_apart():
    rows = [{"runs": runs, "p_below": 0.03, "p_below_these_runs": 0.03, "below_from": 1.0, "below_share": 0.1}
            for runs in (1, 3, 3)]  # fmt: skip
    named = name_below(pd.DataFrame(rows))
    assert named["holm_below"].tolist() == [0.03, 0.06, 0.06]
    assert named["below"].tolist() == ["stable and wrong (this run)", "", ""]


def test_the_level_is_kept_with_alike_pairs():
    """300 curves at 50 % whose pairs come in 30 clusters that are wholly alike."""
    draw, clusters = np.random.default_rng(6), np.repeat(np.arange(30), 4)
    found = [
        run_test(np.repeat(credits_at(np.full(13, 0.5), draw, runs=2, pairs=30), 4, axis=2), clusters)["p_below"]
        for _ in range(300)
    ]
    assert np.mean(np.array(found) <= 0.05) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 300)
