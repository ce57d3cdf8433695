"""Runs that predict masked tokens in some sequences and the next token in others: resumed, measured, scored both ways."""

import csv

import numpy as np
import pandas as pd
import pytest
import torch
from transformers import AutoModelForCausalLM

from tests.train.launching import finish, start
from tests.train.run.interrupting import outcome, train_with_a_stop
from ucurve.errors import UserError
from ucurve.huggingface.pretrained import load_tokenizer
from ucurve.storage.facts import read_run_facts
from ucurve.storage.run_folder import HELD_OUT, HELD_OUT_COLUMNS, checkpoints
from ucurve.training.model.design import NOT_PREDICTED
from ucurve.training.run.prepare import prepare
from ucurve.training.run.run import train_run
from ucurve.training.verify import run_faults

HYBRID = ["objective=hybrid", "data.holdout=0.1"]


def test_an_interrupted_run_ends_as_if_left_alone_and_its_held_out_loss_is_causal(settings_of, monkeypatch):
    alone, settings = settings_of(*HYBRID, "name=alone"), settings_of(*HYBRID)
    train_run(alone)
    train_with_a_stop(settings, monkeypatch)
    assert outcome(settings.folder) == outcome(alone.folder)
    assert run_faults(settings.folder) == []
    assert read_run_facts(settings.folder).objective == "hybrid"
    with (settings.folder / HELD_OUT).open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == HELD_OUT_COLUMNS
    model = AutoModelForCausalLM.from_pretrained(checkpoints(settings.folder)[-1])
    ids = torch.from_numpy(prepare(settings).store.held_out.ids)
    total = 0.0
    with torch.no_grad():
        for first in range(0, len(ids) - 1, 16):
            window = ids[first : first + 17]
            total += torch.nn.functional.cross_entropy(
                model(window[None, :-1]).logits[0], window[1:], reduction="sum"
            )
    assert float(rows[-1]["loss"]) == pytest.approx(float(total) / (len(ids) - 1), rel=1e-5)


@torch.no_grad()
def both_scores(model, tokenizer, text):
    """The log probability of a sentence after the end-of-document token, and that with one token masked at a time."""
    end = tokenizer.eos_token_id
    ids = torch.tensor([end, *tokenizer(text, add_special_tokens=False).input_ids, end])
    causal = model(ids[None, :-1]).logits[0].log_softmax(-1).gather(1, ids[1:, None])[:-1].sum().item()
    both_sides, masked = torch.zeros(1, 1, len(ids), len(ids)), 0.0
    for place in range(1, len(ids) - 1):
        asked = ids.clone()
        asked[place] = tokenizer.mask_token_id
        logits = model(asked[None], attention_mask=both_sides).logits[0, place - 1]
        masked += logits.log_softmax(-1)[ids[place]].item()
    return {"sentence": causal, "pll": masked}


def test_a_checkpoint_is_scored_as_a_causal_and_as_a_masked_model(settings_of, pairs):
    settings = settings_of(*HYBRID, *pairs)
    train_run(settings)
    folder = checkpoints(settings.folder)[-1]
    model = AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager").eval()
    tokenizer = load_tokenizer(folder)
    expected = [both_scores(model, tokenizer, f"天地玄{one}") for one in "黄宇宙洪"]
    for scorer in ("sentence", "pll"):
        found = pd.read_parquet(settings.folder / f"eval/zhoblimp/{scorer}/{folder.name}.parquet")
        assert found["lp_good"].tolist() == pytest.approx([one[scorer] for one in expected], abs=1e-4)
    assert {*pd.read_csv(settings.folder / "eval/accuracy.csv")["scorer"]} == {"sentence", "pll"}
    assert run_faults(settings.folder) == []


@pytest.mark.parametrize(("share", "count"), [(0.5, 48), (0.3, 28)])
def test_sequences_have_masks_in_turn_and_the_others_are_those_of_a_causal_run(settings_of, share, count):
    hybrid, causal = (
        prepare(settings_of(*HYBRID, f"objective.share={share}")),
        prepare(settings_of("data.holdout=0.1")),
    )
    batches, windows = (
        np.concatenate([one.batches.of_step(step) for step in range(1, 13)]) for one in (hybrid, causal)
    )
    with_masks = batches[:, 1, -1] == NOT_PREDICTED
    assert abs(with_masks.sum() - count) <= 1
    assert (batches[~with_masks] == np.stack([windows[:, :-1], windows[:, 1:]], 1)[~with_masks]).all()
    predicted = batches[with_masks, 1, :-1] != NOT_PREDICTED
    assert (batches[with_masks, 1, :-1][predicted] == windows[with_masks, 1:-1][predicted]).all()
    halves = [hybrid.batches.of_step(3, lambda every, part=part: every[part]) for part in (slice(4), slice(4, 8))]
    assert (np.concatenate(halves) == hybrid.batches.of_step(3)).all()
    # Of the output, a multiply-add twice backward and once forward.
    layer = 6 * hybrid.plan.vocabulary * 64 * 1536
    whole = causal.plan.settings.model.design.count_flops(hybrid.plan.vocabulary, 16, 1536)
    assert hybrid.plan.flops_exact(1536) == pytest.approx(whole - 0.85 * share * layer, rel=1e-6)


def test_the_share_is_part_of_hybrid_runs_alone(settings_of):
    settings = settings_of(*HYBRID, "objective.share=0.3")
    assert settings.run_name.endswith("-s0-objective=hybrid-objective.share=0.3")
    assert settings.identity()["objective"]["share"] == 0.3
    assert "share" not in settings_of("model=bert-tiny", "objective=mntp").identity()["objective"]
    with pytest.raises(UserError, match="objective=hybrid: model=bert-tiny sees both sides of a token"):
        settings_of("model=bert-tiny", "objective=hybrid")
    with pytest.raises(UserError, match=r"'objective\.share' goes with objective=hybrid; give that too"):
        settings_of("model=bert-tiny", "objective=mntp", "objective.share=0.3")


@pytest.mark.long
def test_two_processes_train_as_one(settings_of, overrides):
    one, two = settings_of(*HYBRID), settings_of(*HYBRID, "name=two")
    train_run(one)
    codes, errors = finish(start(["train.py", *overrides, *HYBRID, "name=two", "eval.when=never"], size=2))
    assert codes == [0, 0], errors
    losses = [[line["loss"] for line in outcome(each.folder)[1]] for each in (one, two)]
    assert losses[1] == pytest.approx(losses[0], rel=1e-6)
