from collections import Counter

import pytest

from ucurve.errors import UserError
from ucurve.eval.benchmarks.load import load_benchmark
from ucurve.eval.benchmarks.registry import (
    CARDS,
    benchmark_names,
    expand_benchmarks,
    find_benchmark,
    published_benchmarks,
)
from ucurve.eval.linking import parse_linking

NAMES = {
    "zhoblimp", "zhoblimp-excluded", "blimp", "sling", "climp", "jblimp", "blimp-nl", "rublimp", "swe-blimp",
    "multiblimp", "clams", "tse", "demo", "custom",
}  # fmt: skip
PUBLISHED = published_benchmarks()
SCORERS = {"sentence", "conditional", "region", "pll", "pll_l2r", "pll_conditional", "pll_mink", "prompt", "mink"}


@pytest.fixture
def suites(tmp_path):
    for language in ("hindi", "basque"):
        (tmp_path / "tse").mkdir(exist_ok=True)
        (tmp_path / "tse" / f"{language}-S.json").write_text('[[["a", "a"], ["b", "c"]]]')
    return tmp_path


def names_of(cards):
    return tuple(card.name for card in cards)


def test_all_benchmarks_are_registered():
    assert set(benchmark_names()) >= NAMES
    families = Counter(card.family for name, card in PUBLISHED.items() if name != card.family)
    assert families.items() >= {"multiblimp": 101, "clams": 5, "tse": 3}.items()


@pytest.mark.parametrize("name", PUBLISHED)
def test_card_is_complete(name):
    card = PUBLISHED[name]
    assert card.name == name
    assert (CARDS / f"{card.family}.yaml").is_file()
    assert len(card.language) == 3
    assert card.license
    assert card.citation
    assert card.protocol.endswith(".")
    assert all(quirk.endswith(".") for quirk in card.quirks)
    assert {card.scorer, card.masked_scorer} <= SCORERS
    assert parse_linking(card.linking).name == card.linking


def test_a_family_stands_for_the_languages_that_are_there(suites):
    assert names_of(expand_benchmarks(["zhoblimp", "tse"], suites)) == ("zhoblimp", "tse/eus", "tse/hin")


def test_each_name_once_in_the_order_given(suites):
    assert names_of(expand_benchmarks(["tse/hin", "tse", "blimp", "tse/hin"], suites)) == (
        "tse/hin",
        "tse/eus",
        "blimp",
    )


def test_a_family_of_the_hub_is_there_whole():
    names = names_of(expand_benchmarks(["multiblimp"]))
    assert len(names) == 101
    assert names[:2] == ("multiblimp/abk", "multiblimp/aln")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["tse"], "benchmark 'tse' is not on the hub; give benchmark_root=DIR"),
        (["blimp", "rublim"], r"unknown benchmark 'rublim'; allowed: bl2mp, .*multiblimp, .*zorro\. Did you mean 'rublimp'\?"),
        (["multiblim/nld"], r"unknown benchmark 'multiblim/nld'.*Did you mean 'multiblimp'\?"),
        (
            ["multiblimp/nl"],
            r"unknown language of multiblimp 'nl' in 'multiblimp/nl'; allowed: abk, .*Did you mean 'nld'\?",
        ),
    ],
)  # fmt: skip
def test_names_that_are_not_there(names, message):
    with pytest.raises(UserError, match=message):
        expand_benchmarks(names)


def test_a_family_without_files_or_a_root(suites):
    with pytest.raises(
        UserError, match=r"benchmark 'clams': no files of any language in .*clams, as de_evalset/"
    ):
        expand_benchmarks(["clams"], suites)
    with pytest.raises(UserError, match=r"benchmark_root: no folder .*nowhere"):
        expand_benchmarks(["tse"], suites / "nowhere")


def test_a_family_is_no_benchmark():
    with pytest.raises(UserError, match="benchmark 'tse' has a part for each language; name one, as tse/eus"):
        find_benchmark("tse")


def test_a_language_that_is_not_there(suites):
    with pytest.raises(UserError, match=r"benchmark 'tse/swa': no swahili-\*\.json files in .*tse"):
        load_benchmark("tse/swa", suites)


def test_languages_are_told_apart(suites):
    assert set(load_benchmark("tse/hin", suites)["benchmark"]) == {"tse/hin"}
    assert len(load_benchmark("tse/eus", suites)) == 1
