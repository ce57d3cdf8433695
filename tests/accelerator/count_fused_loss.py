"""Counts the output loss of a compiled step on the fake device; its fused kernel is counted by inductor."""

import torch

from tests.accelerator.fake_device import fake_device, inductor_bytes, report
from train.model.loss import output_loss

POSITIONS, VOCABULARY, WIDTH, ROWS = 16_384, 49_953, 768, 64

kernels = []


def keep(function, **_):
    """Stand in for ``torch.compile``: run the function uncounted, and remember what it was called with."""

    def call(*args):
        fake.silent = True
        shapes = [(tuple(one.shape), one.dtype) if isinstance(one, torch.Tensor) else one for one in args]
        kernels.append((function, shapes))
        try:
            return function(*args)
        finally:
            fake.silent = False

    return call


compile_function, torch.compile = torch.compile, keep
with fake_device() as fake, fake:
    hidden = torch.empty(POSITIONS, WIDTH, dtype=torch.bfloat16, device=fake.device, requires_grad=True)
    weight = torch.empty(VOCABULARY, WIDTH, device=fake.device, requires_grad=True)
    targets = torch.empty(POSITIONS, dtype=torch.int64, device=fake.device)
    fake.restart()
    output_loss(hidden, weight, targets, fused=True).backward()
torch.compile = compile_function


def bytes_of(function, shapes):
    """Let inductor count a few rows; its kernels read and write the same for each row."""

    def tensors(rows):
        shaped = (one if isinstance(one, int) else torch.zeros((rows, *one[0][1:]), dtype=one[1]) for one in shapes)
        return list(shaped)

    once, twice = (inductor_bytes(function, *tensors(rows)) for rows in (ROWS, 2 * ROWS))
    return once + (twice - once) * (shapes[0][0][0] / ROWS - 1)


counted = {}
for function, shapes in kernels:
    key = str(shapes)
    if key not in counted:
        counted[key] = bytes_of(function, shapes)
report(count=fake.count, fused=[counted[str(shapes)] for _, shapes in kernels])
