import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, norm

from ucurve.errors import UserError
from ucurve.eval.linking import parse_linking
from ucurve.eval.metrics.accuracy import accuracy_table
from ucurve.eval.metrics.bootstrap import (
    LENGTH_BIASES,
    bootstrap_interval,
    draw_correlations,
    draw_sums,
    length_biases,
    percentiles,
)
from ucurve.eval.metrics.levels import levels_of
from ucurve.eval.metrics.sampling import clusters_of, exact_interval, spread_of
from ucurve.eval.metrics.significance import (
    COMPARISON_COLUMNS,
    STATISTICS_COLUMNS,
    binomial_tests,
    bonferroni,
    certainty,
    cluster_mcnemar,
    comparison_table,
    holm,
    least_prevalence,
    mcnemar,
    statistics_table,
)

LP, MEAN_LP, SLOR, PPL = (parse_linking(name) for name in ("lp", "mean_lp", "slor", "ppl"))


def benchmark(scores_of, seed=0, sizes=(30, 50, 40), ahead=1.0, ties=0):
    """Build pairs of paradigms a, b (phenomenon X) and c (Y), and their scores."""
    draw = np.random.default_rng(seed)
    paradigm = np.repeat(list("abc"), sizes)
    size = len(paradigm)
    pairs = pd.DataFrame(
        {"paradigm": paradigm, "phenomenon": np.where(paradigm == "c", "Y", "X"), "pair": range(size)}
    )
    pairs = pairs.assign(good=[f"g{row}" for row in range(size)], bad=[f"{row}b" for row in range(size)])
    lp = draw.normal(-40, 2, size=(size, 2)) + np.array([ahead, 0])
    lp[:ties, 1] = lp[:ties, 0]
    scores = scores_of(np.column_stack([lp, draw.integers(5, 9, size=(size, 2))]))
    return pairs, scores.assign(unk_good=0, unk_bad=1)


def row(table, phenomenon, paradigm):
    (found,) = table.query("phenomenon == @phenomenon and paradigm == @paradigm").to_dict("records")
    return found


@pytest.mark.parametrize("rule", ["half", "wrong", "right"])
def test_accuracies_are_those_of_accuracy_csv(scores_of, rule):
    pairs, scores = benchmark(scores_of, ties=7)
    table = statistics_table(pairs, scores, [LP, PPL], rule, samples=50)
    assert tuple(table.columns) == STATISTICS_COLUMNS
    wanted = accuracy_table(pairs, scores, [LP, PPL], [rule]).query("split == 'all'")
    keys = ["linking", "phenomenon", "paradigm", "ties_rule"]
    both = table.merge(wanted, on=keys, suffixes=("", "_wanted"), validate="one_to_one")
    assert len(both) == len(table) == len(wanted) == 2 * 8
    for name in ("n", "ties", "accuracy"):
        np.testing.assert_allclose(both[name], both[f"{name}_wanted"])
    assert (table["boot_low"] <= table["accuracy"]).all()
    assert (table["accuracy"] <= table["boot_high"]).all()
    assert (table["unk"] == table["n"]).all()


def test_functions_that_cannot_be_computed_are_left_out(scores_of):
    pairs, scores = benchmark(scores_of)
    assert set(statistics_table(pairs, scores, [LP, SLOR], samples=9)["linking"]) == {"lp"}
    assert statistics_table(pairs, scores, [SLOR], samples=9).columns.tolist() == list(STATISTICS_COLUMNS)


def test_identical_pairs_count_in_nothing(scores_of):
    pairs, scores = benchmark(scores_of)
    pairs.loc[:9, "bad"] = pairs.loc[:9, "good"]
    assert row(statistics_table(pairs, scores, [LP], samples=9), "X", "a")["n"] == 20


