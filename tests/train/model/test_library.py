"""Causal models of transformers that are trained by their name and configuration alone."""

import json
import re

import pytest
import torch
from transformers import AutoConfig

from tests.settings import optimizer_settings
from ucurve.errors import UserError
from ucurve.training.engine.optimizers import parameter_groups
from ucurve.training.model.library import LibraryModel, parameters_by_group
from ucurve.training.model.neox import PythiaShape
from ucurve.training.model.refusals import dropout_shares, refuse_behaviour

VOCABULARY, LENGTH, WIDTH, LAYERS = 80, 16, 32, 3
PLAIN = {"hidden_size": WIDTH, "num_hidden_layers": LAYERS, "num_attention_heads": 4, "intermediate_size": 48}
NO_DROPOUT = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
FAMILIES = {
    "gpt_neox": {**PLAIN, "intermediate_size": 128},
    "gpt2": {"n_embd": WIDTH, "n_layer": LAYERS, "n_head": 4, **NO_DROPOUT},
    "llama": PLAIN,
    "qwen3": {**PLAIN, "num_key_value_heads": 2, "head_dim": 8},
    "olmo2": PLAIN,
    "lstm": {"hidden_size": WIDTH, "num_hidden_layers": LAYERS},
    "mamba": {"hidden_size": WIDTH, "num_hidden_layers": LAYERS, "state_size": 8, "time_step_rank": 2},
}
OPTIMIZER = optimizer_settings(learning_rate=1e-3, warmup=0.1)


def design(family, **keys):
    return LibraryModel(family, json.dumps({**FAMILIES.get(family, {}), **keys}))


def products_of_a_token(family):
    """Multiplications of a forward pass for one token, counted by hand, without the output layer."""
    d, wide = WIDTH, 2 * WIDTH  # of Mamba: the inner width
    attention = 2 * LENGTH * d
    return {
        "gpt_neox": 4 * d * d + 2 * d * 128 + attention,
        "gpt2": 4 * d * d + 2 * d * 4 * d + attention,
        "llama": 4 * d * d + 3 * d * 48 + attention,
        "qwen3": 3 * d * d + 3 * d * 48 + attention,  # half of the heads have keys and values of their own
        "olmo2": 4 * d * d + 3 * d * 48 + attention,
        "lstm": 2 * 4 * d * d,  # four gates from the input and from the state
        # Projections in and out; of the inner width: a filter of 4, rank 2 and two states of 8, back, and the read-out.
        "mamba": d * 2 * wide + wide * d + wide * 4 + wide * (2 + 2 * 8) + 2 * wide + wide * 8,
    }[family]


@pytest.mark.parametrize("family", FAMILIES)
def test_flops_are_those_counted_by_hand(family):
    tokens = 10 * LENGTH
    by_hand = 6 * tokens * (LAYERS * products_of_a_token(family) + VOCABULARY * WIDTH)
    assert design(family).count_flops(VOCABULARY, LENGTH, tokens) == pytest.approx(by_hand, rel=0.01)


def test_flops_of_a_model_that_calls_a_part_of_its_inner_model_are_counted():
    """That of OPT calls the decoder of its inner model, and never the inner model itself."""
    sizes = {"hidden_size": WIDTH, "word_embed_proj_dim": WIDTH, "ffn_dim": 4 * WIDTH}
    sizes |= {"num_hidden_layers": LAYERS, "num_attention_heads": 4, "dropout": 0.0, "attention_dropout": 0.0}
    by_hand = LAYERS * (12 * WIDTH * WIDTH + 2 * LENGTH * WIDTH) + VOCABULARY * WIDTH
    counted = LibraryModel("opt", json.dumps(sizes)).count_flops(VOCABULARY, LENGTH, LENGTH)
    assert counted == pytest.approx(6 * LENGTH * by_hand, rel=0.01)


