import sys
from pathlib import Path

import pytest

from ucurve import invocation
from ucurve.cli import COMMANDS
from ucurve.invocation import command

ROOT = Path(__file__).resolve().parents[2]


def test_in_a_checkout_the_scripts_of_the_root_are_named(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["train.py", "model=14m"])
    monkeypatch.chdir(ROOT)
    assert command("train", "model=14m tokens=10M") == "python train.py model=14m tokens=10M"
    assert command("build") == "python tokenizers/build.py"
    assert command("batches") == "ucurve batches"


def test_from_another_folder_the_script_has_its_whole_path(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "argv", [str(ROOT / "train.py")])
    monkeypatch.chdir(tmp_path)
    assert command("score", "list=true") == f"python {ROOT / 'score.py'} list=true"


@pytest.mark.parametrize("started", ["ucurve", "python -m ucurve"])
def test_a_command_is_named_as_this_one_was_started(monkeypatch, started):
    monkeypatch.setattr(sys, "argv", [f"{started} train", "model=14m"])
    assert command("score", "list=true") == f"{started} score list=true"


def test_outside_a_checkout_the_console_command_is_named(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["ipykernel_launcher.py"])
    monkeypatch.setattr(invocation, "IN_CHECKOUT", False)
    assert command("analyze") == "ucurve analyze"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_script_or_is_one_of_the_console_command(monkeypatch, name):
    monkeypatch.setattr(sys, "argv", ["pytest"])
    monkeypatch.chdir(ROOT)
    started, program = command(name).split()
    assert (ROOT / program).is_file() if started == "python" else (started, program) == ("ucurve", name)
