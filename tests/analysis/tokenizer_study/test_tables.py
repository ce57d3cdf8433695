import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_1samp, ttest_ind

from analysis.shape.tables import Shapes
from analysis.tokenizer_study.alpha import alpha_changes, alpha_over_seeds
from analysis.tokenizer_study.at_equal_loss import first_learners, shared_levels, tokens_at_bits
from analysis.tokenizer_study.dips import dip_table
from analysis.tokenizer_study.seeds import difference_over_seeds, mean_over_seeds

FLOATS = st.lists(st.floats(-100, 100).map(lambda value: round(value, 3)), min_size=2, max_size=5)


@given(FLOATS.filter(lambda values: np.std(values) > 1e-3))
def test_a_mean_has_the_interval_of_students_t(values):
    known = ttest_1samp(values, 0).confidence_interval(0.95)
    assert mean_over_seeds(values) == pytest.approx((np.mean(values), known.low, known.high))


@given(*[FLOATS.filter(lambda values: np.std(values) > 1e-3)] * 2)
def test_a_difference_has_welchs_interval(first, second):
    known = ttest_ind(first, second, equal_var=False).confidence_interval(0.95)
    found = difference_over_seeds(first, second)
    assert found == pytest.approx((np.mean(first) - np.mean(second), known.low, known.high), abs=1e-6)


def test_too_few_seeds_have_no_interval():
    assert mean_over_seeds([np.nan, 2.0]) == pytest.approx((2.0, np.nan, np.nan), nan_ok=True)
    assert mean_over_seeds([]) == pytest.approx((np.nan,) * 3, nan_ok=True)
    assert difference_over_seeds([3.0], [1.0, 2.0]) == pytest.approx((1.5, np.nan, np.nan), nan_ok=True)
    assert mean_over_seeds([2.0, 2.0]) == (2.0, 2.0, 2.0)


def test_a_level_of_the_loss_lies_between_checkpoints_on_the_log_axis():
    tokens, bits = np.array([10.0, 100.0, 1000.0]), np.array([4.0, 3.0, 2.0])
    assert tokens_at_bits(tokens, bits, 3.0) == pytest.approx(100)
    assert tokens_at_bits(tokens, bits, 2.5) == pytest.approx(10**2.5)
    assert np.isnan(tokens_at_bits(tokens, bits, 1.9))  # never reached
    assert np.isnan(tokens_at_bits(tokens, bits, 4.0))  # reached before the first checkpoint


def test_levels_are_those_that_every_run_reaches():
    bits = pd.DataFrame({"run": list("aabb"), "bits_per_byte": [5.0, 2.123, 5.0, 2.311]})
    assert shared_levels(bits) == [2.82, 2.57, 2.32]


def onsets(**by_tokenizer):
    return pd.DataFrame([
        {"run": f"{name}{seed}", "tokenizer": name, "phenomenon": "passive", "onset": 1.0, "bits_per_byte": bits}
        for name, values in by_tokenizer.items() for seed, bits in enumerate(values)
    ])  # fmt: skip


@pytest.mark.parametrize(("values", "first"), [
    ({"char": [3.0, 2.9, 2.8], "word": [2.7, 2.6, 2.5], "bpe": [2.0, np.nan, 2.0]}, "char"),
    ({"char": [3.0, 2.9, 2.8], "word": [2.85, 2.6, 2.5], "bpe": [2.0, 2.1, 2.0]}, ""),  # one seed is between
    ({"char": [3.0, 2.9, np.nan], "word": [2.7, 2.6, 2.5], "bpe": [2.0, 2.1, 2.0]}, ""),  # one never learns it
    ({"char": [3.0, 2.9, 2.8]}, ""),  # nothing to be before
])  # fmt: skip
def test_a_tokenizer_is_first_when_all_its_seeds_are(values, first):
    [row] = first_learners(onsets(**values)).to_dict("records")
    assert row["first"] == first
    assert row["char_runs"] == np.isfinite(values["char"]).sum()
    if len(values) == 3:
        assert row["chance"] == pytest.approx(3 / 84)


def test_chance_is_the_share_of_orders_of_runs_that_put_one_tokenizer_first():
    random = np.random.default_rng(0)
    found = [
        first_learners(onsets(**dict(zip(("a", "b", "c"), random.random((3, 3)), strict=True))))["first"].iloc[0] != ""
        for _ in range(200)
    ]
    assert np.mean(found) == pytest.approx(3 / 84, abs=0.04)


def test_the_slope_of_the_best_alpha_is_over_the_last_decade():
    tokens = np.array([1e3, 1e5, 10**5.5, 1e6])
    alphas = pd.DataFrame([
        {"run": f"{name}{seed}", "tokenizer": name, "step": place, "tokens": count, "alpha_accuracy": 0.5,
         "alpha_delta_acc": 9.0 if count < 1e5 else 1 - slope * (np.log10(count) - 5) + 0.01 * seed}
        for name, slope in (("char", 0.4), ("word", 0.1)) for seed in range(3) for place, count in enumerate(tokens)
    ])  # fmt: skip
    table = alpha_changes(alphas).set_index(["criterion", "of"])
    assert table.loc[("delta_acc", "char"), "slope"] == pytest.approx(-0.4)
    assert table.loc[("delta_acc", "char - word"), "slope"] == pytest.approx(-0.3)
    assert table.loc[("delta_acc", "char"), "end"] == pytest.approx(0.61)
    assert table.loc[("accuracy", "word"), "slope"] == pytest.approx(0, abs=1e-9)
    last = alpha_over_seeds(alphas).query("criterion == 'delta_acc' and tokenizer == 'char'").iloc[-1]
    assert (last["runs"], last["tokens"]) == (3, 1e6)
    assert last["alpha"] == pytest.approx(0.61)


def shapes(*classes):
    rows = [
        {"group": group, "phenomenon": phenomenon, "class": name, "shape": name, "runs": 3, "p": 0.01, "depth": 0.05,
         "depth_low": 0.02, "depth_high": 0.08, "turn_from": 10.0, "place": 100.0, "turn_to": 1000.0, "dip": 0.05}
        for group, phenomenon, name in classes
    ]  # fmt: skip
    return Shapes(pd.DataFrame(rows), *[pd.DataFrame()] * 3, notes=(), estimates={})


def test_a_dip_is_listed_with_what_it_is_under_every_linking_function():
    found = {
        "lp": shapes(("a", "passive", "U-shaped"), ("b", "passive", "rising")),
        "slor": shapes(("a", "passive", "flat"), ("b", "passive", "rising")),
    }
    table = dip_table(found, {"a": "char", "b": "word"})
    assert table[["tokenizer", "phenomenon", "linking", "shape", "stands"]].to_numpy().tolist() == [
        ["char", "passive", "lp", "U-shaped", True], ["char", "passive", "slor", "flat", False],
    ]  # fmt: skip
    assert table["depth"].tolist() == pytest.approx([0.05, np.nan], nan_ok=True)
    assert dip_table({"lp": found["slor"]}, {"a": "char", "b": "word"}).empty