def check_parameters(design):
    """Check that parameters are counted as the built model has them, and return it."""
    model = design.build_model(VOCABULARY, LENGTH, 7, seed=0)
    counted = design.count_parameters(VOCABULARY, LENGTH)
    assert counted == parameters_by_group(model)
    assert counted.total == sum(parameter.numel() for parameter in model.parameters())
    assert counted.tied == (model.get_output_embeddings().weight is model.get_input_embeddings().weight)
    assert "other" not in counted.groups
    return model


@pytest.mark.parametrize("family", FAMILIES)
def test_parameters_are_those_of_the_built_model(family):
    model = check_parameters(design(family))
    assert (model.config.vocab_size, model.config.bos_token_id, model.config.eos_token_id) == (VOCABULARY, 7, 7)


def test_pythias_shape_counts_what_the_model_itself_counts():
    shape = PythiaShape(LAYERS, WIDTH, 4, 128)
    assert design("gpt_neox").count_parameters(VOCABULARY, LENGTH) == shape.count_parameters(VOCABULARY, LENGTH)
    ours = shape.count_flops(VOCABULARY, LENGTH, 100)
    assert design("gpt_neox").count_flops(VOCABULARY, LENGTH, 100) == pytest.approx(ours, rel=0.01)


def test_weights_are_drawn_from_the_seed_alone():
    before = torch.random.get_rng_state()
    first, again, other = (design("llama").build_model(VOCABULARY, LENGTH, 0, seed) for seed in (0, 0, 1))
    assert torch.equal(before, torch.random.get_rng_state())
    pairs = zip(first.parameters(), again.parameters(), strict=True)
    assert all(torch.equal(one, two) for one, two in pairs)
    assert not torch.equal(first.get_input_embeddings().weight, other.get_input_embeddings().weight)


SIZED = {**PLAIN, "num_key_value_heads": 2, "head_dim": 8}
BERT = {**PLAIN, "hidden_dropout_prob": 0, "attention_probs_dropout_prob": 0}
MESSAGES = [
    ("lama", {}, "unknown architecture 'lama' in model.architecture"),
    ("t5", {}, "unknown architecture 't5' in model.architecture"),
    ("llama", {"hiden_size": 8}, "Did you mean 'hidden_size'"),
    ("llama", {"vocab_size": 8}, "model.config.vocab_size is set by the run (by tokenizer); leave it out"),
    ("gpt2", {"n_positions": 8}, "model.config.n_positions is set by the run (by batch.length); leave it out"),
    ("llama", {"num_hidden_layers": "many"}, "model.config: transformers makes no llama of these values: "),
    (
        "gpt2",
        {"attn_pdrop": 1.0},
        "the share of the units that are dropped is from 0 to below 1; set model.config.att",
    ),
    (
        "opt",
        {"layerdrop": 0.2},
        "whole layers would be left out, by numbers that no run can repeat; set model.confi",
    ),
    ("mamba", {"rescale_prenorm_residual": True}, "; set model.config.rescale_prenorm_residual=False"),
    ("mixtral", SIZED, "model.config.num_local_experts is 8: model.architecture=mixtral is a mixture of experts"),
    ("olmoe", SIZED, "model.config.num_experts is 64: model.architecture=olmoe is a mixture of experts"),
    (
        "qwen3",
        {"num_key_value_heads": 32},
        "num_attention_heads=4 is no multiple of model.config.num_key_value_heads, which is 32",
    ),
    ("stablelm", PLAIN, "num_attention_heads=4 is no multiple of model.config.num_key_value_heads, which is 32"),
    ("bert", BERT, "; set model.objective=masked"),
]


@pytest.mark.parametrize(("family", "keys", "message"), MESSAGES)
def test_a_configuration_that_cannot_be_trained_is_refused_before_it_is_built(family, keys, message):
    with pytest.raises(UserError, match=re.escape(message)):
        made = design(family, **keys)
        made.count_parameters(VOCABULARY, LENGTH)
        made.count_flops(VOCABULARY, LENGTH, LENGTH)


