"""Models are built on a device with the bytes they have on a processor, which holds one parameter at a time."""

import pytest
import torch

from tests.train.model.storing_device import DEVICE, StoringDevice
from tests.train.model.test_library import FAMILIES, LENGTH, VOCABULARY, design
from ucurve.training.model import library
from ucurve.training.model.neox import PythiaShape
from ucurve.training.run.saving import HostCopy

SHAPE = PythiaShape(2, 32, 4, 64)


@pytest.fixture
def without_behaviour(monkeypatch):
    """Leave out what is found from computing with a new model, which the storing device does not do."""
    monkeypatch.setattr(library, "refuse_behaviour", lambda *_: None)
    monkeypatch.setattr(library, "_leave_out_mask", lambda *_: None)


def assert_same_bytes(stored, model, device):
    values = [*model.named_parameters(), *model.named_buffers()]
    placed = [*stored.named_parameters(), *stored.named_buffers()]
    for (name, value), (again, there) in zip(values, placed, strict=True):
        assert (name, value.shape, value.stride()) == (again, there.shape, there.stride())
        assert there.device == DEVICE, name
        assert torch.equal(device.values(there), value), name
        assert getattr(there, "_no_weight_decay", None) == getattr(value, "_no_weight_decay", None), name


@pytest.mark.parametrize("family", ["pythia", *FAMILIES])
def test_the_bytes_are_those_of_the_processor(family, without_behaviour):
    made = SHAPE if family == "pythia" else design(family)
    model = made.build_model(VOCABULARY, LENGTH, 0, seed=3)
    before = torch.random.get_rng_state()
    with StoringDevice() as device:
        stored = made.build_model(VOCABULARY, LENGTH, 0, seed=3, device=DEVICE)
    assert torch.equal(before, torch.random.get_rng_state())
    assert_same_bytes(stored, model, device)
    assert stored.get_output_embeddings().weight.requires_grad


@pytest.mark.parametrize("family", ["pythia", *FAMILIES])
def test_the_processor_holds_one_parameter_at_a_time(family, without_behaviour):
    made = SHAPE if family == "pythia" else design(family)
    with StoringDevice() as device:
        stored = made.build_model(5_000, LENGTH, 0, seed=0, device=DEVICE)
    largest = max(one.nbytes for one in stored.parameters())
    total = sum(one.nbytes for one in stored.parameters())
    assert largest <= device.peak < 1.1 * largest
    assert total > largest


def test_the_copy_that_checkpoints_are_written_from_is_on_the_processor():
    model = SHAPE.build_model(VOCABULARY, LENGTH, 0, seed=3)
    with StoringDevice():
        stored = SHAPE.build_model(VOCABULARY, LENGTH, 0, seed=3, device=DEVICE)
        copied = HostCopy(stored).take_weights(stored)
    for values, wanted in ((copied.parameters(), model.parameters()), (copied.buffers(), model.buffers())):
        assert all(torch.equal(one, other) for one, other in zip(values, wanted, strict=True))
    assert next(stored.parameters()).device == DEVICE
