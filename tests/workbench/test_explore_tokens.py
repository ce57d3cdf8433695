"""The tokens of a pair in the room Explore, read where they are stored."""

import numpy as np
import pandas as pd
import pytest

import ucurve
from tests.facts import score_inputs, store_rows, store_scores
from tests.workbench import test_explore
from ucurve.errors import UserError
from ucurve.eval.scoring.text.layout import TokenLayout
from ucurve.eval.scoring.text.sentences import Sentences
from ucurve.eval.store.scores import score_path
from ucurve.eval.store.tokens import keep_sentences, record_tokens, write_tokens
from ucurve.workbench.explore.curves import read_asked
from ucurve.workbench.explore.library import Library
from ucurve.workbench.explore.tokens import TokenTables, start_of


@pytest.fixture
def library(tmp_path, monkeypatch):
    """Runs with scores of one step and without checkpoints; the first one has the tokens of its sentences, two each."""
    monkeypatch.setattr(test_explore, "STEPS", (4,))
    monkeypatch.setattr(test_explore, "NAMES", ["slln_lp"])
    library = test_explore.make_library(tmp_path)
    folder, pairs = library.runs()[0].folder, test_explore.make_pairs(np.random.default_rng(7))
    texts = [*pairs["good"], *pairs["bad"]]
    starts, size = np.arange(len(texts) + 1) * 2, len(pairs)
    places = np.array(
        [place for text in texts for place in ((0, text.index(" ")), (text.index(" ") + 1, len(text)))]
    )
    spans, scored = np.array([(0, len(text)) for text in texts]), np.arange(2 * len(texts)) % 7 > 0
    members = np.arange(size), size + np.arange(size)
    sentences = Sentences(texts, np.zeros(2 * len(texts), dtype=np.int64), starts, *members, scored, spans)
    layout, path = TokenLayout(sentences, places, None), score_path(folder, "toy", "sentence", 4)
    name = keep_sentences(folder, "toy", score_inputs(), lambda: layout, pairs)
    tokens = write_tokens(path, name, starts, -np.arange(2.0 * len(texts)), None)
    for step in test_explore.STEPS:
        table = pd.read_parquet(score_path(folder, "toy", "sentence", step))
        store_scores(folder, "toy", "sentence", step, table)
    store_rows(folder)
    record_tokens(path, tokens)
    return library


def table(library, run, pair):
    values = test_explore.ask(run=library.runs()[run].label, pair=pair, step=4)
    return TokenTables().table(library, read_asked(values), values)


def test_stored_tokens_are_shown_without_the_model(library):
    found = table(library, 0, 13)
    assert found["good"] == [
        {"token": "good6", "logprob": -26.0, "scored": True},
        {"token": "word", "logprob": -27.0, "scored": True},
    ]
    assert [one["token"] for one in found["bad"]] == ["bad6", "word"]
    assert [one["scored"] for one in found["bad"]] == [False, True]  # token 2 * (120 + 13) of all
    assert found["sums"] == {"good": -53.0, "bad": -267.0}
    scores = test_explore.make_scores(test_explore.make_pairs(np.random.default_rng(7)), np.random.default_rng(0))
    assert found["stored"] == {side: scores[f"lp_{side}"][13] for side in ("good", "bad")}


def test_tokens_that_are_not_stored_need_the_checkpoint(library):
    with pytest.raises(UserError, match="checkpoint"):
        table(library, 1, 13)


def test_tokens_of_a_hybrid_model_are_scored_in_both_ways(tmp_path):
    texts = tmp_path / "texts.jsonl"
    texts.write_text('{"text": "张先生买了三本书。"}\n' * 200, encoding="utf-8")
    places = [f"paths.{name}={tmp_path / name}" for name in ("runs", "cache", "tokenizers")]
    small = ["batch.sequences=8", "batch.length=32", "schedule.count=2", "benchmarks=demo", "eval.subset=1"]
    model = ["model=llama-tiny", "objective=hybrid", "tokens=1K", "tokenizer=char", f"data.path={texts}"]
    ucurve.train(*model, *small, *places)
    library = Library(lambda: [f"{tmp_path}/runs/*"])
    (run,) = library.runs()
    for scorer in ("sentence", "pll"):
        # A subset has the numbers of the whole benchmark.
        pair = int(library.matrix(run.label, "demo@1", scorer).pairs["pair"].iloc[3])
        asked = {"benchmark": "demo@1", "scorer": scorer, "linking": "lp"}
        values = {**asked, "run": run.label, "pair": pair, "step": 0}
        found = TokenTables().table(library, read_asked(values), values)
        assert found["sums"] == pytest.approx(found["stored"], abs=1e-4)


@pytest.mark.parametrize(
    ("settings", "given"),
    [
        ({"start_rule": "token", "start_id": 0}, {"bos": 0}),
        ({"start_rule": "eos", "start_id": 0}, {"bos": "eos"}),
        ({"start_rule": "none", "start_id": None}, {"bos": "none"}),
        ({"start_rule": "frame", "start_id": None}, {}),
        ({}, {}),
    ],
)
def test_tokens_are_scored_after_the_token_of_the_stored_scores(settings, given):
    assert start_of(settings) == given
