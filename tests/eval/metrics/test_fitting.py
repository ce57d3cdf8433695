import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.settings import fit_settings
from ucurve.config import check, compose
from ucurve.errors import UserError
from ucurve.eval.linking import parse_linking
from ucurve.eval.metrics.accuracy import accuracy_table, pair_credits
from ucurve.eval.metrics.fitting import FIT_COLUMNS, GRIDS, fit, fit_paradigms
from ucurve.eval.settings import ScoreCommand

PARADIGMS = [f"p{number:02d}" for number in range(12)]


def planted(alpha, seed=0, size=60, noise=0.3):
    """Build pairs that SLLN-LP decides best at ``alpha``: LP is n ** alpha times a quality the good members have more of."""
    draw = np.random.default_rng(seed)
    paradigm = np.repeat(PARADIGMS, size)
    total = len(paradigm)
    n = draw.integers(3, 40, size=(total, 2)).astype(float)
    n[: total // 3, 1] = n[: total // 3, 0]
    n = draw.permutation(n)
    quality = -5 + np.array([0.15, -0.15]) + draw.normal(0, noise / 3, size=(total, 2))
    lp = quality * n**alpha
    pairs = pd.DataFrame({"paradigm": paradigm, "phenomenon": "X", "pair": range(total)})
    pairs = pairs.assign(good=[f"g{row}" for row in range(total)], bad=[f"b{row}" for row in range(total)])
    columns = {"lp": lp, "n": n, "unigram": -8 * n + draw.normal(0, 2, size=(total, 2))}
    sides = {
        f"{name}_{side}": both[:, at] for name, both in columns.items() for at, side in enumerate(("good", "bad"))
    }
    return pairs, pd.DataFrame({"pair": pairs["pair"], **sides})


def chosen(table, family="slln_lp"):
    (found,) = table.query("family == @family").to_dict("records")
    return found


def test_the_command_line_can_ask_for_a_fit():
    """A key ``on`` without quotes is the truth value true in YAML."""
    values = compose("score", ["run=x", "benchmarks=[demo]", "fit.on=oracle", "fit.families=[pen_lp]"])
    assert check(ScoreCommand, values).fit == fit_settings(on="oracle", families=("pen_lp",))


def test_the_grids_are_those_of_the_paper():
    assert GRIDS["slln_lp"] == tuple((tenth / 10,) for tenth in range(1, 10))
    assert len(GRIDS["morcela"]) == 110
    assert {(0.6, 18.0), (0.7, 12.0), (0.1, 12.0), (1.0, 0.0), (0.1, 20.0)} <= set(GRIDS["morcela"])


@pytest.mark.parametrize("alpha", [0.2, 0.5, 0.8])
def test_a_planted_optimum_is_found_and_holds_on_other_paradigms(alpha):
    found = chosen(fit(*planted(alpha), fit_settings()))
    assert parse_linking(found["linking"]).name == parse_linking(f"slln_lp:{alpha}").name
    assert found["label"] == "held_out"
    assert found["fitted_on"] == "6 of 12 paradigms (share 0.5, seed 0), 360 pairs; judged on the others"
    assert (found["objective"], found["n_fitted"], found["n_held_out"]) == ("accuracy", 360, 360)
    assert found["accuracy_held_out"] > 0.9
    assert found["delta_acc"] < 0.1


def test_accuracies_are_of_the_part_they_are_named_after():
    pairs, scores = planted(0.4)
    wanted = fit_settings(share=0.25, seed=3, families=("pen_lp",))
    table = fit(pairs, scores, wanted)
    assert tuple(table.columns) == FIT_COLUMNS
    found = chosen(table, "pen_lp")
    fitted = pairs["paradigm"].isin(fit_paradigms(PARADIGMS, wanted))
    linking = parse_linking(found["linking"])
    for part, name in ((fitted, "fitted"), (~fitted, "held_out")):
        rows = accuracy_table(pairs[part], scores[part], [linking]).query(
            "phenomenon == 'all' and paradigm == 'all'"
        )
        by_split = rows.set_index("split")["accuracy"]
        assert by_split["all"] == pytest.approx(found[f"accuracy_{name}"])
    bias = np.mean([abs(by_split[split] - by_split["equal"]) for split in ("good_longer", "bad_longer")])
    assert found["delta_acc"] == pytest.approx(bias)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 50), st.integers(0, 2**32))
