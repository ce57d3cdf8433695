"""Measure an accelerator, stage after stage: training, where the time of a step goes, a resumed run, and scoring.

python measurements/speed/gpu.py [--out gpu]  all stages on one CUDA device, each in less than ten minutes
python measurements/speed/gpu.py --device cpu --models tiny --sequences 8 --length 32 --vocabulary 300 --steps 12
python measurements/speed/gpu.py --list       names of the stages, for --stages, where a command may not run for long

The folder of ``--out`` gets ``gpu.json``, the tables for the docs as ``gpu.md``, the result of each stage in
``stages/`` as it ends, and what the stages make in ``work/``. A stage with a result is not run again, so that the same
command goes on where it was stopped; one that failed is tried again. The exit code is 1 while a stage has failed.

Everything is computed in processes of their own, which see one device, except those of the stages of several processes
(torch's DistributedDataParallel and DeepSpeed), which share all devices, or are two on the processor. A run is trained
by train.py as a user would start it, on made text; then Trainer trains the same model from the same first checkpoint on
the same batches, in the same precision. Speeds are of the median step after the first few, in which models compile.
The share of the peak is that of a large matrix product in the same precision, measured here. Scoring takes a run's last
checkpoint, on an accelerator after a first pass over a few pairs that is not timed, and lm-eval sets its own batch. The
resumed run gets SIGTERM after its first steps, goes on, and is compared with one that was never stopped.
"""

import argparse
import json
import os
import platform
import shutil
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
MODELS = ("14m", "70m", "160m", "410m", "1.4b")
WARM_UP = 8  # steps whose time is not counted; the first ones compile
COMPARED = 20  # losses that are compared
SHOWN = 12  # rows of a profile
LONGEST = 9.5 * 60  # seconds of a stage
ENGINES = {
    "ddp": ("engine=torch",),
    "deepspeed-0": ("engine=deepspeed", "engine.zero_stage=0"),
    "deepspeed-2": ("engine=deepspeed", "engine.zero_stage=2"),
}
TRAINERS = ("ours", "trainer", *ENGINES)
SCORERS = ("ours", "lm-eval")
PACKAGES = {"ours": "ucurve", "lm-eval": "lm_eval"}
Facts = dict[str, Any]


