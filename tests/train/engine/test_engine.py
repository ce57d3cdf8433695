import itertools
import shutil
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from tests.settings import optimizer_settings, rate_settings
from ucurve.errors import RunError, UserError
from ucurve.training.engine import engine as engine_module
from ucurve.training.engine import micro_batch
from ucurve.training.engine.engine import DivergedError, TorchEngine
from ucurve.training.engine.execution import check_processes, choose_compile, choose_device
from ucurve.training.engine.optimizers import parameter_groups
from ucurve.training.engine.processes import Processes
from ucurve.training.model import hidden as hidden_module
from ucurve.training.model.hidden import make_hidden_states
from ucurve.training.model.neox import PythiaShape
from ucurve.training.optim import learning_rate

OPTIMIZER = optimizer_settings(learning_rate=1e-3, warmup=0.1)


def make_engine(micro_batch=8, seed=0, **more):
    model = PythiaShape(2, 32, 4, 64).build_model(40, 8, 0, seed)
    return TorchEngine(model, OPTIMIZER, micro_batch, torch.device("cpu"), **more)


def windows(number, sequences=8):
    return torch.from_numpy(np.random.default_rng(number).integers(0, 40, (sequences, 9)))


@pytest.mark.parametrize("micro_batch", [2, 3])
def test_gradients_do_not_depend_on_the_accumulation(micro_batch):
    whole, parts = make_engine(8), make_engine(micro_batch)
    sums = [engine.accumulate(windows(0)).tolist() for engine in (whole, parts)]
    assert sums[0] == pytest.approx(sums[1], rel=1e-6)
    for a, b in zip(whole.model.parameters(), parts.model.parameters(), strict=True):
        assert (a.grad - b.grad).abs().max() <= 1e-6


def test_the_gradient_is_that_of_the_mean_loss_per_token():
    engine, batch = make_engine(3), windows(0)
    engine.accumulate(windows(0))
    model = PythiaShape(2, 32, 4, 64).build_model(40, 8, 0, 0)
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


def test_a_step_tells_which_flags_were_set():
    assert make_engine().step(windows(1), 1e-3, 1, lambda: (False, True)).flags == (False, True)


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


def test_automatic_micro_batches_are_halved_until_they_fit(monkeypatch, capsys):
    real, sizes = engine_module.summed_loss, []

    def limited(model, inputs, *rest):
        sizes.append(len(inputs))
        if len(inputs) > 2 or len(sizes) == 3:  # the first micro batch of an attempt may fit and the next one not
            raise torch.OutOfMemoryError("CUDA out of memory")
        return real(model, inputs, *rest)

    expected = make_engine(1).step(windows(1, 7), 1e-3, 1)
    engine = make_engine("auto")
    monkeypatch.setattr(engine_module, "summed_loss", limited)
    found = engine.step(windows(1, 7), 1e-3, 1)
    assert sizes == [7, 4, 2] + [1] * 7
    assert (found.loss_sum, found.grad_norm) == pytest.approx((expected.loss_sum, expected.grad_norm), rel=1e-6)
    assert (
        "micro batches of 7 sequences do not fit into the device's memory; going on with 4"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("setting", "advice"), [("auto", "a smaller model is needed"), (4, "set a smaller engine.micro_batch")]
)
def test_a_step_that_cannot_fit_leaves_the_weights(monkeypatch, setting, advice):
    def full(*_):
        raise torch.OutOfMemoryError("CUDA out of memory")

    engine = make_engine(setting)
    before = [value.clone() for value in engine.model.parameters()]
    monkeypatch.setattr(engine_module, "summed_loss", full)
    with pytest.raises(RunError, match=f"do not fit into the device's memory; {advice}.*: CUDA out of memory"):
        engine.step(windows(1), 1e-3, 1)
    assert all(torch.equal(a, b) for a, b in zip(before, engine.model.parameters(), strict=True))


def test_automatic_micro_batches_of_a_processor():
    batch = windows(1, 70)
    assert make_engine("auto").step(batch, 1e-3, 1) == make_engine(32).step(batch, 1e-3, 1)


