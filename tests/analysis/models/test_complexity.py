import numpy as np
import pandas as pd
import pytest

from tests.analysis.papers import tse_figure1
from ucurve.analysis.models.sizes import complexity_table, levels_table, load_complexity, steps_of_complexity


def test_a_demonstrative_before_the_verb_costs_139_222_selections() -> None:
    """P11, TSE section 5.3: the mean over the 18 models."""
    models = tse_figure1().query("model != 'human'")
    levels = levels_table({"verb": ("swahili-N_of_Poss_V", "swahili-N_of_Poss_D_V")})
    assert steps_of_complexity(models, levels)["change"].tolist() == pytest.approx([-139.222], abs=0.0005)


def test_accuracy_rises_in_hindi_and_falls_in_swahili() -> None:
    """TSE, Figure 3: the trend is upward for Hindi, downward for Swahili's verbal predicate."""
    models = tse_figure1().query("model != 'human'")
    models["suite"] = models["suite"].str.partition("-")[2]
    hindi = steps_of_complexity(models, levels_table(load_complexity()["tse/hin"]))
    swahili = steps_of_complexity(models, levels_table(load_complexity()["tse/swa"]))
    assert len(hindi) == 4
    assert (hindi["change"] > 0).all()
    verbal = swahili[swahili["predicate"] == "verbal predicate"]
    assert verbal["after"].tolist() == [
        "N_of_Poss_D_V",
        "N_of_Poss_D_A_V",
    ]  # the fourth suite failed people's check
    assert (verbal["change"] < 0).all()


def test_versions_of_a_family_are_averaged_with_their_standard_error() -> None:
    points = pd.DataFrame({
        "line": ["f", "f", "f", None], "model": ["f1", "f2", "f3", "alone"], "suite": "s",
        "accuracy": [0.5, 0.6, 0.7, 0.9],
    })  # fmt: skip
    table = complexity_table(points, levels_table({"verb": ("s", "t")})).set_index("line")
    assert table.loc["f", "accuracy"] == pytest.approx(0.6)
    assert table.loc["f", "high"] - table.loc["f", "accuracy"] == pytest.approx(1.96 * 0.1 / np.sqrt(3), rel=1e-4)
    assert table.loc["alone", "models"] == 1
    assert np.isnan(table.loc["alone", "low"])


def test_suites_that_were_not_both_scored_have_no_change() -> None:
    points = pd.DataFrame({"model": ["a", "b"], "suite": ["s", "t"], "accuracy": [0.5, 0.6]})
    assert steps_of_complexity(points, levels_table({"verb": ("s", "t")})).empty  # by no one model
    assert steps_of_complexity(points, levels_table({"verb": ("s", "u", "w")})).empty
