"""Corpora of several: how they are given, what they are called, and every mistake in them."""

from dataclasses import asdict

import pytest

from tests.settings import corpus_settings
from ucurve.config import check, compose, plain
from ucurve.errors import UserError
from ucurve.training.config import read_request
from ucurve.training.corpus.corpus import Corpus
from ucurve.training.corpus.settings import CorpusSettings
from ucurve.training.identity import config_sha256, pick_identity

TWO = [{"data": "demo", "weight": 0.7}, {"path": "texts/en.txt", "weight": 0.3}]


def settings(kind="mixture", parts=TWO, **more):
    return corpus_settings(kind=kind, parts=parts, **more)


def test_a_part_has_the_keys_of_the_choice_that_it_is():
    chinese, english = settings(parts=[{"data": "c4_zh", "max_documents": 9, "weight": 1}, TWO[1]]).parts
    assert (chinese.data.kind, chinese.data.dataset, chinese.data.subset) == ("hub", "allenai/c4", "zh")
    assert (chinese.data.max_documents, chinese.data.unit, chinese.name) == (9, "line", "c4_zh")
    assert (english.data.kind, english.data.unit, english.data.holdout, english.name) == (
        "text",
        "line",
        None,
        "en",
    )


@pytest.mark.parametrize(
    ("kind", "parts", "name"),
    [
        ("mixture", TWO, "demo_70_en_30"),
        ("mixture", [{**TWO[0], "weight": 2}, {**TWO[1], "weight": 1}], "demo_66_67_en_33_33"),
        ("stages", [{"data": "demo", "tokens": "5M"}, {"path": "en.txt"}], "demo_5M_then_en"),
        (
            "stages",
            [{"data": "demo", "tokens": 1500}, {"path": "en.txt", "name": "english"}],
            "demo_1_5K_then_english",
        ),
    ],
)
def test_names(kind, parts, name):
    assert settings(kind, parts).run_name == name
    assert settings(kind, parts, name="own").run_name == "own"


def test_interventions_of_a_part_are_in_its_name_and_not_in_its_tokenizer():
    step = {"name": "no_x", "do": "drop", "unit": "sentence", "contains": "x"}
    changed = settings(parts=[TWO[0], {**TWO[1], "interventions": [step]}])
    assert changed.run_name == "demo_70_en_no_x_30"
    assert Corpus(changed).plain.settings == settings()


def read(*overrides):
    return read_request(compose("train", ["tokens=10M", "tokenizer=char", *overrides]))


def test_paths_and_epochs_of_parts_are_no_part_of_the_identity_and_weights_are():
    def identity(path, weight, epochs=1):
        parts = f"[{{data: demo, weight: 1}}, {{path: {path}, weight: {weight}, name: en, max_epochs: {epochs}}}]"
        return read("data=mixture", f"data.parts={parts}", "data.name=both").identity()

    same = identity("texts/a.txt", 1)
    assert config_sha256(same) == config_sha256(identity("elsewhere/b.txt", 1, epochs=7))
    assert config_sha256(same) != config_sha256(identity("texts/a.txt", 2))


def test_what_config_yaml_holds_is_read_back():
    for arguments in (
        ["data=mixture", "data.parts=[{data: demo, weight: .7}, {path: texts/en.txt, weight: .3}]"],
        ["data=stages", "data.parts=[{data: demo, tokens: 5M}, {data: mixture, parts: [{data: demo, weight: 1, name: a},"
         " {dataset: x/y, weight: 1}]}]"],
    ):  # fmt: skip
        one = read(*arguments)
        written = plain(asdict(one))
        assert check(CorpusSettings, written["data"]) == one.data
        assert pick_identity(written) == plain(one.identity())