def test_a_table_by_hand(scores_of):
    pairs = pd.DataFrame({"paradigm": list("aaaab"), "phenomenon": list("XXXXY"), "pair": range(5),
                          "good": list("12345"), "bad": list("67890")})  # fmt: skip
    scores = scores_of([(-2, -4, 2, 2), (-2, -8, 2, 4), (-2, -2, 1, 1), (-6, -2, 3, 2), (-3, -9, 3, 3)])
    table = statistics_table(pairs, scores.assign(unk_good=[1, 0, 0, 0, 2], unk_bad=0), [LP])
    assert [row(table, "X", "a")[name] for name in ("n", "right", "ties", "accuracy", "unk")] == [
        4,
        2,
        1,
        0.625,
        1,
    ]
    assert row(table, "X", "a")["delta_lp"] == (2 + 6 + 0 - 4) / 4
    assert row(table, "X", "a")["delta_nll"] == (1 + 1 + 0 - 1) / 4
    assert row(table, "all", "all")["delta_lp"] == (4 + 6) / 5
    assert row(table, "all", "macro")["delta_lp"] == (1 + 6) / 2
    assert row(table, "all", "macro")["accuracy"] == (0.625 + 1) / 2
    assert row(table, "all", "all")["unk"] == 3
    assert [row(table, *name)["clusters"] for name in (("X", "a"), ("Y", "b"), ("all", "macro"))] == [4, 1, 5]
    # The only test.
    assert row(table, "X", "a")["p_above"] == pytest.approx(row(table, "X", "a")["p_bonferroni"] / 2)
    assert row(table, "Y", "b")["p_exact"] == 1.0
    one_cluster = ["boot_low", "p_two_sided", "p_above", "p_below", "p_holm", "p_bonferroni"]
    assert np.isnan([row(table, "Y", "b")[name] for name in one_cluster]).all()


def test_certainty_has_two_readings():
    scores = pd.DataFrame({"lp_good": [-6.0], "lp_bad": [-8.0], "n_good": [3], "n_bad": [8]})
    assert certainty(scores)["delta_lp"].tolist() == [2.0]  # MultiBLiMP: the good one is more probable
    assert certainty(scores)["delta_nll"].tolist() == [-1.0]  # Swe-BLiMP: its tokens are less so


@given(st.integers(1, 300), st.data())
def test_binomial_tests_are_scipys(n, data):
    right = data.draw(st.integers(0, n))
    found = [float(p[0]) for p in binomial_tests(np.array([right], float), np.array([n], float))]
    wanted = [binomtest(right, n, 0.5, side).pvalue for side in ("two-sided", "greater", "less")]
    np.testing.assert_allclose(found, wanted, rtol=1e-8)


@given(st.integers(0, 100), st.integers(0, 100))
def test_half_credits_lie_between_whole_ones(right, wrong):
    credit, n = right + np.array([0.0, 0.5, 1.0]), np.full(3, right + wrong + 1.0)
    _, above, below = binomial_tests(credit, n)
    assert (np.diff(above) <= 1e-12).all()
    assert (np.diff(below) >= -1e-12).all()


def test_a_model_without_preference_is_at_chance(scores_of):
    pairs, scores = benchmark(scores_of, ties=120)
    table = statistics_table(pairs, scores, [LP])
    assert (table["accuracy"] == 0.5).all()
    assert (table["p_two_sided"] > 0.99).all()


def test_significance_of_the_means_is_that_of_the_pairs_when_paradigms_are_alike(scores_of):
    pairs, scores = benchmark(scores_of, sizes=(400, 400, 400), ahead=0.2)
    table = statistics_table(pairs, scores, [LP], samples=9)
    pooled, macro = row(table, "all", "all"), row(table, "all", "macro")
    assert macro["accuracy"] == pytest.approx(pooled["accuracy"])
    assert np.log10(macro["p_above"]) == pytest.approx(np.log10(pooled["p_above"]), abs=0.3)


@pytest.mark.parametrize(
    ("first", "second", "p"),
    [(0, 0, 1.0), (1, 0, 1.0), (5, 0, 2 / 2**5), (0, 8, 2 / 2**8), (1, 6, 2 * (1 + 7) / 2**7), (3, 3, 1.0)],
)
def test_mcnemar_by_hand(first, second, p):
    assert mcnemar(np.array([first]), np.array([second]))[0] == pytest.approx(p)


