"""Pairs that a tokenizer cannot tell apart are counted beside the accuracy, and nothing is written where there are none."""

import json

import pandas as pd
import pytest

from ucurve.eval.run import score_model
from ucurve.eval.settings import score_settings


@pytest.fixture
def said(models_of, tmp_path, capsys):
    """Score pairs and return what was said, the facts beside the score, and the scores."""

    def score(kind, rows, scorer):
        records = [dict(zip(("sentence_good", "sentence_bad", "target"), row, strict=False)) for row in rows]
        (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
        values = {
            "benchmarks": ["custom"],
            "custom": {"path": str(tmp_path / "pairs.jsonl")},
            "linking": ["lp"],
            "verbose": True,
        }
        folder = str(models_of(kind).folder)
        score_model(folder, tmp_path / "out", score_settings(**values, scorer=[scorer]))
        (scores,) = (tmp_path / "out").rglob("step*.parquet")
        printed, told = capsys.readouterr()
        return (
            told + " ".join(printed.split()),
            json.loads(scores.with_suffix(".json").read_text()),
            pd.read_parquet(scores),
        )

    return score


ACCENTS = [("él sees it", "el sees it"), ("the cáfe", "the cafe"), ("ÉL", "el")]


@pytest.mark.parametrize(
    ("kind", "scorer", "rows"),
    [
        ("bert", "pll", ACCENTS),
        ("bert", "pll_mink", ACCENTS),
        ("xlm_roberta", "pll_l2r", [("the dog，it", "the dog,it"), ("ＡＢ", "AB"), ("ﬁ", "fi")]),
    ],
)
def test_pairs_of_the_same_tokens_are_counted(said, kind, scorer, rows):
    line, record, scores = said(kind, [*rows, ("the dog", "the dog"), ("a b", "b b a")], scorer)
    assert ", 4 pairs, 3 ties, " in line
    assert f"custom {scorer}: 3 of 4 pairs have the same tokens, so that no model can decide them\n" in line
    assert record["notes"]["pairs_with_the_same_tokens"] == 3
    assert scores["lp_good"][:3].tolist() == scores["lp_bad"][:3].tolist()


def test_unknown_characters_are_the_same_token(said):
    line, record, _ = said("bert", [("鑫", "森")], "pll")
    assert "2 unknown tokens" in line
    assert "1 of 1 pairs have the same tokens" in line
    assert record["notes"]["pairs_with_the_same_tokens"] == 1


def test_nothing_is_said_or_written_where_all_differ(said):
    line, record, _ = said("gpt2", [("the dog sees it", "the dog see it")], "sentence")
    assert "same tokens" not in line
    assert "pairs_with_the_same_tokens" not in record
