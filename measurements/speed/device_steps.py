"""Time training steps on an accelerator: ours, ours without a CUDA graph, not compiled, and Hugging Face Trainer's.

python measurements/speed/device_steps.py [--models 14m 70m 160m] [--vocabularies 7206 49953] [--out steps]
python measurements/speed/device_steps.py --device cpu --models tiny --vocabularies 300 --sequences 8 --steps 4

Every contestant is a process of its own. All of them build and compile at the same time, which takes most of the time,
and are timed one after another: a lock lets one of them use the device. All are in its memory at once, so that large
models, which do not fit beside each other, need calls of their own. The batches are made, and the same for all.
Ours is the mean of the timed steps between two waits for the device; Trainer's is the median step, since it waits for
its loss in each one, and its batches are put together by four other processes on an accelerator. The share of the peak
is that of a large matrix product in the same precision, measured here. Results go to ``steps.json`` as they come.
"""

import argparse
import contextlib
import fcntl
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
VARIANTS = ("ours", "no-graph", "eager", "trainer")
WARM_UP = 8  # steps that are not timed; the first ones compile
LENGTH = 64


@contextlib.contextmanager
def alone(path: Path) -> Iterator[None]:
    """Let no other contestant use the device."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def contestant(arguments: argparse.Namespace) -> dict[str, Any]:
    """Time the steps of one model, vocabulary and variant in this process."""
    import torch

    from ucurve.config import compose
    from ucurve.training.config import read_settings

    settings = read_settings(compose("train", [f"model={arguments.model}", "tokens=1M", "data=demo"]))
    design, on_device = settings.model.design, arguments.device == "cuda"
    device = torch.device("cuda", 0) if on_device else torch.device("cpu")
    precision = "bfloat16" if on_device else "float32"
    model = design.build_model(arguments.vocabulary, LENGTH, 0, seed=0)
    timed = _time_trainer if arguments.variant == "trainer" else _time_ours
    seconds, losses = timed(arguments, model, settings.optimizer, device, precision)
    tokens = arguments.sequences * LENGTH
    flops = design.count_flops(arguments.vocabulary, LENGTH, tokens)
    return {
        "milliseconds": seconds * 1e3,
        "tokens_per_second": tokens / seconds,
        "flops_per_second": flops / seconds,
        "memory_gb": torch.cuda.max_memory_allocated() / 1e9 if on_device else None,
        "first_loss": losses[0],
    }


def _time_ours(
    arguments: argparse.Namespace, model: Any, settings: Any, device: Any, precision: Any
) -> tuple[float, list[float]]:
    import torch

    from ucurve.training.engine import engine as module

    if arguments.variant == "no-graph":
        module.GraphedGradients = lambda compute, *_: compute  # type: ignore[assignment,misc]
    compiled = arguments.variant != "eager" and device.type != "cpu"
    engine = module.TorchEngine(model, settings, "auto", device, precision, compiled)
    batches = [engine.place(windows) for windows in _batches(arguments)]
    step = iter(range(1, WARM_UP + arguments.steps + 1))
    losses = [
        engine.step(batches[number - 1], 1e-4, number).loss_sum for number in itertools.islice(step, WARM_UP)
    ]
    with alone(arguments.lock):
        if device.type == "cuda":
            torch.cuda.synchronize()
        start = time.perf_counter()
        losses += [engine.step(batches[number - 1], 1e-4, number).loss_sum for number in step]  # each waits once
        if device.type == "cuda":
            torch.cuda.synchronize()
        taken = time.perf_counter() - start
    return taken / arguments.steps, [loss / (arguments.sequences * LENGTH) for loss in losses]


def _time_trainer(
    arguments: argparse.Namespace, model: Any, settings: Any, device: Any, precision: str
) -> tuple[float, list[float]]:
    from measurements.speed.training import train_by_trainer

    ends, losses = [time.perf_counter()], []
    with contextlib.ExitStack() as held:

        def record(end: float, loss: float) -> None:
            ends.append(end)
            losses.append(loss)
            if len(losses) == WARM_UP - 2:
                held.enter_context(alone(arguments.lock))

        model.set_attn_implementation("sdpa")
        on_device = device.type == "cuda"
        train_by_trainer(
            model.to(device).train(), _batches(arguments), settings, record,
            use_cpu=not on_device, torch_compile=on_device, bf16=precision == "bfloat16",
            dataloader_num_workers=4 * on_device,
        )  # fmt: skip
    return statistics.median(later - earlier for earlier, later in itertools.pairwise(ends[WARM_UP:])), losses


def _batches(arguments: argparse.Namespace) -> Any:
    """Return windows of ids, rare ones rarer as in text, shape [steps, sequences, length + 1]."""
    import numpy as np

    shape = (WARM_UP + arguments.steps, arguments.sequences, LENGTH + 1)
    return (arguments.vocabulary ** np.random.default_rng(0).random(shape)).astype(np.int64) - 1


def compare(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Start all contestants, write what each one found as it comes, and return all."""
    import torch

    from measurements.speed.training import product_flops

    on_device = arguments.device == "cuda"
    name = torch.cuda.get_device_name() if on_device else f"{os.cpu_count()} cores"
    found: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        lock = Path(folder) / "lock"
        asked = list(itertools.product(arguments.models, arguments.vocabularies, arguments.variants))
        started = [(one, _start(arguments, lock, *one)) for one in asked]
        for (model, vocabulary, variant), process in started:
            out, errors = process.communicate()
            facts = json.loads(out) if process.returncode == 0 else {"error": errors.strip().splitlines()[-1]}
            found.append({"device": name, "model": model, "vocabulary": vocabulary, "variant": variant, **facts})
            arguments.out.with_suffix(".json").write_text(json.dumps(found, indent=2) + "\n", "utf-8")
    peak = product_flops(8192 if on_device else 1024, arguments.device, "bfloat16" if on_device else "float32")
    return [
        row | ({"share_of_peak": row["flops_per_second"] / peak} if "flops_per_second" in row else {})
        for row in found
    ]


