"""The way from a corpus to a report with the lowest versions that pyproject.toml allows: ``make lowest``.

Every package of the plain install has a part in it. The commands are those of a user, in a folder that is removed.
"""

import json
import re
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from importlib.metadata import requires, version
from pathlib import Path

import sentencepiece

from tests.generation.multiblimp.toy import GOOD, treebank

LINES = [f"the {size} dog number {n} sees {n * 7} cats\n" for n in range(800) for size in ("small", "large")]
TOKENIZER = {"model_type": "bpe", "vocab_size": 350, "byte_fallback": True, "minloglevel": 2}
SMALL = ["train", "model=tiny", "batch.sequences=16", "batch.length=32", "schedule=linear", "schedule.count=2"]
ON_DEMO = [*SMALL, "data=demo", "tokenizer=char", "eval.benchmarks=[demo]", "eval.subset=1"]
CAUSAL = [*ON_DEMO, "tokens=40K", "tracker=wandb", "name=causal"]
MASKED = [*ON_DEMO, "tokens=10K", "model=bert-14m", "model.config.num_hidden_layers=1", "name=masked"]
OTHER = [*SMALL, "data=hub", "data.dataset=data", "tokenizer=hub", "tokenizer.path=sentencepiece", "tokens=10K"]
OTHER += ["engine=deepspeed", "eval.benchmarks=[made/toy]", "name=other"]


def main():
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        make_inputs(place)
        run(place, "generate", "source=multiblimp", "treebanks=toy.conllu", "language=epo", "out=made/toy")
        stop(place, *CAUSAL)
        run(place, *CAUSAL)
        [metrics] = place.glob("runs/*causal/metrics.jsonl")
        steps = [json.loads(line)["step"] for line in metrics.read_text().splitlines()]
        assert steps == list(range(1, len(steps) + 1)), "each step is there once"
        run(place, *MASKED)
        run(
            place, *(OTHER if sys.platform == "linux" else [word for word in OTHER if word != "engine=deepspeed"])
        )
        run(place, "score", f"run={metrics.parent}", "benchmarks=[demo]", "subset=2", "linking=[lp,slor]")
        run(place, "analyze", "runs='runs/*'")
        run(place, "verify", f"run={metrics.parent}", "deep=true")
    tell(", ".join(f"{name} {version(name)}" for name in packages()))


def make_inputs(place):
    """A treebank, a data set in the form of the Hub's, and a tokenizer that is a SentencePiece model."""
    (place / "toy.conllu").write_text(treebank(*GOOD), encoding="utf-8")
    (place / "data").mkdir()
    (place / "data" / "train.jsonl").write_text("".join(json.dumps({"text": line}) + "\n" for line in LINES))
    (place / "sentencepiece").mkdir()
    with (place / "sentencepiece" / "tokenizer.model").open("wb") as file:
        sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(LINES), model_writer=file, **TOKENIZER)


def run(place, *words):
    """Run a command to its end."""
    with started(place, words, expected=0):
        pass


def stop(place, *words):
    """Start a command that trains a run, and after a step let it save its state and stop."""
    with started(place, words, expected=75) as process:
        while process.poll() is None and not any(
            file.read_bytes() for file in place.glob("runs/*/metrics.jsonl")
        ):
            time.sleep(0.05)
        process.send_signal(signal.SIGUSR1)


@contextmanager
def started(place, words, expected):
    """Start a command, and in the end tell its exit code; another one than expected ends the program."""
    began, both = time.monotonic(), {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    process = subprocess.Popen([sys.executable, "-m", "ucurve", *words], cwd=place, text=True, **both)
    yield process
    said, _ = process.communicate()
    code, seconds = process.returncode, time.monotonic() - began
    tell(f"exit code {code:>2} after {seconds:.0f} s: ucurve {' '.join(words)}")
    if code != expected:
        raise SystemExit(f"{said}expected: exit code {expected}")


def packages():
    """The names of what the plain install brings, as pyproject.toml has them."""
    return [re.match(r"[\w-]+", one)[0] for one in requires("ucurve") if "extra ==" not in one]


def tell(line):
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
