import numpy as np
import pandas as pd
import pytest

from analysis.factors import factor_model, pair_factors


def _planted(pairs: int = 4000) -> pd.DataFrame:
    """Delta = 2 in number, 5 in person, + 1.5 attractor - 0.8 distance, in units of their standard deviations."""
    draw = np.random.default_rng(2)
    phenomenon = draw.choice(["number", "person"], pairs)
    attractor = (draw.random(pairs) < 0.3).astype(float)
    distance = draw.integers(1, 9, pairs).astype(float)
    scaled = [(values - values.mean()) / values.std(ddof=1) for values in (attractor, distance)]
    delta = np.where(phenomenon == "person", 5.0, 2.0) + 1.5 * scaled[0] - 0.8 * scaled[1] + draw.normal(0, 1, pairs)
    return pd.DataFrame({
        "phenomenon": phenomenon, "delta_lp": delta, "attractor": attractor, "distance": distance, "constant": 3.0,
        "twice": 2 * distance + 1, "noise": draw.normal(size=pairs),
    })  # fmt: skip


def test_planted_betas_are_recovered_with_their_intervals() -> None:
    table = _planted()
    model = factor_model(table, ["attractor", "distance", "noise"])
    assert model is not None
    betas = model.betas.set_index("term")
    planted = {"number": 2.0, "person": 5.0, "attractor": 1.5, "distance": -0.8, "noise": 0.0}
    for term, value in planted.items():
        assert betas.loc[term, "low"] < value < betas.loc[term, "high"], term
        assert betas.loc[term, "beta"] == pytest.approx(value, abs=0.08)
    assert betas.loc["noise", "p"] > 0.05 > betas.loc["attractor", "p"]
    assert betas["kind"].tolist() == ["phenomenon"] * 2 + ["factor"] * 3
    assert betas.loc["attractor", "beta_standardised"] == pytest.approx(1.5 / table["delta_lp"].std(), abs=0.05)
    explained = 1 - 1 / table["delta_lp"].var()
    assert model.r_squared == pytest.approx(explained, abs=0.03)


def test_factors_that_say_nothing_new_are_left_out_and_named() -> None:
    model = factor_model(_planted(), ["distance", "constant", "twice"])
    assert model is not None
    assert model.left_out == ("constant", "twice")
    assert model.betas["term"].tolist() == ["number", "person", "distance"]


def test_pairs_with_a_gap_do_not_count() -> None:
    table = _planted(50)
    table.loc[:9, "distance"] = np.nan
    model = factor_model(table, ["distance"])
    assert model is not None
    assert model.n == 40


def test_too_few_pairs_have_no_model() -> None:
    assert factor_model(_planted(3), ["distance", "attractor"]) is None


def test_factors_of_pairs_by_hand() -> None:
    pairs = pd.DataFrame({"phenomenon": ["SV-#", "SV-#"], "distance": [-2, 1], "has_attractors": [True, False]})
    scores = pd.DataFrame({"lp_good": [-10.0, -6.0], "lp_bad": [-12.0, -5.0], "n_good": [5, 3], "n_bad": [4, 3]})
    table = pair_factors(pairs, scores)
    assert table["delta_lp"].tolist() == [2.0, -1.0]
    assert table["perplexity"].tolist() == pytest.approx([np.exp(2), np.exp(2)])
    assert table["sentence_length"].tolist() == [5, 3]
    assert table["subword_delta"].tolist() == [1, 0]
    assert table["distance"].tolist() == [2, 1]
    assert table["has_attractors"].tolist() == [1, 0]
    assert "congruent_attractors" not in table
