from pathlib import Path

import pytest

from ucurve.errors import UserError
from ucurve.eval.linking import parse_linking
from ucurve.eval.scoring.scorers import SCORERS, WithinWords, check_kind, find_scorer
from ucurve.eval.settings import score_settings

NGRAMS = ("ngram-1", "ngram-2", "ngram-3", "ngram-4", "ngram-5")
CAUSAL = ("sentence", "conditional", "region", "mink", "prompt", *NGRAMS)
MASKED = ("pll", "pll_l2r", "pll_conditional", "pll_mink")


def test_names_of_the_contract():
    assert set(SCORERS) == {*CAUSAL, *MASKED}
    assert {name: scorer.name for name, scorer in SCORERS.items()} == {name: name for name in SCORERS}


def test_one_name_stands_for_the_ngrams_of_all_orders():
    assert score_settings(scorer="ngram").scorer == NGRAMS
    asked = score_settings(scorer=["sentence", "ngram", "ngram-2"])
    assert asked.scorer == ("sentence", *NGRAMS)
    assert score_settings(scorer="ngram-3").scorer == ("ngram-3",)


def test_unknown_name():
    with pytest.raises(UserError, match=r"unknown scorer 'ngrams'; .*Did you mean 'ngram'\?"):
        find_scorer("ngrams")
    with pytest.raises(UserError, match=r"unknown scorer 'pll-l2r'; .*Did you mean 'pll_l2r'\?"):
        find_scorer("pll-l2r")


@pytest.mark.parametrize(("names", "kind"), [(CAUSAL, "causal"), (MASKED, "masked")])
def test_each_is_for_one_kind_of_model(names, kind):
    other = {"causal": "masked", "masked": "causal"}[kind]
    for name in names:
        check_kind(find_scorer(name), kind, Path("folder"))
        message = rf"^folder: a {other} model by its config.json; the scorer '{name}' is for {kind} ones; allowed here: "
        with pytest.raises(UserError, match=message):
            check_kind(find_scorer(name), other, Path("folder"))


def test_own_linking_functions_are_known():
    for scorer in SCORERS.values():
        assert [parse_linking(name).name for name in scorer.linking] == list(scorer.linking)


def test_what_counts_of_a_sentence():
    parts = {name: scorer.part for name, scorer in SCORERS.items() if scorer.part != "whole"}
    assert parts == {"conditional": "target", "pll_conditional": "target", "region": "region"}
    assert {name for name, scorer in SCORERS.items() if issubclass(scorer, WithinWords)} == {
        "pll_l2r",
        "pll_conditional",
    }
