import json
from dataclasses import replace

import pytest

from tests.settings import optimizer_settings
from tests.train.tiny_models import TINY
from ucurve.config import compose
from ucurve.training.config import read_settings
from ucurve.training.engine.optimizers import make_optimizers, parameter_groups
from ucurve.training.model.design import flops_6nd
from ucurve.training.model.library import LibraryModel, parameters_by_group
from ucurve.training.model.neox import PythiaShape
from ucurve.training.optim import muon_flops
from ucurve.training.plan import describe_plan, make_plan, warn_of_flops

MUON = optimizer_settings(learning_rate=1e-3, warmup=0.1, kind="muon")

PYTHIA = {  # published parameter counts: total, without embeddings (Biderman et al. 2023, Table 1; model cards)
    "70m": (PythiaShape(6, 512, 8, 2048), 70_426_624, 18_915_328),
    "160m": (PythiaShape(12, 768, 12, 3072), 162_322_944, 85_056_000),
    "410m": (PythiaShape(24, 1024, 16, 4096), 405_334_016, 302_311_424),
    "1.4b": (PythiaShape(24, 2048, 16, 8192), 1_414_647_808, 1_208_602_624),
}


@pytest.mark.parametrize("size", PYTHIA)
def test_parameters_are_those_pythia_publishes(size):
    shape, total, non_embedding = PYTHIA[size]
    counted = shape.count_parameters(50_304, 64)
    assert counted.total == total
    assert counted.non_embedding == non_embedding


def test_parameters_equal_the_built_model():
    shape = PythiaShape(3, 48, 4, 160)
    assert parameters_by_group(shape.build_model(101, 16, 0, seed=0)) == shape.count_parameters(101, 16)


def test_6nd_gives_the_papers_ends():
    assert flops_6nd(14_000_000, 10_000_000) == pytest.approx(8.4e14)
    assert flops_6nd(1_400_000_000, 3_000_000_000) == pytest.approx(2.52e19)


def test_exact_flops_by_hand():
    shape = PythiaShape(layers=1, width=2, heads=1, feed_forward=3)
    # query, key, value and output 4 x 4, feed-forward 2 x 6, scores and values 2 x 5 x 2, output 7 x 2: 62 products
    assert shape.count_flops(vocabulary=7, context=5, tokens=10) == 6 * 62 * 10


def test_exact_flops_equal_a_count_over_the_modules():
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    shape, length = PythiaShape(2, 32, 4, 64), 16
    model = shape.build_model(50, length, 0, seed=0)
    model.set_attn_implementation("eager")
    ids = torch.randint(0, 50, (3, length + 1))
    with FlopCounterMode(display=False) as counter:
        logits = model(ids[:, :-1]).logits
        torch.nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten()).backward()
    counted = counter.get_total_flops()
    ours = shape.count_flops(50, length, 3 * length)
    # The counter also sees the tiny product that makes the rotary angles.
    assert counted == pytest.approx(ours, rel=0.01)


@pytest.mark.parametrize("shape", [(24, 40), (40, 24), (16, 16), (96, 8)])
def test_the_flops_of_muon_are_those_that_torch_counts_in_its_step(shape):
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    rows, columns = shape
    layer = torch.nn.Linear(columns, rows)
    for parameter in layer.parameters():
        parameter.grad = torch.ones_like(parameter)
    adamw, muon = make_optimizers(layer, MUON)
    with FlopCounterMode(display=False) as counter:
        muon.step()
    assert muon_flops([shape]) == counter.get_total_flops() > 0
    with FlopCounterMode(display=False) as counter:
        adamw.step()
    assert counter.get_total_flops() == 0


