import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from ucurve.eval.linking import parse_linking
from ucurve.eval.metrics.accuracy import (
    COLUMNS,
    accuracy_table,
    decide,
    delta_acc,
    items,
    pair_credits,
    split_masks,
    winner_by_length,
)
from ucurve.eval.metrics.sampling import effective_sample, exact_interval

LP = [parse_linking("lp")]
# ZhoBLiMP, Table 5: pairs of the splits =, >, < for three tokenizers, then rows of accuracies and the printed averages
SIZES = np.array([[20_584, 5_456, 9_360], [22_206, 5_802, 7_392], [23_347, 6_198, 5_855]])
TABLE_5 = {
    "LP": ([88.20, 60.77, 95.62, 84.13, 52.85, 98.73, 86.19, 56.55, 94.28], 83.44, 19.74),
    "mean LP": ([88.20, 96.78, 66.19, 84.13, 92.53, 54.64, 86.19, 95.96, 66.91], 82.59, 16.26),
    "pen LP": ([88.20, 83.47, 87.09, 84.13, 81.63, 87.63, 86.19, 82.97, 80.98], 85.46, 3.38),
    "SLOR": ([90.01, 88.09, 79.60, 86.44, 87.65, 74.70, 84.08, 92.74, 70.36], 84.83, 7.94),
    "MORCELA": ([90.12, 82.32, 88.48, 86.12, 83.55, 82.90, 86.15, 91.03, 74.88], 86.22, 5.23),
    "SLLN 0.1": ([88.20, 66.07, 93.66, 84.13, 60.09, 97.79, 86.19, 61.85, 91.78], 84.04, 15.87),
    "SLLN 0.3": ([88.20, 74.58, 91.06, 84.13, 71.51, 94.00, 86.19, 71.45, 87.77], 84.95, 9.21),
    "SLLN 0.5": ([88.20, 81.60, 87.55, 84.13, 81.18, 87.66, 86.19, 79.85, 82.93], 85.31, 3.89),
    "SLLN 0.7": ([88.20, 89.11, 80.90, 84.13, 87.79, 77.60, 86.19, 87.72, 76.46], 84.87, 4.94),
    "SLLN 0.9": ([88.20, 95.06, 71.66, 84.13, 91.24, 62.82, 86.19, 94.13, 69.96], 83.54, 12.67),
}


def pairs_of(paradigms, phenomena=None, good=None, bad=None):
    size = len(paradigms)
    return pd.DataFrame(
        {
            "paradigm": list(paradigms),
            "phenomenon": list(phenomena or "P" * size),
            "pair": range(size),
            "good": good or [f"g{number}" for number in range(size)],
            "bad": bad or [f"{number}b" for number in range(size)],
        }
    )


def row(table, phenomenon, paradigm, split="all", **more):
    chosen = table.query("phenomenon == @phenomenon and paradigm == @paradigm and split == @split")
    for name, value in more.items():
        chosen = chosen[chosen[name] == value]
    assert len(chosen) == 1
    return chosen.iloc[0]


@pytest.mark.parametrize("function", TABLE_5)
def test_table_5_of_the_paper(function):
    cells, accuracy, delta = TABLE_5[function]
    equal, longer, shorter = np.reshape(cells, (3, 3)).T
    deltas = [delta_acc(*three) for three in zip(longer, shorter, equal, strict=True)]
    assert np.mean(deltas) == pytest.approx(delta, abs=0.0101)
    pooled = (np.reshape(cells, (3, 3)) * SIZES).sum(axis=1) / SIZES.sum(axis=1)
    assert pooled.mean() == pytest.approx(accuracy, abs=0.0051)


def test_delta_acc_by_hand():
    assert delta_acc(good_longer=0.5, bad_longer=0.9, equal=0.8) == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("good_longer", "bad_longer", "winner"),
    [(0.0, 1.0, "shorter"), (0.02, 0.98, "shorter"), (1.0, 0.01, "longer"), (0.03, 1.0, None), (1.0, 1.0, None)],
)
def test_length_alone_decides_where_it_decides_nearly_every_pair(good_longer, bad_longer, winner):
    assert winner_by_length(good_longer, bad_longer) == winner