def test_mcnemar_over_clusters_by_hand():
    """8 clusters of 5 pairs that are wholly alike weigh as 8 pairs; with 3 there is no test."""
    first, second, squares = (
        np.array([30.0, 40.0, 15.0]),
        np.array([10.0, 0.0, 0.0]),
        np.array([200.0, 200.0, 75.0]),
    )
    found = cluster_mcnemar(first, second, squares, np.array([8.0, 8.0, 3.0]))
    np.testing.assert_allclose(found, [binomtest(6, 8).pvalue, 2 / 2**8, np.nan])


@given(st.integers(0, 60), st.integers(0, 60), st.floats(0, 1))
def test_mcnemar_over_clusters_is_never_surer_than_the_exact_test(first, second, share):
    counts, independent = (np.array([float(first)]), np.array([float(second)])), np.array([float(first + second)])
    np.testing.assert_allclose(cluster_mcnemar(*counts, share * independent, independent + 4), mcnemar(*counts))
    assert cluster_mcnemar(*counts, (1 + share) * independent, independent + 4) >= mcnemar(*counts) - 1e-12


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_a_binomial_test_of_the_discordant_pairs(first, second):
    wanted = binomtest(first, first + second).pvalue if first + second else 1.0
    assert mcnemar(np.array([first]), np.array([second]))[0] == pytest.approx(wanted)


def test_adjusted_p_by_hand():
    p = np.array([0.04, 0.01, 0.03, 0.005])
    np.testing.assert_allclose(holm(p), [0.06, 0.03, 0.06, 0.02])
    np.testing.assert_allclose(bonferroni(p), [0.16, 0.04, 0.12, 0.02])


def test_what_was_not_tested_does_not_count_among_the_tests():
    p = np.array([0.04, np.nan, 0.03])
    np.testing.assert_allclose(holm(p), [0.06, np.nan, 0.06])
    np.testing.assert_allclose(bonferroni(p), [0.08, np.nan, 0.06])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holm_lies_between_the_p_and_bonferroni(p):
    p = np.array(p)
    assert (holm(p) >= p).all()
    assert (holm(p) <= bonferroni(p) + 1e-15).all()
    assert holm(p).min() == pytest.approx(bonferroni(p).min())
    assert (np.diff(holm(p)[np.argsort(p)]) >= 0).all()


@pytest.mark.parametrize(
    ("shown", "tested", "percent"), [(3, 3, 45), (2, 3, 21), (1, 3, 6), (2, 2, 34), (5, 5, 59)]
)
def test_runs_that_show_an_effect_bound_the_share_of_seeds_that_do(shown, tested, percent):
    assert round(100 * least_prevalence(shown, tested)) == percent
    share = np.linspace(0, 1, 100_001)  # the posterior of a flat prior, on a grid
    significant = 0.05 + 0.95 * share
    posterior = significant**shown * (1 - significant) ** (tested - shown)
    beyond = np.searchsorted(np.cumsum(posterior), 0.05 * posterior.sum())
    assert least_prevalence(shown, tested) == pytest.approx(share[beyond], abs=1e-4)


def test_p_values_are_adjusted_over_the_paradigms_of_a_linking_function(scores_of):
    pairs, scores = benchmark(scores_of, ahead=0.7)
    table = statistics_table(pairs, scores, [LP, MEAN_LP], samples=9)
    for _, part in table.groupby("linking"):
        paradigms = part["paradigm"].isin(list("abc"))
        np.testing.assert_allclose(part["p_holm"][paradigms], holm(part["p_two_sided"][paradigms].to_numpy()))
        np.testing.assert_allclose(
            part["p_bonferroni"][paradigms], np.minimum(1, 3 * part["p_two_sided"][paradigms])
        )
        assert part.loc[~paradigms, ["p_holm", "p_bonferroni"]].isna().all(axis=None)


def test_draws_have_the_mean_and_covariance_they_are_drawn_with():
    draw = np.random.default_rng(1)
    roots = draw.normal(size=(2, 3, 3))
    sums, covariance = draw.normal(size=(2, 3)), roots @ roots.transpose(0, 2, 1)
    drawn = draw_sums(sums, covariance, 20_000, 0)
    for part in range(2):
        np.testing.assert_allclose(drawn[:, part].mean(axis=0), sums[part], atol=0.1)
        np.testing.assert_allclose(np.cov(drawn[:, part].T), covariance[part], rtol=0.05, atol=0.1)