def test_the_flops_of_muon_by_hand():
    # X of 2 x 3: X X' has 2 x 2 entries of 3 products, its square 2 x 2 of 2, times X 2 x 3 of 2: 12 + 8 + 12 products
    assert muon_flops([(3, 2)]) == 5 * 2 * 32
    # of one layer of width 2 and feed-forward width 3: 6 x 2, 2 x 2, 3 x 2 and 2 x 3
    shape = PythiaShape(layers=1, width=2, heads=1, feed_forward=3)
    by_hand = 5 * 2 * ((24 + 8 + 24) + (8 + 8 + 8) + 32 + 32)
    assert muon_flops(shape.count_parameters(7, 5).hidden) == by_hand
    plans = {kind: plan_of(f"optimizer={kind}", "tokens=40") for kind in ("adamw", "muon")}
    plans = {kind: replace(plan, parameters=shape.count_parameters(7, 5)) for kind, plan in plans.items()}
    assert plans["muon"].steps == 4  # of 2 sequences of 5 tokens
    difference = [
        plans["muon"].flops_exact(tokens) - plans["adamw"].flops_exact(tokens) for tokens in (0, 10, 40)
    ]
    assert difference == [0, by_hand, 4 * by_hand]
    assert plans["muon"].flops(40) == plans["adamw"].flops(40)


def plan_of(*words, vocabulary=7):
    sizes = ["model=tiny", "batch.sequences=2", "batch.length=5", "data=demo", "schedule.count=2"]
    return make_plan(read_settings(compose("train", [*sizes, *words])), vocabulary)


@pytest.mark.parametrize("words", TINY.values(), ids=TINY)
def test_a_plan_counts_the_matrices_that_muon_changes(words):
    plan = plan_of(*words, "optimizer=muon", "tokens=40", vocabulary=11)
    model = plan.settings.model.design.build_model(11, 5, 0, seed=0)
    _, muon = parameter_groups(model, plan.settings.optimizer)
    shapes = [tuple(parameter.shape) for group in muon for parameter in group["params"]]
    assert sorted(plan.parameters.hidden) == sorted(shapes)
    assert plan.optimizer_flops == muon_flops(shapes) > 0


SCANS = {
    "mamba2": ("chunk_size", {"num_heads": 4, "head_dim": 16, "state_size": 8, "n_groups": 1}),
    "bamba": (
        "mamba_chunk_size",
        {
            "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 48, "attn_layer_indices": [1],
            "mamba_n_heads": 4, "mamba_d_head": 16, "mamba_d_state": 8, "mamba_n_groups": 1,
        },
    ),
}  # fmt: skip


@pytest.mark.parametrize("architecture", SCANS)
def test_a_scan_fills_no_sequence_up_beyond_the_context(architecture):
    key, keys = SCANS[architecture]
    context = 16

    def made(**more):
        keys_of_both = {"hidden_size": 32, "num_hidden_layers": 2, **keys, **more}
        return LibraryModel(architecture, json.dumps(keys_of_both))

    def chunk(**more):
        return getattr(made(**more).build_model(50, context, 0, seed=0).config, key)

    assert [chunk(), chunk(**{key: 64}), chunk(**{key: 8})] == [context, context, 8]
    flops = {size: made(**{key: size}).count_flops(50, context, context) for size in (8, context, 256)}
    assert flops[8] < flops[context] == flops[256] == made().count_flops(50, context, context)
    assert flops[256] < 2 * flops_6nd(made().count_parameters(50, context).total, context)


def test_a_plan_says_where_its_flops_are_far_from_6nd():
    usual = plan_of(
        "tokens=40", "model=14m", "batch.length=64", "batch.sequences=256", "tokens=100k", vocabulary=4_000
    )
    assert warn_of_flops(usual) == ""
    assert "beyond 6ND" not in describe_plan(usual, "")
    long = plan_of("tokens=100k", "batch.length=4096", vocabulary=300)
    ratio = long.flops_exact(8192) / long.flops(8192)
    assert ratio > 2
    assert warn_of_flops(long) == (
        f"warning: matrix products take {ratio:.1f} times the FLOPs of 6ND: 6ND counts every parameter once, and not "
        "what attention or a scan computes over 4,096 tokens (batch.length) nor that layers may share parameters"
    )
    assert f"beyond 6ND     {warn_of_flops(long)}" in describe_plan(long, "").splitlines()


def test_a_plan_says_how_much_of_its_flops_is_muons():
    plan = plan_of("tokens=100k", "optimizer=muon", vocabulary=300)
    share = plan.steps * plan.optimizer_flops / plan.flops_exact(plan.tokens)
    assert share > 0.5
    assert f"{100 * share:.0f} % of them are Muon's own, since a batch of 10 tokens is small" in warn_of_flops(
        plan
    )
