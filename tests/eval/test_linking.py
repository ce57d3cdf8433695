import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ucurve.errors import UserError
from ucurve.eval import linking as registry
from ucurve.eval.linking import FAMILIES, PROMPT_READINGS, Family, linking_name, parse_linking, register_linking
from ucurve.eval.metrics.accuracy import decide

SIZE = 20
lps = arrays(np.float64, SIZE, elements=st.floats(-300, -0.5))
lengths = arrays(np.int64, SIZE, elements=st.integers(1, 60))
alphas = st.floats(0, 1)


def linked(name, lp, n, *more):
    return parse_linking(name).function(np.asarray(lp, float), np.asarray(n, float), *more)


def members(**columns):
    """Build a score table whose bad members are twice what the good ones are."""
    sides = {f"{name}_{side}": np.multiply(values, times) for name, values in columns.items()
             for side, times in (("good", 1.0), ("bad", 2.0))}  # fmt: skip
    return pd.DataFrame(sides)


@given(lps, lengths, lps)
def test_pitfall_14_identities_of_the_linking_functions(lp, n, unigram):
    same = np.testing.assert_allclose
    same(linked("slln_lp:0", lp, n), linked("lp", lp, n))
    same(linked("slln_lp:1", lp, n), linked("mean_lp", lp, n))
    same(linked("pen_lp:0", lp, n), linked("lp", lp, n))
    same(linked("morcela:1:0", lp, n, unigram), linked("slor", lp, n, unigram))
    same(linked("morcela:0:0", lp, n, unigram), linked("mean_lp", lp, n))
    same(linked("pen_lp", lp, np.ones_like(n)), lp)


@given(lps, lps, lengths, alphas)
def test_equal_lengths_give_one_decision(good, bad, n, alpha):
    clear = np.abs(good - bad) > 1e-3  # ties are relative to the values, which the functions rescale
    wins = [
        decide(linked(name, good, n), linked(name, bad, n))[0][clear]
        for name in ("lp", "mean_lp", "pen_lp", "slln_lp", f"slln_lp:{alpha}")
    ]
    for other in wins[1:]:
        np.testing.assert_array_equal(other, wins[0])


@given(lps, lengths)
def test_pitfall_14_slor_with_uniform_unigrams_is_mean_lp(lp, n):
    np.testing.assert_allclose(linked("slor", lp, n, n * np.log(1 / 40)), linked("mean_lp", lp, n) + np.log(40))


@given(lengths, st.floats(0.01, 1))
def test_normalising_more_favours_the_longer(n, alpha):
    per_token = -3.0 * n
    short_first = np.argsort(n)
    assert (np.diff(linked("slln_lp:1", per_token, n)) == 0).all()
    assert (np.diff(linked(f"slln_lp:{1 - alpha}", per_token, n)[short_first]) <= 1e-9).all()


def test_values_by_hand():
    assert linked("pen_lp", [-6.0], [13]) == pytest.approx(-6 / 3**0.8)
    assert linked("slln_lp", [-6.0], [9]) == pytest.approx(-2.0)
    assert linked("slor", [-6.0], [3], np.array([-9.0])) == pytest.approx(1.0)
    assert linked("morcela:0.6:18", [-6.0], [3], np.array([-10.0])) == pytest.approx(6.0)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("mink", "mink"),
        ("mink:60", "mink"),
        ("mink:40", "mink:40"),
        ("slln_lp", "slln_lp"),
        ("slln_lp:0.5", "slln_lp"),
        ("slln_lp:0.30", "slln_lp:0.3"),
        ("slln_lp:1", "slln_lp:1"),
        ("morcela:1:0", "morcela"),
        ("morcela:0.6:18", "morcela:0.6:18"),
    ],
)
def test_names(name, shown):
    assert parse_linking(name).name == shown


def test_every_family_parses_by_its_name():
    assert [parse_linking(name).name for name in FAMILIES] == list(FAMILIES)


def test_unknown_name():
    with pytest.raises(
        UserError, match=r"unknown linking function 'sln_lp'; allowed: .*Did you mean 'slln_lp'\?"
    ):
        parse_linking("sln_lp:0.3")


@pytest.mark.parametrize(
    "name", ["lp:1", "char_lp:2", "grammaticality:1", "slln_lp:x", "slln_lp:", "slln_lp:nan", "slln_lp:0.1:0.2"]
)
def test_wrong_parameters(name):
    with pytest.raises(UserError, match=f"linking function '{name}': .* allowed after the name"):
        parse_linking(name)


@given(lps, lengths)
def test_surprisals_are_what_their_names_say(lp, n):
    np.testing.assert_array_equal(linked("nll", lp, n), -lp)
    np.testing.assert_allclose(np.log(linked("ppl", lp, n)), -lp / n)


