"""Runs without what the lowest torch that pyproject.toml allows has not; other builds of torch are too large to try."""

import re
import shutil
import tomllib
from pathlib import Path

import pytest
import torch

from tests.train.run.interrupting import outcome, train_with_a_stop
from ucurve.errors import UserError
from ucurve.training.engine.execution import choose_execution
from ucurve.training.engine.processes import Processes
from ucurve.training.run.run import train_run
from ucurve.training.verify import run_faults

PROJECT = tomllib.loads((Path(__file__).resolve().parents[3] / "pyproject.toml").read_text(encoding="utf-8"))
NEWER = {(torch.optim, "Muon"): (2, 9)}  # what the source uses, with the first torch that has it


@pytest.fixture
def lowest_torch(monkeypatch):
    [floor] = [
        found[1] for one in PROJECT["project"]["dependencies"] if (found := re.match(r"torch>=([\d.]+)", one))
    ]
    newer = [place for place, first in NEWER.items() if first > tuple(map(int, floor.split(".")))]
    assert newer
    for module, name in newer:
        monkeypatch.delattr(module, name)
    monkeypatch.setattr(torch, "__version__", f"{floor}.0")


def test_a_run_that_was_stopped_goes_on_to_the_same_bytes(settings_of, monkeypatch, lowest_torch):
    settings = settings_of("resume.seconds=0")
    train_run(settings)
    whole = outcome(settings.folder)
    shutil.rmtree(settings.folder)
    train_with_a_stop(settings, monkeypatch)
    assert outcome(settings.folder) == whole
    assert run_faults(settings.folder) == []


def test_muon_is_refused_before_there_is_a_folder(settings_of, lowest_torch):
    settings = settings_of("optimizer=muon")
    message = r"^optimizer=muon needs torch 2\.9 or later, and torch 2\.6\.0 is installed; allowed here: adamw$"
    with pytest.raises(UserError, match=message) as refused:
        train_run(settings)
    assert refused.value.exit_code == 2
    assert not settings.folder.exists()
    with pytest.raises(UserError, match=message):  # as measuring what a grid costs does
        choose_execution(settings, Processes())