def test_without_pairs_of_unequal_length_length_decides_nothing():
    assert winner_by_length(np.nan, np.nan) is None


def test_rows_and_levels_by_hand(scores_of):
    paradigms, phenomena = "aabbbbc", "XXXXXXY"
    scores = scores_of([(-1, -2, 3, 3), (-2, -1, 3, 3), *[(-1, -2, 4, 3)] * 3, (-1, -1, 3, 4), (-2, -1, 2, 2)])
    table = accuracy_table(pairs_of(paradigms, phenomena), scores, LP)
    assert tuple(table.columns) == COLUMNS
    found = {key: row(table, *key)[["n", "ties", "accuracy"]].tolist() for key in zip("XXY", "abc", strict=True)}
    assert found == {("X", "a"): [2, 0, 0.5], ("X", "b"): [4, 1, 3.5 / 4], ("Y", "c"): [1, 0, 0.0]}
    assert row(table, "X", "all")["accuracy"] == pytest.approx(4.5 / 6)
    assert row(table, "all", "all")["accuracy"] == pytest.approx(4.5 / 7)
    assert row(table, "all", "macro")["accuracy"] == pytest.approx((0.5 + 0.875 + 0) / 3)
    assert row(table, "all", "macro_phenomena")["accuracy"] == pytest.approx((0.75 + 0) / 2)
    assert [row(table, "all", "all", split)["n"] for split in ("equal", "good_longer", "bad_longer")] == [3, 3, 1]
    assert row(table, "all", "macro", "good_longer")["accuracy"] == 1.0
    assert table.query("phenomenon == 'X' and paradigm == 'a' and split == 'good_longer'").empty


@pytest.mark.parametrize(("rule", "accuracy"), [("half", 0.5), ("wrong", 0.25), ("right", 0.75)])
def test_ties_rules(scores_of, rule, accuracy):
    scores = scores_of([(-1, -1, 1, 1), (-1, -1, 1, 1), (-1, -2, 1, 1), (-2, -1, 1, 1)])
    table = accuracy_table(pairs_of("aaaa"), scores, LP, ["half", "wrong", "right"])
    overall = row(table, "all", "all", ties_rule=rule)
    assert (overall["accuracy"], overall["ties"]) == (accuracy, 2)


def test_identical_pairs_count_in_nothing(scores_of):
    pairs = pairs_of("ab", good=["same", "x"], bad=["same", "y"])
    table = accuracy_table(pairs, scores_of([(-1, -1, 1, 1), (-1, -2, 1, 1)]), LP)
    assert row(table, "all", "all")[["n", "ties", "accuracy"]].tolist() == [1, 0, 1.0]
    assert "a" not in set(table["paradigm"])


def test_nothing_left_to_count(scores_of):
    pairs = pairs_of("a", good=["same"], bad=["same"])
    assert accuracy_table(pairs, scores_of([(-1, -1, 1, 1)]), LP).empty


def test_slor_needs_unigrams(scores_of):
    both = [parse_linking("lp"), parse_linking("slor")]
    rows = [(-5, -6, 2, 3)]
    assert set(accuracy_table(pairs_of("a"), scores_of(rows), both)["linking"]) == {"lp"}
    table = accuracy_table(pairs_of("a"), scores_of(rows, unigrams=(-4.0, -9.0)), both)
    assert row(table, "all", "all", linking="slor")["accuracy"] == 0.0  # -1/2 against 3/3
    assert accuracy_table(pairs_of("a"), scores_of(rows), [parse_linking("slor")]).empty


