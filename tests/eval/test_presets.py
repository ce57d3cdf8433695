import pytest

from ucurve.errors import UserError
from ucurve.eval.benchmarks.registry import published_benchmarks
from ucurve.eval.linking import parse_linking
from ucurve.eval.metrics.accuracy import TIES_CREDIT
from ucurve.eval.metrics.levels import MEANS
from ucurve.eval.pairs import Subset
from ucurve.eval.presets import FOLDER, Preset, find_preset
from ucurve.yaml_files import file_names, read_yaml

SCORERS = {"sentence", "conditional", "region", "pll", "pll_l2r", "pll_conditional", "pll_mink", "prompt", "mink"}


def test_the_presets_are_those_promised():
    papers = {"zhoblimp", "blimp", "multiblimp", "rublimp", "tse", "sweblimp"}
    assert set(file_names(FOLDER)) == papers | {"chinese_babylm"}
    assert all(find_preset(name).name == name for name in file_names(FOLDER))


@pytest.mark.parametrize("preset", [find_preset(name) for name in file_names(FOLDER)], ids=file_names(FOLDER))
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


@pytest.mark.parametrize("name", file_names(FOLDER))
def test_a_preset_and_the_cards_agree_on_masked_models(name):
    cards = [
        card
        for card in published_benchmarks().values()
        if {card.name, card.family} & {*find_preset(name).benchmarks}
    ]
    assert {card.masked_scorer for card in cards} == {find_preset(name).scorer_masked}


def test_both_readings_of_the_basque_hindi_swahili_paper_are_offered():
    assert find_preset("tse").linking == ("lp", "mean_lp")


def test_unknown_preset():
    with pytest.raises(UserError, match=r"unknown preset 'swe-blimp'; allowed: .*Did you mean 'sweblimp'\?"):
        find_preset("swe-blimp")


@pytest.mark.parametrize(
    ("line", "broken", "message"),
    [
        ("ties_rule: wrong", "ties_rul: wrong", r":6: ties_rul: unknown key\. Did you mean 'ties_rule'\?$"),
        ("ties_rule: wrong", "ties_rule: never", r":6: ties_rule: got 'never'; Input should be 'half'"),
        ("linking: [ppl]", "linking: ppl", r":5: linking: got 'ppl'; a list is expected, as \[a,b\]$"),
        ("bos: auto", "subset: {frist: 100}", r":8: subset: got \{'frist': 100\}; give the number of pairs"),
        ("bos: auto", "bos: auto\nbos: none", r":9: the key 'bos' stands there twice$"),
        ("bos: auto", "bos: [auto", r":9: not YAML \("),
        ("aggregate: macro_phenomena\n", "", r":1: aggregate: no value given$"),
    ],
)
def test_a_mistake_in_the_file_of_a_preset_is_named_with_its_line(tmp_path, line, broken, message):
    text = (FOLDER / "rublimp.yaml").read_text(encoding="utf-8")
    assert line in text
    file = tmp_path / "rublimp.yaml"
    file.write_text(text.replace(line, broken), encoding="utf-8")
    with pytest.raises(UserError, match=rf"rublimp\.yaml{message}"):
        read_yaml(file, Preset)


@pytest.mark.parametrize("asked", ["{first: 100}", "first:100"])
def test_a_preset_may_score_the_first_pairs_only(tmp_path, asked):
    file = tmp_path / "fast.yaml"
    file.write_text(
        (FOLDER / "rublimp.yaml").read_text(encoding="utf-8") + f"subset: {asked}\n", encoding="utf-8"
    )
    assert read_yaml(file, Preset).subset == Subset(100, first=True)