def _start(
    arguments: argparse.Namespace, lock: Path, model: str, vocabulary: int, variant: str
) -> "subprocess.Popen[str]":
    given = {"model": model, "vocabulary": vocabulary, "variant": variant, "lock": lock}
    given |= {key: getattr(arguments, key) for key in ("device", "sequences", "steps")}
    words = [word for key, value in given.items() for word in (f"--{key}", str(value))]
    from measurements.processes import environment

    device = "0" if arguments.device == "cuda" else ""
    variables = environment(PYTHONWARNINGS="ignore", CUDA_VISIBLE_DEVICES=device)
    command = [sys.executable, __file__, *words]
    return subprocess.Popen(command, env=variables, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def format_table(rows: list[dict[str, Any]]) -> str:
    """Return the table for the docs in Markdown."""
    lines = [
        "| model | vocabulary | | ms a step | tokens/s | share of the peak | memory, GB |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        start = f"| {row['model']} | {row['vocabulary']:,} | {row['variant']} |"
        if "error" in row:
            lines.append(f"{start} {row['error']} | | | |")
            continue
        memory = "" if row["memory_gb"] is None else f"{row['memory_gb']:.1f}"
        speeds = f"{row['milliseconds']:.1f} | {row['tokens_per_second']:,.0f} | {row['share_of_peak']:.0%}"
        lines.append(f"{start} {speeds} | {memory} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Read the command line; ``--variant`` is for the processes that this one starts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--models", nargs="+", default=["14m", "70m", "160m"])
    parser.add_argument("--vocabularies", nargs="+", type=int, default=[7206, 49953])
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument("--sequences", type=int, default=256)
    parser.add_argument("--steps", type=int, default=30, help="that are timed")
    parser.add_argument("--out", type=Path, default=Path("steps"), help="where to write, without .json and .md")
    for name, kind in (("model", str), ("vocabulary", int), ("variant", str), ("lock", Path)):
        parser.add_argument(f"--{name}", type=kind, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.variant is not None:
        with contextlib.redirect_stdout(sys.stderr):
            facts = contestant(arguments)
        print(json.dumps(facts))
        return
    rows = compare(arguments)
    arguments.out.with_suffix(".json").write_text(json.dumps(rows, indent=2) + "\n", "utf-8")
    arguments.out.with_suffix(".md").write_text(format_table(rows), "utf-8")
    print(format_table(rows))


if __name__ == "__main__":
    main()
