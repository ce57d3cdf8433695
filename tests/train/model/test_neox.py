import copy
import math

import pytest
import torch

from ucurve.training.model.hidden import make_hidden_states
from ucurve.training.model.loss import summed_loss
from ucurve.training.model.neox import PythiaShape

SHAPE = PythiaShape(layers=3, width=64, heads=4, feed_forward=256)


def test_a_seed_gives_its_weights_and_leaves_the_global_generator_alone():
    torch.manual_seed(5)
    before = torch.get_rng_state()
    first, again, other = (SHAPE.build_model(50, 16, 0, seed) for seed in (0, 0, 1))
    assert torch.equal(before, torch.get_rng_state())
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), again.parameters(), strict=True))
    assert not torch.equal(first.gpt_neox.embed_in.weight, other.gpt_neox.embed_in.weight)


def test_initialisation_is_pythias():
    model = SHAPE.build_model(4000, 16, 0, seed=0)
    layer = model.gpt_neox.layers[1]
    small, wang = math.sqrt(2 / (5 * 64)), 2 / (3 * math.sqrt(64))
    assert model.gpt_neox.embed_in.weight.std().item() == pytest.approx(small, rel=0.02)
    assert layer.attention.query_key_value.weight.std().item() == pytest.approx(small, rel=0.05)
    assert layer.attention.dense.weight.std().item() == pytest.approx(wang, rel=0.05)
    assert layer.mlp.dense_4h_to_h.weight.std().item() == pytest.approx(wang, rel=0.05)
    assert torch.all(layer.input_layernorm.weight == 1)
    assert torch.all(layer.mlp.dense_4h_to_h.bias == 0)


def test_the_model_is_an_untied_neox_of_the_shape():
    model = SHAPE.build_model(50, 16, 7, seed=0)
    config = model.config
    assert (config.num_hidden_layers, config.hidden_size, config.intermediate_size) == (3, 64, 256)
    assert (config.max_position_embeddings, config.eos_token_id, config.bos_token_id) == (16, 7, 7)
    assert config.use_parallel_residual
    assert not config.tie_word_embeddings
    assert model.get_output_embeddings().weight is not model.get_input_embeddings().weight


def test_summed_loss_is_transformers_loss_times_targets():
    model = SHAPE.build_model(50, 16, 0, seed=0)
    ids = torch.randint(0, 50, (5, 13), generator=torch.Generator().manual_seed(1))
    loss, _ = summed_loss(model, ids[:, :-1], ids[:, 1:], make_hidden_states("float32"))
    expected = copy.deepcopy(model)(input_ids=ids, labels=ids).loss * 5 * 12
    assert loss.item() == pytest.approx(expected.item(), rel=1e-5)


def test_compiled_attention_gets_no_mask_and_checkpoints_name_no_attention(tmp_path):
    seen = []

    def look(graph, _):
        calls = [node.kwargs for node in graph.graph.nodes if "scaled_dot_product" in str(node.target)]
        seen.extend((call.get("attn_mask"), call.get("is_causal")) for call in calls)
        return graph.forward

    model = SHAPE.build_model(50, 16, 0, seed=0)
    compiled = torch.compile(make_hidden_states("bfloat16"), dynamic=False, backend=look)
    compiled(model, torch.randint(0, 50, (5, 13)))
    assert seen == [(None, True)] * SHAPE.layers
    model.save_pretrained(tmp_path)
    assert "attn" not in (tmp_path / "config.json").read_text()