def test_percentiles_are_farther_out_with_few_degrees_of_freedom_and_leave_nan_out():
    drawn = np.tile(np.linspace(-3, 3, 6001)[:, None], 4)
    drawn[:, 3] = np.nan
    low, high = percentiles(drawn, np.array([1e9, 5.0, np.nan, 5.0]))
    np.testing.assert_allclose(low[:2], [-2.85, 6 * norm.cdf(-2.5706) - 3], atol=1e-3)
    np.testing.assert_allclose(high[:2], -low[:2])
    assert np.isnan([*low[2:], *high[2:]]).all()
    half = np.where(np.arange(6001)[:, None] % 2, drawn[:, :1], np.nan)
    np.testing.assert_allclose(percentiles(half, np.array([1e9])), [[-2.85], [2.85]], atol=5e-3)
    endless = np.where(np.isnan(half), -np.inf, half)  # a sum over no pairs
    np.testing.assert_allclose(percentiles(endless, np.array([1e9])), [[-2.85], [2.85]], atol=5e-3)


def test_drawn_correlations_begin_with_that_of_the_data_and_are_those_of_resampled_clusters():
    random = np.random.default_rng(4)
    other, values = random.standard_normal(60), random.standard_normal((3, 60)) + 1e3
    values[2] = 7.0  # does not vary
    clusters = np.repeat(np.arange(20), 3) * 2
    found = draw_correlations(values, other, clusters, samples=5, seed=1)
    assert found.shape == (6, 3)
    assert found[0, :2] == pytest.approx([np.corrcoef(one, other)[0, 1] for one in values[:2]])
    assert np.isnan(found[:, 2]).all()
    counts = np.random.default_rng(1).multinomial(20, np.full(20, 1 / 20), 5)
    drawn = np.repeat(np.arange(60), np.repeat(counts[3], 3))
    assert found[4, 1] == pytest.approx(np.corrcoef(values[1, drawn], other[drawn])[0, 1])


def test_the_bootstrap_covers_each_level_with_its_own_estimator():
    draw = np.random.default_rng(0)
    pairs = pd.DataFrame(
        {"paradigm": np.repeat(list("abc"), (40, 60, 200)), "phenomenon": np.repeat(list("XY"), (100, 200))}
    ).assign(good=[f"g{row}" for row in range(300)], bad=[f"{row}b" for row in range(300)])
    levels = levels_of(pairs)
    clusters, one = clusters_of(pairs, levels), np.ones(300)
    truth = np.array([0.4, 0.7, 0.9])
    wanted = levels.means(truth * levels.n, levels.n)
    rounds = 300
    inside = np.zeros(len(wanted))
    for _ in range(rounds):
        right = (draw.random(300) < truth[levels.paradigm_of]).astype(float)
        low, high = bootstrap_interval(spread_of(clusters, clusters.sums(right), clusters.sums(one)),
                                       levels.means(levels.sums(right), levels.n))  # fmt: skip
        inside += (low <= wanted) & (wanted <= high)
    assert (inside / rounds > 0.90).all()
    assert (inside / rounds < 0.985).all()


def test_length_bias_is_that_of_the_splits_with_an_interval(scores_of):
    pairs, scores = benchmark(scores_of, sizes=(300, 500, 400), ties=40)
    table = statistics_table(pairs, scores, [LP, MEAN_LP])
    accuracies = accuracy_table(pairs, scores, [LP, MEAN_LP])
    keys = ["linking", "phenomenon", "paradigm"]
    splits = accuracies.pivot_table(index=keys, columns="split", values="accuracy").reset_index()
    both = table.merge(splits, on=keys, validate="one_to_one")
    assert len(both) == len(table)
    wanted = ((both["good_longer"] - both["equal"]).abs() + (both["bad_longer"] - both["equal"]).abs()) / 2
    np.testing.assert_allclose(both["delta_acc"], wanted)
    for split in ("good_longer", "bad_longer"):
        np.testing.assert_allclose(both[f"{split}_minus_equal"], both[split] - both["equal"])
    for name in LENGTH_BIASES:
        assert (both[f"{name}_low"] <= both[f"{name}_high"]).all()
        assert both[name].between(both[f"{name}_low"], both[f"{name}_high"]).mean() > 0.8


