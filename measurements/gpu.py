"""Measure an accelerator: training against Hugging Face Trainer, scoring against lm-eval, and a resumed run.

python measurements/gpu.py [--out gpu]        writes gpu.json and gpu.md; about ten minutes on one CUDA device
python measurements/gpu.py --device cpu --models tiny --sequences 8 --length 32 --vocabulary 300

Every contestant runs in a process of its own. A run is trained by train.py as a user would start it, on made text; then
Trainer trains the same model from the same first checkpoint on the same batches, in the same precision. Speeds are of
the median step after the first few, in which models are compiled. The share of the peak (MFU) is of a large matrix
product in the same precision, measured here. Scoring takes the run's last checkpoint, and lm-eval sets its own batch.
The resumed run gets SIGTERM after its first steps, goes on, and is compared with one that was never stopped. A tool
that is not installed is named in the table and left out.
"""

import argparse
import importlib.util
import json
import os
import platform
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
MODELS = ("14m", "70m", "160m", "410m", "1.4b")
WARM_UP = 8  # steps whose time is not counted; the first ones compile
COMPARED = 20  # losses that are compared
PEERS = {"trainer": ("accelerate", "transformers"), "lm-eval": ("lm_eval",)}


def measure(arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Return everything that is measured, as JSON."""
    write_text(
        folder / "text.txt", arguments.vocabulary, arguments.steps * arguments.sequences * (arguments.length + 2)
    )
    training = []
    for model in arguments.models:
        facts = {"ours": train(arguments, folder, model), "trainer": start_peer("trainer", arguments, folder, model)}
        training.append(compare_training(arguments, folder, model, facts))
        say_progress(f"{model}: {json.dumps(training[-1]['tokens_per_second'])} tokens/s")
    scored = arguments.models[len(arguments.models) // 2]
    return {
        "machine": describe_machine(arguments.device),
        "batch": {key: getattr(arguments, key) for key in ("sequences", "length", "steps")},
        "training": training,
        "scoring": compare_scoring(arguments, folder, scored),
        "resumed": compare_resumed(arguments, folder, arguments.models[0]),
    }


def write_text(path: Path, vocabulary: int, characters: int) -> None:
    """Write lines of Chinese characters, rare ones rarer as in text."""
    import numpy as np

    blocks = ((0x4E00, 0x9FF0), (0x3400, 0x4DB0), (0x20000, 0x2A6D0))  # without surrogates, which no file can hold
    kinds = [chr(code) for first, end in blocks for code in range(first, end)]
    ranks = vocabulary ** np.random.default_rng(0).random((characters // 64 + 2, 64))
    path.write_text("\n".join("".join(kinds[int(rank)] for rank in line) for line in ranks - 1), "utf-8")


def run_arguments(arguments: argparse.Namespace, folder: Path, model: str, name: str) -> list[str]:
    """Return the arguments of train.py for a run that keeps its steps 0, 1 and last."""
    tokens = arguments.steps * arguments.sequences * arguments.length
    paths = [f"paths.{key}={folder / key}" for key in ("runs", "cache", "tokenizers")]
    batch = [f"batch.sequences={arguments.sequences}", f"batch.length={arguments.length}", f"tokens={tokens}"]
    data = ["data=text", f"data.path={folder / 'text.txt'}", "data.max_epochs=9", "tokenizer=char"]
    rest = [f"engine.device={arguments.device}", "schedule=list", "schedule.steps=[1]", "eval.when=never"]
    return [f"model={model}", f"name={name}", *batch, *data, *rest, *paths]


def run_folder(arguments: argparse.Namespace, folder: Path, model: str, name: str) -> Path:
    """Return the folder of a run."""
    from train.config import read_settings
    from ucurve.config import compose

    return read_settings(compose("train", run_arguments(arguments, folder, model, name))).folder


def train(arguments: argparse.Namespace, folder: Path, model: str) -> dict[str, Any]:
    """Train a run by train.py; return the facts of each step and its memory."""
    facts = start_worker("ours", run_arguments(arguments, folder, model, "whole"), folder)
    run = run_folder(arguments, folder, model, "whole")
    return facts | json.loads((run / "run.json").read_text())["engine"] | read_metrics(run)


def read_metrics(run: Path) -> dict[str, Any]:
    """Return the losses and seconds per step that a run has logged."""
    from train.config import BatchSettings
    from train.run_folder.config_file import load_settings

    batch: BatchSettings = load_settings(run).batch
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    seconds = [batch.tokens / line["tokens_per_second"] for line in lines]
    return {"losses": [line["loss"] for line in lines], "seconds": seconds}


def start_peer(peer: str, arguments: argparse.Namespace, folder: Path, model: str) -> dict[str, Any] | str:
    """Train by a peer from the checkpoint and the batches of our run; return why not where it is not installed."""
    missing = [package for package in PEERS[peer] if importlib.util.find_spec(package) is None]
    if missing:
        return f"not installed: {', '.join(missing)}"
    return start_worker(peer, [str(run_folder(arguments, folder, model, "whole"))], folder)


def start_worker(work: str, given: Sequence[str], folder: Path) -> dict[str, Any]:
    """Run one contestant in a process of its own and return what it found; what it prints is shown if it fails."""
    out = folder / f"{work}.json"
    done = subprocess.run(
        worker_command(work, given, out), capture_output=True, text=True, check=False, env=child_environment()
    )
    if done.returncode:
        raise SystemExit(f"{work} {' '.join(given)} ended with {done.returncode}:\n{done.stderr}")
    return dict(json.loads(out.read_text()))


def worker_command(work: str, given: Sequence[str], out: Path) -> list[str]:
    """Return the command of one contestant."""
    return [sys.executable, "-W", "ignore", __file__, "--work", work, "--out", str(out), "--given", *given]


def child_environment() -> dict[str, str]:
    """Return the variables of a contestant."""
    quiet = {"PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"}
    return {"CUDA_VISIBLE_DEVICES": "0"} | os.environ | quiet  # else Trainer takes all devices, and a larger batch


def work(name: str, given: Sequence[str], out: Path) -> None:
    """Do the work of one contestant in this process."""
    facts = train_ours(given) if name == "ours" else train_by_peer(Path(given[0]))
    out.write_text(json.dumps(facts | {"memory_mb": peak_memory()}))


def train_ours(given: Sequence[str]) -> dict[str, Any]:
    """Train as train.py does."""
    from train.cli import train_command
    from ucurve.config import Composed, compose

    train_command([Composed(compose("train", list(given)), tuple(given))])
    return {}


def train_by_peer(run: Path) -> dict[str, Any]:
    """Train by Trainer what our run was trained on, compiled on CUDA, in the run's precision."""
    import itertools

    import numpy as np
    from transformers import AutoModelForCausalLM

    from measurements.training import train_by_trainer
    from train.engine.execution import choose_device
    from train.replay import open_batches
    from train.run_folder.config_file import load_settings

    settings, seen = load_settings(run), open_batches(run)
    batches = np.array([[one.ids for one in seen.of_step(step + 1)] for step in range(seen.run.steps)])
    device = choose_device(settings.engine.device)
    model = AutoModelForCausalLM.from_pretrained(run / "checkpoints" / "step00000000", dtype="float32").to(device)
    ends, losses = [time.perf_counter()], []

    def record(end: float, loss: float) -> None:
        ends.append(end)
        losses.append(loss)

    on_processor = device.type == "cpu"
    train_by_trainer(
        model.train(), batches, settings.optimizer, record,
        use_cpu=on_processor, torch_compile=not on_processor, bf16=precision_of(run) == "bfloat16",
        dataloader_num_workers=0 if on_processor else 4,
    )  # fmt: skip
    return {"losses": losses, "seconds": [later - earlier for earlier, later in itertools.pairwise(ends)]}


def precision_of(run: Path) -> str:
    """Return the precision of a run's matrix products; runs of older versions have none recorded."""
    from train.run_folder.config_file import load_settings

    return str(getattr(load_settings(run).engine, "precision", "float32"))


def peak_memory() -> float:
    """Return the most memory that this process has used, in MB: of the device, or of the processor without one."""
    import torch

    from measurements.processes import peak

    return torch.cuda.max_memory_allocated() / 2**20 if torch.cuda.is_available() else peak()


def compare_training(
    arguments: argparse.Namespace, folder: Path, model: str, facts: dict[str, dict[str, Any] | str]
) -> dict[str, Any]:
    """Return speeds, shares of the peak, memory and the largest difference of a loss."""
    from measurements.training import product_flops
    from train.run_folder.config_file import load_settings

    run = run_folder(arguments, folder, model, "whole")
    settings, precision = load_settings(run), precision_of(run)
    vocabulary = json.loads((run / "run.json").read_text())["vocabulary"]
    tokens = settings.batch.tokens
    flops = settings.model.design.count_flops(vocabulary, settings.batch.length, tokens)
    top = product_flops(8192 if arguments.device == "cuda" else 1024, arguments.device, precision)
    there = {name: each for name, each in facts.items() if isinstance(each, dict)}
    seconds = {name: statistics.median(each["seconds"][WARM_UP:]) for name, each in there.items()}
    own = there["ours"]["losses"][:COMPARED]
    return {
        "model": model,
        "vocabulary": vocabulary,
        "precision": precision,
        "tokens_per_second": {name: tokens / each for name, each in seconds.items()},
        "share_of_peak": {name: flops / each / top for name, each in seconds.items()},
        "memory_mb": {name: each["memory_mb"] for name, each in there.items()},
        "losses_differ_by": {
            name: max(abs(a - b) for a, b in zip(own, each["losses"], strict=False)) for name, each in there.items()
        },
        "left_out": {name: each for name, each in facts.items() if isinstance(each, str)},
    }


def compare_scoring(arguments: argparse.Namespace, folder: Path, model: str) -> dict[str, Any]:
    """Return pairs per second of both scorers on a run's last checkpoint, and the pairs they decide differently."""
    from eval.benchmarks.load import load_benchmark
    from measurements import scoring

    run, pairs = run_folder(arguments, folder, model, "whole"), folder / "pairs.parquet"
    table = load_benchmark(arguments.pairs.name, arguments.pairs.parent) if arguments.pairs else load_benchmark("demo")
    table = table.head(arguments.most_pairs)
    table.to_parquet(pairs)
    checkpoint = max((run / "checkpoints").iterdir())
    facts: dict[str, Any] = {"model": model, "pairs": len(table), "dtype": precision_of(run), "left_out": {}}
    scores = {}
    for name in ("ours", "lm-eval"):
        if name in PEERS and (missing := [one for one in PEERS[name] if importlib.util.find_spec(one) is None]):
            facts["left_out"][name] = f"not installed: {', '.join(missing)}"
            continue
        took, scores[name] = scoring.run(
            name, checkpoint, pairs, folder, os.cpu_count() or 1, arguments.device, facts["dtype"]
        )
        facts[name] = {"pairs_per_second": len(table) / took["seconds"], "memory_mb": took["peak"]}
        facts[name]["other_decisions"] = scoring.other_decisions(scores[name], scores["ours"])
    return facts


def compare_resumed(arguments: argparse.Namespace, folder: Path, model: str) -> dict[str, Any]:
    """Stop a run after its first steps and let it go on; compare it with the run that was never stopped."""
    import numpy as np
    from safetensors.numpy import load_file

    given = run_arguments(arguments, folder, model, "resumed")
    whole, resumed = (run_folder(arguments, folder, model, name) for name in ("whole", "resumed"))
    started = resumed / "checkpoints" / "step00000001"
    command = worker_command("ours", given, folder / "resumed.json")
    with subprocess.Popen(
        command, env=child_environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        while process.poll() is None and not started.exists():
            time.sleep(0.002)
        process.send_signal(signal.SIGTERM)
    start_worker("ours", given, folder)
    one, other = (load_file(max((run / "checkpoints").iterdir()) / "model.safetensors") for run in (whole, resumed))
    losses = [read_metrics(run)["losses"] for run in (whole, resumed)]
    return {
        "model": model,
        "interrupted": process.returncode == 75,
        "weights_differ_by": max(float(np.abs(one[key] - other[key]).max()) for key in one),
        "losses_differ_by": max(abs(a - b) for a, b in zip(*losses, strict=True)),
    }


def describe_machine(device: str) -> dict[str, Any]:
    """Return what was measured on: device and versions."""
    import torch

    from ucurve.provenance import code_revision, versions

    name = torch.cuda.get_device_name() if device == "cuda" else f"{os.cpu_count()} cores, {platform.machine()}"
    return {"device": name, "code_revision": code_revision(), "versions": versions()}


def format_tables(facts: dict[str, Any]) -> str:
    """Return the tables for the docs in Markdown."""
    batch = facts["batch"]
    lines = [
        f"{facts['machine']['device']}; {batch['steps']} steps of {batch['sequences']} x {batch['length']} tokens.",
        "",
        "| model | precision | tool | tokens/s | share of the peak | memory, MB | losses differ by |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in facts["training"]:
        for tool, speed in row["tokens_per_second"].items():
            lines.append(
                f"| {row['model']} | {row['precision']} | {tool} | {speed:,.0f} | {row['share_of_peak'][tool]:.0%} "
                f"| {row['memory_mb'][tool]:,.0f} | {row['losses_differ_by'][tool]:.1e} |"
            )
        lines += [f"| {row['model']} | | {tool} | {why} | | | |" for tool, why in row["left_out"].items()]
    scoring, resumed = facts["scoring"], facts["resumed"]
    lines += [
        "",
        f"Scoring {scoring['pairs']:,} pairs with {scoring['model']} in {scoring['dtype']}.",
        "",
        "| tool | pairs/s | other decisions |",
        "|---|---|---|",
    ]
    for tool in ("ours", "lm-eval"):
        if tool in scoring:
            lines.append(f"| {tool} | {scoring[tool]['pairs_per_second']:,.0f} | {scoring[tool]['other_decisions']} |")
    lines += [f"| {tool} | {why} | |" for tool, why in scoring["left_out"].items()]
    stopped = "was stopped by SIGTERM and resumed" if resumed["interrupted"] else "ENDED BEFORE IT COULD BE STOPPED"
    lines += [
        "",
        f"A run of {resumed['model']} that {stopped} differs from one that was not by at most "
        f"{resumed['weights_differ_by']:.1e} in a weight and {resumed['losses_differ_by']:.1e} in a loss.",
    ]
    return "\n".join(lines) + "\n"


def say_progress(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)


def main() -> None:
    """Read the command line; ``--work`` is for the processes this one starts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--models", nargs="+", default=list(MODELS))
    parser.add_argument("--steps", type=int, default=40, help=f"of each run, more than {WARM_UP}")
    parser.add_argument("--sequences", type=int, default=256)
    parser.add_argument("--length", type=int, default=64)
    parser.add_argument("--vocabulary", type=int, default=50000, help="different characters of the made text")
    parser.add_argument("--pairs", type=Path, help="folder of a benchmark's files; without it, the demo's pairs")
    parser.add_argument("--most-pairs", type=int, default=50_000, help="how many of them at most")
    parser.add_argument("--out", type=Path, default=Path("gpu"), help="where to write, without .json and .md")
    parser.add_argument("--work", choices=["ours", "trainer"], help=argparse.SUPPRESS)
    parser.add_argument("--given", nargs="+", default=[], help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    if arguments.work:
        work(arguments.work, arguments.given, arguments.out)
        return
    if arguments.steps <= WARM_UP:
        parser.error(f"--steps={arguments.steps}: the first {WARM_UP} are not timed, so more are needed")
    if arguments.device == "cuda":
        import torch

        if not torch.cuda.is_available():
            parser.error("no CUDA device is available here; --device cpu --models tiny measures a small model")
    with tempfile.TemporaryDirectory() as folder:
        facts = measure(arguments, Path(folder))
    arguments.out.with_suffix(".json").write_text(json.dumps(facts, indent=2) + "\n", "utf-8")
    arguments.out.with_suffix(".md").write_text(format_tables(facts), "utf-8")
    print(format_tables(facts))


if __name__ == "__main__":
    main()
