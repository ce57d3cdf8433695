"""How much goes through a model at once, by what an accelerator says of its memory."""

import pytest
import torch

from ucurve.eval.scoring.batching import ACCELERATOR, PROCESSOR, logits_at_once

GB = 2**30


@pytest.mark.parametrize(
    ("free", "reserved", "allocated", "wanted"),
    [
        (60 * GB, 15 * GB, 14 * GB, ACCELERATOR.logits),
        (2 * GB, 14 * GB, 14 * GB, 2 * GB // 42),
        (1 * GB, 15 * GB, 14 * GB, 2 * GB // 42),  # what torch keeps for the next tensors is free too
        (0, 14 * GB, 14 * GB, 0),  # then a row at a time
    ],
)
def test_a_model_that_leaves_little_memory_has_smaller_chunks(monkeypatch, free, reserved, allocated, wanted):
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _: (free, 80 * GB))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda _: reserved)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda _: allocated)
    assert logits_at_once(torch.device("cuda", 0)) == wanted


def test_a_processor_has_the_usual_ones():
    assert logits_at_once(torch.device("cpu")) == PROCESSOR.logits