def test_longer_sequences_have_micro_batches_of_their_own(monkeypatch):
    used = []
    memory = SimpleNamespace(free=lambda: 64, peak_of=lambda work: work() or used[-1])
    monkeypatch.setattr(micro_batch, "device_memory", lambda _: memory)
    batches, sizes = micro_batch.MicroBatch("auto", torch.device("cuda"), Processes()), []
    for length in (5, 5, 5, 9, 9, 9):
        share = torch.zeros(80 // length, length)
        if batches.probing(share):
            batches.probe(share, lambda ids: used.append(ids.numel()), 0)
        sizes.append(len(batches.split(share)[0]))
    assert sizes == [8] * 3 + [4] * 3


def test_bfloat16_changes_products_alone():
    engine = make_engine(precision="bfloat16")
    for number in range(1, 4):
        engine.step(windows(number), 1e-3, number)
    assert {value.dtype for value in engine.state().values() if value.is_floating_point()} == {torch.float32}
    ids = windows(9)[:, :-1]
    assert make_hidden_states("bfloat16")(engine.model, ids).dtype == torch.bfloat16
    assert engine.model(ids).logits.dtype == torch.float32, "the model that is saved knows nothing of it"


def test_bfloat16_is_what_a_model_stored_in_bfloat16_computes(monkeypatch):
    """But for attention, which is in float32 on a processor."""
    monkeypatch.setattr(hidden_module, "_WideAttention", nullcontext)
    model, ids = PythiaShape(2, 32, 4, 64).build_model(40, 8, 0, 0), windows(1)[:, :-1]
    stored = PythiaShape(2, 32, 4, 64).build_model(40, 8, 0, 0).bfloat16()
    stored.base_model.rotary_emb.inv_freq = model.base_model.rotary_emb.inv_freq
    assert torch.equal(make_hidden_states("bfloat16")(model, ids), stored.base_model(ids).last_hidden_state)


def test_attention_in_bfloat16_can_take_the_flash_kernel(monkeypatch):
    calls, real = [], torch.nn.functional.scaled_dot_product_attention

    def attention(query, key, value, **rest):
        calls.append(({query.dtype, key.dtype, value.dtype}, rest.get("attn_mask"), rest["is_causal"]))
        return real(query, key, value, **rest)

    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", attention)
    make_engine(precision="bfloat16").step(windows(1), 1e-3, 1)
    assert calls == [({torch.bfloat16}, None, True)] * 2, "one type, and causal without a mask"


@pytest.mark.long
@pytest.mark.skipif(shutil.which("c++") is None, reason="torch.compile needs a C++ compiler")
def test_a_compiled_model_computes_the_same_and_exports_the_model_itself():
    plain, compiled = make_engine(), make_engine(compiled=True)
    for number in range(1, 4):
        expected, found = (engine.step(windows(number), 1e-3, number) for engine in (plain, compiled))
        assert (found.loss_sum, found.grad_norm) == pytest.approx(
            (expected.loss_sum, expected.grad_norm), rel=1e-5
        )
    assert compiled.state().keys() == plain.state().keys()
    assert type(compiled.model) is type(plain.model)


def test_compiling_needs_a_compiler(monkeypatch):
    assert choose_compile("auto", torch.device("cpu")) is False
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert choose_compile(False, torch.device("cpu")) is False
    with pytest.raises(UserError, match=r"engine\.compile=true: a C\+\+ compiler is needed"):
        choose_compile(True, torch.device("cpu"))


def test_only_matrices_decay():
    model = PythiaShape(1, 32, 4, 64).build_model(40, 8, 0, 0)
    (decaying, rest), by_muon = parameter_groups(model, OPTIMIZER)
    assert by_muon == []
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
    with pytest.raises(UserError, match=r"engine\.device='cuda:1': no CUDA device"):
        choose_device("cuda:1")
    assert choose_device("auto").type == "cpu"


def test_one_of_several_devices_can_be_named(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert choose_device("cuda:1") == torch.device("cuda", 1)
    with pytest.raises(
        UserError, match=r"engine\.device='cuda:2': no such CUDA device; there are cuda:0, cuda:1"
    ):
        choose_device("cuda:2")


def test_several_processes_take_the_devices_of_their_ranks(settings_of):
    pytest.importorskip("deepspeed")
    settings = settings_of("engine.device=cuda:1")
    check_processes(settings, Processes())
    with pytest.raises(UserError, match=r"engine\.device=cuda:1 names one device, and 2 processes were started"):
        check_processes(settings, Processes(0, 2, 0))
    scored = ("eval.benchmarks=[demo]", "eval.device=spread")
    check_processes(settings_of(*scored, "eval.when=later"), Processes(0, 2, 0))
    with pytest.raises(
        UserError, match=r"eval\.device=spread: 2 processes were started, each of which scores on"
    ):
        check_processes(settings_of(*scored), Processes(0, 2, 0))


def test_learning_rate_warms_up_from_above_zero_and_ends_at_the_minimum():
    rates = [learning_rate(OPTIMIZER, step, 100, rate_settings()) for step in range(1, 101)]
    assert rates[:10] == pytest.approx([1e-4 * step for step in range(1, 11)])
    assert rates[9] == max(rates)
    assert rates[-1] == pytest.approx(1e-4)
    assert rates[54] == pytest.approx(5.5e-4), "half-way between peak and minimum in the middle of the decay"
    assert all(later <= earlier for earlier, later in itertools.pairwise(rates[9:]))
    assert learning_rate(OPTIMIZER, 1, 1, rate_settings()) == 1e-3
