"""The accelerator's benchmark, small and on the processor."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SPEED = Path(__file__).resolve().parents[3] / "measurements" / "speed"
SMALL = "--device cpu --models tiny --sequences 8 --length 32 --vocabulary 300 --steps 12 --most-pairs 40"
STAGES = ["machine", "train-tiny-ours", "train-tiny-ddp", "resumed", "score-ours"]  # make bench runs all


def measure(folder, stages):
    command = [sys.executable, str(SPEED / "gpu.py"), *SMALL.split(), "--out", str(folder), "--stages"]
    done = subprocess.run([*command, *stages], capture_output=True, text=True, cwd=folder.parent, check=False)
    return done, json.loads((folder / "gpu.json").read_text())["stages"]


@pytest.mark.long
def test_stages_run_on_a_processor_their_comparisons_hold_and_none_is_run_twice(tmp_path):
    out = tmp_path / "gpu"
    done, stages = measure(out, STAGES)
    assert done.returncode == 0, done.stdout + done.stderr
    assert {name: stage["state"] for name, stage in stages.items()} == dict.fromkeys(STAGES, "run")
    resumed, score = stages["resumed"]["facts"], stages["score-ours"]["facts"]
    assert (resumed["interrupted"], resumed["weights_differ_by"], resumed["losses_differ_by"]) == (True, 0, 0)
    assert (score["pairs"], score["other_decisions"]) == (40, 0)
    own, several = (stages[f"train-tiny-{name}"]["facts"] for name in ("ours", "ddp"))
    assert several["processes"] == 2
    assert several["losses"] == pytest.approx(own["losses"], abs=1e-3)
    tables = (out / "gpu.md").read_text()
    assert "| tiny | float32 | ours | 1 |" in tables
    assert "was stopped by SIGTERM and resumed differs" in tables
    again, stages_again = measure(out, STAGES)
    assert again.returncode == 0
    assert stages_again == stages
    assert again.stdout.count("there already") == len(STAGES)


@pytest.mark.long
def test_a_stage_that_fails_is_recorded_and_tried_again(tmp_path):
    for _ in range(2):
        # Without the run that it goes by.
        done, stages = measure(tmp_path / "gpu", ["train-tiny-trainer", "machine"])
        assert done.returncode == 1
        assert {name: stage["state"] for name, stage in stages.items()} == {
            "machine": "run",
            "train-tiny-trainer": "failed",
        }
        assert "train-tiny-trainer: failed in" in done.stdout
        assert "| train-tiny-trainer | failed: StageError:" in (tmp_path / "gpu" / "gpu.md").read_text()


@pytest.mark.long
def test_steps_are_timed_one_contestant_after_another(tmp_path):
    options = "--device cpu --models tiny --vocabularies 300 --sequences 8 --steps 4 --variants ours eager"
    command = [sys.executable, str(SPEED / "device_steps.py"), *options.split()]
    subprocess.run([*command, "--out", str(tmp_path / "steps")], check=True, capture_output=True, cwd=tmp_path)
    ours, eager = json.loads((tmp_path / "steps.json").read_text())
    assert ours["first_loss"] == eager["first_loss"]
    assert ours["tokens_per_second"] == pytest.approx(8 * 64 / ours["milliseconds"] * 1000)
    assert "| tiny | 300 | eager |" in (tmp_path / "steps.md").read_text()
