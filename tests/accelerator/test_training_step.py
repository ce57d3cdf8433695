"""A step of the default batch, 16,384 tokens with a vocabulary of 49,953, on a device that only counts."""

import copy

import pytest
import torch

from tests.accelerator.fake_device import count
from ucurve.training.model.hidden import make_hidden_states
from ucurve.training.model.loss import summed_loss
from ucurve.training.model.neox import PythiaShape

WAITS = 1  # a step; the loss and the norm of the gradient are read together
FLOPS_APART = 0.005  # of the plan's
LOSS_BYTES = 8e9  # read and written by the output loss of a compiled step, beside its products
PLAIN_LOSS_BYTES = 45e9  # by one that is not compiled
MEMORY = 2e9  # of a device that does not hold the default batch
COMPILATIONS = 2  # of a model whose last micro batch is smaller than the others


@pytest.fixture(scope="module", params=[pytest.param("float32", marks=pytest.mark.long), "bfloat16"])
def counted(request):
    return count("count_step.py", "14m", request.param) | {"precision": request.param}


def test_the_processor_waits_once_a_step(counted):
    for step in counted["steps"]:
        assert len(step["waits"]) <= WAITS, step["waits"]


def test_products_have_the_type_of_the_run(counted):
    assert set(counted["steps"][1]["flops"]) == {counted["precision"]}


def test_causal_attention_has_no_mask(counted):
    kernel = "flash" if counted["precision"] == "bfloat16" else "efficient"
    attention = counted["steps"][1]["attention"]
    assert attention
    assert all(one == [kernel, False, True] for one in attention)


def test_memory_does_not_grow(counted):
    _, second, third = (step["live"] for step in counted["steps"])
    assert second == third > 0


def test_the_plan_counts_the_flops(counted):
    flops = sum(counted["steps"][1]["flops"].values())
    assert flops == pytest.approx(counted["planned"], rel=FLOPS_APART)


def test_the_loss_that_is_not_compiled_moves_a_bounded_number_of_bytes(counted):
    assert 0 < counted["steps"][1]["bytes"]["ucurve/training/model/loss.py"] <= PLAIN_LOSS_BYTES


@pytest.mark.long
def test_the_compiled_loss_moves_few_bytes_and_never_waits():
    counted = count("count_fused_loss.py")
    assert counted["fused"]
    assert counted["count"]["waits"] == []
    assert set(counted["count"]["flops"]) == {"bfloat16"}
    assert sum(counted["count"]["bytes"].values()) + sum(counted["fused"]) <= LOSS_BYTES


@pytest.mark.long
def test_micro_batches_are_as_large_as_the_memory_holds():
    counted = count("count_micro_batch.py", MEMORY)
    assert 1 < counted["chosen"] < 256
    assert max(counted["peaks"]) <= MEMORY < counted["peak_of_twice"]


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_compiled_model_is_one_graph_without_mask(precision):
    graphs, masks = [], []

    def look(graph, _):
        graphs.append(graph)
        calls = [node.kwargs for node in graph.graph.nodes if "scaled_dot_product" in str(node.target)]
        masks.extend((call.get("attn_mask"), call.get("is_causal")) for call in calls)
        return graph.forward

    model = PythiaShape(2, 32, 2, 64).build_model(97, 16, document_token=0, seed=0).train()
    plain = make_hidden_states(precision)
    compiled = torch.compile(plain, dynamic=False, backend=look, fullgraph=True)
    losses = []
    for function in (plain, compiled):
        for rows in (8, 8, 5, 8, 5):
            ids = torch.arange(rows * 17).reshape(rows, 17) % 97
            loss, _ = summed_loss(copy.copy(model), ids[:, :-1], ids[:, 1:], function)
            loss.backward()
            losses.append(loss.item())
    assert 1 <= len(graphs) <= COMPILATIONS
    assert set(masks) == {(None, True)}
    assert losses[5:] == pytest.approx(losses[:5], rel=1e-5 if precision == "float32" else 1e-3)
