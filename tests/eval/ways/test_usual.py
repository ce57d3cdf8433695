"""Which way to score is taken when none is asked for: by the benchmark's card and the model's architecture."""

import json

import pytest

from tests.settings import custom_benchmark
from ucurve.eval.run import score_model
from ucurve.eval.settings import score_settings

RECORD = {"UID": "u", "phenomenon": "p", "sentence_good": "我们看书。", "sentence_bad": "我书看们。", "pairID": 0}


def scorers_of(subject, out, **settings):
    score_model(str(subject.folder), out, score_settings(linking=("lp",), **settings))
    return sorted(str(path.parent.relative_to(out / "eval")) for path in out.rglob("step-0000001.parquet"))


@pytest.fixture
def root(tmp_path):
    """One pair of several benchmarks in their published forms."""
    for name in ("zhoblimp", "sling"):
        (tmp_path / "b" / name).mkdir(parents=True)
    (tmp_path / "b" / "zhoblimp" / "u.jsonl").write_text(json.dumps(RECORD, ensure_ascii=False) + "\n")
    (tmp_path / "b" / "tse").mkdir()
    suite = [[["Gizonak etxea", "Gizonak etxea"], ["ikusi du.", "ikusi ditu."]]]
    (tmp_path / "b" / "tse" / "basque-DO-S_DO_V_AUX.json").write_text(json.dumps(suite))
    (tmp_path / "b" / "multiblimp").mkdir()
    table = (
        "sen\twrong_sen\tphenomenon\tfeature_vals\tdistance\nDe kat slaapt\tDe kat slapen\tSV-#\tSG -> PL\t1\n"
    )
    (tmp_path / "b" / "multiblimp" / "nld.tsv").write_text(table)
    return tmp_path / "b"


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("gpt2", ["multiblimp/nld/sentence", "tse/eus/conditional", "zhoblimp/sentence"]),
        ("xlm_roberta", ["multiblimp/nld/pll_l2r", "tse/eus/pll_conditional", "zhoblimp/pll"]),
    ],
)
def test_by_card_and_architecture(models_of, root, tmp_path, kind, expected):
    names = ("zhoblimp", "tse", "multiblimp")
    assert scorers_of(models_of(kind), tmp_path / "out", benchmarks=names, benchmark_root=root) == expected


@pytest.mark.parametrize("name", ["custom", "mine"])
@pytest.mark.parametrize(("kind", "expected"), [("gpt2", "sentence"), ("bert", "pll")])
def test_of_own_pairs_whatever_they_are_called(models_of, root, tmp_path, name, kind, expected):
    own = custom_benchmark(path=root / "zhoblimp" / "u.jsonl", name=name)
    found = scorers_of(models_of(kind), tmp_path / "out", benchmarks=("custom",), custom=own)
    assert found == [f"{name}/{expected}"]


@pytest.mark.parametrize(("kind", "expected"), [("gpt2", "sentence"), ("bert", "pll")])
def test_of_a_preset(models_of, root, tmp_path, kind, expected):
    settings = {"benchmarks": ("tse/eus",), "benchmark_root": root, "preset": "rublimp"}
    assert scorers_of(models_of(kind), tmp_path / "out", **settings) == [f"tse/eus/{expected}"]


def test_of_a_subset_is_that_of_the_whole(models_of, root, tmp_path):
    settings = {"benchmarks": ("tse/eus",), "benchmark_root": root, "subset": 1}
    assert scorers_of(models_of("gpt2"), tmp_path / "out", **settings) == ["tse/eus@1/conditional"]


def test_several_of_one_model(models_of, root, tmp_path):
    settings = {"benchmarks": ("tse/eus",), "benchmark_root": root, "scorer": ("conditional", "sentence", "mink")}
    expected = ["tse/eus/conditional", "tse/eus/mink", "tse/eus/sentence"]
    assert scorers_of(models_of("gpt2"), tmp_path / "out", **settings) == expected
