"""Kill a run again and again, at random times, and see that it ends as if left alone.

``python -m tests.train.stress KILLS [--seed 0] [--model llama-14m]`` kills KILLS times in all, engines in turn, with a
small model of that family; the suite runs a short version (``test_stress.py``). The first run of each engine is left
alone and tells how long a run takes; then SIGKILL, SIGTERM or SIGUSR1 comes at a random moment after the start, so also
during the preparation, a save or a scoring.
"""

import argparse
import json
import random
import signal
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

from tests.train.launching import finish, start
from tests.train.tiny_models import TINY
from ucurve.progress import log_line
from ucurve.storage.run_folder import HELD_OUT

CHARACTERS = "天地玄黄宇宙洪荒日月盈昃辰宿列张寒来暑往秋收冬藏"
MODELS = {**TINY, "dropout": ("model=tiny", "model.hidden_dropout=0.1", "model.attention_dropout=0.1")}
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGUSR1)


@dataclass(frozen=True)
class Way:
    """One way to run: the engine's overrides, the number of processes and the model."""

    name: str
    overrides: tuple[str, ...]
    processes: int = 1
    model: tuple[str, ...] = TINY["14m"]


WAYS = (
    Way("torch", ("engine=torch",)),
    Way("torch2", ("engine=torch",), 2),
    Way("deepspeed", ("engine=deepspeed", "engine.zero_stage=1")),
    Way("deepspeed2", ("engine=deepspeed", "engine.zero_stage=2"), 2),
)


def write_corpus(folder, chance):
    texts = ["".join(chance.choices(CHARACTERS, k=chance.randint(10, 40))) + "。" for _ in range(200)]
    (folder / "corpus").mkdir()
    (folder / "corpus/train.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))


def write_inputs(folder):
    write_corpus(folder, random.Random(0))
    (folder / "benchmarks/zhoblimp").mkdir(parents=True)
    pairs = [
        {"UID": uid, "phenomenon": "p", "sentence_good": CHARACTERS[:size], "sentence_bad": CHARACTERS[size::-1]}
        for uid in "ab"
        for size in range(2, 12)
    ]
    (folder / "benchmarks/zhoblimp/pairs.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))


def command(folder, way, runs, steps):
    return [
        "train.py",
        *way.model,
        f"tokens={128 * steps}",
        "tokenizer=char",
        f"data.path={folder / 'corpus'}",
        "data.max_epochs=1000",
        "batch.sequences=8",
        "batch.length=16",
        "schedule.count=9",
        "data.holdout=0.1",
        "engine.micro_batch=4",
        "resume.seconds=0",
        "eval.benchmarks=[zhoblimp]",
        f"benchmark_root={folder / 'benchmarks'}",
        *[
            f"paths.{name}={folder / place}"
            for name, place in (("runs", runs), ("cache", "c"), ("tokenizers", "t"))
        ],
        *way.overrides,
    ]


def outcome(run):
    """What a run came to: the bytes of checkpoints, held-out losses and scores, and the numbers of every step."""
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    files = {
        str(path.relative_to(run)): path.read_bytes() for path in (run / HELD_OUT, *run.glob("checkpoints/*/*"))
    }
    scores = {str(path.relative_to(run)): path.read_bytes() for path in run.glob("eval/*/*/*.parquet")}
    return files | scores, [{key: line[key] for key in line if key != "tokens_per_second"} for line in lines]


def kill_once(folder, way, steps, chance, seconds):
    """Start the run and signal it at a random moment; returns what happened, or None when it had ended before."""
    processes = start(command(folder, way, "killed", steps), way.processes)
    time.sleep(chance.uniform(0.2, 1.0) * seconds)
    number, victim = chance.choice(SIGNALS), chance.choice(processes)
    victims = processes if number != signal.SIGKILL else [victim]
    alive = [process for process in victims if process.poll() is None]
    for process in alive:
        process.send_signal(number)
    if number == signal.SIGKILL:  # the launcher ends the others
        time.sleep(0.5)
        for process in processes:
            process.kill()
    codes, errors = finish(processes)
    if not alive or not any(codes):
        return None
    allowed = {-number, 75} if number != signal.SIGKILL else {-number, 1, 75}
    assert set(codes) <= allowed | {0}, (codes, errors)
    return number.name


def stress(folder, way, kills, steps, seed):
    """Kill a run ``kills`` times, continue it, and compare it with one left alone; returns a count of the kills.

    Raises:
        AssertionError: when the outcomes differ.
    """
    chance = random.Random(f"{way.name} {seed}")
    began = time.monotonic()
    codes, errors = finish(start(command(folder, way, "alone", steps), way.processes))
    seconds = time.monotonic() - began
    assert not any(codes), errors
    (alone,) = (path for path in (folder / "alone").iterdir() if not path.name.startswith("."))
    killed = folder / "killed" / alone.name
    happened: Counter[str] = Counter()
    while happened.total() < kills:
        result = kill_once(folder, way, steps, chance, seconds)
        happened[result or "ended before"] += result is not None
        if result is None:
            seconds *= 0.7  # the machine had more to do while the first run was timed
        log_line(f"{way.name}: {result}, {standing(killed)}")
        if "finished" in standing(killed):
            compare(folder, way, alone, killed, steps)
            killed.rename(folder / f"done-{time.monotonic_ns()}")
    compare(folder, way, alone, killed, steps)
    return happened


def standing(run):
    """Say how far a run that was killed has come."""
    if not (run / "metrics.jsonl").exists() or not (run / "run.json").exists():
        return "not begun"
    steps = len((run / "metrics.jsonl").read_text().splitlines())
    return f"{steps} steps, {json.loads((run / 'run.json').read_text())['status']}"


def compare(folder, way, alone, killed, steps):
    codes, errors = finish(start(command(folder, way, "killed", steps), way.processes))
    assert not any(codes), errors
    expected, found = outcome(alone), outcome(killed)
    assert found[1] == expected[1], "the numbers of the steps differ"
    assert sorted(found[0]) == sorted(expected[0])
    differing = [name for name in expected[0] if found[0][name] != expected[0][name]]
    assert not differing, differing


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kills", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--model", choices=MODELS, default="14m")
    parser.add_argument("--steps", type=int, default=300)
    arguments = parser.parse_args()
    for number, way in enumerate(replace(way, model=MODELS[arguments.model]) for way in WAYS):
        share = len(range(number, arguments.kills, len(WAYS)))
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            write_inputs(folder)
            happened = stress(folder, way, share, arguments.steps, arguments.seed)
            log_line(f"{arguments.model}, {way.name}: {dict(happened)}")


if __name__ == "__main__":
    main()
