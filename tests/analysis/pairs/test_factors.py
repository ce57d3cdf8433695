import numpy as np
import pandas as pd
import pytest
from statsmodels.formula.api import ols
from statsmodels.regression.linear_model import OLS

from ucurve.analysis.pairs.factors import clustered_errors, factor_model, pair_factors


def _planted(pairs: int = 4000) -> pd.DataFrame:
    """Delta = 2 in number, 5 in person, + 1.5 attractor - 0.8 distance, in units of their standard deviations."""
    draw = np.random.default_rng(2)
    phenomenon = draw.choice(["number", "person"], pairs)
    attractor = (draw.random(pairs) < 0.3).astype(float)
    distance = draw.integers(1, 9, pairs).astype(float)
    scaled = [(values - values.mean()) / values.std(ddof=1) for values in (attractor, distance)]
    delta = (
        np.where(phenomenon == "person", 5.0, 2.0) + 1.5 * scaled[0] - 0.8 * scaled[1] + draw.normal(0, 1, pairs)
    )
    return pd.DataFrame({
        "phenomenon": phenomenon, "delta_lp": delta, "attractor": attractor, "distance": distance, "constant": 3.0,
        "twice": 2 * distance + 1, "noise": draw.normal(size=pairs), "language": "", "sentence": np.arange(pairs) // 2,
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


def test_betas_are_those_of_ordinary_least_squares() -> None:
    table = _planted(300)
    model = factor_model(table, ["attractor", "noise"])
    assert model is not None
    scaled = {name: (table[name] - table[name].mean()) / table[name].std() for name in ("attractor", "noise")}
    plain = ols("delta_lp ~ 0 + phenomenon + attractor + noise", table.assign(**scaled)).fit()
    assert model.betas["beta"].to_numpy() == pytest.approx(plain.params.to_numpy())
    assert model.r_squared == pytest.approx(plain.rsquared)


def _languages(count: int, random: np.random.Generator) -> pd.DataFrame:
    """Languages of unequal size that differ by .5 nats; neither the language's nor the pairs' factor has an effect."""
    language = np.repeat(np.arange(count), random.integers(40, 160, count))
    own, size = random.normal(0, 0.5, count), len(language)
    return pd.DataFrame({
        "phenomenon": random.choice(["number", "person"], size), "language": language, "sentence": np.arange(size),
        "frequency": random.normal(size=count)[language], "distance": random.normal(size=size),
        "delta_lp": own[language] + random.normal(0, 2, size),
    })  # fmt: skip


def test_a_factor_of_languages_without_effect_is_rarely_significant() -> None:
    random = np.random.default_rng(4)
    found = []
    for _ in range(60):
        model = factor_model(_languages(12, random), ["frequency", "distance"])
        assert model is not None
        assert (model.clustered_by, model.clusters) == ("language", 12)
        found.append(model.betas.set_index("term")["p"][["frequency", "distance"]].to_numpy() < 0.05)
    assert (np.mean(found, axis=0) < 0.12).all()  # independent pairs would give 50 % for the frequency


def test_two_languages_tell_of_pairs_and_nothing_of_languages() -> None:
    model = factor_model(_languages(2, np.random.default_rng(5)), ["frequency", "distance"])
    assert model is not None
    terms = model.betas.set_index("term")
    assert terms.loc["frequency", ["low", "high", "p"]].isna().all()
    assert np.isfinite(terms.loc["distance", ["low", "high", "p"]].astype(float)).all()


def test_a_phenomenon_of_one_language_has_no_interval() -> None:
    table = _languages(6, np.random.default_rng(6))
    table.loc[table["language"] == 3, "phenomenon"] = "gender"
    model = factor_model(table, ["distance"])
    assert model is not None
    assert model.betas.set_index("term")["p"].isna().to_dict() == {
        "gender": True, "number": False, "person": False, "distance": False,
    }  # fmt: skip


def test_pairs_of_one_sentence_count_together() -> None:
    """Each pair four times over tells no more than once."""
    once = _planted(200).assign(sentence=range(200))
    often = pd.concat([once] * 4, ignore_index=True)
    errors = []
    for table in (once, often):
        model = factor_model(table, ["distance"])
        assert model is not None
        assert (model.clustered_by, model.clusters) == ("sentence", 200)
        errors.append((model.betas["high"] - model.betas["low"]).to_numpy())
    assert errors[1] == pytest.approx(errors[0], rel=0.02)


def test_errors_of_single_observations_are_hc2() -> None:
    draw = np.random.default_rng(7)
    design = np.column_stack([np.ones(30), draw.normal(size=(30, 2))])
    fit = OLS(draw.normal(size=30) * (1 + design[:, 1] ** 2), design).fit()
    errors, _ = clustered_errors(design, fit.resid, np.arange(30))
    assert errors == pytest.approx(fit.HC2_se)


def test_errors_of_a_mean_are_those_of_the_means_of_equal_clusters() -> None:
    values = np.random.default_rng(8).normal(size=(7, 4)).cumsum(axis=1)
    errors, freedom = clustered_errors(
        np.ones((28, 1)), (values - values.mean()).ravel(), np.repeat(np.arange(7), 4)
    )
    assert errors == pytest.approx([values.mean(axis=1).std(ddof=1) / 7**0.5])
    assert freedom == pytest.approx([6])


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
    pairs = pd.DataFrame({
        "phenomenon": ["SV-#", "SV-#"], "good": ["ja", "nee"], "distance": [-2, 1], "has_attractors": [True, False],
    })  # fmt: skip
    scores = pd.DataFrame({"lp_good": [-10.0, -6.0], "lp_bad": [-12.0, -5.0], "n_good": [5, 3], "n_bad": [4, 3]})
    table = pair_factors(pairs, scores)
    assert table["delta_lp"].tolist() == [2.0, -1.0]
    assert table["sentence"].tolist() == ["ja", "nee"]
    assert table["perplexity"].tolist() == pytest.approx([np.exp(2), np.exp(2)])
    assert table["sentence_length"].tolist() == [5, 3]
    assert table["subword_delta"].tolist() == [1, 0]
    assert table["distance"].tolist() == [2, 1]
    assert table["has_attractors"].tolist() == [1, 0]
    assert "all_congruent" not in table
    both = pair_factors(pairs.assign(all_congruent=[True, False], all_incongruent=[False, False]), scores)
    assert both["all_congruent"].tolist() == [1, 0]
    assert both["all_incongruent"].tolist() == [0, 0]
    assert "has_attractors" not in both  # it would merge two effects of opposite signs
