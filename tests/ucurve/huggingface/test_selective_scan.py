import shutil
from functools import partial

import pytest
import torch
from torch._dynamo.utils import counters
from transformers import AutoConfig
from transformers.models.mamba import modeling_mamba

from ucurve.huggingface.pretrained import load_model, new_model
from ucurve.huggingface.selective_scan import selective_scan, take_quick_scan
from ucurve.training.model.library import LibraryModel

SIZES = {"vocab_size": 50, "hidden_size": 16, "num_hidden_layers": 2, "use_cache": False}
KEYS = {
    "mamba": {"state_size": 4, "time_step_rank": 2},
    "falcon_mamba": {"state_size": 4, "time_step_rank": 2},
    "jamba": {"mamba_d_state": 4, "num_attention_heads": 2, "num_key_value_heads": 2, "num_experts": 2},
}


def library_scan():
    found = modeling_mamba.mamba_selective_scan
    return found.args[0] if isinstance(found, partial) else found


def arguments(sequences=3, width=5, length=9, states=4):
    torch.manual_seed(1)
    hidden, dt, z = (torch.randn(sequences, width, length, requires_grad=True) for _ in range(3))
    into, out_of = (torch.randn(sequences, states, length, requires_grad=True) for _ in range(2))
    rates = (-torch.rand(width, states)).requires_grad_()
    skip, bias = (torch.randn(width, requires_grad=True) for _ in range(2))
    return [hidden, dt, rates, into, out_of], {"D": skip, "z": z, "delta_bias": bias}


def test_outputs_and_all_gradients_are_those_of_transformers():
    given, named = arguments()
    expected = library_scan()(*given, **named, delta_softplus=True)
    found = selective_scan(library_scan(), *given, **named, delta_softplus=True)
    assert torch.allclose(found, expected, atol=1e-5)
    weights, of = torch.randn_like(expected), [*given, *named.values()]
    of_library = torch.autograd.grad((expected * weights).sum(), of)
    ours = torch.autograd.grad((found * weights).sum(), of)
    for one, other in zip(ours, of_library, strict=True):
        assert torch.allclose(one, other, atol=1e-5)


def test_steps_that_are_given_as_they_are_and_without_what_may_be_left_out():
    hidden, dt, *others = arguments()[0]
    given = [hidden, dt.abs(), *others]
    assert torch.allclose(selective_scan(library_scan(), *given), library_scan()(*given), atol=1e-5)


def test_numbers_of_half_precision_are_scanned_in_float32():
    (hidden, dt, rates, *others), _ = arguments()
    halves = [value.bfloat16() for value in (hidden, dt.abs(), *others)]
    exact = library_scan()(halves[0].float(), halves[1].float(), rates, *(value.float() for value in halves[2:]))
    found = selective_scan(library_scan(), *halves[:2], rates, *halves[2:])
    assert found.dtype == torch.bfloat16
    assert torch.allclose(found.float(), exact, rtol=2**-8, atol=1e-5)


def test_the_last_state_and_accelerators_with_fast_kernels_are_left_to_transformers(monkeypatch):
    given, named = arguments(length=2)
    outputs, state = selective_scan(library_scan(), *given, **named, delta_softplus=True, return_last_state=True)
    assert outputs.shape == (3, 5, 2)
    assert state.shape == (3, 5, 4)
    monkeypatch.setattr("ucurve.huggingface.selective_scan._HAS_KERNELS", True)
    called = []
    selective_scan(
        lambda *_given, **others: called.append(others), *(value.to("meta") for value in given), **named
    )
    assert called[0].items() >= named.items()


@pytest.mark.long
@pytest.mark.skipif(shutil.which("c++") is None, reason="compiling on a processor needs a C++ compiler")
def test_a_compiled_model_scans_uncompiled_and_computes_the_same():
    design = LibraryModel("mamba", '{"hidden_size": 16, "num_hidden_layers": 2, "state_size": 4}')
    model = design.build_model(50, 8, 0, seed=0)
    ids = torch.randint(0, 50, (2, 12))
    expected = model(ids).logits
    torch.compiler.reset()
    counters.clear()
    found = torch.compile(model, dynamic=False)(ids).logits
    assert any("selective_scan" in reason for reason in counters["graph_break"])
    assert torch.allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("architecture", KEYS)
def test_new_models_have_transformers_loss_and_gradients(architecture, monkeypatch):
    configuration = AutoConfig.for_model(architecture, **SIZES, **KEYS[architecture])
    model = new_model(configuration, "AutoModelForCausalLM").train()
    module = __import__(type(model).__module__, fromlist=["x"])
    quick = module.mamba_selective_scan
    take_quick_scan(model)  # a second time changes nothing
    assert module.mamba_selective_scan is quick
    ids = torch.randint(0, 50, (2, 12))
    losses = []
    for scan in (quick, quick.args[0]):
        monkeypatch.setattr(module, "mamba_selective_scan", scan)
        loss = model(ids, labels=ids).loss
        losses.append((loss, torch.autograd.grad(loss, list(model.parameters()), allow_unused=True)))
    (found, ours), (expected, of_library) = losses
    assert torch.allclose(found, expected, atol=1e-5)
    for one, other in zip(ours, of_library, strict=True):
        assert (one is None) == (other is None)
        assert one is None or torch.allclose(one, other, atol=1e-5)


def test_loaded_models_take_it_and_count_the_same_products(monkeypatch, tmp_path):
    design = LibraryModel("mamba", '{"hidden_size": 16, "num_hidden_layers": 2, "state_size": 4}')
    design.build_model(50, 8, 0, seed=0).save_pretrained(tmp_path)
    monkeypatch.setattr(modeling_mamba, "mamba_selective_scan", library_scan())
    load_model(tmp_path, "AutoModelForCausalLM")
    assert modeling_mamba.mamba_selective_scan.func is selective_scan
    with_ours = design.count_flops(50, 8, 8)
    monkeypatch.setattr("ucurve.huggingface.selective_scan.take_quick_scan", lambda _model: None)
    monkeypatch.setattr(modeling_mamba, "mamba_selective_scan", library_scan())
    # Counted again.
    design = LibraryModel("mamba", '{"state_size": 4, "hidden_size": 16, "num_hidden_layers": 2}')
    assert design.count_flops(50, 8, 8) == with_ours
