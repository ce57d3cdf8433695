import pytest

from eval.benchmarks.registry import REGISTRY
from eval.linking import parse_linking
from eval.metrics.accuracy import TIES_CREDIT
from eval.metrics.levels import MEANS
from eval.presets import PRESETS, ZHOBLIMP_MORCELA, find_preset
from ucurve.errors import UserError

SCORERS = {"sentence", "conditional", "region", "pll", "pll_l2r", "pll_conditional", "prompt", "mink"}


def test_the_presets_are_those_promised():
    assert set(PRESETS) == {"zhoblimp", "blimp", "multiblimp", "rublimp", "tse", "sweblimp"}
    assert all(find_preset(name).name == name for name in PRESETS)


@pytest.mark.parametrize("preset", PRESETS.values(), ids=list(PRESETS))
def test_a_preset_names_things_that_exist_and_its_sources(preset):
    assert [parse_linking(name).name for name in preset.linking] == list(preset.linking)
    assert {preset.scorer_causal, preset.scorer_masked} <= SCORERS
    assert preset.ties_rule in TIES_CREDIT
    assert preset.aggregate in {"all", *MEANS}
    assert preset.benchmarks
    assert preset.protocol
    assert preset.sources


@pytest.mark.parametrize(
    ("name", "causal", "masked", "linking", "aggregate"),
    [
        ("zhoblimp", "sentence", None, "slln_lp", "macro"),
        ("blimp", "sentence", None, "lp", "macro"),
        ("multiblimp", "sentence", None, "lp", "all"),
        ("rublimp", "sentence", "pll", "ppl", "macro_phenomena"),
        ("tse", "conditional", "pll_conditional", "lp", "macro"),
        ("sweblimp", "sentence", None, "ppl", "macro"),
    ],
)
def test_what_the_papers_did(name, causal, masked, linking, aggregate):
    preset = find_preset(name)
    assert (preset.scorer_causal, preset.linking[0], preset.aggregate) == (causal, linking, aggregate)
    assert preset.ties_rule == "wrong"  # each paper asks for a strict >
    assert masked in (None, preset.scorer_masked)
    assert masked or "scored no masked model" in preset.protocol


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_and_the_cards_agree_on_masked_models(name):
    cards = [card for card in REGISTRY.values() if {card.name, card.family} & {*PRESETS[name].benchmarks}]
    assert {card.masked_scorer for card in cards} == {PRESETS[name].scorer_masked}


def test_both_readings_of_the_basque_hindi_swahili_paper_are_offered():
    assert find_preset("tse").linking == ("lp", "mean_lp")


def test_the_published_parameters_of_morcela():
    assert {name: parse_linking(text).name for name, text in ZHOBLIMP_MORCELA.items()} == {
        "cllama": "morcela:0.6:18", "word": "morcela:0.7:12", "char": "morcela:0.1:12",
    }  # fmt: skip


def test_unknown_preset():
    with pytest.raises(UserError, match=r"unknown preset 'swe-blimp'; allowed: .*Did you mean 'sweblimp'\?"):
        find_preset("swe-blimp")
