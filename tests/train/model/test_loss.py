import functools
import math
import shutil

import pytest
import torch
from torch._inductor import config as inductor
from torch._inductor import cpu_vec_isa
from torch.nn.functional import cross_entropy

from ucurve.training.model import loss
from ucurve.training.model.loss import output_loss as both_losses


def example(positions, dtype=torch.float32, vocabulary=300, width=16):
    generator = torch.Generator().manual_seed(0)
    hidden = torch.randn(positions, width, generator=generator, dtype=dtype)
    weight = torch.randn(vocabulary, width, generator=generator, dtype=dtype)
    targets = torch.randint(0, vocabulary, (positions,), generator=generator)
    return hidden, weight, targets


def output_loss(*given, **more):
    """The loss of all targets."""
    return both_losses(*given, **more)[0]


def with_gradients(function, hidden, weight, targets):
    hidden, weight = hidden.clone().requires_grad_(), weight.clone().requires_grad_()
    found = function(hidden, weight, targets)
    return found, *torch.autograd.grad(found / len(targets), (hidden, weight))


def plain(hidden, weight, targets):
    return cross_entropy(hidden @ weight.t(), targets, reduction="sum")


def assert_as_plain(hidden, weight, targets, within=1e-6):
    ours, expected = (with_gradients(function, hidden, weight, targets) for function in (output_loss, plain))
    assert ours[0].item() == pytest.approx(expected[0].item(), rel=1e-6)
    for mine, theirs in zip(ours[1:], expected[1:], strict=True):
        assert (mine - theirs).abs().max() <= within * max(1, theirs.abs().max())


@pytest.mark.parametrize("positions", [1, 511, 512, 1300])
def test_loss_and_gradients_are_those_of_cross_entropy(positions):
    assert_as_plain(*example(positions))


@pytest.mark.parametrize("positions", [1, 511, 1300])
def test_the_loss_of_the_token_between_documents_is_told_apart(positions):
    hidden, weight, targets = example(positions, vocabulary=5)
    whole, of_separators = both_losses(hidden, weight, targets, 2)
    expected = cross_entropy(hidden @ weight.t(), targets, reduction="none")[targets == 2].sum().item()
    assert of_separators.item() == pytest.approx(expected, rel=1e-6)
    assert whole == both_losses(hidden, weight, targets)[0]
    assert both_losses(hidden, weight, targets, 7)[1] == 0


def test_gradients_in_double_precision(monkeypatch):
    monkeypatch.setattr(loss, "_CHUNK", 3)
    hidden, weight, targets = example(7, torch.float64, vocabulary=11, width=4)
    inputs = (hidden.requires_grad_(), weight.requires_grad_())
    assert torch.autograd.gradcheck(lambda *given: output_loss(*given, targets), inputs)


@pytest.mark.parametrize("shift", [-1000.0, -60.0, 60.0, 1000.0])
def test_logits_all_far_from_zero(shift):
    hidden, weight, targets = example(600)
    hidden[:, 0], weight[:, 0] = 1.0, shift
    assert_as_plain(hidden, weight, targets, within=1e-4 if abs(shift) > 100 else 1e-5)


def test_one_position_out_of_range_among_ordinary_ones():
    hidden, weight, targets = example(20)
    hidden[7] *= 100
    assert_as_plain(hidden, weight, targets, within=1e-4)


def test_large_logits_do_not_overflow():
    hidden = torch.full((2, 1), 1000.0, requires_grad=True)
    weight = torch.tensor([[1.0], [-1.0]], requires_grad=True)
    found = output_loss(hidden, weight, torch.tensor([0, 1]))
    assert found.item() == pytest.approx(2000.0)


def test_the_cut_of_the_batch_changes_next_to_nothing():
    hidden, weight, targets = example(1300)
    whole = with_gradients(output_loss, hidden, weight, targets)
    parts = zip(hidden.split(450), targets.split(450), strict=True)
    cut = [with_gradients(output_loss, part, weight, their_targets) for part, their_targets in parts]
    assert sum(part[0].item() for part in cut) == pytest.approx(whole[0].item(), rel=1e-6)


def test_the_same_bits_again():
    first, again = (with_gradients(output_loss, *example(700)) for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))


def test_half_precision_inputs_have_a_softmax_of_float32():
    hidden, weight, targets = (each.bfloat16() if each.is_floating_point() else each for each in example(600))
    ours = with_gradients(output_loss, hidden, weight, targets)
    exact = with_gradients(plain, hidden.float(), weight.float(), targets)
    assert ours[0].dtype == torch.float32
    assert ours[1].dtype == ours[2].dtype == torch.bfloat16
    assert ours[0].item() == pytest.approx(exact[0].item(), rel=1e-3)
    for mine, theirs in zip(ours[1:], exact[1:], strict=True):
        assert (mine - theirs).norm() <= 0.02 * theirs.norm()


