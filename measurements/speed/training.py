"""Compare training with Hugging Face Trainer and with a plain loop: same model, weights, batches and settings, in turn.

python measurements/speed/training.py [--models 14m llama-14m gpt2-14m] [--vocabulary 50000] [--rounds 3] [--threads 2]

Every contestant runs in a process of its own, round after round: a model of conf/model in float32 on the CPU, 64 x 64
tokens per step, fused AdamW, clipping at 1; ours in bfloat16 too. Trainer and the plain loop have the attention that
transformers takes by itself. A step's time is from the end of the step before to its own end, so loading the batch is
in it; building the model and the first steps are not. It is told twice: by the clock, and by the time of the processor,
which other programs on the machine change less. Ratios are of medians. The matrix-product peak is that of two 2048 x
2048 matrices, measured in the same rounds. Peak memory is the resident set of the whole process, and beside it what
training added to it.
"""

import argparse
import itertools
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from measurements.processes import peak, run_alone

SEQUENCES, LENGTH = 64, 64  # a step's batch
WARM_UP = 3  # steps whose time is not counted
COMPARED = 20  # losses that must agree
WITHIN = 1e-4
PRODUCT = 2048
Step = Callable[[float, float], None]  # takes the time at a step's end and its loss


def ours(name: str, vocabulary: int, steps: int, precision: Any = "float32") -> Callable[[Step], None]:
    """Train as train.py does, with the batch in one piece."""
    import torch

    from ucurve.training.engine.engine import TorchEngine
    from ucurve.training.optim import learning_rate, usual_rate

    engine = TorchEngine(_model(name, vocabulary), _optimizer(), SEQUENCES, torch.device("cpu"), precision)
    batches = _batches(vocabulary, steps)

    def train(record: Step) -> None:
        for number, windows in enumerate(batches, 1):
            rate = learning_rate(_optimizer(), number, steps, usual_rate("cosine"))
            result = engine.step(engine.place(windows), rate, number)
            record(time.perf_counter(), result.loss_sum / (SEQUENCES * LENGTH))

    return train


def plain(name: str, vocabulary: int, steps: int) -> Callable[[Step], None]:
    """Train by the loop one would write by hand: the model's own loss, backward, clip, fused AdamW."""
    import torch

    model, batches = _plain_model(name, vocabulary).train(), torch.from_numpy(_batches(vocabulary, steps))
    optimizer, schedule = _adamw(model, _optimizer(), steps)

    def train(record: Step) -> None:
        for windows in batches:
            loss = model(**_inputs(windows)).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), _optimizer().clip)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
            record(time.perf_counter(), loss.item())

    return train


def trainer(name: str, vocabulary: int, steps: int) -> Callable[[Step], None]:
    """Train by Hugging Face Trainer."""
    model, batches = _plain_model(name, vocabulary), _batches(vocabulary, steps)

    def train(record: Step) -> None:
        train_by_trainer(model, batches, _optimizer(), record, use_cpu=True)

    return train


def train_by_trainer(model: Any, batches: Any, settings: Any, record: Step, **options: Any) -> None:
    """Train by Hugging Face Trainer, without logging, saving or evaluation; its process loads the data unless told.

    Args:
        batches: ids, shape [steps, sequences, length + 1].
        settings: the optimizer's.
        options: further arguments of ``TrainingArguments``.
    """
    import torch
    from transformers import Trainer, TrainerCallback, TrainingArguments

    steps, sequences = batches.shape[:2]
    losses: list[torch.Tensor] = []

    class Recording(Trainer):
        def training_step(self, *given: Any, **named: Any) -> torch.Tensor:
            """Take a step and keep its loss."""
            losses.append(super().training_step(*given, **named))
            return losses[-1]

    class Clock(TrainerCallback):
        def __init__(self, record: Step) -> None:
            self.record = record

        def on_step_end(self, *_: Any, **__: Any) -> None:
            """Record the time and the loss of a step."""
            self.record(time.perf_counter(), losses[-1].item())

    arguments = TrainingArguments(
        output_dir=tempfile.gettempdir(), max_steps=steps, per_device_train_batch_size=sequences,
        max_grad_norm=settings.clip, train_sampling_strategy="sequential",
        dataloader_pin_memory=False, remove_unused_columns=False, report_to=[], logging_strategy="no",
        save_strategy="no", eval_strategy="no", disable_tqdm=True, logging_nan_inf_filter=False, **options,
    )  # fmt: skip
    samples = [_inputs(window) for window in torch.from_numpy(batches).flatten(0, 1)]
    optimizers = _adamw(model, settings, steps)
    Recording(model, arguments, train_dataset=samples, callbacks=[Clock(record)], optimizers=optimizers).train()