def test_the_intervals_of_the_length_biases_cover_them():
    draw, rounds, inside = np.random.default_rng(0), 200, np.zeros(3)
    truth = (0.2, -0.2, 0.2)
    pairs = pd.DataFrame({"paradigm": np.repeat(list("ab"), 600), "phenomenon": "X"})
    pairs = pairs.assign(good=[f"g{row}" for row in range(1200)], bad=[f"{row}b" for row in range(1200)])
    scores = pd.DataFrame({"n_good": np.tile([1, 2, 3], 400), "n_bad": 2})
    chance = np.tile([0.9, 0.7, 0.5], 400)
    for seed in range(rounds):
        credit = (draw.random(1200) < chance).astype(float)
        found = length_biases(clusters_of(pairs, levels_of(pairs)), scores, credit, 200, seed)
        bounds = [(found[f"{name}_low"][-1], found[f"{name}_high"][-1]) for name in LENGTH_BIASES]
        inside += [low <= value <= high for value, (low, high) in zip(truth, bounds, strict=True)]
    assert (inside / rounds > 0.90).all()
    assert (inside / rounds < 0.99).all()


def test_without_length_bias_the_signed_differences_are_around_zero_and_delta_acc_is_not():
    draw, rounds, values, inside = np.random.default_rng(1), 150, [], np.zeros(3)
    pairs = pd.DataFrame({"paradigm": np.repeat(list("ab"), 300), "phenomenon": "X"})
    pairs = pairs.assign(good=[f"g{row}" for row in range(600)], bad=[f"{row}b" for row in range(600)])
    scores = pd.DataFrame({"n_good": np.tile([1, 2, 2, 2, 3], 120), "n_bad": 2})
    for seed in range(rounds):
        credit = (draw.random(600) < 0.8).astype(float)
        found = length_biases(clusters_of(pairs, levels_of(pairs)), scores, credit, 200, seed)
        values.append([found[name][-1] for name in LENGTH_BIASES])
        inside += [found[f"{name}_low"][-1] <= 0 <= found[f"{name}_high"][-1] for name in LENGTH_BIASES]
    means = np.mean(values, axis=0)
    assert inside[0] == 0  # an interval of absolute values never holds 0: docs/scoring.md says so
    assert means[0] > 0.025
    assert (inside[1:] / rounds > 0.88).all()
    assert np.abs(means[1:]).max() < 0.01


def test_without_a_split_there_is_no_length_bias(scores_of):
    pairs, scores = benchmark(scores_of)
    with warnings.catch_warnings(action="error"):
        equal = statistics_table(pairs, scores.assign(n_bad=scores["n_good"]), [LP])
    assert (
        equal[[f"{name}{end}" for name in LENGTH_BIASES for end in ("", "_low", "_high")]].isna().all(axis=None)
    )


def test_a_pair_that_stands_twice_counts_once(scores_of):
    pairs, scores = benchmark(scores_of, sizes=(2, 2, 1))
    pairs = pairs.assign(good=list("xxxyx"), bad=list("zzzzz"))  # 0, 1, 2 and 4 are one pair, in three paradigms
    scores = scores.assign(lp_good=[-1.0, -9.0, -9.0, -1.0, -9.0], lp_bad=-5.0)
    table = statistics_table(pairs, scores, [LP])
    found = {
        name: row(table, *name) for name in (("X", "a"), ("X", "b"), ("Y", "c"), ("all", "all"), ("all", "macro"))
    }
    assert [one["n_distinct"] for one in found.values()] == [1, 1, 0, 2, 2]
    assert [one["accuracy_distinct"] for one in found.values()] == [
        1,
        1,
        pytest.approx(np.nan, nan_ok=True),
        1,
        1,
    ]
    assert found["all", "all"]["accuracy"] == pytest.approx(2 / 5)


def test_the_seed_alone_decides_and_other_functions_change_nothing(scores_of):
    pairs, scores = benchmark(scores_of)
    alone = statistics_table(pairs, scores, [MEAN_LP])
    with_more = (
        statistics_table(pairs, scores, [LP, MEAN_LP]).query("linking == 'mean_lp'").reset_index(drop=True)
    )
    pd.testing.assert_frame_equal(alone, with_more)
    other = statistics_table(pairs, scores, [MEAN_LP], seed=1)
    assert not np.array_equal(alone["delta_acc_low"], other["delta_acc_low"])


