"""One process that trains a small model in every engine and ZeRO stage and writes down what came out."""

import contextlib
import gc
import json
import os
import sys
import weakref
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file

from tests.settings import engine_settings, optimizer_settings
from ucurve.training.engine import engine as engine_module
from ucurve.training.engine import micro_batch
from ucurve.training.engine.deepspeed import DeepSpeedEngine
from ucurve.training.engine.engine import TorchEngine
from ucurve.training.engine.processes import connect, read_processes
from ucurve.training.model.neox import PythiaShape

OPTIMIZER = optimizer_settings(learning_rate=1e-3, warmup=0.1)
HALF, STEPS, SEQUENCES = 16, 20, 12
CPU = torch.device("cpu")
STAGES = (None, 0, 1, 2)  # torch and DeepSpeed's


def make(stage, processes, precision="float32", micro_batch=3, seed=0, optimizer=OPTIMIZER, dropout=0.0, **more):
    model = PythiaShape(2, 32, 4, 64, dropout, dropout).build_model(40, 8, 0, seed)
    if stage is None:
        return TorchEngine(model, optimizer, micro_batch, CPU, precision, processes=processes, **more)
    settings = engine_settings(
        kind="deepspeed", micro_batch=micro_batch, zero_stage=stage, precision=precision, **more
    )
    return DeepSpeedEngine(model, OPTIMIZER, settings, processes, CPU)


def batch(number):
    return np.random.default_rng(number).integers(0, 40, (SEQUENCES, 9))


def take(engine, first, last):
    results = []
    for number in range(first, last + 1):
        result = engine.step(engine.place(engine._processes.share(batch(number))), 1e-3, number)
        results.append([result.loss_sum / (SEQUENCES * 8), result.grad_norm])
    return results


def continued(stage, processes, file):
    """Steps after the first half from a stored state, by an engine that began with other weights."""
    engine = make(stage, processes, seed=9)
    engine.load(load_file(file))
    return take(engine, HALF + 1, STEPS)


def is_freed(stage, processes):
    """Whether the model is gone with its engine, after a step."""
    engine = make(stage, processes)
    take(engine, 1, 1)
    model = weakref.ref(engine.model)
    del engine
    gc.collect()
    return model() is None


class Plenty:
    """The memory of a device that estimates nothing wrong, and nothing right."""

    def free(self):
        return 2**40

    def peak_of(self, work):
        work()
        return 1


@contextlib.contextmanager
def memory_for(sequences):
    """Let a device have memory for so many sequences at once; yields the sizes of the micro batches."""
    sizes, real, known = [], engine_module.summed_loss, micro_batch.device_memory

    def limited(model, inputs, *rest, **keys):
        sizes.append(len(inputs))
        if len(inputs) > sequences:
            raise torch.OutOfMemoryError("out of memory")
        return real(model, inputs, *rest, **keys)

    engine_module.summed_loss, micro_batch.device_memory = limited, lambda _: Plenty()
    yield sizes
    engine_module.summed_loss, micro_batch.device_memory = real, known


def main(folder):
    processes = read_processes(os.environ)
    connect(processes, "cpu")
    results = of_three(processes) if processes.size == 3 else of_all_engines(processes, folder)
    if processes.is_rank0:
        (folder / f"results-{processes.size}.json").write_text(json.dumps(results))


def of_three(processes):
    """Steps of an engine and of one that goes on from its state; the sum of three numbers depends on their order."""
    engine, again = make(None, processes), make(None, processes, seed=9)
    take(engine, 1, 5)
    again.load({name: value.clone() for name, value in processes.broadcast(engine.state()).items()})
    return {"torch of three": [take(one, 6, 10) for one in (engine, again)]}


def of_all_engines(processes, folder):
    results, size = {}, processes.size
    for stage in STAGES:
        name = f"{stage}-{size}"
        engine = make(stage, processes)
        results[name] = take(engine, 1, HALF)
        state = engine.state()
        if processes.is_rank0:
            save_file({key: value.contiguous() for key, value in state.items()}, folder / f"{name}.safetensors")
        results[name] += take(engine, HALF + 1, STEPS)
        processes.any_rank(False)
        state = engine.state()
        if processes.is_rank0:
            save_file(
                {key: value.contiguous() for key, value in state.items()}, folder / f"{name}-end.safetensors"
            )
        results[f"{name} from itself"] = continued(stage, processes, folder / f"{name}.safetensors")
        results[f"{name} from torch"] = continued(stage, processes, folder / "None-1.safetensors")
    for stage in STAGES:
        engine = make(stage, processes, "bfloat16")
        steps = take(engine, 1, 10)
        again = make(stage, processes, "bfloat16", seed=9)
        again.load({name: value.clone() for name, value in processes.broadcast(engine.state()).items()})
        results[f"bf16 {stage}-{size}"] = {
            "steps": steps,
            "kept": sorted({str(value.dtype) for value in engine.model.parameters()}),
            "same": take(engine, 11, 12) == take(again, 11, 12),
        }
    for stage in STAGES:
        with memory_for(2 if processes.is_rank0 else 1) as sizes:
            results[f"memory {stage}-{size}"] = {
                "steps": take(make(stage, processes, micro_batch="auto"), 1, 5),
                "sizes": sizes,
            }
        results[f"freed {stage}-{size}"] = is_freed(stage, processes)
    for stage in STAGES:
        results[f"dropout {stage}-{size}"] = take(make(stage, processes, dropout=0.1), 1, 10)
        results[f"reduced {stage}-{size}"] = take(make(stage, processes, reduction="bfloat16"), 1, 10)
    engine, again = (
        make(None, processes, seed=seed, optimizer=replace(OPTIMIZER, kind="muon")) for seed in (0, 9)
    )
    steps = take(engine, 1, 10)
    again.load({name: value.clone() for name, value in processes.broadcast(engine.state()).items()})
    results[f"muon {size}"] = {"steps": steps, "same": take(engine, 11, 12) == take(again, 11, 12)}
    flagged = make(None, processes)
    said = flagged.step(
        flagged.place(processes.share(batch(1))), 1e-3, 1, lambda: (False, processes.is_rank0, True)
    ).flags
    results[f"flags {size}"] = processes.gather(said)
    poisoned = make(1, processes)
    before = {key: value.clone() for key, value in poisoned.state().items()}
    poisoned._scale = float("nan")
    try:
        poisoned.step(poisoned.place(processes.share(np.zeros((SEQUENCES, 9), dtype=np.int64))), 1e-3, 1)
    except Exception as error:
        after = poisoned.state()
        same = all(torch.equal(before[key], after[key]) for key in before if key != "generator")
        results["poisoned"] = [type(error).__name__, str(error), same]
    return results


if __name__ == "__main__":
    main(Path(sys.argv[1]))
