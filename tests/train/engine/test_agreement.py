"""The steps' loss and gradients against those of the plain model in float32: chunks, kernels and precisions."""

import shutil

import pytest
import torch

from ucurve.training.engine.engine import LossModule
from ucurve.training.model import loss as loss_module
from ucurve.training.model.neox import PythiaShape

VOCABULARY, PADDED = 301, 320  # tokens; on an accelerator up to a multiple of 64
CHUNKS = [5, 64, 4096]  # positions of 128
LOSS_APART = {"float32": 1e-5, "bfloat16": 1e-3}  # relative
GRADIENT_APART, COSINE = 1e-5, 0.999  # relative, in float32; in bfloat16


@pytest.fixture(scope="module")
def model():
    return PythiaShape(2, 64, 4, 128).build_model(VOCABULARY, 16, 0, 0).train()


@pytest.fixture(scope="module")
def ids():
    return torch.randint(0, VOCABULARY, (8, 17), generator=torch.Generator().manual_seed(0))


@pytest.fixture(scope="module")
def plain(model, ids):
    logits = model(ids[:, :-1]).logits.flatten(0, 1)
    return results(torch.nn.functional.cross_entropy(logits, ids[:, 1:].flatten(), reduction="sum"), model)


def results(loss, model):
    gradients = torch.autograd.grad(loss, list(model.parameters()))
    return loss.item(), torch.cat([one.flatten() for one in gradients])


def check(module, model, ids, plain, precision):
    loss, gradient = results(module(ids[:, :-1], ids[:, 1:])[0], model)
    assert loss == pytest.approx(plain[0], rel=LOSS_APART[precision])
    if precision == "float32":
        assert (gradient - plain[1]).norm() <= GRADIENT_APART * plain[1].norm()
    assert torch.nn.functional.cosine_similarity(gradient, plain[1], dim=0) >= COSINE


@pytest.fixture(params=CHUNKS)
def chunk(request, monkeypatch):
    monkeypatch.setattr(loss_module, "_CHUNK", request.param)
    return request.param


def take_kernel(module, chunk, precision, monkeypatch):
    """Take the output loss of an accelerator, in chunks of so many positions."""
    real = loss_module.output_loss
    monkeypatch.setattr(loss_module, "_FUSED_BYTES", chunk * PADDED * (4 if precision == "float32" else 2))
    monkeypatch.setattr(loss_module, "output_loss", lambda *given: real(*given[:3], fused=True))
    return module


@pytest.mark.parametrize("precision", LOSS_APART)
def test_not_compiled(model, ids, plain, chunk, precision):
    check(LossModule(model, precision, compiled=False), model, ids, plain, precision)


@pytest.mark.parametrize("precision", LOSS_APART)
def test_the_arithmetic_of_the_kernel(model, ids, plain, chunk, precision, monkeypatch):
    monkeypatch.setattr(loss_module, "_fused_kernel", lambda: loss_module._loss_and_error)
    module = take_kernel(LossModule(model, precision, compiled=False), chunk, precision, monkeypatch)
    check(module, model, ids, plain, precision)


@pytest.mark.long
@pytest.mark.skipif(shutil.which("c++") is None, reason="torch.compile needs a C++ compiler")
@pytest.mark.parametrize("chunk", [CHUNKS[0], CHUNKS[-1]], indirect=True)  # many and one: each is compiled
@pytest.mark.parametrize("precision", LOSS_APART)
def test_compiled(model, ids, plain, chunk, precision, monkeypatch):
    module = take_kernel(LossModule(model, precision, compiled=True), chunk, precision, monkeypatch)
    check(module, model, ids, plain, precision)
