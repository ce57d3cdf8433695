import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import GPTNeoXConfig, GPTNeoXForCausalLM

from ucurve.eval.scoring.causal import neox as neox_module
from ucurve.eval.scoring.causal.neox import TreeNeoX, Trees, fits, library_body
from ucurve.eval.scoring.causal.trie import tree_body

VOCABULARY = 50


def neox(spread=0.3, **options):
    torch.manual_seed(0)
    shape = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 48}
    config = GPTNeoXConfig(
        vocab_size=VOCABULARY, max_position_embeddings=64, initializer_range=spread, **shape | options
    )
    model = GPTNeoXForCausalLM(config).eval()
    for name, parameter in model.named_parameters():  # biases and norms that are not what a new model has
        if parameter.ndim == 1:
            parameter.data.normal_(float("norm" in name and name.endswith("weight")), 0.3)
    return model


def trees_of(shape, seed=0):
    """Trees whose nodes hang where ``shape`` says: for every tree, how many generations up the next node's parent is."""
    parents, depths, ends, sizes = [], [], [], []
    for ups in shape:
        first, path = len(parents), []
        for up in [0, *ups]:
            path = path[: max(len(path) - up, 1)]
            node = len(parents)
            parents.append(path[-1] if path else node)
            depths.append(len(path))
            path.append(node)
        sizes.append(len(parents) - first)
    ends = np.arange(1, len(parents) + 1)
    for node in reversed(range(len(parents))):
        ends[parents[node]] = max(ends[parents[node]], ends[node])
    tokens = np.random.default_rng(seed).integers(0, VOCABULARY, len(parents))
    return Trees(tokens, np.array(depths), np.array(parents), ends, np.array(sizes))


shapes = st.lists(st.lists(st.integers(0, 5), max_size=40), min_size=1, max_size=4)
MODELS = {
    "pythia": neox(),
    "all rotated": neox(
        rope_parameters={"rope_type": "default", "rope_theta": 500.0, "partial_rotary_factor": 1.0}
    ),
    "no bias": neox(attention_bias=False),
}


@pytest.mark.parametrize("name", MODELS)
@given(shape=shapes)
@settings(max_examples=25)
@torch.inference_mode()
def test_hidden_states_are_the_library_s(name, shape):
    model, trees = MODELS[name], trees_of(shape)
    torch.testing.assert_close(TreeNeoX(model)(trees), library_body(model, trees), rtol=1e-4, atol=1e-4)


@torch.inference_mode()
def test_attention_far_out_of_range_is_shifted():
    model = neox()
    for layer in model.gpt_neox.layers:
        layer.attention.query_key_value.weight.data[: 2 * 8] *= 60
    trees = trees_of([[0] * 30, [0, 1] * 10])
    ours = TreeNeoX(model)(trees)
    assert ours.isfinite().all()
    torch.testing.assert_close(ours, library_body(model, trees), rtol=1e-3, atol=1e-3)


@torch.inference_mode()
def test_a_batch_leaves_nothing_for_the_next():
    body, trees = TreeNeoX(MODELS["pythia"]), trees_of([[0, 1, 2] * 9])
    alone = body(trees)
    body(trees_of([[0] * 40, [1] * 20], seed=1))
    torch.testing.assert_close(body(trees), alone, rtol=0, atol=0)


@pytest.mark.parametrize("room", [0, neox_module._KEPT])
@torch.inference_mode()
def test_the_first_layer_may_be_computed_ahead_for_all_tokens(room, monkeypatch):
    monkeypatch.setattr(neox_module, "_KEPT", room)
    body, batches = TreeNeoX(MODELS["pythia"]), [trees_of([[0, 1, 2] * 9], seed) for seed in (0, 1)]
    alone = [body(trees).clone() for trees in batches]
    body.keep(np.concatenate([trees.tokens for trees in batches]))
    for trees, expected in zip(batches, alone, strict=True):
        torch.testing.assert_close(body(trees), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "options",
    [
        {"use_parallel_residual": False},
        {"hidden_act": "relu"},
        {
            "rope_parameters": {
                "rope_type": "linear",
                "factor": 2.0,
                "rope_theta": 1e4,
                "partial_rotary_factor": 0.25,
            }
        },
    ],
)
def test_other_forms_are_left_to_the_library(options):
    model = neox(**options)
    assert not fits(model)
    assert not isinstance(tree_body(model, np.arange(3)), TreeNeoX)


@torch.inference_mode()
def test_a_changed_layer_is_left_to_the_library():
    model = neox()
    assert isinstance(tree_body(model, np.arange(3)), TreeNeoX)
    model.gpt_neox.layers[1].mlp.register_forward_hook(lambda _, __, out: out * 1.5)
    body, trees = tree_body(model, np.arange(3)), trees_of([[0, 0, 1]])
    assert not isinstance(body, TreeNeoX)
    torch.testing.assert_close(body(trees), library_body(model, trees))