@dataclass(frozen=True)
class Bench:
    """What is measured, and where."""

    given: argparse.Namespace

    @property
    def work(self) -> Path:
        """The folder of texts and runs."""
        return Path(self.given.out) / "work"

    @property
    def middle(self) -> str:
        """The model of the stages that take one alone."""
        return str(self.given.models[len(self.given.models) // 2])

    def stages(self) -> dict[str, Callable[[], Facts]]:
        """Return every stage by its name, in the order in which they need each other."""
        stages: dict[str, Callable[[], Facts]] = {"machine": self.machine}
        for model in self.given.models:
            stages[f"train-{model}-ours"] = partial(self.train, model)
            stages[f"train-{model}-trainer"] = partial(self.train_by_trainer, model)
        for engine in ENGINES:
            stages[f"train-{self.middle}-{engine}"] = partial(self.train_by_several, self.middle, engine)
        stages["profile"] = self.profile
        stages["resumed"] = self.resume
        return stages | {f"score-{name}": partial(self.score, name) for name in SCORERS}

    def machine(self) -> Facts:
        """Return device, versions, and what a large matrix product reaches."""
        return self.start("machine", [self.given.device])

    def train(self, model: str) -> Facts:
        """Train a run by train.py; return the facts of each step and its memory."""
        self.write_text()
        run = self.run_folder(model, "whole")
        shutil.rmtree(run, ignore_errors=True)  # of a stage that was stopped
        return self.start("train", self.run_arguments(model, "whole")) | self.facts_of(run)

    def train_by_trainer(self, model: str) -> Facts:
        """Train by Trainer from the checkpoint and the batches of our run."""
        return self.start("trainer", [str(self.run_folder(model, "whole"))])

    def train_by_several(self, model: str, engine: str) -> Facts:
        """Train a run on several processes."""
        run = self.run_folder(model, engine)
        shutil.rmtree(run, ignore_errors=True)
        launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node"]
        processes = 2 if self.given.device == "cpu" else count_devices()
        command = [*launcher, str(processes), str(ROOT / "train.py"), *self.run_arguments(model, engine)]
        run_quietly([*command, *ENGINES[engine]], variables_of(self.given.device, all_devices=True))
        return {"processes": processes} | self.facts_of(run)

    def profile(self) -> Facts:
        """Return what a step of training spends its time on."""
        return self.start("profile", [str(self.run_folder(self.middle, "whole"))])

    def resume(self) -> Facts:
        """Stop a run after its first steps and let it go on; compare it with the run that was never stopped."""
        import numpy as np
        from safetensors.numpy import load_file

        model = self.given.models[0]
        whole, resumed = (self.run_folder(model, name) for name in ("whole", "resumed"))
        shutil.rmtree(resumed, ignore_errors=True)
        arguments = self.run_arguments(model, "resumed")
        started = resumed / "checkpoints" / "step00000001"
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        command = worker_command("train", arguments, self.work / "resumed.json")
        with subprocess.Popen(command, env=variables_of(self.given.device), **quiet) as process:  # type: ignore[call-overload]
            while process.poll() is None and not started.exists():
                time.sleep(0.002)
            process.send_signal(signal.SIGTERM)
        self.start("train", arguments)
        one, other = (
            load_file(max((run / "checkpoints").iterdir()) / "model.safetensors") for run in (whole, resumed)
        )
        losses = [read_metrics(run)["losses"] for run in (whole, resumed)]
        return {
            "model": model,
            "interrupted": process.returncode == 75,
            "weights_differ_by": max(float(np.abs(one[key] - other[key]).max()) for key in one),
            "losses_differ_by": max(abs(a - b) for a, b in zip(*losses, strict=True)),
        }

    def score(self, name: str) -> Facts:
        """Return the speed of a scorer on a run's last checkpoint, and how many decisions are not ours."""
        import numpy as np

        from measurements.speed import scoring
        from ucurve.eval.benchmarks.load import load_benchmark

        if find_spec(PACKAGES[name]) is None:
            raise StageError(f"{PACKAGES[name]} is not installed: pip install 'ucurve[bench]'")
        run, pairs, own = (
            self.run_folder(self.middle, "whole"),
            self.work / "pairs.parquet",
            self.work / "ours.npy",
        )
        given = self.given.pairs
        table = load_benchmark(given.name, given.parent) if given else load_benchmark("demo")
        table = table.head(self.given.most_pairs)
        table.to_parquet(pairs)
        checkpoint, dtype = max((run / "checkpoints").iterdir()), precision_of(run)
        threads = os.cpu_count() or 1
        took, scores = scoring.run(name, checkpoint, pairs, self.work, threads, self.given.device, dtype)
        if name == "ours":
            np.save(own, scores)
        return {
            "model": self.middle,
            "dtype": dtype,
            "pairs": len(table),
            "pairs_per_second": len(table) / took["seconds"],
            "memory_mb": took["peak"],
            "other_decisions": scoring.other_decisions(scores, np.load(own)),
        }

    def write_text(self) -> None:
        """Write lines of Chinese characters, rare ones rarer as in text."""
        import numpy as np

        path, vocabulary = self.work / "text.txt", self.given.vocabulary
        characters = self.given.steps * self.given.sequences * (self.given.length + 2)
        blocks = (
            (0x4E00, 0x9FF0),
            (0x3400, 0x4DB0),
            (0x20000, 0x2A6D0),
        )  # without surrogates, which no file can hold
        kinds = [chr(code) for first, end in blocks for code in range(first, end)]
        ranks = vocabulary ** np.random.default_rng(0).random((characters // 64 + 2, 64))
        text = "\n".join("".join(kinds[int(rank)] for rank in line) for line in ranks - 1)
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")

    def run_arguments(self, model: str, name: str) -> list[str]:
        """Return the arguments of train.py for a run that keeps its steps 0, 1 and last."""
        given, work = self.given, self.work.resolve()
        tokens = given.steps * given.sequences * given.length
        paths = [f"paths.{key}={work / key}" for key in ("runs", "cache", "tokenizers")]
        batch = [f"batch.sequences={given.sequences}", f"batch.length={given.length}", f"tokens={tokens}"]
        data = ["data=text", f"data.path={work / 'text.txt'}", "data.max_epochs=9", "tokenizer=char"]
        rest = [f"engine.device={given.device}", "schedule=list", "schedule.steps=[1]", "eval.when=never"]
        return [f"model={model}", f"name={name}", *batch, *data, *rest, *paths]

    def run_folder(self, model: str, name: str) -> Path:
        """Return the folder of a run."""
        from ucurve.config import compose
        from ucurve.training.config import read_settings

        return read_settings(compose("train", self.run_arguments(model, name))).folder

    def facts_of(self, run: Path) -> Facts:
        """Return what a run's files say of it: losses, times, precision, and the FLOPs of a step."""
        from ucurve.training.run_folder.config_file import load_settings

        settings, record = load_settings(run), json.loads((run / "run.json").read_text())
        tokens, vocabulary = settings.batch.tokens, record["vocabulary"]
        flops = settings.model.design.count_flops(vocabulary, settings.batch.length, tokens)
        known = {"vocabulary": vocabulary, "tokens": tokens, "flops": flops, "precision": precision_of(run)}
        return known | read_metrics(run)

    def start(self, work: str, arguments: Sequence[str]) -> Facts:
        """Do a piece of work in a process of its own and return what it found."""
        out = self.work / f"{work}.json"
        run_quietly(worker_command(work, arguments, out), variables_of(self.given.device))
        return dict(json.loads(out.read_text()))


class StageError(Exception):
    """A stage failed; the message says how."""


def run_quietly(command: Sequence[str], variables: dict[str, str]) -> None:
    """Run a command whose output is only shown when it fails, and end it with all it started when it takes too long."""
    with subprocess.Popen(
        command,
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            said, _ = process.communicate(timeout=LONGEST)
        except BaseException as error:
            os.killpg(process.pid, signal.SIGKILL)
            if isinstance(error, subprocess.TimeoutExpired):
                raise StageError(f"took longer than {LONGEST / 60:.1f} minutes") from error
            raise
    if process.returncode:
        errors = [
            line for line in said.splitlines() if line.startswith(("error:", "ImportError", "ModuleNotFound"))
        ]
        raise StageError(errors[0] if errors else f"ended with {process.returncode}:\n{said[-2000:]}")


def worker_command(work: str, given: Sequence[str], out: Path) -> list[str]:
    """Return the command of a piece of work."""
    return [sys.executable, "-W", "ignore", __file__, "--work", work, "--out", str(out), "--given", *given]


def variables_of(device: str, all_devices: bool = False) -> dict[str, str]:
    """Return the variables of a process; with one device only, since Trainer would take all, and a larger batch."""
    from measurements.processes import environment

    if device == "cpu":
        return environment(CUDA_VISIBLE_DEVICES="")
    one = (
        {} if all_devices else {"CUDA_VISIBLE_DEVICES": os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]}
    )
    return environment(**one)


def count_devices() -> int:
    """Return how many devices there are, asked in another process, since asking takes memory of the device."""
    code = "import torch; print(torch.cuda.device_count())"
    return int(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)


def work(name: str, given: Sequence[str], out: Path) -> None:
    """Do a piece of work in this process."""
    from measurements.processes import peak_of_device

    facts: Facts
    if name == "machine":
        facts = describe_machine(given[0])
    elif name == "train":
        facts = train_ours(given)
    else:
        facts = (train_by_peer if name == "trainer" else profile_step)(Path(given[0]))
    out.write_text(json.dumps(facts | {"memory_mb": peak_of_device()}))


def train_ours(given: Sequence[str]) -> Facts:
    """Train as train.py does."""
    from ucurve.config import Composed, compose
    from ucurve.training.cli import train_command

    train_command([Composed(compose("train", list(given)), tuple(given))])
    return {}


def read_metrics(run: Path) -> dict[str, Any]:
    """Return the losses and seconds per step that a run has logged."""
    from ucurve.training.config import BatchSettings
    from ucurve.training.run_folder.config_file import load_settings

    batch: BatchSettings = load_settings(run).batch
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    seconds = [batch.tokens / line["tokens_per_second"] for line in lines]
    return {"losses": [line["loss"] for line in lines], "seconds": seconds}


def train_by_peer(run: Path) -> Facts:
    """Train by Trainer what our run was trained on, compiled on CUDA, in the run's precision."""
    import itertools

    import numpy as np
    from transformers import AutoModelForCausalLM

    from measurements.speed.training import train_by_trainer
    from ucurve.training.engine.execution import choose_device
    from ucurve.training.replay import open_batches
    from ucurve.training.run_folder.config_file import load_settings

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
    from ucurve.training.run_folder.config_file import load_settings

    return str(getattr(load_settings(run).engine, "precision", "float32"))


def profile_step(run: Path) -> Facts:
    """Return the operations that take most of the time of a training step, as shares of it, the largest first."""
    import numpy as np
    import torch
    from torch.profiler import ProfilerActivity, profile

    from ucurve.training.engine.engine import TorchEngine
    from ucurve.training.engine.execution import choose_device
    from ucurve.training.replay import open_batches
    from ucurve.training.run_folder.config_file import load_settings

    settings, batches = load_settings(run), open_batches(run)
    device = choose_device(settings.engine.device)
    vocabulary = json.loads((run / "run.json").read_text())["vocabulary"]
    on_device = device.type == "cuda"
    model = settings.model.design.build_model(vocabulary, settings.batch.length, 0, seed=0)
    engine = TorchEngine(model, settings.optimizer, "auto", device, precision_of(run), on_device)  # type: ignore[arg-type]
    windows = engine.place(np.array([one.ids for one in batches.of_step(1)]))
    for step in range(1, WARM_UP):
        engine.step(windows, 1e-4, step)
    kinds = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if on_device else [])]
    with profile(activities=kinds) as recorded:
        engine.step(windows, 1e-4, WARM_UP)
        if on_device:
            torch.cuda.synchronize()
    times = {event.key: event.self_device_time_total if on_device else event.self_cpu_time_total
             for event in recorded.key_averages()}  # fmt: skip
    counts = {event.key: event.count for event in recorded.key_averages()}
    largest = sorted(times, key=lambda key: -times[key])[:SHOWN]
    total = sum(times.values())
    rows = [{"name": key, "share": times[key] / total, "calls": counts[key]} for key in largest]
    return {"model": settings.model.name, "milliseconds": total / 1e3, "operations": rows}


def describe_machine(device: str) -> Facts:
    """Return what was measured on: device, versions, and operations per second of a large product by precision."""
    import torch

    from measurements.speed.training import product_flops
    from ucurve.provenance import code_revision, versions

    on_device = device == "cuda"
    name = torch.cuda.get_device_name() if on_device else f"{os.cpu_count()} cores, {platform.machine()}"
    peaks = {"float32": product_flops(4096 if on_device else 1024, device, "float32")}
    if on_device:
        peaks["bfloat16"] = product_flops(8192, device, "bfloat16")
    return {"device": name, "code_revision": code_revision(), "versions": versions(), "peak_flops": peaks}


def run_stages(bench: Bench, names: Sequence[str]) -> bool:
    """Run the stages that have no result yet, write the tables after each, and tell whether all have ended well."""
    stages, folder = bench.stages(), Path(bench.given.out) / "stages"
    for place in (folder, bench.work):
        place.mkdir(parents=True, exist_ok=True)
    for name in names:
        file = folder / f"{name}.json"
        if file.exists() and json.loads(file.read_text())["state"] == "run":
            say_progress(f"{name}: there already")
            continue
        start, result = time.perf_counter(), {"state": "run"}
        try:
            result["facts"] = stages[name]()
        except (Exception, SystemExit) as error:  # a stage that fails is recorded, and the others go on
            result = {"state": "failed", "message": f"{type(error).__name__}: {error}"}
        result["seconds"] = time.perf_counter() - start
        file.with_suffix(".tmp").write_text(json.dumps(result, indent=1) + "\n", "utf-8")
        file.with_suffix(".tmp").replace(file)
        say_progress(f"{name}: {result['state']} in {result['seconds']:.0f} s {result.get('message', '')}")
    there = {name: file for name in stages if (file := folder / f"{name}.json").exists()}
    results = {name: json.loads(file.read_text()) for name, file in there.items()}
    batch = {key: getattr(bench.given, key) for key in ("sequences", "length", "steps")}
    (Path(bench.given.out) / "gpu.json").write_text(
        json.dumps({"batch": batch, "stages": results}, indent=2) + "\n"
    )
    (Path(bench.given.out) / "gpu.md").write_text(format_tables(bench, results), "utf-8")
    return all(results[name]["state"] == "run" for name in names)


def format_tables(bench: Bench, results: dict[str, Facts]) -> str:
    """Return the tables for the docs in Markdown."""
    facts = {name: result.get("facts", {}) for name, result in results.items()}
    given, machine = bench.given, facts.get("machine", {})
    lines = [
        f"{machine.get('device', 'unknown device')}; {given.steps} steps of {given.sequences} x {given.length} tokens.",
        "",
    ]
    lines += [
        "| model | precision | by | processes | tokens/s | share of the peak | memory, MB | losses differ by |"
    ]
    lines += ["|---|---|---|---|---|---|---|---|"]
    for model in given.models:
        own = facts.get(f"train-{model}-ours")
        for trainer in TRAINERS:
            if own and (theirs := facts.get(f"train-{model}-{trainer}")):
                lines.append(format_training(model, trainer, own, theirs, machine.get("peak_flops", {})))
    lines += [
        "",
        "| scoring by | model | type | pairs | pairs/s | memory, MB | other decisions |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in SCORERS:
        if score := facts.get(f"score-{name}"):
            speed = f"{score['pairs_per_second']:,.0f} | {score['memory_mb']:,.0f} | {score['other_decisions']}"
            lines.append(f"| {name} | {score['model']} | {score['dtype']} | {score['pairs']:,} | {speed} |")
    if profile := facts.get("profile"):
        lines += [
            "",
            f"A step of {profile['model']} takes {profile['milliseconds']:.1f} ms in these operations:",
            "",
        ]
        lines += ["| operation | share | calls |", "|---|---|---|"]
        lines += [
            f"| `{row['name'][:80]}` | {row['share']:.1%} | {row['calls']} |" for row in profile["operations"]
        ]
    if resumed := facts.get("resumed"):
        stopped = (
            "was stopped by SIGTERM and resumed" if resumed["interrupted"] else "ENDED BEFORE IT COULD BE STOPPED"
        )
        apart = f"{resumed['weights_differ_by']:.1e} in a weight and {resumed['losses_differ_by']:.1e} in a loss"
        lines += [
            "",
            f"A run of {resumed['model']} that {stopped} differs from one that was not by at most {apart}.",
        ]
    lines += ["", "| stage | | seconds |", "|---|---|---|"]
    for name, result in results.items():
        said = result["state"] if result["state"] == "run" else f"failed: {result['message'].splitlines()[0]}"
        lines.append(f"| {name} | {said} | {result['seconds']:.0f} |")
    return "\n".join(lines) + "\n"


def format_training(model: str, trainer: str, own: Facts, theirs: Facts, peaks: dict[str, float]) -> str:
    """Return the row of one way to train a model."""
    seconds = statistics.median(theirs["seconds"][WARM_UP:])
    peak, processes = peaks.get(own["precision"]), theirs.get("processes", 1)
    share = "" if peak is None else f"{own['flops'] / seconds / peak / processes:.0%}"
    memory = f"{theirs['memory_mb']:,.0f}" if "memory_mb" in theirs else ""
    apart = max(abs(a - b) for a, b in zip(own["losses"][:COMPARED], theirs["losses"], strict=False))
    speed = f"{own['tokens'] / seconds:,.0f} | {share} | {memory} | {apart:.1e}"
    return f"| {model} | {own['precision']} | {trainer} | {processes} | {speed} |"


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
    parser.add_argument("--stages", nargs="+", help="those to run; without it, all")
    parser.add_argument("--list", action="store_true", help="print the names of the stages")
    parser.add_argument("--out", type=Path, default=Path("gpu"), help="the folder of the results")
    parser.add_argument("--work", choices=["machine", "train", "trainer", "profile"], help=argparse.SUPPRESS)
    parser.add_argument("--given", nargs="+", default=[], help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    if arguments.work:
        work(arguments.work, arguments.given, arguments.out)
        return
    bench = Bench(arguments)
    names = arguments.stages or list(bench.stages())
    if unknown := set(names) - set(bench.stages()):
        parser.error(f"--stages: {', '.join(sorted(unknown))}; there are {', '.join(bench.stages())}")
    if arguments.list:
        print("\n".join(names))
        return
    if arguments.steps <= WARM_UP:
        parser.error(f"--steps={arguments.steps}: the first {WARM_UP} are not timed, so more are needed")
    if arguments.device == "cuda" and count_devices() == 0:
        parser.error("no CUDA device is available here; --device cpu --models tiny measures a small model")
    ended_well = run_stages(bench, names)
    print((arguments.out / "gpu.md").read_text("utf-8"))
    sys.exit(0 if ended_well else 1)


if __name__ == "__main__":
    main()