def test_two_models_are_compared_pair_by_pair(scores_of):
    pairs, first = benchmark(scores_of, ahead=2.0)
    second = first.assign(lp_good=first["lp_good"] - np.where(np.arange(120) % 4 == 0, 5, 0))
    table = comparison_table(pairs, (first, LP), (second, LP))
    assert tuple(table.columns) == COMPARISON_COLUMNS
    overall = row(table, "all", "all")
    assert overall["second_better"] == 0
    assert overall["difference"] == pytest.approx(overall["first_better"] / 120)
    assert overall["p_mcnemar"] == pytest.approx(2 / 2 ** overall["first_better"])
    assert 0 < overall["boot_low"] <= overall["difference"] <= overall["boot_high"]
    assert np.isnan(row(table, "all", "macro")["p_mcnemar"])
    assert row(table, "X", "a")["p_holm"] >= row(table, "X", "a")["p_mcnemar"]


def test_a_model_does_not_differ_from_itself(scores_of):
    pairs, scores = benchmark(scores_of)
    table = comparison_table(pairs, (scores, LP), (scores, LP))
    assert (table[["difference", "boot_low", "boot_high", "first_better", "second_better"]] == 0).all(axis=None)
    assert (table["p_mcnemar"].dropna() == 1).all()


def test_identical_pairs_alone_are_no_rows_of_a_comparison(scores_of):
    pairs, scores = benchmark(scores_of)
    table = comparison_table(pairs.assign(bad=pairs["good"]), (scores, LP), (scores, LP))
    assert table.empty
    assert tuple(table.columns) == COMPARISON_COLUMNS


def test_pairing_narrows_the_interval(scores_of):
    pairs, first = benchmark(scores_of, sizes=(300, 300, 300))
    second = first.assign(lp_bad=first["lp_bad"] + 0.1)
    paired = row(comparison_table(pairs, (first, LP), (second, LP)), "all", "all")
    alone = row(statistics_table(pairs, first, [LP]), "all", "all")
    assert paired["boot_high"] - paired["boot_low"] < (alone["boot_high"] - alone["boot_low"]) / 2


@pytest.mark.parametrize(("rule", "first", "second"), [("half", 1, 2), ("wrong", 1, 1), ("right", 0, 1)])
def test_ties_between_models(scores_of, rule, first, second):
    pairs = pd.DataFrame(
        {"paradigm": "a", "phenomenon": "X", "pair": range(3), "good": list("abc"), "bad": list("def")}
    )
    one = scores_of([(-1, -2, 1, 1), (-1, -1, 1, 1), (-2, -1, 1, 1)])  # right, tie, wrong
    two = scores_of([(-1, -1, 1, 1), (-1, -2, 1, 1), (-1, -1, 1, 1)])  # tie, right, tie
    overall = row(comparison_table(pairs, (one, LP), (two, LP), rule), "all", "all")
    assert (overall["first_better"], overall["second_better"]) == (first, second)


def test_scores_of_other_pairs_are_refused(scores_of):
    pairs, scores = benchmark(scores_of)
    with pytest.raises(
        UserError, match="comparison: scores of 100 pairs are not those of the 120 pairs of the table"
    ):
        comparison_table(pairs, (scores, LP), (scores[:100], LP))


def test_a_comparison_needs_what_its_functions_read(scores_of):
    pairs, scores = benchmark(scores_of)
    message = "comparison: slor needs unigram_good, unigram_bad, which a score table does not"
    with pytest.raises(UserError, match=message):
        comparison_table(pairs, (scores, LP), (scores, SLOR))


def test_the_intervals_of_the_basque_hindi_swahili_paper():  # Fig. 1: Clopper and Pearson, n = 1000
    low, high = exact_interval(np.array([917.0, 920.0, 955.0, 905.0]), np.full(4, 1000.0))
    np.testing.assert_allclose(low, [0.898, 0.901, 0.940, 0.885], atol=5e-4)
    np.testing.assert_allclose(high, [0.933, 0.936, 0.967, 0.922], atol=5e-4)