def test_functions_of_columns_the_scores_lack_are_left_out(scores_of):
    linkings = [parse_linking(name) for name in ("lp", "char_lp", "byte_lp", "mink", "grammaticality")]
    scores = scores_of([(-5, -6, 2, 3), (-5, -6, 2, 3)]).assign(
        chars_good=[5, 5], chars_bad=[20, 20], bytes_good=[5, np.nan], bytes_bad=[5, 5], mink60_good=[-9, -9]
    )
    table = accuracy_table(pairs_of("aa"), scores, linkings)
    assert set(table["linking"]) == {"lp", "char_lp"}
    assert row(table, "all", "all", linking="char_lp")["accuracy"] == 0.0  # -1 against -0.3


def test_answers_to_prompts_need_no_log_probabilities(scores_of):
    scores = scores_of([(np.nan, np.nan, 3, 3)] * 4).assign(
        grammaticality_good=[1, 0, 0, 1], grammaticality_bad=[0, 1, 0, 0]
    )
    table = accuracy_table(pairs_of("aaaa"), scores, [*LP, parse_linking("grammaticality")], ["half", "wrong"])
    assert set(table["linking"]) == {"grammaticality"}
    assert row(table, "all", "all", ties_rule="wrong")[["accuracy", "ties"]].tolist() == [0.5, 1]
    assert row(table, "all", "all", ties_rule="half")["accuracy"] == 0.625


def test_credits_follow_the_pairs(scores_of):
    pairs = pairs_of("abc", good=["x", "same", "z"], bad=["y", "same", "w"])
    merged = items(
        pairs, scores_of([(-1, -1, 1, 1), (-1, -1, 1, 1), (-2, -1, 1, 1)]).sample(frac=1, random_state=1)
    )
    assert merged["pair"].tolist() == [0, 2]
    assert pair_credits(merged, LP[0], "half").tolist() == [0.5, 0.0]
    assert pair_credits(merged, LP[0], "right").tolist() == [1.0, 0.0]


@pytest.mark.parametrize("seed", range(6))
def test_surprisals_decide_like_the_log_probabilities_they_are_made_of(scores_of, seed):
    draw = np.random.default_rng(seed)
    rows = np.column_stack([draw.integers(-9, -1, size=(60, 2)) * 10.0 ** draw.integers(0, 5), *np.ones((2, 60))])
    rows[:, 2:] = draw.integers(1, 4, size=(60, 2))
    linkings = [parse_linking(name) for name in ("lp", "nll", "mean_lp", "ppl")]
    table = accuracy_table(pairs_of("ab" * 30), scores_of(rows), linkings)
    parts = {name: part.drop(columns="linking").reset_index(drop=True) for name, part in table.groupby("linking")}
    pd.testing.assert_frame_equal(parts["nll"], parts["lp"])
    pd.testing.assert_frame_equal(parts["ppl"], parts["mean_lp"])


def test_published_columns_may_have_the_names_of_scores(scores_of):
    pairs = pairs_of("aa").assign(n_good=9, lp_bad="x", linking="y", split=0)
    table = accuracy_table(pairs, scores_of([(-1, -2, 1, 1), (-1, -2, 1, 1)]), LP)
    assert row(table, "all", "all")["accuracy"] == 1.0


@pytest.mark.parametrize(("gap", "tied"), [(0.0, True), (5e-5, True), (7e-5, False)])
def test_a_tie_is_relative_to_the_magnitude(gap, tied):
    wins, ties = decide(np.array([-60.0 + gap]), np.array([-60.0]))
    assert (bool(ties[0]), bool(wins[0])) == (tied, not tied)


def test_a_tie_near_zero_is_absolute():
    wins, ties = decide(np.array([5e-7, 2e-6]), np.array([0.0, 0.0]))
    assert ties.tolist() == [True, False]
    assert wins.tolist() == [False, True]


magnitudes = st.sampled_from([0.0, 5e-7, 1e-6, 1.0, 1.0000005, 60.0, 60.00005, 1e300, np.inf, np.nan])
linked = st.tuples(magnitudes, st.sampled_from([-1.0, 1.0]))


