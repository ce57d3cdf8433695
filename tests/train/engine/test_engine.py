import itertools

import numpy as np
import pytest
import torch

from train.engine.engine import DivergedError, TorchEngine, parameter_groups
from train.engine.execution import choose_device
from train.model.neox import build_model
from train.model.shape import Shape
from train.optim import OptimizerSettings, learning_rate
from ucurve.errors import UserError

OPTIMIZER = OptimizerSettings(
    learning_rate=1e-3, minimum=0.1, warmup=0.1, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1, clip=1.0
)


def make_engine(micro_batch=8, seed=0):
    model = build_model(Shape(2, 32, 4, 64), 40, 8, 0, seed)
    return TorchEngine(model, OPTIMIZER, micro_batch, torch.device("cpu"))


def windows(number, sequences=8):
    return np.random.default_rng(number).integers(0, 40, (sequences, 9))


@pytest.mark.parametrize("micro_batch", [2, 3])
def test_gradients_do_not_depend_on_the_accumulation(micro_batch):
    whole, parts = make_engine(8), make_engine(micro_batch)
    assert whole.accumulate(windows(0)) == pytest.approx(parts.accumulate(windows(0)), rel=1e-6)
    for a, b in zip(whole.model.parameters(), parts.model.parameters(), strict=True):
        assert (a.grad - b.grad).abs().max() <= 1e-6


def test_the_gradient_is_that_of_the_mean_loss_per_token():
    engine, batch = make_engine(3), torch.from_numpy(windows(0))
    engine.accumulate(windows(0))
    model = build_model(Shape(2, 32, 4, 64), 40, 8, 0, 0)
    logits = model(batch[:, :-1]).logits
    torch.nn.functional.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten()).backward()
    for a, b in zip(engine.model.parameters(), model.parameters(), strict=True):
        assert (a.grad - b.grad).abs().max() <= 1e-6


def test_a_state_taken_up_continues_bit_for_bit():
    one = make_engine()
    for number in range(1, 4):
        one.step(windows(number), 1e-3, number)
    other = make_engine(seed=9)
    other.load({name: value.clone() for name, value in one.state().items()})
    for number in range(4, 7):
        assert one.step(windows(number), 1e-3, number) == other.step(windows(number), 1e-3, number)
    assert all(torch.equal(a, b) for a, b in zip(one.model.parameters(), other.model.parameters(), strict=True))


@pytest.mark.parametrize("poison", [float("nan"), float("inf")])
def test_a_loss_that_is_not_finite_stops_before_the_weights_change(poison):
    engine = make_engine()
    engine.step(windows(1), 1e-3, 1)
    with torch.no_grad():
        engine.model.get_output_embeddings().weight[3] = poison
    before = {name: value.clone() for name, value in engine.state().items()}
    with pytest.raises(DivergedError, match=r"the loss is nan at step 2; the state after step 1 is kept"):
        engine.step(windows(2), 1e-3, 2)
    after = engine.state()
    assert all(torch.equal(before[name].nan_to_num(), after[name].nan_to_num()) for name in before)


def test_a_gradient_that_is_not_finite_stops_too(monkeypatch):
    engine = make_engine()
    monkeypatch.setattr(torch.nn.utils, "clip_grad_norm_", lambda *_: torch.tensor(float("inf")))
    with pytest.raises(DivergedError, match=r"the norm of the gradient is inf at step 1"):
        engine.step(windows(1), 1e-3, 1)


def test_only_matrices_decay():
    model = build_model(Shape(1, 32, 4, 64), 40, 8, 0, 0)
    decaying, rest = parameter_groups(model, 0.1)
    assert decaying["weight_decay"] == 0.1
    assert rest["weight_decay"] == 0.0
    assert {parameter.ndim for parameter in decaying["params"]} == {2}
    assert {parameter.ndim for parameter in rest["params"]} == {1}
    assert len(decaying["params"]) + len(rest["params"]) == len(list(model.parameters()))


def test_clipping_bounds_the_update():
    engine = make_engine()
    with torch.no_grad():
        engine.model.get_output_embeddings().weight.mul_(1000)
    assert engine.step(windows(1), 1e-3, 1).grad_norm > 1.0


@pytest.mark.skipif(torch.cuda.is_available(), reason="a CUDA device is there")
def test_cuda_without_a_device_is_refused():
    with pytest.raises(UserError, match=r"engine\.device='cuda': no CUDA device"):
        choose_device("cuda")
    assert choose_device("auto").type == "cpu"


def test_learning_rate_warms_up_from_above_zero_and_ends_at_the_minimum():
    rates = [learning_rate(OPTIMIZER, step, 100) for step in range(1, 101)]
    assert rates[:10] == pytest.approx([1e-4 * step for step in range(1, 11)])
    assert rates[9] == max(rates)
    assert rates[-1] == pytest.approx(1e-4)
    assert rates[54] == pytest.approx(5.5e-4), "half-way between peak and minimum in the middle of the decay"
    assert all(later <= earlier for earlier, later in itertools.pairwise(rates[9:]))
    assert learning_rate(OPTIMIZER, 1, 1) == 1e-3
