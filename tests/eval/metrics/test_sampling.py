import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from measurements.intervals.templates import Cell, measure
from ucurve.eval.linking import parse_linking
from ucurve.eval.metrics.accuracy import accuracy_table
from ucurve.eval.metrics.levels import levels_of
from ucurve.eval.metrics.sampling import clusters_of, effective_size, spread_of

LP = [parse_linking("lp")]


def pairs_of(edits, paradigms=None, phenomena=None):
    """Pairs with the edits of a string, a letter for each."""
    size = len(edits)
    return pd.DataFrame({
        "pair": range(size), "paradigm": list(paradigms or "a" * size), "phenomenon": list(phenomena or "X" * size),
        "good": [f"it is {edit.lower()}" for edit in edits], "bad": [f"it is {edit.upper()}" for edit in edits],
    })  # fmt: skip


def scores_of_credits(credits_):
    """Scores under which pairs are right (1), tied (.5) or wrong (0)."""
    lp = np.asarray(credits_, float) - 10
    return pd.DataFrame({"pair": range(len(lp)), "lp_good": lp, "lp_bad": -9.5, "n_good": 3, "n_bad": 3})


def spread(pairs, credits_):
    clusters = clusters_of(pairs, levels_of(pairs))
    return spread_of(clusters, clusters.sums(np.asarray(credits_, float)), clusters.sums(np.ones(len(pairs))))


def rows_of(pairs, credits_, split="all"):
    table = accuracy_table(pairs, scores_of_credits(credits_), LP)
    return table[table["split"] == split].set_index(["phenomenon", "paradigm"])


@given(
    st.lists(st.tuples(st.sampled_from("abcdefgh"), st.sampled_from([0.0, 0.5, 1.0])), min_size=12, max_size=60)
)
def test_the_variance_is_the_cluster_robust_one_of_a_mean(items):
    edits, credits_ = zip(*items, strict=True)
    found, groups = spread(pairs_of(edits), credits_), pd.factorize(np.array(edits))[0]
    if groups.max() == 0:
        return
    fitted = sm.OLS(np.array(credits_), np.ones(len(edits))).fit(
        cov_type="cluster", cov_kwds={"groups": groups, "use_correction": False}
    )
    count = groups.max() + 1
    np.testing.assert_allclose(found.variance[0], fitted.cov_params()[0, 0] * count / (count - 1), atol=1e-12)
    assert found.clusters[0] == count
    assert found.effective[0] == pytest.approx(len(edits) ** 2 / (np.bincount(groups) ** 2).sum())
    assert found.freedom[0] == pytest.approx(max(1, found.effective[0] - 1))


@settings(max_examples=40)
@given(st.integers(0, 400), st.integers(4, 400))
def test_where_every_pair_is_its_own_cluster_the_interval_is_nearly_the_exact_one(right, n):
    right = min(right, n)
    pairs = pairs_of("a" * n).assign(good=[f"g{row}" for row in range(n)], bad=[f"{row}b" for row in range(n)])
    (row,) = rows_of(pairs, [1.0] * right + [0.0] * (n - right)).loc[[("X", "a")]].to_dict("records")
    exact = binomtest(right, n).proportion_ci(0.95, method="exact")
    assert (row["exact_low"], row["exact_high"]) == pytest.approx((exact.low, exact.high))
    assert row["clusters"] == n
    assert row["ci_low"] <= row["exact_low"] + 1e-12
    assert row["exact_high"] <= row["ci_high"] + 1e-12
    assert row["ci_high"] - row["ci_low"] < (row["exact_high"] - row["exact_low"]) * (1 + 1.6 / n) + 1e-12


def test_clusters_that_are_wholly_alike_weigh_as_one_pair_each():
    pairs, credits_ = (
        pairs_of("".join(chr(97 + number) * 20 for number in range(16))),
        np.repeat([1.0] * 8 + [0.0] * 8, 20),
    )
    found = spread(pairs, credits_)
    assert found.variance[0] == pytest.approx(0.25 / 15)
    t = (2.1314 / 1.9673) ** 2  # quantiles of Student's t with 15 and with 319 degrees of freedom
    assert effective_size(found, np.full(5, 0.5), np.full(5, 320.0))[0] == pytest.approx(15 / t, rel=1e-3)


def test_a_few_clusters_that_are_all_right_are_not_certain():
    """8 templates: an accuracy of 75 % is not ruled out, however many pairs they have."""
    for pairs in (10, 100):
        row = rows_of(pairs_of("".join(letter * pairs for letter in "abcdefgh")), [1.0] * 8 * pairs).loc[
            ("X", "a")
        ]
        assert 0.65 < row["ci_low"] < 0.75
        assert row["ci_high"] == 1
        assert row["exact_low"] > 0.95


