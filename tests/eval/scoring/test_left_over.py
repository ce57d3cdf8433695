import json
import re
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import (
    BertConfig,
    BertForPreTraining,
    GPTJConfig,
    GPTJForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
)
from transformers.utils import logging

from ucurve.errors import UserError
from ucurve.eval.scoring.loading import load_model, refuse_left_over

SIZES = {"vocab_size": 40, "hidden_size": 32, "intermediate_size": 48, "num_attention_heads": 2}


@pytest.fixture
def save(tmp_path):
    """Save a model with further tensors in its file, and other settings in its configuration."""

    def write(model, tensors=None, **settings):
        model.save_pretrained(tmp_path)
        file, config = tmp_path / "model.safetensors", tmp_path / "config.json"
        save_file(load_file(file) | (tensors or {}), file, {"format": "pt"})
        config.write_text(json.dumps(json.loads(config.read_text()) | settings))
        return tmp_path

    return write


def llama(**more):
    return LlamaForCausalLM(LlamaConfig(num_hidden_layers=2, **SIZES, **more))


@pytest.fixture
def quiet():
    before = logging.get_verbosity()
    logging.set_verbosity_error()
    yield
    logging.set_verbosity(before)


NORMS = {
    f"model.layers.{layer}.self_attn.{name}_norm.weight": torch.ones(16) for layer in (0, 1) for name in "qk"
}


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize(
    ("made", "tensors", "settings", "count", "name"),
    [
        ({"attention_bias": True}, {}, {"attention_bias": False}, 8, "layers.0.self_attn.q_proj.bias"),
        ({}, NORMS, {}, 4, "layers.0.self_attn.k_norm.weight"),
        ({}, {}, {"num_hidden_layers": 1}, 9, "model.layers.1.input_layernorm.weight"),
    ],
    ids=["biases are switched off", "there are no such norms", "layers are not counted"],
)
def test_weights_that_the_configuration_does_not_use_are_refused(save, made, tensors, settings, count, name):
    folder = save(llama(**made), tensors, **settings)
    with pytest.raises(UserError, match=rf"{count} of the file's weights are not used .*{re.escape(name)}"):
        load_model(folder)


def test_tables_of_old_exports_are_allowed(save):
    old = {
        "model.layers.0.self_attn.rotary_emb.inv_freq": torch.ones(8),
        "model.layers.1.self_attn.rotary_emb.cos_cached": torch.ones(8),
        "lm_head.weight": torch.ones(40, 32),
    }
    load_model(save(llama(tie_word_embeddings=True), old))


def test_masks_of_old_gpt_j_are_allowed(save):
    model = GPTJForCausalLM(GPTJConfig(vocab_size=40, n_embd=32, n_layer=1, n_head=2, rotary_dim=4))
    old = {f"transformer.h.0.attn.{name}": torch.ones(1, 1, 4, 4) for name in ("bias", "masked_bias")}
    load_model(save(model, old))


def test_a_published_bert_has_a_pooler_and_a_head_of_its_own(save):
    model = BertForPreTraining(BertConfig(num_hidden_layers=1, **SIZES))
    folder = save(model, {"bert.embeddings.position_ids": torch.arange(512)[None]})
    assert load_model(folder, "masked").num_parameters() < model.num_parameters()


@pytest.mark.parametrize(
    "name",
    [
        "gpt_neox.layers.3.attention.bias",
        "transformer.h.0.attn.attention.masked_bias",
        "model.decoder.version",
        "model.embed_positions.weights",
        "roberta.pooler.dense.weight",
        "roberta.embeddings.token_type_ids",
        "classifier.dense.weight",
        "score.weight",
        "v_head.summary.weight",
        "discriminator_predictions.dense.weight",
        "mtp.layers.0.mlp.up_proj.weight",
        "model.mtp_layers.0.final_layernorm.weight",
        "model.layers.8.shared_head.norm.weight",
    ],
)
def test_what_predicts_no_next_token_is_allowed(tmp_path, name):
    refuse_left_over(tmp_path, [name], SimpleNamespace(num_hidden_layers=8, num_nextn_predict_layers=1))


@pytest.mark.parametrize(
    "name",
    [
        "transformer.h.0.attn.c_attn.bias",
        "gpt_neox.layers.0.attention.dense.bias",
        "model.layers.9.mlp.up_proj.weight",
        "model.layers.0.mlp.router.classifier.weight",
        "model.layers.0.self_attn.q_proj.SCB",
        "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight",
        "lm_head.bias",
    ],
)
def test_what_changes_a_prediction_is_not(tmp_path, name):
    with pytest.raises(UserError, match="1 of the file's weights are not used"):
        refuse_left_over(tmp_path, [name], SimpleNamespace(num_hidden_layers=8, num_nextn_predict_layers=1))
