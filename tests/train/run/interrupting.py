"""Runs that are stopped at a step and go on, and what is compared with a run that was left alone."""

import contextlib
import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ucurve.training.config import RunSettings
from ucurve.training.engine.engine import TorchEngine
from ucurve.training.run.run import train_run


@contextlib.contextmanager
def before_step(monkeypatch: pytest.MonkeyPatch, wanted: int, act: Callable[[], object]) -> Iterator[None]:
    """Do something as a step begins, in every run meanwhile."""
    step = TorchEngine.step

    def acting(engine, windows, rate, number, *flags):
        if number == wanted:
            act()
        return step(engine, windows, rate, number, *flags)

    with monkeypatch.context() as patch:
        patch.setattr(TorchEngine, "step", acting)
        yield


def train_cut_off(settings: RunSettings, monkeypatch: pytest.MonkeyPatch, last: int) -> None:
    """Train until a step is done; nothing is saved for the end."""

    def cut():
        raise KeyboardInterrupt

    with before_step(monkeypatch, last + 1, cut), pytest.raises(KeyboardInterrupt):
        train_run(settings)


def train_with_a_stop(settings: RunSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Train until a SIGTERM in step 5, then to the end."""
    with before_step(monkeypatch, 5, lambda: os.kill(os.getpid(), signal.SIGTERM)), pytest.raises(SystemExit):
        train_run(settings)
    train_run(settings)


def outcome(run: Path):
    """The bytes of every checkpoint, and the numbers of every step."""
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    weights = {path.parent.name: path.read_bytes() for path in run.glob("checkpoints/*/model.safetensors")}
    return weights, [{key: line[key] for key in line if key != "tokens_per_second"} for line in lines]
