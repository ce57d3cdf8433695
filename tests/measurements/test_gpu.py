"""The accelerator's benchmark, small and on the processor."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SMALL = "--device cpu --models tiny --sequences 8 --length 32 --vocabulary 300 --steps 12 --most-pairs 40"


@pytest.mark.long
def test_the_benchmark_runs_on_a_processor_and_its_comparisons_hold(tmp_path):
    command = [sys.executable, str(ROOT / "measurements/gpu.py"), *SMALL.split(), "--out", str(tmp_path / "gpu")]
    subprocess.run(command, check=True, capture_output=True, cwd=tmp_path)
    facts = json.loads((tmp_path / "gpu.json").read_text())
    [training] = facts["training"]
    assert training["precision"] == "float32"
    assert training["tokens_per_second"]["ours"] > 0
    if importlib.util.find_spec("accelerate"):
        assert training["losses_differ_by"]["trainer"] < 1e-3
    else:
        assert "accelerate" in training["left_out"]["trainer"]
    assert facts["scoring"]["ours"]["pairs_per_second"] > 0
    assert ("lm-eval" in facts["scoring"]) == (importlib.util.find_spec("lm_eval") is not None)
    resumed = facts["resumed"]
    assert (resumed["interrupted"], resumed["weights_differ_by"], resumed["losses_differ_by"]) == (True, 0, 0)
    assert "| tiny | float32 | ours |" in (tmp_path / "gpu.md").read_text()


@pytest.mark.long
def test_steps_are_timed_one_contestant_after_another(tmp_path):
    options = "--device cpu --models tiny --vocabularies 300 --sequences 8 --steps 4 --variants ours eager"
    command = [sys.executable, str(ROOT / "measurements/device_steps.py"), *options.split()]
    subprocess.run([*command, "--out", str(tmp_path / "steps")], check=True, capture_output=True, cwd=tmp_path)
    ours, eager = json.loads((tmp_path / "steps.json").read_text())
    assert ours["first_loss"] == eager["first_loss"]
    assert ours["tokens_per_second"] == pytest.approx(8 * 64 / ours["milliseconds"] * 1000)
    assert "| tiny | 300 | eager |" in (tmp_path / "steps.md").read_text()
