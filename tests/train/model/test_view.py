"""Sequences are trained as a plain loop that gives the library's model one document, and one kind of sequence, at a time."""

import itertools
import json
import re

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM

from tests.train.model.test_library import FAMILIES, LENGTH, PLAIN, VOCABULARY
from tests.train.model.test_masked import MASKED
from tests.train.model.test_training import OPTIMIZER, plain_losses
from ucurve.errors import UserError
from ucurve.training.engine.engine import TorchEngine, split_batch
from ucurve.training.model.design import NOT_PREDICTED
from ucurve.training.model.hidden import make_hidden_states
from ucurve.training.model.library import LibraryModel
from ucurve.training.model.loss import summed_loss
from ucurve.training.model.masked import is_masked
from ucurve.training.model.view import allow_both_sides, changes_shapes, separate_documents

SEPARATOR = 7
WINDOWS = {
    "mistral": {**PLAIN, "num_key_value_heads": 2, "sliding_window": 5},
    "modernbert": {**PLAIN, "local_attention": 6},
}
KEYS = {**FAMILIES, **MASKED, **WINDOWS}
IN_ROWS = {"lstm", "mamba", *WINDOWS}
LONGER = ("gpt_neox", "llama", "lstm", "mamba", "bert")  # OLMo 2 makes much of the rounding after 40 steps
HYBRID = ("gpt_neox", "gpt2", "llama", "qwen3", "olmo2")
CASES = [
    *((family, ways, 3) for family in KEYS for ways in ["documents"]),
    *((family, ways, 3) for family in HYBRID for ways in ["hybrid", "hybrid documents"]),
    *(pytest.param(family, "documents", 60, marks=pytest.mark.long) for family in LONGER),
    *(pytest.param(family, "hybrid", 60, marks=pytest.mark.long) for family in HYBRID[:4]),
]


def build(family, ways):
    """A model that attends within documents, or sees both sides in some sequences."""
    model = LibraryModel(family, json.dumps(KEYS[family]), family in MASKED).build_model(
        VOCABULARY, LENGTH, SEPARATOR, seed=0
    )
    if "documents" in ways:
        separate_documents(model, LENGTH)
    if "hybrid" in ways:
        allow_both_sides(model, family, LENGTH)
    return model


@pytest.mark.parametrize("vocabulary", [LENGTH, 6])
def test_both_sides_are_told_where_tokens_of_a_sequence_come_again(vocabulary):
    model = LibraryModel("llama", json.dumps(PLAIN)).build_model(vocabulary, LENGTH, 0, seed=0)
    allow_both_sides(model, "llama", LENGTH)
    assert model.config.masked_objective == "mntp"


def batches(family, ways, steps):
    """Batches with a document of some 5 tokens after the other, as the engine takes them."""
    generator = torch.Generator().manual_seed(3)
    ids = torch.randint(8, VOCABULARY // 3, (steps, 4, LENGTH + 1), generator=generator)
    ids[torch.rand(ids.shape, generator=generator) < 0.2] = SEPARATOR
    if family not in MASKED and "hybrid" not in ways:
        return ids
    text, following = ids[..., :-1], ids[..., 1:]
    chosen = (torch.rand(text.shape, generator=generator) < 0.3) & (text != SEPARATOR)
    targets = text.masked_fill(~chosen, NOT_PREDICTED)
    if "hybrid" in ways:  # every second sequence, from the position before
        chosen[:, ::2] = False
        targets = targets.roll(-1, -1)
        targets[..., -1] = NOT_PREDICTED
        targets[:, ::2] = following[:, ::2]
    return torch.stack([text.masked_fill(chosen, 1), targets], 2)


def sum_over_documents(model, inputs, targets, separator):
    """The summed loss of one document after the other, by the library's logits; without separator of whole sequences.

    A causal model sees both sides of a sequence without a last target: 0 is added to all scores of attention.
    """
    total = 0.0
    for row, wanted in zip(inputs, targets, strict=True):
        hybrid = wanted[-1] == NOT_PREDICTED and not is_masked(model)
        begins = [place for place in range(1, len(row)) if row[place] == separator]
        for start, end in itertools.pairwise([0, *begins, len(row)]):
            both = {"attention_mask": torch.zeros(1, 1, end - start, end - start)} if hybrid else {}
            logits = model(input_ids=row[None, start:end], **both).logits[0]
            total += torch.nn.functional.cross_entropy(logits, wanted[start:end], reduction="sum")
    return total


@pytest.mark.parametrize(("family", "ways", "steps"), CASES)
def test_the_engine_trains_as_a_plain_loop(tmp_path, family, ways, steps):
    model = build(family, ways)
    assert changes_shapes(model) == (family in IN_ROWS)
    model.save_pretrained(tmp_path)
    kind = AutoModelForMaskedLM if family in MASKED else AutoModelForCausalLM
    plain = kind.from_pretrained(tmp_path, attn_implementation="eager").train()
    for module in plain.modules():
        if isinstance(module, torch.nn.Embedding):
            module.padding_idx = None  # as -1 the last row, without a gradient

    def count(batch):
        return int((split_batch(batch)[1] != NOT_PREDICTED).sum())

    def mean(model, batch):
        return sum_over_documents(model, *split_batch(batch), SEPARATOR if "documents" in ways else None) / count(
            batch
        )

    expected = plain_losses(plain, batches(family, ways, steps), mean)
    engine = TorchEngine(model, OPTIMIZER, 3, torch.device("cpu"))
    ours = [
        engine.step(batch, OPTIMIZER.learning_rate, number).loss_sum / count(batch)
        for number, batch in enumerate(batches(family, ways, steps), 1)
    ]
    assert ours == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("family", "ways"),
    [("gpt_neox", "documents"), ("lstm", "documents"), ("bert", "documents"), ("llama", "hybrid")],
)
def test_in_bfloat16_a_model_sees_the_same(family, ways):
    model = build(family, ways)
    inputs, targets = split_batch(batches(family, ways, 1)[0])
    narrow, wide = (
        summed_loss(model, inputs, targets, make_hidden_states(precision))[0].item()
        for precision in ("bfloat16", "float32")
    )
    assert narrow == pytest.approx(wide, rel=0.01)


@pytest.mark.parametrize("family", ["lstm", "mamba", "mistral"])
def test_a_model_without_a_mask_of_each_sequence_cannot_be_hybrid(family):
    message = f"objective=hybrid: model.architecture={family} cannot see both sides of a token in some sequences"
    with pytest.raises(UserError, match=re.escape(message)):
        build(family, "hybrid")
