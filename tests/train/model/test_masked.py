"""Masked models of transformers: counted, and trained as a plain loop over the library's own loss would."""

import json
import re

import pytest
import torch
from transformers import AutoModelForMaskedLM

from tests.train.model.test_library import LAYERS, LENGTH, PLAIN, VOCABULARY, WIDTH, check_parameters
from tests.train.model.test_training import OPTIMIZER, STEPS, plain_losses
from ucurve.errors import UserError
from ucurve.training.engine.engine import TorchEngine
from ucurve.training.model.design import NOT_PREDICTED
from ucurve.training.model.hidden import make_hidden_states
from ucurve.training.model.library import LibraryModel
from ucurve.training.model.loss import summed_loss

MASKED = {
    "bert": {**PLAIN, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0},
    "roberta": {**PLAIN, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0},
    "modernbert": PLAIN,
    "distilbert": {
        "dim": WIDTH,
        "n_layers": LAYERS,
        "n_heads": 4,
        "hidden_dim": 48,
        "dropout": 0,
        "attention_dropout": 0,
    },
}


def design(family, **keys):
    return LibraryModel(family, json.dumps({**MASKED.get(family, PLAIN), **keys}), masked=True)


def products_of_a_token(family):
    """Multiplications of a forward pass for one token, without the head, and in the head without the output layer."""
    d = WIDTH
    feed_forward = (3 if family == "modernbert" else 2) * d * 48  # with a gate
    return LAYERS * (4 * d * d + feed_forward + 2 * LENGTH * d), d * d


@pytest.mark.parametrize("family", MASKED)
def test_flops_are_those_counted_by_hand(family):
    inner, head = products_of_a_token(family)
    tokens = 10 * LENGTH
    by_hand = 6 * tokens * (inner + 0.15 * (head + VOCABULARY * WIDTH))
    assert design(family).count_flops(VOCABULARY, LENGTH, tokens, 0.15) == pytest.approx(by_hand, rel=0.01)


@pytest.mark.parametrize("family", MASKED)
def test_parameters_are_those_of_the_built_model(family):
    model = check_parameters(design(family))
    assert model.get_output_embeddings().weight is model.get_input_embeddings().weight


def batches():
    generator = torch.Generator().manual_seed(3)
    targets = torch.randint(0, VOCABULARY // 4, (STEPS, 4, LENGTH), generator=generator)
    chosen = torch.rand(targets.shape, generator=generator) < 0.3
    return torch.stack(
        [targets.masked_fill(chosen, VOCABULARY - 1), targets.masked_fill(~chosen, NOT_PREDICTED)], 2
    )


def masked_loss(model, batch):
    """The library's own loss."""
    return model(input_ids=batch[:, 0], labels=batch[:, 1].contiguous()).loss


@pytest.mark.parametrize("family", MASKED)
def test_the_engine_trains_as_a_plain_loop(tmp_path, family):
    model = design(family).build_model(VOCABULARY, LENGTH, 7, seed=0)
    model.save_pretrained(tmp_path)
    plain = AutoModelForMaskedLM.from_pretrained(tmp_path, attn_implementation="eager").train()
    for module in plain.modules():
        if isinstance(module, torch.nn.Embedding):
            module.padding_idx = None  # as -1 the last row, without a gradient
    expected = plain_losses(plain, batches(), masked_loss)
    engine = TorchEngine(model, OPTIMIZER, 3, torch.device("cpu"))
    ours = [
        engine.step(batch, OPTIMIZER.learning_rate, number).loss_sum / int((batch[:, 1] != NOT_PREDICTED).sum())
        for number, batch in enumerate(batches(), 1)
    ]
    assert ours == pytest.approx(expected, abs=1e-4)
    assert ours[-1] < ours[0] - 0.3


@pytest.mark.parametrize("family", MASKED)
def test_in_bfloat16_a_model_computes_nearly_the_same_loss(family):
    model = design(family).build_model(VOCABULARY, LENGTH, 7, seed=0)
    inputs, targets = batches()[0].unbind(1)
    narrow, wide = (
        summed_loss(model, inputs, targets, make_hidden_states(precision))[0].item()
        for precision in ("bfloat16", "float32")
    )
    assert narrow == pytest.approx(wide, rel=0.01)


MESSAGES = [
    ("llama", {}, "model.architecture=llama is causal: transformers has no masked model of it"),
    ("bert", {"is_decoder": True}, "does not see what follows a masked token"),
    ("bart", {}, "model.config"),
    ("mpnet", {}, "model.architecture=mpnet takes the token of number 1 for padding"),
]


@pytest.mark.parametrize(("family", "keys", "message"), MESSAGES)
def test_what_cannot_be_trained_is_refused(family, keys, message):
    with pytest.raises(UserError, match=re.escape(message)):
        design(family, **keys).build_model(VOCABULARY, LENGTH, 7, seed=0)


def test_a_masked_architecture_is_no_causal_one():
    with pytest.raises(UserError, match=r"modernbert is no causal model; set model.objective=masked"):
        LibraryModel("modernbert", "{}")