def test_under_four_clusters_there_is_no_interval_but_the_exact_one():
    rows = rows_of(pairs_of("aabbccdd" + "eeffgg", "aaaaaaaabbbbbb"), [1, 0] * 7)
    assert rows["clusters"].to_dict() == {
        ("X", "a"): 4, ("X", "b"): 3, ("X", "all"): 7, ("all", "all"): 7, ("all", "macro"): 7, ("all", "macro_phenomena"): 7
    }  # fmt: skip
    assert rows["ci_low"].isna().tolist() == rows["ci_high"].isna().tolist() == [False, True] + [False] * 4
    assert rows[["exact_low", "exact_high"]].notna().all(axis=None)


def test_paradigms_of_one_cluster_are_compared_with_each_other():
    """Four paradigms of one edit each: their accuracies 1, 1, 0 and .5 are four draws."""
    pairs = pairs_of("aaaabbbbccccdddd", "aaaabbbbccccdddd")
    found = spread(pairs, [1] * 8 + [0] * 4 + [1, 1, 0, 0])
    overall = slice(4, None)  # the phenomenon, all pairs and the means
    np.testing.assert_allclose(
        found.variance[overall], [np.var([1, 1, 0, 0.5], ddof=1) / 4] * 3 + [np.var([1, 1, 0, 0.5], ddof=1) / 4]
    )
    assert found.freedom[overall].tolist() == [3.0] * 4


def test_a_phenomenon_of_one_cluster_is_compared_with_all_pairs():
    found = spread(pairs_of("aabbcc", "aabbcc", "XXYYZZ"), [1, 1, 0, 0, 0, 1])
    overall = np.var([1, 0, 0.5], ddof=1) / 3
    np.testing.assert_allclose(found.variance[-3:], [overall] * 3)


def test_independent_paradigms_add_their_variances():
    edits, paradigms, phenomena = (
        "aabbccdd" + "eeffgg" + "hhiijjkkll",
        "a" * 8 + "b" * 6 + "c" * 10,
        "X" * 14 + "Y" * 10,
    )
    credits_ = np.array([1, 1, 0, 1, 0, 0, 1, 1, 0, 1, 1, 1, 0, 0, 1, 1, 1, 0, 1, 1, 1, 1, 0, 0], float)
    found = spread(pairs_of(edits, paradigms, phenomena), credits_)
    a, b, c, x, y, every, macro, of_phenomena = found.variance
    assert x == pytest.approx((a * 8**2 + b * 6**2) / 14**2)
    assert y == pytest.approx(c)
    assert every == pytest.approx((a * 8**2 + b * 6**2 + c * 10**2) / 24**2)
    assert macro == pytest.approx((a + b + c) / 9)
    assert of_phenomena == pytest.approx((x + y) / 4)
    assert found.freedom[-2] == pytest.approx(found.effective[-2] - 3)


def test_the_order_of_pairs_is_nothing():
    pairs, credits_ = pairs_of("aabbccddeeff", "aaaaaaaabbbb"), np.array([1, 0, 1, 1, 0, 0, 1, 0.5, 1, 1, 0, 1])
    expected = rows_of(pairs, credits_)

    @settings(max_examples=25)
    @given(st.permutations(range(12)))
    def check(order):
        turned = pairs.iloc[list(order)].reset_index(drop=True).assign(pair=range(12))
        pd.testing.assert_frame_equal(expected, rows_of(turned, credits_[list(order)]))

    check()


def test_the_pairs_of_a_set_are_one_cluster():
    pairs = pairs_of("abcdefgh").assign(set=[1, 1, 2, 2, None, None, None, None])
    assert len(set(clusters_of(pairs, levels_of(pairs)).of)) == 6
    assert len(set(clusters_of(pairs.drop(columns="set"), levels_of(pairs)).of)) == 8


def test_a_split_has_its_own_clusters():
    pairs, scores = pairs_of("aabbccddee"), scores_of_credits([1, 0] * 5).assign(n_good=[2] * 6 + [3] * 4)
    rows = accuracy_table(pairs, scores, LP).query("paradigm == 'a'").set_index("split")
    assert rows["clusters"].to_dict() == {"all": 5, "bad_longer": 3, "equal": 2}
    assert rows["ci_low"].isna().to_dict() == {"all": False, "bad_longer": True, "equal": True}


def test_intervals_and_tests_hold_with_16_templates():
    """200 data sets; docs/scoring.md has the figures of 2,000."""
    found = measure(Cell(16, 0.3, 0.7), 200)
    assert 91 <= found["cluster"] <= 99
    assert 91 <= found["bootstrap"] <= 99
    assert 91 <= found["difference"] <= 99
    assert found["exact"] < 80
    assert found["McNemar"] <= 7
    assert found["McNemar exact"] > 20
