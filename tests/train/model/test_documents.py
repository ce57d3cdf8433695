"""Sequences of several documents are trained as a plain loop that gives the library's model one document at a time."""

import itertools
import json

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM

from tests.train.model.test_library import FAMILIES, LENGTH, PLAIN, VOCABULARY
from tests.train.model.test_masked import MASKED
from tests.train.model.test_training import OPTIMIZER, plain_losses
from ucurve.training.engine.engine import TorchEngine, split_batch
from ucurve.training.model.design import NOT_PREDICTED
from ucurve.training.model.documents import changes_shapes, separate_documents
from ucurve.training.model.hidden import make_hidden_states
from ucurve.training.model.library import LibraryModel
from ucurve.training.model.loss import summed_loss

SEPARATOR = 7
WINDOWS = {
    "mistral": {**PLAIN, "num_key_value_heads": 2, "sliding_window": 5},
    "modernbert": {**PLAIN, "local_attention": 6},
}
KEYS = {**FAMILIES, **MASKED, **WINDOWS}
IN_ROWS = {"lstm", "mamba", *WINDOWS}
LONGER = ("gpt_neox", "llama", "lstm", "mamba", "bert")  # OLMo 2 makes much of the rounding after 40 steps


def build(family):
    """A model that attends within documents."""
    model = LibraryModel(family, json.dumps(KEYS[family]), family in MASKED).build_model(
        VOCABULARY, LENGTH, SEPARATOR, seed=0
    )
    separate_documents(model, LENGTH)
    return model


def batches(family, steps):
    """Batches with a document of some 5 tokens after the other, as the engine takes them."""
    generator = torch.Generator().manual_seed(3)
    ids = torch.randint(8, VOCABULARY // 3, (steps, 4, LENGTH + 1), generator=generator)
    ids[torch.rand(ids.shape, generator=generator) < 0.2] = SEPARATOR
    if family not in MASKED:
        return ids
    text = ids[..., :-1]
    chosen = (torch.rand(text.shape, generator=generator) < 0.3) & (text != SEPARATOR)
    return torch.stack([text.masked_fill(chosen, 1), text.masked_fill(~chosen, NOT_PREDICTED)], 2)


def sum_over_documents(model, inputs, targets, separator):
    """The summed loss of one document after the other, by the library's logits."""
    total = 0.0
    for row, wanted in zip(inputs, targets, strict=True):
        begins = [place for place in range(1, len(row)) if row[place] == separator]
        for start, end in itertools.pairwise([0, *begins, len(row)]):
            logits = model(input_ids=row[None, start:end]).logits[0]
            total += torch.nn.functional.cross_entropy(logits, wanted[start:end], reduction="sum")
    return total


def mean_over_documents(model, batch):
    """The mean loss per target."""
    inputs, targets = split_batch(batch)
    return sum_over_documents(model, inputs, targets, SEPARATOR) / (targets != NOT_PREDICTED).sum()


@pytest.mark.parametrize(
    ("family", "steps"),
    [*((family, 3) for family in KEYS), *(pytest.param(family, 60, marks=pytest.mark.long) for family in LONGER)],
)
def test_the_engine_trains_as_a_plain_loop_over_documents(tmp_path, family, steps):
    model = build(family)
    assert changes_shapes(model) == (family in IN_ROWS)
    model.save_pretrained(tmp_path)
    kind = AutoModelForMaskedLM if family in MASKED else AutoModelForCausalLM
    plain = kind.from_pretrained(tmp_path, attn_implementation="eager").train()
    for module in plain.modules():
        if isinstance(module, torch.nn.Embedding):
            module.padding_idx = None  # as -1 the last row, without a gradient
    expected = plain_losses(plain, batches(family, steps), mean_over_documents)
    engine = TorchEngine(model, OPTIMIZER, 3, torch.device("cpu"))
    ours = [
        engine.step(batch, OPTIMIZER.learning_rate, number).loss_sum / int((split_batch(batch)[1] >= 0).sum())
        for number, batch in enumerate(batches(family, steps), 1)
    ]
    assert ours == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("family", ["gpt_neox", "lstm", "bert"])
def test_in_bfloat16_documents_are_apart_too(family):
    model = build(family)
    inputs, targets = split_batch(batches(family, 1)[0])
    narrow, wide = (
        summed_loss(model, inputs, targets, make_hidden_states(precision))[0].item()
        for precision in ("bfloat16", "float32")
    )
    assert narrow == pytest.approx(wide, rel=0.01)