def test_held_out_pairs_do_not_influence_the_fit(seed, noise):
    pairs, scores = planted(0.5, seed=seed, size=8)
    wanted = fit_settings(families=("slln_lp", "morcela"), seed=seed)
    held_out = ~pairs["paradigm"].isin(fit_paradigms(PARADIGMS, wanted)).to_numpy()
    other = scores.copy()
    lps = ["lp_good", "lp_bad", "unigram_good"]
    other.loc[held_out, lps] = np.random.default_rng(noise).normal(-50, 30, size=(held_out.sum(), 3))
    same = ["linking", "fitted_on", "objective_value", "accuracy_fitted"]
    pd.testing.assert_frame_equal(fit(pairs, scores, wanted)[same], fit(pairs, other, wanted)[same])


def test_the_draw_of_paradigms_depends_on_seed_and_names_alone():
    one = fit_paradigms(PARADIGMS, fit_settings(seed=1))
    assert one == fit_paradigms(PARADIGMS[::-1] * 3, fit_settings(seed=1))
    assert one != fit_paradigms(PARADIGMS, fit_settings(seed=2))
    assert len(one) == 6
    assert len(fit_paradigms(PARADIGMS, fit_settings(share=0.01))) == 1
    assert len(fit_paradigms(PARADIGMS, fit_settings(share=0.99))) == 11


def test_an_oracle_is_called_one_and_holds_nothing_out():
    pairs, scores = planted(0.5)
    found = chosen(fit(pairs, scores, fit_settings(on="oracle", families=("morcela",))), "morcela")
    assert (found["label"], found["n_fitted"], found["n_held_out"]) == ("oracle", 720, 0)
    assert found["fitted_on"] == "all 720 pairs, which are those it is judged by"
    assert np.isnan(found["accuracy_held_out"])
    best = max(
        pair_credits(scores, parse_linking(f"morcela:{beta}:{gamma}"), "half").mean()
        for beta, gamma in GRIDS["morcela"]
    )
    assert found["accuracy_fitted"] == found["objective_value"] == pytest.approx(best)


def test_ratings_choose_the_parameters_they_were_made_with():
    pairs, scores = planted(0.5)
    _, rated = planted(0.3, seed=9, size=4)
    rated["rating"] = parse_linking("morcela:0.4:6").values(rated, "good")
    wanted = fit_settings(on="ratings", ratings="likert.csv", families=("morcela", "slln_lp"))
    found = chosen(fit(pairs, scores, wanted, rated), "morcela")
    assert found["linking"] == "morcela:0.4:6"
    assert (found["label"], found["objective"]) == ("ratings", "pearson")
    assert found["fitted_on"] == "ratings of 48 sentences in likert.csv"
    assert found["objective_value"] == pytest.approx(1)
    assert (found["n_fitted"], found["n_held_out"]) == (0, 720)
    assert np.isnan(found["accuracy_fitted"])
    turned = scores.rename(columns={"lp_good": "lp_bad", "lp_bad": "lp_good"})
    assert chosen(fit(pairs, turned, wanted, rated), "morcela")["linking"] == "morcela:0.4:6"


def test_a_family_needs_what_it_reads():
    pairs, scores = planted(0.5)
    with pytest.raises(
        UserError, match="fit: morcela needs unigram_bad, unigram_good, which the scores do not have"
    ):
        fit(pairs, scores.assign(unigram_good=np.nan, unigram_bad=np.nan), fit_settings(families=("morcela",)))


def test_one_paradigm_cannot_be_split():
    pairs, scores = planted(0.5)
    part = pairs["paradigm"] == "p00"
    with pytest.raises(UserError, match=r"fit\.on=paradigms: two paradigms are needed.*got \['p00'\]"):
        fit(pairs[part], scores[part], fit_settings())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"families": ["sln_lp"]}, r"unknown family to fit 'sln_lp'; allowed: .*Did you mean 'slln_lp'\?"),
        ({"families": []}, "at least 1 item"),
        ({"share": 1.0}, "less than 1"),
        ({"on": "test"}, "'paradigms', 'ratings' or 'oracle'"),
        ({"on": "ratings"}, r"fit\.on=ratings and fit\.ratings=FILE\.csv go together"),
        ({"ratings": "x.csv"}, r"fit\.on=ratings and fit\.ratings=FILE\.csv go together"),
        ({"grid": [1]}, "grid: unknown key"),
    ],
)
def test_wrong_settings(given, message):
    with pytest.raises(UserError, match=message):
        fit_settings(**given)
