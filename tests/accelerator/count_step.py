"""Counts three steps of training on the fake device: ``count_step.py MODEL PRECISION [LOSS [SEQUENCES [LENGTH]]]``.

A model is a name of ``conf/model``, or layers, width and heads as ``32x2560x32``. With the loss ``fused`` it is that of a compiled model, whose kernel inductor counts; the layers below it are never
compiled here.
"""

import sys

import numpy as np
import torch
import yaml

from tests.accelerator.fake_device import ROOT, FusedKernels, fake_device, report
from ucurve.training.engine.engine import TorchEngine
from ucurve.training.model.neox import PythiaShape
from ucurve.training.optim import usual_optimizer

VOCABULARY, SEQUENCES, LENGTH = 49_953, 256, 64  # the default batch, with the vocabulary of a large tokenizer

optimizer = usual_optimizer("cosine", 1e-3)


def shape_of(name):
    if "x" in name:
        layers, width, heads = map(int, name.split("x"))
        return PythiaShape(layers, width, heads, 4 * width)
    conf = yaml.safe_load((ROOT / "conf" / "model" / f"{name}.yaml").read_text())
    return PythiaShape(conf["layers"], conf["width"], conf["heads"], conf["feed_forward"])


def main(name, precision, loss="plain", sequences=SEQUENCES, length=LENGTH):
    sequences, length = int(sequences), int(length)
    shape, compile_function = shape_of(name), torch.compile
    with fake_device() as fake:
        kernels = FusedKernels(fake)
        torch.compile = kernels.compile
        model = shape.build_model(VOCABULARY, length, document_token=0, seed=0)
        with fake:
            engine = TorchEngine(model, optimizer, "auto", fake.device, precision)
            engine._module.compiled = loss == "fused"
            share = engine.place(np.zeros((sequences, length + 1), dtype=np.int64))
            steps = []
            for number in (1, 2, 3):
                fake.restart()
                engine.step(share, 1e-3, number)
                steps.append(fake.count)
    torch.compile = compile_function
    fused = sum(kernels.bytes()) / len(steps)
    report(steps=steps, fused=fused, planned=shape.count_flops(VOCABULARY, length, sequences * length))


if __name__ == "__main__":
    main(*sys.argv[1:])
