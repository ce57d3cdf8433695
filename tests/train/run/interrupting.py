"""A run that is stopped by a signal and goes on, and what is compared with a run that was left alone."""

import json
import os
import signal
from pathlib import Path

import pytest

from train.config import RunSettings
from train.engine.engine import TorchEngine
from train.run.run import train_run


def train_with_a_stop(settings: RunSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Train until a SIGTERM in step 5, then to the end."""
    step = TorchEngine.step

    def stop_in_step_5(engine, windows, rate, number, *flags):
        if number == 5:
            os.kill(os.getpid(), signal.SIGTERM)
        return step(engine, windows, rate, number, *flags)

    with monkeypatch.context() as patch:
        patch.setattr(TorchEngine, "step", stop_in_step_5)
        with pytest.raises(SystemExit):
            train_run(settings)
    train_run(settings)


def outcome(run: Path):
    """The bytes of every checkpoint, and the numbers of every step."""
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    weights = {path.parent.name: path.read_bytes() for path in run.glob("checkpoints/*/model.safetensors")}
    return weights, [{key: line[key] for key in line if key != "tokens_per_second"} for line in lines]
