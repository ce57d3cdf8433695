"""The maker: sentences in, paradigms with candidates and reasons out."""

import sys
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pytest

pytest.importorskip("pymorphy3")
from tests.settings import rublimp_settings
from ucurve.errors import UserError
from ucurve.generation.rublimp import make as maker
from ucurve.generation.rublimp import text
from ucurve.generation.rublimp.make import make
from ucurve.generation.rublimp.text import _without_circles

SENTENCES = Path(__file__).with_name("sentences.conllu")


def test_each_paradigm_has_candidates_and_says_why_some_are_none():
    made = make(rublimp_settings(treebanks=(str(SENTENCES),)), seed=0)
    assert len(made.paradigms) == len(maker.RULES)
    by_name = {paradigm.name: paradigm for paradigm in made.paradigms}
    assert len(by_name["tense_marker"].candidates) > 0
    # two of the sentences have the adverb of duration
    assert by_name["change_duration_aspect"].dropped == Counter(
        {"the verb has no perfective partner in the list": 2}
    )
    assert "resources=" in by_name["change_duration_aspect"].note


def test_treebanks_are_files_or_patterns_of_them():
    whole = make(rublimp_settings(treebanks=(str(SENTENCES),)), seed=0)
    by_pattern = make(rublimp_settings(treebanks=(f"{SENTENCES.parent}/sent*ces.conllu",)), seed=0)
    assert by_pattern.inputs == whole.inputs == [SENTENCES]
    with pytest.raises(UserError, match=r"treebanks: no file .*none\*\.conllu"):
        make(rublimp_settings(treebanks=("none*.conllu",)), seed=0)


def test_two_calls_give_the_same_candidates():
    settings = rublimp_settings(treebanks=(str(SENTENCES),), paradigms=("transitive_verb",))
    [first], [second] = make(settings, seed=0).paradigms, make(settings, seed=0).paradigms
    assert first.candidates == second.candidates


def test_heads_that_go_round_in_a_circle_become_a_tree():
    assert _without_circles([2, 3, 1, 3]) == [2, 3, 0, 3]


def test_plain_text_gives_the_pair_that_its_treebank_gives(tmp_path):
    pytest.importorskip("slovnet")
    pytest.importorskip("navec")
    if find_spec("natasha") is None:
        pytest.skip("the models of natasha are not installed")
    file = tmp_path / "fiction.txt"
    file.write_text("Вчера мальчик открыл эту старую дверь.\n", encoding="utf-8")
    [paradigm] = make(rublimp_settings(texts=(file,), paradigms=("tense_marker",)), seed=0).paradigms
    assert [found.bad for found in paradigm.candidates] == ["Завтра мальчик открыл эту старую дверь."]
    assert paradigm.candidates[0].columns["domain"] == "fiction"


@pytest.mark.parametrize(
    ("missing", "message"),
    [("slovnet", "plain text is parsed with slovnet, which is not installed: pip install 'ucurve"),
     ("natasha", "plain text is parsed with models that are not installed: pip install 'ucurve")],
)  # fmt: skip
def test_libraries_and_models_that_are_not_installed(tmp_path, monkeypatch, missing, message):
    file = tmp_path / "fiction.txt"
    file.write_text("Мальчик открыл дверь.\n", encoding="utf-8")
    text._parser.cache_clear()
    if missing == "natasha":
        monkeypatch.setattr(text.importlib.util, "find_spec", lambda name: None)
    else:
        if find_spec("natasha") is None:
            pytest.skip("the models of natasha are not installed")
        monkeypatch.setitem(sys.modules, "slovnet", None)
    with pytest.raises(UserError, match=message):
        make(rublimp_settings(texts=(file,)), seed=0)
