import numpy as np
import pandas as pd
import pytest

from ucurve.eval.metrics.levels import levels_of

# paradigms a, b of phenomenon X and c of Y; b comes first in the table
PAIRS = pd.DataFrame({"paradigm": list("bbacaac"), "phenomenon": list("XXXYXXY")})


def by_label(levels, values):
    return dict(
        zip(zip(levels.labels["phenomenon"], levels.labels["paradigm"], strict=True), values, strict=True)
    )


def test_rows_and_pairs_by_hand():
    levels = levels_of(PAIRS)
    sums, n = levels.sums(np.arange(7.0)), levels.sums(np.ones(7))
    assert levels.paradigms == 3
    assert by_label(levels, levels.totals(n)) == {
        ("X", "a"): 3, ("X", "b"): 2, ("Y", "c"): 2, ("X", "all"): 5, ("Y", "all"): 2,
        ("all", "all"): 7, ("all", "macro"): 7, ("all", "macro_phenomena"): 7,
    }  # fmt: skip
    means = by_label(levels, levels.means(sums, n))
    assert (means["X", "a"], means["X", "b"], means["Y", "c"]) == (11 / 3, 0.5, 4.5)
    assert means["X", "all"] == 12 / 5
    assert means["all", "all"] == 3
    assert means["all", "macro"] == pytest.approx((11 / 3 + 0.5 + 4.5) / 3)
    assert means["all", "macro_phenomena"] == pytest.approx((12 / 5 + 4.5) / 2)


def test_many_draws_at_once():
    levels = levels_of(PAIRS)
    n = levels.sums(np.ones(7))
    draws = np.random.default_rng(0).normal(size=(4, 3))
    np.testing.assert_allclose(levels.means(draws, n), [levels.means(draw, n) for draw in draws])


def test_what_has_no_pairs_has_no_mean_and_is_left_out_of_the_means():
    levels = levels_of(PAIRS)
    means = by_label(levels, levels.means(np.array([2.0, 0.0, 0.0]), np.array([4.0, 0.0, 0.0])))
    assert (
        means["all", "all"]
        == means["all", "macro"]
        == means["all", "macro_phenomena"]
        == means["X", "all"]
        == 0.5
    )
    assert np.isnan([means["X", "b"], means["Y", "c"], means["Y", "all"]]).all()
    assert np.isnan(levels.means(np.zeros((2, 3)), np.zeros((2, 3)))).all()


def test_a_number_that_is_not_there_stays_so():
    levels = levels_of(PAIRS)
    means = by_label(levels, levels.means(np.array([1.0, np.nan, 1.0]), np.ones(3)))
    assert np.isnan([means["X", "b"], means["X", "all"], means["all", "macro"]]).all()
    assert means["Y", "c"] == 1
