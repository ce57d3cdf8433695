"""Chooses the micro batch of a step on the fake device: ``count_micro_batch.py BYTES``, the memory of the device."""

import sys

import numpy as np
import torch

from tests.accelerator.count_step import LENGTH, SEQUENCES, VOCABULARY, optimizer, shape_of
from tests.accelerator.fake_device import fake_device, report
from ucurve.training.engine import micro_batch
from ucurve.training.engine.engine import TorchEngine

capacity = int(float(sys.argv[1]))
with fake_device() as fake:

    class Memory:
        """What is left of the capacity."""

        def free(self):
            return capacity - fake.count.live

        def peak_of(self, work):
            fake.restart()
            before = fake.count.live
            work()
            if fake.count.peak > capacity:
                raise torch.OutOfMemoryError("the fake device is full")
            return fake.count.peak - before

    micro_batch.device_memory = lambda _: Memory()
    model = shape_of("14m").build_model(VOCABULARY, LENGTH, document_token=0, seed=0)
    with fake:
        engine = TorchEngine(model, optimizer, "auto", fake.device, "bfloat16")
        share = engine.place(np.zeros((SEQUENCES, LENGTH + 1), dtype=np.int64))
        peaks = []
        for number in (1, 2, 3):
            fake.restart()
            engine.step(share, 1e-3, number)
            peaks.append(fake.count.peak)
        chosen = len(engine._micro_batch.split(share)[0])
        larger = TorchEngine(model, optimizer, min(SEQUENCES, 2 * chosen), fake.device, "bfloat16")
        del engine
        fake.restart()
        larger.step(share, 1e-3, 1)
    report(chosen=chosen, peaks=peaks, peak_of_twice=fake.count.peak)
