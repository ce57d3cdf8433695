"""Where no CUDA device is, which steps a graph takes over; the recorded gradients themselves are CUDA's."""

from types import SimpleNamespace

import pytest
import torch

from ucurve.training.engine import cuda_graph
from ucurve.training.engine.cuda_graph import GraphedGradients


class Recorded:
    """Stands for a graph: counts its replays."""

    def __init__(self, compute, parameters, share):
        compute(share)

    def replay(self, share):
        return "replayed", share


def steps(monkeypatch, needed, recorded=Recorded, lengths=(8,) * 5):
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: SimpleNamespace(total_memory=80))
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda _: 5 + needed)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda _: 5)
    monkeypatch.setattr(cuda_graph, "_Recorded", recorded)
    graphed = GraphedGradients(lambda share: ("computed", share), [], torch.device("cpu"))
    return [graphed(torch.zeros(2, length))[0] for length in lengths]


def test_steps_are_replayed_after_the_first_three(monkeypatch):
    assert steps(monkeypatch, needed=9) == ["computed"] * 3 + ["replayed"] * 2


def test_longer_sequences_get_a_graph_of_their_own(monkeypatch):
    found = steps(monkeypatch, needed=9, lengths=(4,) * 5 + (8,) * 4)
    assert found == ["computed"] * 3 + ["replayed"] * 2 + ["computed"] * 3 + ["replayed"]


def test_steps_that_take_much_memory_are_not_recorded(monkeypatch):
    assert steps(monkeypatch, needed=11) == ["computed"] * 5


def test_a_graph_that_cannot_be_recorded_is_done_without(monkeypatch, capsys):
    def fail(*_):
        raise torch.OutOfMemoryError("CUDA out of memory")

    assert steps(monkeypatch, needed=9, recorded=fail) == ["computed"] * 5
    assert "steps are not recorded as a CUDA graph" in capsys.readouterr().err


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_replayed_gradients_are_those_computed():
    weight = torch.nn.Parameter(torch.ones(3, device="cuda"))

    def compute(share):
        loss = (weight * share).sum()
        loss.backward()
        return loss.detach(), weight.grad.norm()

    graphed = GraphedGradients(compute, [weight], torch.device("cuda", 0))
    for number in range(1, 7):
        weight.grad = None
        loss, norm = graphed(torch.full((3,), float(number), device="cuda"))
        assert (loss.item(), norm.item()) == pytest.approx((3 * number, 3**0.5 * number))
        assert weight.grad.tolist() == [number] * 3