def test_functions_take_numbers_and_need_no_unigrams():
    assert FAMILIES["slln_lp"].function(-6.0, 9) == -2.0
    assert FAMILIES["mean_lp"].function(-6.0, 3) == -2.0
    assert FAMILIES["nll"].function(-6.0, 3) == 6.0
    assert FAMILIES["ppl"].function(-6.0, 3) == pytest.approx(np.exp(2))
    assert FAMILIES["ppl"].function(-6000.0, 3) == np.inf


def test_lower_is_better_for_surprisals_alone():
    assert {name for name in FAMILIES if parse_linking(name).lower_is_better} == {"nll", "ppl"}


def test_values_per_character_and_byte():
    assert linked("char_lp", [-6.0], [3], np.array([4.0])) == pytest.approx(-1.5)
    assert linked("byte_lp", [-6.0], [3], np.array([12.0])) == pytest.approx(-0.5)


@given(lps, lengths, lengths)
def test_on_text_of_one_byte_per_character_both_units_are_one(lp, n, chars):
    np.testing.assert_array_equal(linked("char_lp", lp, n, chars), linked("byte_lp", lp, n, chars))


def test_a_function_reads_its_columns_of_one_side():
    table = members(lp=[-6.0], n=[2.0], unigram=[-8.0], chars=[3.0], bytes=[9.0])
    for name, good, bad in [("lp", -6, -12), ("mean_lp", -3, -3), ("slor", 1, 1), ("char_lp", -2, -2),
                            ("byte_lp", -6 / 9, -6 / 9), ("morcela:0:3", -1.5, -9 / 4)]:  # fmt: skip
        linking = parse_linking(name)
        assert linking.values(table, "good")[0] == pytest.approx(good)
        assert linking.values(table, "bad")[0] == pytest.approx(bad)
        assert linking.values(table.to_dict("list"), "good")[0] == pytest.approx(good)


def test_perplexity_is_compared_by_its_logarithm():
    table = members(lp=[-6000.0], n=[3.0])
    assert parse_linking("ppl").values(table, "good") == np.inf
    assert parse_linking("ppl").compared_values(table, "good") == 2000.0


@pytest.mark.parametrize(
    ("name", "column"), [("mink", "mink60"), ("mink:40", "mink40"), ("mink:12.5", "mink12.5")]
)
def test_mink_reads_the_column_of_its_percentage_and_nothing_else(name, column):
    linking = parse_linking(name)
    assert linking.reads == (column,)
    table = members(**{column: [-3.0, -4.0]})
    np.testing.assert_array_equal(linking.values(table, "good"), [-3.0, -4.0])
    np.testing.assert_array_equal(linking.values(table, "bad"), [-6.0, -8.0])


@pytest.mark.parametrize("name", PROMPT_READINGS)
def test_prompt_readings_are_the_answers_as_stored(name):
    linking = parse_linking(name)
    assert linking.missing(members(**{name: [1.0, 0.0]})) == ()
    np.testing.assert_array_equal(linking.values(members(**{name: [1.0, 0.0]}), "good"), [1.0, 0.0])


def test_missing_columns_are_named():
    table = members(lp=[-1.0, -2.0], n=[1.0, 1.0]).assign(unigram_good=[-1.0, np.nan], unigram_bad=-1.0)
    assert parse_linking("slln_lp").missing(table) == ()
    assert parse_linking("slor").missing(table) == ("unigram_good",)
    assert parse_linking("mink:40").missing(table) == ("mink40_good", "mink40_bad")
    assert parse_linking("lp").missing(table.drop(columns="n_bad")) == ("n_bad",)


@pytest.mark.parametrize("percent", ["0", "0.5", "101", "-60"])
def test_mink_is_a_percentage(percent):
    with pytest.raises(UserError, match=rf"'mink:{percent}': percent is {percent}; it must be from 1 to 100"):
        parse_linking(f"mink:{percent}")


@pytest.fixture
def registered(monkeypatch):
    monkeypatch.setattr(registry, "FAMILIES", dict(FAMILIES))
    return register_linking


def test_a_linking_function_of_ones_own(registered):
    registered("depth", Family(lambda lp, n, depth, weight: lp / n - weight * depth, {"weight": 2.0}, ("depth",)))
    linking = parse_linking("depth:3")
    assert (linking.name, linking.reads) == ("depth:3", ("lp", "n", "depth"))
    assert linking.values(members(lp=[-6.0], n=[3.0], depth=[4.0]), "good")[0] == -14.0


@pytest.mark.parametrize(
    ("name", "message"), [("lp", "registered already"), ("a:b", "letters, digits and underscores")]
)
def test_a_name_that_cannot_be_registered(registered, name, message):
    with pytest.raises(ValueError, match=message):
        registered(name, Family(abs))


def test_names_are_written_as_they_are_read():
    assert linking_name("morcela", (0.6, 18)) == "morcela:0.6:18"
    assert linking_name("slln_lp", [0.5]) == "slln_lp"