CONTESTANTS = {"ours": ours, "bfloat16": partial(ours, precision="bfloat16"), "trainer": trainer, "plain": plain}


def _model(name: str, vocabulary: int) -> Any:
    return _design(name).build_model(vocabulary, LENGTH, 0, seed=0)


def _plain_model(name: str, vocabulary: int) -> Any:
    model = _model(name, vocabulary)
    model.set_attn_implementation("sdpa")
    return model


def _design(name: str) -> Any:
    import yaml
    from pydantic import TypeAdapter

    from ucurve.training.config import AnyModelSettings

    file = Path(__file__).resolve().parents[2] / "conf" / "model" / f"{name}.yaml"
    return TypeAdapter(AnyModelSettings).validate_python(yaml.safe_load(file.read_text(encoding="utf-8"))).design


def _optimizer() -> Any:
    from ucurve.training.optim import usual_optimizer

    return replace(usual_optimizer("cosine", 1e-3), warmup=0.1)


def _adamw(model: Any, chosen: Any, steps: int) -> tuple[Any, Any]:
    """Return our engine's optimizer, and our learning rate as torch wants to be told it."""
    import torch

    from ucurve.training.engine.optimizers import make_optimizers
    from ucurve.training.optim import learning_rate, usual_rate

    [optimizer] = make_optimizers(model, chosen)

    def share(done: int) -> float:
        return learning_rate(chosen, min(done + 1, steps), steps, usual_rate("cosine")) / chosen.learning_rate

    return optimizer, torch.optim.lr_scheduler.LambdaLR(optimizer, share)


def _batches(vocabulary: int, steps: int) -> Any:
    """Return windows of ids, rare ones rarer as in text, shape [steps, sequences, length + 1]."""
    import numpy as np

    uniform = np.random.default_rng(0).random((steps, SEQUENCES, LENGTH + 1))
    return (vocabulary**uniform).astype(np.int64) - 1


def _inputs(windows: Any) -> dict[str, Any]:
    """Return what transformers' loss takes: every position has a target, so it must not shift the labels itself."""
    targets = windows[..., 1:].contiguous()
    return {"input_ids": windows[..., :-1].contiguous(), "labels": targets, "shift_labels": targets}


def work(contestant: str, model: str, vocabulary: int, steps: int, out: Path, threads: int) -> None:
    """Train by one contestant in this process and write the seconds of each step, the losses and the memory."""
    import torch

    torch.set_num_threads(threads)
    if contestant == "product":
        out.write_text(json.dumps({"flops": product_flops(PRODUCT)}))
        return
    train = CONTESTANTS[contestant](model, vocabulary, steps)
    ends, used, losses, before = [time.perf_counter()], [time.process_time()], [], peak()

    def record(end: float, loss: float) -> None:
        ends.append(end)
        used.append(time.process_time())
        losses.append(loss)

    train(record)
    seconds, processor = (
        [later - earlier for earlier, later in itertools.pairwise(times)][WARM_UP:] for times in (ends, used)
    )
    facts = {"seconds": seconds, "processor": processor, "losses": losses, "peak": peak(), "before": before}
    out.write_text(json.dumps(facts))


def product_flops(size: int, device: str = "cpu", dtype: str = "float32") -> float:
    """Return the operations per second of a large product of square matrices, the best of a few."""
    import torch

    one, other = torch.randn(2, size, size, device=device, dtype=getattr(torch, dtype))
    seconds = []
    for _ in range(8):
        start = time.perf_counter()
        torch.mm(one, other)[0, 0].item()  # which waits for the device
        seconds.append(time.perf_counter() - start)
    return 2 * size**3 / min(seconds)