LINEAR = {"rope_type": "linear", "factor": 4.0}
PUBLISHED = [
    ("llama", PLAIN, {"rope_theta": 500_000}, {"rope_type": "default", "rope_theta": 500_000}),
    (
        "llama",
        PLAIN,
        {"rope_theta": 10_000.0},
        {"rope_type": "default", "rope_theta": 10_000.0},
    ),  # as it is anyway
    ("llama", PLAIN, {"rope_scaling": LINEAR, "rope_theta": 5e5}, {**LINEAR, "rope_theta": 5e5}),
    ("llama", PLAIN, {"rope_scaling": None}, {"rope_type": "default", "rope_theta": 10_000.0}),
    ("olmo2", PLAIN, {"rope_theta": 500_000}, {"rope_type": "default", "rope_theta": 500_000}),
    (
        "stablelm",
        {**PLAIN, "num_key_value_heads": 2},
        {"partial_rotary_factor": 0.5},
        {"partial_rotary_factor": 0.5},
    ),
    (
        "gpt_neox",
        PLAIN,
        {"rotary_pct": 0.5, "rotary_emb_base": 500},
        {"partial_rotary_factor": 0.5, "rope_theta": 500},
    ),
]


@pytest.mark.parametrize(("family", "keys", "published", "rotation"), PUBLISHED)
def test_keys_of_published_configurations_are_taken_as_transformers_takes_them(family, keys, published, rotation):
    model = LibraryModel(family, json.dumps(keys | published)).build_model(VOCABULARY, LENGTH, 7, seed=0)
    assert rotation.items() <= model.config.rope_parameters.items()
    [angles] = [one for name, one in model.named_buffers() if name.endswith("rotary_emb.inv_freq")]
    share = rotation.get("partial_rotary_factor", 1)
    pairs = torch.arange(0, WIDTH / 4 * share, 2) / (WIDTH / 4 * share)
    assert torch.allclose(
        angles, model.config.rope_parameters["rope_theta"] ** -pairs / rotation.get("factor", 1)
    )


def test_the_width_of_heads_is_taken_where_transformers_reads_it_without_listing_it():
    keys = {**PLAIN, "num_key_value_heads": 2, "head_dim": 16}
    model = LibraryModel("granite", json.dumps(keys))._without_values(VOCABULARY, LENGTH)
    assert model.model.layers[0].self_attn.q_proj.weight.shape == (4 * 16, WIDTH)


WITHOUT_EFFECT = [
    (
        "llama",
        PLAIN,
        {"partial_rotary_factor": 0.5},
        "unknown key of llama 'partial_rotary_factor' in model.config",
    ),
    ("llama", PLAIN, {"rotary_emb_base": 500}, "unknown key of llama 'rotary_emb_base' in model.config"),
    ("gpt_neox", PLAIN, {"rope_theta": 500}, "Did you mean 'rope_parameters'?"),
    ("mamba", FAMILIES["mamba"], {"head_dim": 16}, "unknown key of mamba 'head_dim' in model.config"),
    ("gpt2", FAMILIES["gpt2"], {"rope_scaling": None}, "unknown key of gpt2 'rope_scaling' in model.config"),
    (
        "olmo2",
        {**PLAIN, "rope_parameters": {"rope_type": "default", "rope_theta": 500_000.0}},
        {"rope_theta": 500},
        "model.config.rope_theta has no effect beside model.config.rope_parameters, or replaces them; write "
        "model.config.rope_parameters={rope_type: default, rope_theta: 500}",
    ),
    (
        "olmo2",
        {**PLAIN, "rope_parameters": {"rope_type": "default", "rope_theta": 500_000.0}},
        {"rope_scaling": LINEAR},
        "; write model.config.rope_parameters={rope_type: linear, rope_theta: 500000.0, factor: 4.0}",
    ),
]


