"""Counts the output loss of a compiled step on the fake device; its fused kernel is counted by inductor."""

import torch

from tests.accelerator.fake_device import FusedKernels, fake_device, report
from ucurve.training.model.loss import output_loss

POSITIONS, VOCABULARY, WIDTH = 16_384, 49_953, 768

compile_function = torch.compile
with fake_device() as fake, fake:
    kernels = FusedKernels(fake)
    torch.compile = kernels.compile
    hidden = torch.empty(POSITIONS, WIDTH, dtype=torch.bfloat16, device=fake.device, requires_grad=True)
    weight = torch.empty(VOCABULARY, WIDTH, device=fake.device, requires_grad=True)
    targets = torch.empty(POSITIONS, dtype=torch.int64, device=fake.device)
    fake.restart()
    output_loss(hidden, weight, targets, separator=0, fused=True)[0].backward()
torch.compile = compile_function
report(count=fake.count, fused=kernels.bytes())
