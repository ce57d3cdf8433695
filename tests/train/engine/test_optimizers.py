"""Which parameter is changed by which optimizer, with which learning rate."""

from dataclasses import replace

import pytest
import torch

from tests.settings import optimizer_settings, rate_scales
from ucurve.config import compose
from ucurve.errors import RunError, UserError
from ucurve.training.config import read_request
from ucurve.training.engine.execution import check_processes
from ucurve.training.engine.optimizers import (
    check_state_complete,
    kinds_of_parameters,
    make_optimizers,
    parameter_groups,
    plain_state,
    take_step,
)
from ucurve.training.engine.processes import Processes
from ucurve.training.model.library import LibraryModel
from ucurve.training.model.neox import PythiaShape

ADAMW = optimizer_settings(learning_rate=1e-3, warmup=0.1)
MUON = replace(ADAMW, kind="muon")
TIED = LibraryModel(
    "gpt2", '{"n_embd": 32, "n_layer": 1, "n_head": 4, "resid_pdrop": 0, "embd_pdrop": 0, "attn_pdrop": 0}'
)


@pytest.fixture
def model():
    return PythiaShape(1, 32, 4, 64).build_model(40, 8, 0, 0)


def names_by_kind(model):
    names, found = {one: name for name, one in model.named_parameters()}, {}
    for parameter, kind in kinds_of_parameters(model).items():
        found.setdefault(kind, set()).add(names[parameter])
    return found


def test_each_parameter_is_of_one_kind(model):
    found = names_by_kind(model)
    assert found["embedding"] == {"gpt_neox.embed_in.weight"}
    assert [model.get_parameter(name) is model.get_output_embeddings().weight for name in found["output"]] == [
        True
    ]
    assert {name.rpartition("0.")[2] for name in found["hidden"]} == {
        "attention.query_key_value.weight",
        "attention.dense.weight",
        "mlp.dense_h_to_4h.weight",
        "mlp.dense_4h_to_h.weight",
    }
    assert all("norm" in name or name.endswith("bias") for name in found["rest"])


def test_a_tied_output_layer_and_positions_are_embeddings():
    found = names_by_kind(TIED.build_model(40, 8, 0, 0))
    assert found["embedding"] == {"transformer.wte.weight", "transformer.wpe.weight"}
    assert "output" not in found


def test_muon_has_the_hidden_matrices_and_adamw_all_others(model):
    kinds = kinds_of_parameters(model)
    adamw, muon = make_optimizers(model, MUON)
    assert {kinds[one] for group in muon.param_groups for one in group["params"]} == {"hidden"}
    assert {kinds[one] for group in adamw.param_groups for one in group["params"]} == {
        "embedding",
        "output",
        "rest",
    }
    assert [group["weight_decay"] for group in muon.param_groups] == [0.1]


def test_a_step_of_muon_has_equal_singular_values_and_the_size_of_one_of_adamw(model):
    weight = model.gpt_neox.layers[0].mlp.dense_h_to_4h.weight
    before = weight.detach().clone()
    for one in model.parameters():
        one.grad = torch.randn(one.shape, generator=torch.Generator().manual_seed(one.numel()))
    take_step(make_optimizers(model, replace(MUON, weight_decay=0.0)), 1e-3)
    values = torch.linalg.svdvals((before - weight).detach() / 1e-3)
    assert values.max() / values.min() < 2.5  # Newton and Schulz leave them between .7 and 1.2
    # As of AdamW in training.
    assert (before - weight).detach().square().mean().sqrt().item() / 1e-3 == pytest.approx(0.2, rel=0.2)
    assert weight.grad is None


def test_the_rate_of_a_group_is_multiplied(model):
    scale = rate_scales(embedding=10.0, rest=0.5)
    before = {name: one.detach().clone() for name, one in model.named_parameters()}
    for one in model.parameters():
        one.grad = torch.ones_like(one)
    take_step(make_optimizers(model, replace(ADAMW, weight_decay=0.0, scale=scale)), 1e-3)
    moved = {name: (before[name] - one).abs().mean().item() for name, one in model.named_parameters()}
    names = names_by_kind(model)
    for kind, rate in {"embedding": 1e-2, "output": 1e-3, "hidden": 1e-3, "rest": 5e-4}.items():
        assert [moved[name] for name in names[kind]] == pytest.approx([rate] * len(names[kind]), rel=1e-3)


def test_without_a_choice_there_are_the_two_groups_of_before(model):
    groups, by_muon = parameter_groups(model, ADAMW)
    assert by_muon == []
    assert [(group["weight_decay"], group["scale"]) for group in groups] == [(0.1, 1.0), (0.0, 1.0)]
    assert groups[0]["params"] == [one for one in model.parameters() if one.ndim == 2]


def test_a_state_of_the_other_optimizer_is_not_complete(model):
    optimizers = make_optimizers(model, MUON)
    for one in model.parameters():
        one.grad = torch.ones_like(one)
    take_step(optimizers, 1e-3)
    state = plain_state(model, optimizers)
    check_state_complete(state, model, MUON, 1)
    with pytest.raises(
        RunError, match=r"the state after step 1 lacks 12 of \d+ parts, as optimizer/exp_avg/gpt_neox"
    ):
        check_state_complete(state, model, ADAMW, 1)


@pytest.mark.parametrize("engine", [["engine=deepspeed"], ["engine.zero_stage=1"]])
def test_deepspeed_refuses_muon(engine):
    request = read_request(
        compose("train", ["tokens=10M", "tokenizer=char", "data=text", "optimizer=muon", *engine])
    )
    with pytest.raises(UserError, match=r"optimizer=muon: DeepSpeed may cut matrices.*set engine=torch"):
        check_processes(request, Processes(size=2))