@pytest.mark.parametrize(("family", "keys", "published", "message"), WITHOUT_EFFECT)
def test_keys_of_published_configurations_without_effect_are_refused(family, keys, published, message):
    with pytest.raises(UserError, match=re.escape(message)):
        LibraryModel(family, json.dumps(keys | published))


class Noise(torch.nn.Module):
    def forward(self, hidden, **_):
        return hidden + torch.rand_like(hidden)


def refuse_changed(change):
    model = design("llama").build_model(VOCABULARY, LENGTH, 7, seed=0)
    change(model)
    refuse_behaviour(model, "llama")


def test_values_with_which_no_step_can_be_computed_are_refused():
    message = "model.config: transformers makes no mistral of these values: The size of tensor a"
    heads = {"num_key_value_heads": 8}  # of 4 heads
    with pytest.raises(UserError, match=message):
        design("mistral", **PLAIN, **heads).count_flops(VOCABULARY, LENGTH, tokens=LENGTH)
    with pytest.raises(UserError, match=message):
        design("mistral", **PLAIN, **heads).build_model(VOCABULARY, LENGTH, 7, seed=0)


def test_what_a_model_computes_must_suit_the_trainer():
    def look_ahead(model):
        base = model.model.forward

        def forward(*given, **keys):
            output = base(*given, **keys)
            output.last_hidden_state = output.last_hidden_state + output.last_hidden_state.mean(1, keepdim=True)
            return output

        model.model.forward = forward

    with pytest.raises(UserError, match="sees the tokens that it is to predict"):
        refuse_changed(look_ahead)
    with pytest.raises(UserError, match="computes something else each time"):
        refuse_changed(lambda model: model.model.layers.__setitem__(0, Noise()))
    with pytest.raises(UserError, match="its logits are not the product"):
        refuse_changed(lambda model: model.lm_head.register_forward_hook(lambda *given: given[2].tanh()))
    refuse_changed(lambda model: None)


@pytest.mark.parametrize(
    ("family", "keys", "attention"),
    [
        ("llama", {}, "sdpa_without_mask"),
        ("mistral", {**SIZED, "sliding_window": 4}, "sdpa"),
        ("mistral", {**SIZED, "sliding_window": LENGTH}, "sdpa_without_mask"),
    ],
)
def test_the_mask_of_attention_is_left_out_where_it_says_nothing(family, keys, attention):
    model = design(family, **keys).build_model(VOCABULARY, LENGTH, 7, seed=0)
    assert model.config._attn_implementation == attention


def test_what_mamba_marks_does_not_decay():
    model = design("mamba").build_model(VOCABULARY, LENGTH, 7, seed=0)
    names = {parameter: name for name, parameter in model.named_parameters()}
    (first, *_), _ = parameter_groups(model, OPTIMIZER)
    decaying = {names[parameter].rpartition("mixer.")[2] for parameter in first["params"]}
    assert {"in_proj.weight", "x_proj.weight", "out_proj.weight"} <= decaying
    assert not {"A_log", "D"} & decaying


def test_counting_flops_leaves_the_attention_of_other_threads_as_it_is(monkeypatch):
    build, kernels = LibraryModel._build, []

    def build_and_watch(self, *sizes, **named):
        model = build(self, *sizes, **named)
        model.register_forward_pre_hook(lambda *_: kernels.append(torch.backends.cuda.flash_sdp_enabled()))
        return model

    monkeypatch.setattr(LibraryModel, "_build", build_and_watch)
    assert design("llama").count_flops(vocabulary=11, context=7, tokens=7) > 0
    assert kernels == [True]


def test_dropout_of_layers_that_a_language_model_does_not_have_does_not_count():
    made = AutoConfig.for_model("distilbert", attention_dropout=0.0, classifier_dropout=0.2).to_dict()
    assert made["qa_dropout"]
    assert made["seq_classif_dropout"]
    assert dropout_shares(made) == {"dropout": 0.1}
