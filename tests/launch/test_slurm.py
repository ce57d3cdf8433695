"""The emitted files are run as Slurm would run them, with its commands replaced by ``scheduler/`` on the PATH."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ucurve.launch.emit import emit_command
from ucurve.launch.status import cell_status

ROOT = Path(__file__).resolve().parents[2]
SCHEDULER = Path(__file__).with_name("scheduler")


@pytest.fixture
def grid(overrides):
    """A grid of runs of 80 steps."""
    return [*overrides, "tokens=10240", "data.max_epochs=100", "resume.seconds=60", "engine.device=cpu"]


@pytest.fixture
def submit(tmp_path, monkeypatch):
    """A function that emits a job array, submits it to the stand-in and returns what that said."""

    def call(arguments, warn=None):
        script = tmp_path / "grid.sbatch"
        emit_command([f"out={script}", f"python={sys.executable}", f"slurm.logs={tmp_path / 'logs'}", *arguments])
        environment = os.environ | {
            "PATH": f"{SCHEDULER}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "LOCAL_REQUEUED": str(tmp_path / "requeued"),
            "LOCAL_WARN": f"{warn[0]}:{warn[1]}/metrics.jsonl" if warn else "",
            "OMP_NUM_THREADS": "1",
        }
        words = ["sbatch", str(script)]
        return subprocess.run(
            words, check=False, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300
        )

    return call


def log(tmp_path, task):
    return (tmp_path / "logs" / f"7_{task}.log").read_text()


def steps(run):
    return [json.loads(line)["step"] for line in (run / "metrics.jsonl").read_text().splitlines()]


@pytest.mark.long
def test_an_array_trains_its_cells_and_requeues_the_one_that_is_told_to_end(submit, grid, tmp_path):
    runs = [tmp_path / "runs" / f"tiny-10240-char-small_corpus-s{seed}" for seed in (0, 1)]
    done = submit([*grid, "seed=0,1"], warn=(1, runs[1]))
    assert done.returncode == 0, done.stderr + log(tmp_path, 0) + log(tmp_path, 1)
    assert done.stdout == "requeued 1\n"
    assert "stopped by SIGUSR1" in log(tmp_path, 1)
    assert "going on after step" in log(tmp_path, 1)
    assert [cell_status(run).status for run in runs] == ["done", "done"]
    assert steps(runs[1]) == list(range(1, 81))


@pytest.mark.long
def test_a_node_full_of_workers_trains_the_grid_and_is_requeued(submit, grid, tmp_path):
    runs = [tmp_path / "runs" / f"tiny-10240-char-small_corpus-s{seed}" for seed in (0, 1, 2)]
    done = submit([*grid, "seed=0,1,2", "launcher=workers", "processes=2"], warn=(0, runs[1]))
    assert done.returncode == 0, done.stderr + log(tmp_path, 0)
    assert done.stdout == "requeued 0\n"
    assert "[1] " in log(tmp_path, 0)
    assert [cell_status(run).status for run in runs] == ["done"] * 3


@pytest.mark.long
def test_two_nodes_train_one_run_and_requeue_it(submit, grid, tmp_path):
    run = tmp_path / "runs" / "tiny-10240-char-small_corpus-s0"
    done = submit([*grid, "nodes=2"], warn=(0, run))
    assert done.returncode == 0, done.stderr + log(tmp_path, 0)
    assert done.stdout == "requeued 0\n"
    assert cell_status(run).status == "done", log(tmp_path, 0)
    assert steps(run) == list(range(1, 81))


@pytest.mark.slow
def test_a_task_that_fails_is_not_requeued(submit, grid, tmp_path):
    (tmp_path / "runs" / "tiny-10240-char-small_corpus-s0").mkdir(parents=True)
    (tmp_path / "runs" / "tiny-10240-char-small_corpus-s0" / "notes.txt").touch()
    done = submit(grid)
    assert (done.returncode, done.stdout) == (2, "")
    assert "exists and is not a run of this suite" in log(tmp_path, 0)
