import numpy as np
import pandas as pd
import pytest

from tests.analysis.papers import tse_figure1
from ucurve.analysis.models.categories import count_significant, with_tests


def _tested() -> pd.DataFrame:
    table = tse_figure1()
    return with_tests(table[table["model"] != "human"].assign(n=1000)).reset_index(drop=True)


def test_every_legible_interval_of_tse_figure_1() -> None:
    legible = with_tests(tse_figure1().assign(n=1000)).dropna(subset=["low", "high"])
    legible = legible[legible["low"] < legible["high"]]
    assert len(legible) == 373
    for ours, theirs in (("ci_low", "low"), ("ci_high", "high")):
        assert (legible[ours].round(3) - legible[theirs]).abs().max() < 1e-9


def test_the_human_row_of_figure_1_does_not_follow_from_its_50_answers() -> None:
    """P10: 5 pairs by 10 people are 50 answers; the printed interval of .920 is that of 1,000."""
    human = tse_figure1().query("model == 'human' and suite == 'basque-DO-S_IO_DO_V_AUX'")
    assert human[["accuracy", "low", "high"]].to_numpy().tolist() == [[0.92, 0.901, 0.936]]
    found = with_tests(human.assign(n=50)).iloc[0]
    assert (round(found["ci_low"], 3), round(found["ci_high"], 3)) == (0.808, 0.978)


def test_means_of_section_5_1() -> None:
    table = _tested()
    language = table["suite"].str.partition("-")[0]
    assert table.groupby(language)["accuracy"].mean().round(4).to_dict() == {
        "basque": 0.7413, "hindi": 0.8735, "swahili": 0.5047,
    }  # fmt: skip
    mean = table.groupby("model")["accuracy"].mean()
    assert (mean.idxmax(), round(mean.max(), 3)) == ("mGPT-13B", 0.815)
    by_language = table.groupby([language, "model"])["accuracy"].mean()
    assert by_language["hindi"].idxmax() == "XLM-R-XXL"
    assert by_language["hindi"].max() == pytest.approx(0.9312, abs=5e-5)
    assert by_language["swahili"].idxmax() == "XGLM-7.5B"
    assert by_language["swahili"].max() == pytest.approx(0.6013, abs=5e-5)


def test_the_best_model_on_basque_is_not_the_printed_one() -> None:
    """P11b: the text names mGPT-1.3B (.926); the figure has BLOOM-176B ahead of it."""
    table = _tested()
    basque = table[table["suite"].str.startswith("basque")].groupby("model")["accuracy"].mean().sort_values()
    assert basque.index[-2:].tolist() == ["mGPT-1.3B", "BLOOM-176B"]
    assert basque.iloc[-2:].round(3).tolist() == [0.926, 0.956]


def test_models_above_and_below_chance_as_section_5_1_lists_them() -> None:
    table = _tested()
    table["language"] = table["suite"].str.partition("-")[0]
    counts = count_significant(table, ["language", "model"]).set_index("model")
    every = counts[counts["above"] == counts["tests"]]
    assert set(every.query("language == 'basque'").index) == {
        "mGPT-1.3B", "mGPT-13B", "BLOOM-7.1B", "BLOOM-176B", "XGLM-1.7B", "XGLM-2.9B", "XGLM-7.5B", "XLM-R-XXL",
    }  # fmt: skip
    assert set(counts.query("language == 'hindi'").index) - set(every.query("language == 'hindi'").index) == {
        "mBERT"
    }
    assert counts.query("language == 'hindi'").loc["mBERT", "below"] == 3
    assert set(every.query("language == 'swahili'").index) == {"XGLM-7.5B"}
    none = counts.query("language == 'swahili' and above == 0").index
    assert set(none) == {"BLOOM-560M", "BLOOM-1.7B", "BLOOM-7.1B"}


def test_suites_with_a_model_below_chance() -> None:
    below = count_significant(_tested(), "suite").query("below > 0")["suite"]
    basque = {suite for suite in below if suite.startswith("basque")}
    with_indirect_object = {suite for suite in _tested()["suite"] if suite.startswith("basque") and "IO" in suite}
    assert basque == with_indirect_object | {"basque-S-S_DO_V_AUX"}


def test_the_easiest_swahili_suite() -> None:
    table = _tested()
    swahili = table[table["suite"].str.startswith("swahili")]
    best = swahili.loc[swahili.groupby("model")["accuracy"].idxmax(), "suite"]
    assert (best == "swahili-N_of_Poss_V").sum() == 10
    above = count_significant(swahili, "suite").set_index("suite")["above"]
    assert above.idxmax() == "swahili-N_of_Poss_V"


def test_xglm_4_5b_is_poorest_more_often_than_printed() -> None:
    """P11c: "10 out of 18 suites" and "the remaining 8"; there are 20 suites, and it is poorest on 11."""
    table = _tested()
    xglm = table[table["model"].str.startswith("XGLM")].pivot_table(
        index="suite", columns="model", values="accuracy"
    )
    place = xglm.rank(axis=1)["XGLM-4.5B"]
    assert place.value_counts().to_dict() == {1: 11, 2: 9}
    assert (place[place.index.str.startswith("basque")] == 1).sum() == 7


def test_intervals_and_tests_by_hand() -> None:
    found = with_tests(pd.DataFrame({"n": [10, 10], "accuracy": [1.0, 0.5]})).iloc[[0, 1]]
    assert found.loc[0, "ci_low"] == pytest.approx(0.025 ** (1 / 10))
    assert found.loc[0, "ci_high"] == 1
    assert found.loc[0, "p_above"] == pytest.approx(2**-10)
    assert found.loc[0, "p_below"] == pytest.approx(1)
    assert found.loc[1, "p_above"] == pytest.approx(638 / 1024)  # P(X >= 5) of 10
    counts = count_significant(found.assign(model="m"), "model")
    assert counts.to_dict("records") == [{"model": "m", "tests": 2, "above": 1, "below": 0}]


def test_tests_are_over_as_many_pairs_as_clusters_are_worth() -> None:
    found = with_tests(pd.DataFrame({"n": [100, 100], "effective": [10.0, np.nan], "accuracy": [1.0, 1.0]}))
    assert found["ci_low"].tolist() == pytest.approx([0.025 ** (1 / 10), np.nan], nan_ok=True)
    assert found["exact_low"].tolist() == pytest.approx([0.025 ** (1 / 100)] * 2)
    assert found["p_above"].tolist() == pytest.approx([2**-10, np.nan], nan_ok=True)
    assert count_significant(found.assign(model="m"), "model").to_dict("records") == [
        {"model": "m", "tests": 1, "above": 1, "below": 0}
    ]


def test_an_interval_holds_its_accuracy() -> None:
    n, right = np.arange(1, 40), np.random.default_rng(0).integers(0, np.arange(1, 40), endpoint=True)
    found = with_tests(pd.DataFrame({"n": n, "accuracy": right / n}))
    assert (found["ci_low"] <= found["accuracy"]).all()
    assert (found["accuracy"] <= found["ci_high"]).all()
