"""Pairs that a benchmark's paper does not count: in no accuracy, and beside them in the split ``published``."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ucurve.eval.linking import parse_linking
from ucurve.eval.metrics.accuracy import accuracy_table
from ucurve.eval.metrics.significance import statistics_table

LP = [parse_linking("lp")]


def benchmark(sizes: dict[tuple[str, str], int], uncounted: set[str]) -> pd.DataFrame:
    """Pairs of paradigms, named by phenomenon and paradigm, of so many pairs each."""
    rows = [name for name, size in sizes.items() for _ in range(size)]
    pairs = pd.DataFrame(rows, columns=["phenomenon", "paradigm"])
    pairs["pair"] = range(len(pairs))
    pairs["good"], pairs["bad"] = (pairs["pair"].map(f"{side} {{}}".format) for side in ("good", "bad"))
    pairs["counted"] = ~pairs["paradigm"].isin(uncounted)
    return pairs


def scored(pairs: pd.DataFrame, right: "pd.Series[bool]") -> pd.DataFrame:
    good = np.where(right, -1.0, -3.0)
    table = pd.DataFrame({"pair": pairs["pair"], "lp_good": good, "lp_bad": -2.0})
    return table.assign(**{f"{name}_{side}": 4 for name in ("n", "unk") for side in ("good", "bad")})


def sling() -> pd.DataFrame:
    """SLING's sizes: 38 paradigms that count, 2 of 1,000 pairs and 14 of 40 that do not."""
    counted = {(f"phenomenon {number % 8}", f"paradigm {number}"): 1000 for number in range(38)}
    first = {("phenomenon 0", f"first version {number}"): 1000 for number in range(2)}
    reflexives = {(f"Reflexive {number % 2}", f"reflexive {number}"): 40 for number in range(14)}
    return benchmark(counted | first | reflexives, {name for _, name in (*first, *reflexives)})


def swahili() -> pd.DataFrame:
    suites = {(f"predicate {number % 2}", f"suite {number}"): 1000 for number in range(8)}
    return benchmark(suites, {"suite 1", "suite 6"})


@pytest.mark.parametrize(
    ("make", "over_pairs", "over_paradigms"), [(sling, 38_000 / 40_560, 38 / 54), (swahili, 0.75, 0.75)]
)
def test_a_model_right_on_all_that_counts_has_100_percent(make, over_pairs, over_paradigms):
    pairs = make()
    table = accuracy_table(pairs, scored(pairs, pairs["counted"]), LP)
    counted, published = (table[table["split"] == split] for split in ("all", "published"))
    assert (counted["accuracy"] == 1).all()
    assert set(counted["paradigm"]) - {"all", "macro", "macro_phenomena"} == set(
        pairs["paradigm"][pairs["counted"]]
    )
    overall = published[published["phenomenon"] == "all"].set_index("paradigm")["accuracy"]
    assert overall["all"] == pytest.approx(over_pairs)
    assert overall["macro"] == pytest.approx(over_paradigms)
    assert set(published["paradigm"]) >= set(pairs["paradigm"])


def test_a_paradigm_of_which_some_pairs_count_is_over_those():
    pairs = benchmark({("a", "p"): 4, ("a", "q"): 2}, set())
    pairs["counted"] = [True, False, False, True, True, True]
    table = accuracy_table(pairs, scored(pairs, pd.Series([True, False, False, False, True, True])), LP)
    rows = table.set_index(["split", "phenomenon", "paradigm"])["accuracy"]
    assert rows["all", "a", "p"] == 1 / 2
    assert rows["all", "a", "all"] == 3 / 4
    assert rows["all", "all", "macro"] == 3 / 4
    assert rows["published", "a", "p"] == 1 / 4
    assert rows["published", "a", "all"] == 3 / 6
    assert rows["published", "all", "macro"] == pytest.approx((1 / 4 + 1) / 2)


def test_a_benchmark_whose_pairs_all_count_has_no_second_number():
    pairs = benchmark({("a", "p"): 4}, set())
    scores = scored(pairs, pairs["pair"] < 3)
    table = accuracy_table(pairs, scores, LP)
    assert "published" not in set(table["split"])
    pd.testing.assert_frame_equal(table, accuracy_table(pairs.drop(columns="counted"), scores, LP))


@settings(max_examples=10, deadline=None)
@given(st.lists(st.booleans(), min_size=24, max_size=24), st.lists(st.booleans(), min_size=24, max_size=24))
def test_what_does_not_count_changes_no_number_that_counts(first, second):
    pairs = benchmark({("a", "p"): 6, ("a", "q"): 6, ("b", "r"): 6, ("c", "s"): 6}, {"q", "s"})
    second = [
        one if counts else other for one, other, counts in zip(first, second, pairs["counted"], strict=True)
    ]
    tables = [scored(pairs, pd.Series(right)) for right in (first, second)]
    accuracies = [accuracy_table(pairs, table, LP).query("split != 'published'") for table in tables]
    pd.testing.assert_frame_equal(*accuracies)
    statistics = [statistics_table(pairs, table, LP, samples=10) for table in tables]
    pd.testing.assert_frame_equal(*statistics)
