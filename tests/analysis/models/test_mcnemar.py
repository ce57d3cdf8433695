import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from ucurve.analysis.models.mcnemar import (
    best_by_group,
    better_counts,
    count_best,
    count_better,
    leads_or_ties,
    mcnemar_table,
    name_leaders,
    squared_differences,
    with_model_first,
)
from ucurve.eval.metrics.significance import mcnemar

# MultiBLiMP, appendix B.2: the p of every language in which a model is significantly best
BEST = {
    "Goldfish": (0.041, 0.002, 0.004, 0.0, 0.006, 0.001, 0.0, 0.0, 0.001, 0.033, 0.0, 0.0, 0.0, 0.029),
    "Llama3-70B": (0.009, 0.0, 0.07, 0.026, 0.001, 0.024, 0.0),
    "aya-32b": (0.063,),
    "gemma3-27b": (0.0, 0.05, 0.002),
}
# Table 3, the column #best; the other 13 models have 0
NUMBER_BEST = {"Goldfish": 14, "Llama3-70B": 7, "gemma3-27b": 3, "aya-32b": 1, "EuroLLM-9B": 0}


def _credit(first: list[float], second: list[float]) -> pd.DataFrame:
    return pd.DataFrame({"a": first, "b": second})


def test_number_of_best_languages_of_multiblimp_table_3() -> None:
    """P17: counted from the languages of appendix B.2."""
    best = pd.DataFrame([{"model": model, "p": p} for model, values in BEST.items() for p in values])
    best = best.assign(model_better=1, second_better=0)
    assert count_best(best, list(NUMBER_BEST)).to_dict() == NUMBER_BEST


def test_mcnemar_by_hand() -> None:
    """12 pairs that only one gets right, 3 that only the other does: the exact binomial test of 12 in 15."""
    credit = _credit([1.0] * 12 + [0.0] * 3 + [1.0] * 20, [0.0] * 12 + [1.0] * 3 + [1.0] * 20)
    (row,) = mcnemar_table(credit, pd.Series("g", index=credit.index)).to_dict("records")
    assert (row["first"], row["second"], row["n"], row["first_better"], row["second_better"]) == (
        "a",
        "b",
        35,
        12,
        3,
    )
    assert row["p"] == pytest.approx(binomtest(12, 15).pvalue)
    assert row["accuracy_first"] == pytest.approx(32 / 35)


