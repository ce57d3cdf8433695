import pytest
import torch
from torch.nn.functional import cross_entropy

from train.loss import output_loss


@pytest.mark.parametrize("positions", [1, 511, 512, 1300])
def test_loss_and_gradients_are_those_of_cross_entropy(positions):
    generator = torch.Generator().manual_seed(0)
    hidden = torch.randn(positions, 16, generator=generator, requires_grad=True)
    weight = torch.randn(300, 16, generator=generator, requires_grad=True)
    targets = torch.randint(0, 300, (positions,), generator=generator)
    plain = cross_entropy(hidden @ weight.t(), targets, reduction="sum")
    expected = torch.autograd.grad(plain / positions, (hidden, weight))
    ours = output_loss(hidden, weight, targets)
    found = torch.autograd.grad(ours / positions, (hidden, weight))
    assert ours.item() == pytest.approx(plain.item(), rel=1e-6)
    for mine, theirs in zip(found, expected, strict=True):
        assert (mine - theirs).abs().max() <= 1e-6


def test_large_logits_do_not_overflow():
    hidden = torch.full((2, 1), 1000.0, requires_grad=True)
    weight = torch.tensor([[1.0], [-1.0]], requires_grad=True)
    loss = output_loss(hidden, weight, torch.tensor([0, 1]))
    assert loss.item() == pytest.approx(2000.0)
