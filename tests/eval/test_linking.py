import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from eval.linking import FAMILIES, parse_linking
from eval.metrics import decide
from ucurve.errors import UserError

SIZE = 20
lps = arrays(np.float64, SIZE, elements=st.floats(-300, -0.5))
lengths = arrays(np.int64, SIZE, elements=st.integers(1, 60))
alphas = st.floats(0, 1)


def linked(name, lp, n, unigram=None):
    unigram = np.zeros_like(lp) if unigram is None else unigram
    return parse_linking(name)(np.asarray(lp, float), np.asarray(n, float), unigram)


@given(lps, lengths, lps)
def test_boundary_cases_are_the_neighbouring_functions(lp, n, unigram):
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
def test_slor_under_a_uniform_unigram_ranks_like_mean_lp(lp, n):
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
    with pytest.raises(UserError, match=r"unknown linking function 'sln_lp'; allowed: .*Did you mean 'slln_lp'\?"):
        parse_linking("sln_lp:0.3")


@pytest.mark.parametrize("name", ["lp:1", "slln_lp:x", "slln_lp:", "slln_lp:nan", "slln_lp:0.1:0.2"])
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