def test_a_tie_counted_half_loses_to_right_and_beats_wrong() -> None:
    credit = _credit([1.0, 0.5, 0.5, 0.5], [0.5, 0.0, 0.5, 1.0])
    assert better_counts(credit.to_numpy()).tolist() == [[0, 2], [1, 0]]


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 5), st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_counts_are_those_of_a_plain_loop(models: int, pairs: int, seed: int) -> None:
    credit = np.random.default_rng(seed).choice([0.0, 0.5, 1.0], size=(pairs, models))
    counts = better_counts(credit)
    plain = [[(credit[:, one] > credit[:, other]).sum() for other in range(models)] for one in range(models)]
    assert counts.tolist() == plain


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 4), st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_squared_differences_are_those_of_a_plain_loop(models: int, pairs: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    credit, clusters = draw.choice([0.0, 0.5, 1.0], size=(pairs, models)), draw.integers(0, 9, pairs)
    for one in range(models):
        for other in range(models):
            sums = pd.Series(np.sign(credit[:, one] - credit[:, other])).groupby(clusters).sum()
            assert squared_differences(credit, clusters)[one, other] == (sums**2).sum()


def test_pairs_of_one_edit_count_once() -> None:
    """8 edits of 5 pairs; model a is better on 6 edits, b on 2: not 30 against 10 but 6 against 2."""
    credit = _credit([1.0] * 30 + [0.0] * 10, [0.0] * 30 + [1.0] * 10)
    by, edits = pd.Series("g", index=credit.index), np.repeat(np.arange(8), 5)
    for row in (
        *mcnemar_table(credit, by, edits).to_dict("records"),
        *best_by_group(credit, by, edits).to_dict("records"),
    ):
        assert (row["n"], row["clusters"]) == (40, 8)
        assert row["p"] == pytest.approx(binomtest(6, 8).pvalue)
        assert row["p_exact"] == pytest.approx(binomtest(30, 40).pvalue)


def test_groups_of_few_edits_are_counted_and_not_tested() -> None:
    credit = _credit([1.0] * 40, [0.0] * 40)
    by, edits = pd.Series(np.repeat(["x", "y"], 20)), np.concatenate([np.arange(20), 20 + np.arange(20) // 10])
    compared, best = mcnemar_table(credit, by, edits), best_by_group(credit, by, edits)
    assert compared["p"].isna().tolist() == best["p"].isna().tolist() == [False, True]
    assert (compared["p_exact"] < 1e-5).all()
    assert count_better(compared)[["groups", "first_better"]].to_numpy().tolist() == [[2, 1]]
    assert count_best(best, ["a", "b"]).to_dict() == {"a": 1, "b": 0}


def test_groups_in_which_either_is_better() -> None:
    draw = np.random.default_rng(0)
    strong, weak = (draw.random(900) < share for share in (0.95, 0.6))
    first = np.concatenate([strong[:300], weak[300:600], strong[600:]]).astype(float)
    second = np.concatenate([weak[:300], strong[300:600], strong[600:]]).astype(float)
    by = pd.Series(np.repeat(["x", "y", "z"], 300))
    counts = count_better(mcnemar_table(_credit(first.tolist(), second.tolist()), by))
    assert counts[["groups", "first_better", "second_better"]].to_numpy().tolist() == [[3, 1, 1]]


def test_with_ties_the_better_one_is_the_one_the_test_is_about() -> None:
    """a is better on 40 pairs (right, b tied), b on 22 (right, a wrong): p speaks for a, though b is more accurate."""
    credit = _credit([1.0] * 40 + [0.0] * 22 + [1.0] * 38, [0.5] * 40 + [1.0] * 22 + [1.0] * 38)
    by = pd.Series("g", index=credit.index)
    compared = mcnemar_table(credit, by)
    (row,) = compared.to_dict("records")
    assert (row["first_better"], row["second_better"]) == (40, 22)
    assert row["p"] == pytest.approx(0.030, abs=0.0005)
    assert row["accuracy_first"] < row["accuracy_second"]
    assert count_better(compared)[["first_better", "second_better"]].to_numpy().tolist() == [[1, 0]]
    best = best_by_group(credit, by)
    assert best[["model", "model_better", "second_better"]].to_numpy().tolist() == [["b", 22, 40]]
    assert count_best(best, ["a", "b"]).to_dict() == {"a": 0, "b": 0}


def test_the_best_is_tested_against_the_second_best() -> None:
    credit = pd.DataFrame({"a": [0.0] * 10, "b": [1.0] * 7 + [0.0] * 3, "c": [1.0] * 10})
    (row,) = best_by_group(credit, pd.Series("nld", index=credit.index)).to_dict("records")
    assert (row["group"], row["model"], row["second"], row["n"]) == ("nld", "c", "b", 10)
    assert row["p"] == pytest.approx(mcnemar(np.array([3.0]), np.array([0.0]))[0]) == pytest.approx(0.25)


def test_a_model_without_scores_of_a_group_stays_out_of_it() -> None:
    credit = pd.DataFrame({"a": [1.0, 0.0, 1.0], "b": [np.nan, np.nan, 0.0], "c": [0.0, 0.0, 1.0]})
    by = pd.Series(["x", "x", "y"])
    table = mcnemar_table(credit, by)
    assert table.groupby("group").size().to_dict() == {"x": 1, "y": 3}
    assert best_by_group(credit[["b"]], by).empty


def test_a_group_on_which_no_model_has_all_scores_has_no_comparison() -> None:
    credit = pd.DataFrame({"one": [1, np.nan, 1, 0], "other": [np.nan, 0, 0, 0]})
    by = pd.Series(["partly", "partly", "whole", "whole"])
    assert list(mcnemar_table(credit, by)["group"]) == ["whole"]
    assert list(best_by_group(credit, by)["group"]) == ["whole"]
    assert mcnemar_table(credit, pd.Series("all", index=by.index)).empty


def test_leading_and_tying() -> None:
    table = pd.DataFrame({"a": [0.9, 0.5, np.nan], "b": [0.9, 0.6, 0.4], "c": [0.1, 0.2, 0.3]})
    assert leads_or_ties(table).to_dict() == {"a": 1, "b": 3, "c": 0}


def test_models_that_share_the_highest_accuracy_are_all_named() -> None:
    rows = [[1.0, 1.0, 1.0], [0.5, 1.0, 1.0], [0.5, 0.9, 0.2], [float("nan"), 0.9, 0.9]]
    table = pd.DataFrame(rows, columns=["a", "b", "c"])
    assert name_leaders(table).tolist() == ["all 3", "b, c", "b", "b, c"]


def test_comparisons_are_turned_to_one_model() -> None:
    credit = pd.DataFrame({"a": [1.0, 1.0, 0.0], "b": [1.0, 0.0, 0.0], "c": [0.0, 1.0, 0.0]})
    table = with_model_first(mcnemar_table(credit, pd.Series("g", index=credit.index)), "b")
    assert table["first"].tolist() == ["b", "b"]
    assert table["second"].tolist() == ["c", "a"]
    assert table["second_better"].tolist() == [1, 1]
    assert table["first_better"].tolist() == [1, 0]
    assert table["accuracy_first"].tolist() == pytest.approx([1 / 3, 1 / 3])