def test_logits_of_half_precision_inputs_are_rounded_once():
    hidden, weight, _ = (each.bfloat16() if each.is_floating_point() else each for each in example(40, width=64))
    logits = loss._binary_logits(10 * hidden, weight, torch.empty(50, len(weight)))
    assert torch.equal(logits, ((10 * hidden) @ weight.t()).float() * math.log2(math.e))


def test_large_logits_of_half_precision_inputs_have_the_loss_of_float32_logits():
    hidden, weight, targets = (each.bfloat16() if each.is_floating_point() else each for each in example(600))
    hidden = 20 * hidden
    wide = cross_entropy((hidden @ weight.t()).float(), targets, reduction="sum")
    assert output_loss(hidden, weight, targets).item() == pytest.approx(wide.item(), rel=1e-6)


def test_no_logits_are_kept():
    hidden, weight, targets = example(2000)
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(
        lambda tensor: kept.append(tensor.numel()) or tensor, lambda t: t
    ):
        output_loss(hidden.requires_grad_(), weight.requires_grad_(), targets)
    assert sum(kept) == hidden.numel() + weight.numel()


def test_a_float32_weight_under_bfloat16_hidden_states_is_cast_once_and_has_a_float32_gradient():
    hidden, weight, targets = example(600)
    hidden = hidden.bfloat16()
    mixed, half = (with_gradients(output_loss, hidden, each, targets) for each in (weight, weight.bfloat16()))
    assert mixed[0] == half[0]
    assert torch.equal(mixed[1], half[1])
    assert mixed[2].dtype == torch.float32
    assert (mixed[2] - half[2]).norm() <= 0.01 * mixed[2].norm()


def test_chunks_are_sized_for_the_device():
    assert loss._chunk_positions(torch.device("cpu"), 8000) == 512
    on_cuda = {
        vocabulary: loss._chunk_positions(torch.device("cuda"), vocabulary) for vocabulary in (8000, 50_000)
    }
    assert on_cuda[8000] >= 256 * 64, "a whole batch"
    assert all(4 * vocabulary * positions <= 2**30 for vocabulary, positions in on_cuda.items())


needs_compiler = pytest.mark.skipif(shutil.which("c++") is None, reason="torch.compile needs a C++ compiler")


@pytest.fixture
def plain_instructions(monkeypatch):
    """Compile for any processor: to find out which vectors this one has takes ten seconds of compiling.

    Headers that are compiled ahead pay for many kernels.
    """
    monkeypatch.setattr(cpu_vec_isa, "valid_vec_isa_list", list)
    with inductor.patch(cpp_cache_precompile_headers=False):
        yield


@needs_compiler
@pytest.mark.parametrize(("positions", "compiled"), [(64, True), (64, False), (100, False), (300, False)])
def test_the_fused_loss_of_an_accelerator_is_that_of_a_processor(
    monkeypatch, plain_instructions, positions, compiled
):
    monkeypatch.setattr(loss, "_FUSED_BYTES", 4 * 320 * positions)  # 300 tokens are filled up to 320
    if not compiled:
        monkeypatch.setattr(loss, "_fused_kernel", lambda: loss._loss_and_error)
    given = example(300)
    separator, of_separators = int(given[2][0]), {}

    def summed(fused, *each):
        whole, of_separators[fused] = both_losses(*each, separator, fused=fused)
        return whole

    ours, theirs = (with_gradients(functools.partial(summed, fused), *given) for fused in (True, False))
    for mine, other in zip(ours, theirs, strict=True):
        assert (mine - other).norm() <= 1e-5 * other.norm()
    assert of_separators[True].item() == pytest.approx(of_separators[False].item(), rel=1e-5)
    assert of_separators[True] > 0


@needs_compiler
def test_the_fused_loss_in_bfloat16_is_near_that_in_float32(plain_instructions):
    hidden, weight, targets = example(300)
    half = with_gradients(lambda *each: output_loss(*each, fused=True), hidden.bfloat16(), weight, targets)
    full = with_gradients(output_loss, hidden.bfloat16().float(), weight.bfloat16().float(), targets)
    assert half[0].item() == pytest.approx(full[0].item(), rel=1e-3)
    for mine, theirs in zip(half[1:], full[1:], strict=True):
        assert torch.cosine_similarity(mine.float().flatten(), theirs.flatten(), dim=0) >= 0.999


def test_tokens_that_fill_up_the_vocabulary_get_no_probability():
    logits = torch.zeros(2, 8)
    found, _, error = loss._loss_and_error(logits, torch.tensor([[0], [4]]), 5, -1)
    assert found.item() == pytest.approx(2 * math.log(5))
    assert torch.allclose(error[0], torch.tensor([-0.8, 0.2, 0.2, 0.2, 0.2, 0.0, 0.0, 0.0]))