@given(st.lists(st.tuples(linked, linked), max_size=12))
def test_pairs_are_decided_as_each_pair_alone_also_beside_missing_values(pairs):
    good, bad = (
        np.array([size * sign for size, sign in side]) for side in (list(zip(*pairs, strict=True)) or [(), ()])
    )
    with np.errstate(invalid="ignore", over="ignore"):
        wins, ties = decide(good, bad)
    for place in np.flatnonzero(np.isfinite(good) & np.isfinite(bad)):
        one, other = good[place].item(), bad[place].item()
        tied = abs(one - other) <= 1e-6 * max(1.0, abs(one), abs(other))
        assert (wins[place], ties[place]) == (one > other and not tied, tied)


def test_splits_partition_the_pairs():
    masks = split_masks(np.array([1, 2, 3]), np.array([1, 3, 2]))
    assert {name: np.flatnonzero(mask).tolist() for name, mask in masks.items()} == {
        "all": [0, 1, 2], "equal": [0], "good_longer": [2], "bad_longer": [1],
    }  # fmt: skip


@given(st.integers(1, 400), st.data())
def test_exact_interval_is_clopper_pearson(n, data):
    right = data.draw(st.integers(0, n))
    low, high = exact_interval(np.array([right], float), np.array([n], float))
    wanted = binomtest(right, n).proportion_ci(0.95, method="exact")
    np.testing.assert_allclose([low[0], high[0]], [wanted.low, wanted.high], atol=1e-9)


def stratified_mean(right, n):
    mean, size = effective_sample(right, n)
    return mean, *exact_interval(mean * size, size)


@given(st.integers(1, 400), st.data())
def test_stratified_mean_of_one_stratum_is_exact(n, data):
    right = np.array([data.draw(st.integers(0, n))], float)
    size = np.array([n], float)
    np.testing.assert_allclose(
        stratified_mean(right, size), [right[0] / n, *np.ravel(exact_interval(right, size))]
    )


strata_of_halves = st.integers(1, 300).flatmap(
    lambda n: st.tuples(st.integers(0, 2 * n).map(lambda k: k / 2), st.just(n))
)


@given(st.lists(strata_of_halves, min_size=1, max_size=30))
def test_stratified_interval_holds_its_mean(strata):
    right, n = np.array(strata, float).T
    mean, low, high = stratified_mean(right, n)
    assert 0 <= low <= mean <= high <= 1
    assert low < high


def test_stratified_interval_covers_the_mean():
    draw = np.random.default_rng(0)
    truth = draw.uniform(0, 1, size=20)
    n = np.full((2000, 20), 30.0)
    _, low, high = stratified_mean(draw.binomial(30, truth, size=(2000, 20)).astype(float), n)
    covered = ((low <= truth.mean()) & (truth.mean() <= high)).mean()
    assert 0.94 <= covered <= 0.99


def test_strata_without_pairs_do_not_count():
    with_empty = stratified_mean(np.array([3.0, 0.0, 1.0]), np.array([4.0, 0.0, 2.0]))
    np.testing.assert_allclose(with_empty, stratified_mean(np.array([3.0, 1.0]), np.array([4.0, 2.0])))


@pytest.mark.slow
def test_speed_on_a_benchmark_of_the_usual_size(scores_of):
    draw = np.random.default_rng(0)
    size = 35_400
    paradigms = [number % 118 for number in range(size)]
    pairs = pairs_of([f"p{number}" for number in paradigms], [f"f{number % 15}" for number in paradigms])
    lp = draw.normal(-60, 5, size=(size, 2))
    n = draw.integers(10, 14, size=(size, 2))
    scores = scores_of(np.column_stack([lp, n]), unigrams=tuple(draw.normal(-70, 5, size=(2, size))))
    linkings = [parse_linking(name) for name in ("lp", "mean_lp", "pen_lp", "slln_lp", "slor")]
    times = []
    for _ in range(3):
        before = time.perf_counter()
        table = accuracy_table(pairs, scores, linkings)
        times.append(time.perf_counter() - before)
    assert len(table) == 5 * 4 * (118 + 15 + 3)
    assert min(times) < 1.0
