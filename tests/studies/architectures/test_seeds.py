import numpy as np
import pandas as pd
import pytest
from scipy.stats import f_oneway, tukey_hsd

from studies.architectures.seeds import differences_of_lines, spread_of_lines

SIDES = {"gpt2": [0.61, 0.63], "llama": [0.70, 0.69, 0.72], "lstm": [0.62, 0.66]}


def rows_of(sides, phenomenon="passive"):
    rows = [(name, value) for name, values in sides.items() for value in values]
    table = pd.DataFrame(rows, columns=["line", "accuracy"])
    return table.assign(equal_in="tokens", level=1e6, last=True, phenomenon=phenomenon)


def test_the_spread_is_tested_by_analysis_of_variance():
    found = spread_of_lines(pd.concat([rows_of(SIDES), rows_of(SIDES, "all")])).iloc[0]
    known = f_oneway(*SIDES.values())
    assert (found["F"], found["p"]) == pytest.approx((known.statistic, known.pvalue))
    assert found["p_holm"] == pytest.approx(found["p"])  # the overall number is no member of the family
    assert (found["best"], found["worst"], found["lines"], found["runs"]) == ("llama", "gpt2", 3, 7)
    assert found["best_accuracy"] == pytest.approx(np.mean(SIDES["llama"]))


def test_p_values_are_adjusted_over_phenomena():
    found = spread_of_lines(pd.concat([rows_of(SIDES, name) for name in ("BA", "passive", "question")]))
    assert found["p_holm"].to_numpy() == pytest.approx(3 * found["p"].to_numpy())


def test_pairs_have_tukeys_intervals():
    found = differences_of_lines(rows_of(SIDES)).set_index("of")
    known = tukey_hsd(*SIDES.values())
    bounds = known.confidence_interval()
    for place, other in enumerate(("llama", "lstm"), start=1):
        row = found.loc[f"gpt2 - {other}"]
        assert row["p"] == pytest.approx(known.pvalue[0, place], abs=1e-6)
        assert (row["low"], row["high"]) == pytest.approx((bounds.low[0, place], bounds.high[0, place]), abs=1e-6)


def test_a_lone_seed_counts_as_a_mean_and_says_nothing_of_seeds():
    sides = {**SIDES, "mamba": [0.9]}
    found = spread_of_lines(rows_of(sides)).iloc[0]
    known = f_oneway(*sides.values())
    assert (found["F"], found["p"], found["best"]) == (
        pytest.approx(known.statistic), pytest.approx(known.pvalue), "mamba",
    )  # fmt: skip
    assert differences_of_lines(rows_of(sides))["low"].notna().all()


def test_without_a_second_seed_nothing_is_tested():
    sides = {"gpt2": [0.6], "lstm": [0.7]}
    assert np.isnan(spread_of_lines(rows_of(sides))[["F", "p", "p_holm"]].to_numpy(float)).all()
    found = differences_of_lines(rows_of(sides)).iloc[0]
    assert found["difference"] == pytest.approx(-0.1)
    assert np.isnan(found[["low", "high", "p"]].to_numpy(float)).all()