@pytest.mark.parametrize(
    ("kind", "parts", "message"),
    [
        ("mixture", [], "parts: at least two corpora are expected, as .data.parts=.{data: demo, weight: .7}"),
        ("mixture", TWO[:1], "parts: at least two corpora are expected"),
        (
            "mixture",
            [TWO[0], {**TWO[1], "attention": "document"}],
            "data.attention=document, and not in one of the parts",
        ),
        ("stages", [], "parts: at least two corpora are expected, as .data.parts=.{data: demo, tokens: 5M}"),
        ("text", TWO, "parts is for data=mixture and data=stages only; this is data.kind=text"),
        (
            "mixture",
            [TWO[0], TWO[0]],
            "parts: two have one name, demo, demo; name: NAME in a part gives it another",
        ),
        ("mixture", [TWO[0], {"path": "x"}], r"parts\.1: weight is missing"),
        ("mixture", [{**TWO[0], "tokens": 5}, TWO[1]], r"parts\.0: tokens is not for this part"),
        ("stages", [{"data": "demo"}, {"path": "x"}], r"parts\.0: tokens is missing"),
        (
            "stages",
            [{"data": "demo", "tokens": 5}, {"path": "x", "tokens": 5}],
            r"parts\.1: tokens is not for the last",
        ),
        (
            "stages",
            [{"data": "demo", "tokens": "many"}, {"path": "x"}],
            r"parts\.0\.tokens: 'many' is not a count",
        ),
        ("mixture", [{**TWO[0], "weight": -1}, TWO[1]], r"parts\.0\.weight: got -1"),
        ("mixture", [{**TWO[0], "weight": 0.1234567}, TWO[1]], "give fewer digits"),
        (
            "mixture",
            [{"weight": 1}, TWO[1]],
            "data: no corpus given; a part needs data=CHOICE, path=TEXTS or dataset=ID",
        ),
        ("mixture", [{"data": "c4_zz", "weight": 1}, TWO[1]], "unknown data 'c4_zz'.*'c4_zh'"),
        ("mixture", [{"data": 3, "weight": 1}, TWO[1]], r"data: got 3; a choice of conf/data/ is expected"),
        ("mixture", [{"data": "demo", "colour": 1, "weight": 1}, TWO[1]], r"parts\.0\.data\.colour: unknown key"),
        (
            "mixture",
            [{"data": "demo", "wieght": 1}, TWO[1]],
            r"data\.wieght: unknown key\. Did you mean 'weight'\?",
        ),
        (
            "mixture",
            ["demo", TWO[1]],
            "parts: got 'demo'; a part is keys of a corpus, as {data: demo, weight: .7}",
        ),
    ],
)
def test_mistakes_are_named(kind, parts, message):
    with pytest.raises(UserError, match=message):
        settings(kind, parts)


def test_parts_alone_are_a_mixture_and_other_choices_refuse_them():
    parts = "data.parts=[{data: demo, weight: .7}, {path: texts/en.txt, weight: .3}]"
    assert read(parts).data.kind == "mixture"
    with pytest.raises(UserError, match=r"the key 'data\.parts' goes with data="):
        read("data=demo", parts)


def test_a_missing_file_is_named_with_its_part(tmp_path):
    with pytest.raises(UserError, match=r"data\.parts, nothing: data\.path: no file or folder '.*nothing\.txt'"):
        Corpus(settings(parts=[TWO[0], {"path": str(tmp_path / "nothing.txt"), "weight": 1}])).check_files()


def test_a_stage_is_a_sequence_at_least():
    with pytest.raises(
        UserError, match=r"data\.parts\.0\.tokens=10 is less than one sequence \(batch\.length=64\)"
    ):
        read("data=stages", "data.parts=[{data: demo, tokens: 10}, {path: texts/en.txt}]")


def test_keys_of_one_corpus_belong_to_the_parts():
    with pytest.raises(UserError, match="words is not for data=mixture; it can stand in each of the parts"):
        settings(words="jieba")
    with pytest.raises(
        UserError, match=r"tokens=10Mw is a number of words, which nothing counts in data=demo_70"
    ):
        read(
            "tokens=10Mw",
            "data=mixture",
            "data.parts=[{data: demo, weight: .7}, {path: texts/en.txt, weight: .3}]",
        )
