"""Scores of a trained masked checkpoint are those of minicons, where it is installed (the extra ``bench``)."""

import random

import numpy as np
import pandas as pd
import pytest

from tests.train.conftest import CHARACTERS
from tests.train.run.test_objectives import BERT
from ucurve.eval.scoring.masked.frame import read_frame
from ucurve.eval.scoring.masked.log_probabilities import token_log_probabilities
from ucurve.eval.scoring.text.sentences import encode
from ucurve.huggingface.pretrained import load_model, load_tokenizer
from ucurve.storage.run_folder import checkpoints
from ucurve.training.run.run import train_run

scorer = pytest.importorskip("minicons.scorer", reason="minicons is not installed (extra 'bench')")
PAIRS = 300


def draw_pairs():
    chance = random.Random(0)
    texts = [["".join(chance.choices(CHARACTERS, k=chance.randint(2, 12))) for _ in "ab"] for _ in range(PAIRS)]
    table = pd.DataFrame(texts, columns=["good", "bad"])
    return table.assign(benchmark="drawn", paradigm="p", phenomenon="p", pair=range(PAIRS))


def test_pseudo_log_likelihoods_of_300_pairs_are_those_of_minicons(settings_of, monkeypatch):
    settings = settings_of(*BERT, "eval.benchmarks=[]")
    train_run(settings)
    folder = checkpoints(settings.folder)[-1]
    model, tokenizer = load_model(folder, "AutoModelForMaskedLM")[0].eval(), load_tokenizer(folder)
    sentences = encode(draw_pairs(), tokenizer)
    ours = sentences.sums(token_log_probabilities(model, sentences, read_frame(tokenizer), None, 2000))
    # minicons masks all but these, and calls tokenizers by a name that transformers 5 has dropped.
    tokenizer.cls_token = tokenizer.sep_token = tokenizer.pad_token = tokenizer.eos_token
    monkeypatch.setattr(type(tokenizer), "batch_encode_plus", type(tokenizer).__call__, raising=False)
    theirs = scorer.MaskedLMScorer(model, "cpu", tokenizer=tokenizer)
    expected = [
        score
        for low in range(0, len(sentences.texts), 50)
        for score in theirs.sequence_score(
            sentences.texts[low : low + 50], reduction=lambda one: one.sum(0).item()
        )
    ]
    assert len(sentences.texts) > 1.9 * PAIRS
    np.testing.assert_allclose(ours, expected, atol=1e-3)
