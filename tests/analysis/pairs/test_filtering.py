import numpy as np
import pandas as pd
import pytest

from ucurve.analysis.pairs.section import filtering_table, keep_unseen, reference_accuracies


def test_the_pairs_kept_are_below_the_threshold_for_every_model() -> None:
    """The threshold that leaves two sentences is -3: the third is familiar to model b, the fourth repeats the first."""
    good = pd.DataFrame({"paradigm": "p", "good": ["one", "two", "three", "one"]})
    mink = pd.DataFrame({"a": [-5.0, -4.0, -9.0, -5.0], "b": [-6.0, -3.0, -1.0, -6.0]})
    assert keep_unseen(good, mink, 2).tolist() == [True, True, False, False]


def test_every_paradigm_keeps_its_own() -> None:
    good = pd.DataFrame({"paradigm": ["p", "p", "q", "q", "q"], "good": list("abcde")})
    mink = pd.DataFrame({"m": [-1.0, -2.0, -9.0, -8.0, -7.0]})
    assert keep_unseen(good, mink, 2).tolist() == [True, True, True, True, False]
    assert keep_unseen(good, mink, 9).all()


def test_samples_of_the_whole_pool_are_the_pool() -> None:
    credit = pd.DataFrame({"m": [1.0, 0.0, 1.0, 1.0]})
    paradigm = pd.Series(["p", "p", "q", "q"])
    assert reference_accuracies(paradigm, credit, 2)["m"] == pytest.approx(0.75)


def test_random_samples_come_to_the_mean_of_the_paradigms() -> None:
    draw = np.random.default_rng(0)
    paradigm = pd.Series(np.repeat(["p", "q"], [400, 100]))
    credit = pd.DataFrame(
        {"m": np.where(paradigm == "p", draw.random(500) < 0.9, draw.random(500) < 0.5).astype(float)}
    )
    means = credit["m"].groupby(paradigm).mean()
    found = reference_accuracies(paradigm, credit, 50)
    assert found["m"] == pytest.approx(means.mean(), abs=0.02)  # 50 of each
    assert found.equals(reference_accuracies(paradigm, credit, 50))


def test_filtering_away_familiar_sentences_costs_a_model_that_knows_them() -> None:
    """A model is right where it has seen the sentence, whose MIN-K% PROB is high; another knows nothing of that."""
    size, pool = 100, 400
    draw = np.random.default_rng(1)
    familiar = draw.random(pool)
    good = pd.DataFrame({"paradigm": "p", "good": [str(number) for number in range(pool)]})
    credit = pd.DataFrame({
        "seen": (familiar > 0.3).astype(float), "steady": np.tile([1.0, 0.0, 1.0, 1.0], pool // 4),
    })  # fmt: skip
    mink = pd.DataFrame({"seen": -1 + familiar, "steady": -5 - draw.random(pool)})
    table = filtering_table(good, {30: mink, 60: mink * 2}, credit, size).set_index(["model", "k"])
    assert table.loc[("seen", 60), "delta"] < -0.5
    assert abs(table.loc[("steady", 60), "delta"]) < 0.12
    assert (table["pairs"] == size).all()
    assert table.loc[("seen", 30), "delta"] == pytest.approx(
        table.loc[("seen", 30), "filtered"] - table.loc[("seen", 30), "reference"]
    )