def run(contestant: str, model: str, arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Run one contestant, or the measuring of the product, in a process of its own."""
    given = {"work": contestant, "models": model}
    given |= {key: getattr(arguments, key) for key in ("vocabulary", "steps", "threads")}
    return run_alone(__file__, folder / f"{contestant}.json", given, arguments.threads)


def compare(arguments: argparse.Namespace, folder: Path) -> bool:
    """Run all contestants round after round, print what they took; tell whether the losses agree."""
    taken: dict[str, dict[str, list[dict[str, Any]]]] = {
        model: {name: [] for name in CONTESTANTS} for model in arguments.models
    }
    peaks = []
    for number in range(arguments.rounds):
        peaks.append(run("product", arguments.models[0], arguments, folder)["flops"])
        for model, name in itertools.product(arguments.models, CONTESTANTS):
            facts = run(name, model, arguments, folder)
            taken[model][name].append(facts)
            speed = SEQUENCES * LENGTH / statistics.median(facts["seconds"])
            print(f"round {number + 1}: {model} {name:8} {speed:7.0f} tokens/s", flush=True)
    agree = [report(model, arguments, max(peaks), each) for model, each in taken.items()]
    return all(agree)


def report(
    model: str, arguments: argparse.Namespace, best: float, taken: dict[str, list[dict[str, Any]]]
) -> bool:
    """Print medians, ratios, memory and how far the losses lie apart; tell whether they agree."""
    tokens = SEQUENCES * LENGTH
    flops = _design(model).count_flops(arguments.vocabulary, LENGTH, tokens)
    seconds, processor = (
        {
            name: statistics.median([value for facts in each for value in facts[key]])
            for name, each in taken.items()
        }
        for key in ("seconds", "processor")
    )
    memory = {name: statistics.median([facts["peak"] for facts in each]) for name, each in taken.items()}
    first = {name: each[0]["losses"][:COMPARED] for name, each in taken.items()}
    apart = {name: max(abs(a - b) for a, b in zip(first["ours"], first[name], strict=True)) for name in first}
    print(f"\n{model}, vocabulary {arguments.vocabulary:,}, {arguments.threads} threads; medians")
    print(
        f"product of {PRODUCT} x {PRODUCT} matrices: {best / 1e9:.0f} GFLOP/s; a step is {flops / 1e9:.1f} GFLOP"
    )
    print(
        "          tokens/s  ours is  by processor time  of the peak  peak MB  of it training  ours takes  "
        "losses differ by at most"
    )
    for name, each in taken.items():
        added = memory[name] - statistics.median([facts["before"] for facts in each])
        print(
            f"{name:8} {tokens / seconds[name]:9.0f} {seconds[name] / seconds['ours']:7.2f}x "
            f"{processor[name] / processor['ours']:17.2f}x "
            f"{flops / seconds[name] / best:11.0%} {memory[name]:8.0f} {added:15.0f} "
            f"{memory['ours'] / memory[name]:10.2f}x {apart[name]:25.1e}"
        )
    agree = max(value for name, value in apart.items() if name != "bfloat16") <= WITHIN
    told = "agree" if agree else "DO NOT agree"
    print(f"the first {len(first['ours'])} losses in float32 {told} within {WITHIN:g}")
    return agree


def main() -> None:
    """Read the command line; ``--work`` is for the processes this one starts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", default=["14m"], help="names of files of conf/model")
    parser.add_argument("--vocabulary", type=int, default=8000, help="rows of the output layer: 8000 or 50000")
    parser.add_argument("--steps", type=int, default=COMPARED + WARM_UP, help=f"more than {WARM_UP}")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--work", choices=[*CONTESTANTS, "product"], help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.steps <= WARM_UP:
        parser.error(f"--steps={arguments.steps}: the first {WARM_UP} are not timed, so more are needed")
    if arguments.work:
        (model,) = arguments.models
        work(arguments.work, model, arguments.vocabulary, arguments.steps, arguments.out, arguments.threads)
        return
    with tempfile.TemporaryDirectory() as folder:
        sys.exit(0 if compare(arguments, Path(folder)) else 1)


if __name__ == "__main__":
    main()
