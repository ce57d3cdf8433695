"""Runs that predict masked tokens: resumed, verified, scored by pseudo-log-likelihood, with a loss of their own."""

import csv

import numpy as np
import pandas as pd
import pytest
import torch

from tests.train.run.interrupting import outcome, train_with_a_stop
from ucurve.errors import UserError
from ucurve.huggingface.pretrained import load_model, load_tokenizer
from ucurve.storage.facts import read_run_facts
from ucurve.storage.run_folder import HELD_OUT, MASKED_COLUMNS, checkpoints
from ucurve.training.run.prepare import prepare
from ucurve.training.run.run import train_run
from ucurve.training.verify import run_faults

BERT = [
    "model=bert-14m",
    *(f"model.config.{key}" for key in ("num_hidden_layers=2", "hidden_size=32", "intermediate_size=48")),
]


def test_an_interrupted_run_ends_as_if_left_alone(settings_of, monkeypatch):
    given = [*BERT, "data.holdout=0.1"]
    alone, settings = settings_of(*given, "name=alone"), settings_of(*given)
    train_run(alone)
    train_with_a_stop(settings, monkeypatch)
    expected, found = outcome(alone.folder), outcome(settings.folder)
    assert found == expected
    assert {"masked_loss", "tokens"} <= found[1][0].keys()
    assert not {"loss", "bits_per_byte"} & found[1][0].keys()
    assert run_faults(settings.folder) == []
    with (settings.folder / HELD_OUT).open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == MASKED_COLUMNS
    assert float(rows[-1]["masked_loss"]) < float(rows[0]["masked_loss"])
    assert (settings.folder / HELD_OUT).read_text() == (alone.folder / HELD_OUT).read_text()
    assert read_run_facts(settings.folder).objective == "masked"


def pseudo_log_likelihood(model, tokenizer, text, back):
    """Mask one token after the other of a sentence between two end-of-document tokens."""
    ids = torch.tensor(
        [tokenizer.eos_token_id, *tokenizer(text, add_special_tokens=False).input_ids, tokenizer.eos_token_id]
    )
    total = 0.0
    for place in range(1, len(ids) - 1):
        masked = ids.clone()
        masked[place] = tokenizer.mask_token_id
        with torch.no_grad():
            total += model(masked[None]).logits[0, place - back].log_softmax(-1)[ids[place]].item()
    return total


@pytest.mark.parametrize(("objective", "back"), [("auto", 0), ("mntp", 1)])
def test_checkpoints_are_scored_by_pseudo_log_likelihood(settings_of, pairs, objective, back):
    settings = settings_of(*BERT, *pairs, f"objective={objective}", "data.holdout=0.1")
    train_run(settings)
    folder = checkpoints(settings.folder)[-1]
    model, tokenizer = load_model(folder, "AutoModelForMaskedLM")[0].eval(), load_tokenizer(folder)
    found = pd.read_parquet(
        next((settings.folder / "eval").glob(f"*/*/*{folder.name.removeprefix('step')}*.parquet"))
    )
    for one, row in zip("黄宇宙洪", found.itertuples(), strict=True):
        assert row.lp_good == pytest.approx(
            pseudo_log_likelihood(model, tokenizer, f"天地玄{one}", back), abs=1e-4
        )
    assert run_faults(settings.folder) == []


def test_masked_runs_see_the_text_of_causal_runs_in_the_same_order(settings_of):
    masked, causal = prepare(settings_of(*BERT)), prepare(settings_of())
    assert masked.store.sha256 == causal.store.sha256
    for step in (1, 12):
        inputs, targets = np.moveaxis(masked.batches.of_step(step), 1, 0)
        text = causal.batches.of_step(step)[:, :-1]
        assert (np.where(targets >= 0, targets, inputs) == text).all()
    assert masked.plan.vocabulary == causal.plan.vocabulary + 1
    assert masked.tokenizer.name.startswith("char_mask-")
    assert causal.tokenizer.name.startswith("char-")


def test_half_the_budget_is_a_prefix(settings_of):
    half, whole = (prepare(settings_of(*BERT, f"tokens={tokens}")).batches for tokens in (768, 1536))
    assert all((half.of_step(step) == whole.of_step(step)).all() for step in range(1, 7))


def test_a_pair_that_does_not_fit_is_refused(settings_of):
    with pytest.raises(UserError, match="objective=causal: model=bert-14m sees both sides of a token"):
        settings_of(*BERT, "objective=causal")
    with pytest.raises(UserError, match="objective=masked: model=tiny sees only what is before a token"):
        settings_of("objective=masked")
    with pytest.raises(
        UserError,
        match=r"'objective\.rate' goes with (objective=\w+ or )+objective=mntp; give that too",
    ):
        settings_of("objective.rate=0.3")
    with pytest.raises(
        UserError, match=r"objective.last_rate: masks that change over the run depend on its budget"
    ):
        settings_of(*BERT, "objective=masked", "objective.last_rate=0.3", "rate=wsd", "optimizer.warmup=2")


def test_the_objective_is_part_of_the_identity(settings_of):
    assert settings_of(*BERT).identity()["objective"]["kind"] == "masked"
    assert settings_of(*BERT).identity() == settings_of(*BERT, "objective=masked").identity()
    assert settings_of(*BERT).run_name == "bert-14m-1536-char-small_corpus-s0"
    other = settings_of(*BERT, "objective=mntp", "objective.rate=0.3")
    assert other.run_name == "bert-14m-1536-char-small_corpus-s0-objective=mntp-objective.rate=0.3"
    assert other.identity()["objective"]["kind"] == "mntp"


def test_whole_words_need_words_of_several_tokens(settings_of):
    characters = f"tokenizer.path={prepare(settings_of(*BERT)).tokenizer}"
    with pytest.raises(UserError, match=r"every token of tokenizer=char_mask_.* is a word by itself"):
        prepare(settings_of(*BERT, "objective=masked", "objective.whole_words=true", "tokenizer=hub", characters))
    words = settings_of(
        *BERT, "objective=masked", "objective.whole_words=true", "tokenizer=bpe", "tokenizer.vocab_size=300"
    )
    assert not prepare(words).masking.begins_word.all()
