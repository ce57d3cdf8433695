"""Runs killed at random times end as if left alone; the long version is ``python -m tests.train.stress 30``."""

import json
import os
import signal
import time
from dataclasses import replace

import pytest

from tests.train.launching import finish, free_port, start
from tests.train.stress import MODELS, WAYS, command, outcome, stress, write_inputs


@pytest.mark.long
@pytest.mark.parametrize("model", ["14m", "dropout"])
def test_a_run_that_is_killed_ends_as_if_left_alone(tmp_path, model):
    write_inputs(tmp_path)
    assert stress(tmp_path, replace(WAYS[0], model=MODELS[model]), 1, 20, seed=0).total() >= 1


@pytest.mark.long
def test_a_run_of_two_processes_that_is_killed_ends_as_if_left_alone(tmp_path):
    write_inputs(tmp_path)
    assert stress(tmp_path, WAYS[1], 1, 20, seed=0).total() >= 1


@pytest.mark.long
@pytest.mark.parametrize("engine", ["torch", "deepspeed"])
def test_a_run_of_two_processes_goes_on_with_one(tmp_path, engine):
    pytest.importorskip(engine)
    write_inputs(tmp_path)
    processes = start(command(tmp_path, {"torch": WAYS[1], "deepspeed": WAYS[3]}[engine], "moved", 60), 2)
    (metrics,) = wait_for(tmp_path, "moved/*/metrics.jsonl")
    processes[0].send_signal(signal.SIGTERM)
    assert finish(processes)[0] == [75, 75]
    done = len(metrics.read_text().splitlines())
    assert 0 < done < 60
    codes, errors = finish(start(command(tmp_path, WAYS[0], "moved", 60)))
    assert codes == [0], errors
    assert f"going on after step {done}" in errors[0]
    assert finish(start(command(tmp_path, WAYS[0], "alone", 60)))[0] == [0]
    moved, alone = (outcome(next(tmp_path.glob(f"{runs}/*-s0")))[1] for runs in ("moved", "alone"))
    assert [line["step"] for line in moved] == list(range(1, 61))
    for ours, other in zip(moved, alone, strict=True):
        assert ours["loss"] == pytest.approx(other["loss"], abs=1e-5)
    sessions = json.loads((metrics.parent / "run.json").read_text())["sessions"]
    assert [(one["after_step"], one["engine"]["kind"]) for one in sessions] == [(0, engine), (done, "torch")]


def wait_for(folder, pattern, seconds=120):
    """Wait until a file that matches has a line."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = [path for path in folder.glob(pattern) if path.stat().st_size]
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"no {pattern} with a line in {folder}")


@pytest.mark.long
def test_two_processes_say_one_mistake_once_and_end_with_its_code(tmp_path):
    write_inputs(tmp_path)
    arguments = command(tmp_path, WAYS[1], "runs", 20)
    codes, errors = finish(start([*arguments, "tokens=1_000_000_000"], 2))
    assert codes == [2, 2], errors
    assert errors[0].count("error: ") == 1
    assert "epochs of data=corpus" in errors[0]
    assert "error: " not in errors[1]
    assert not list(tmp_path.glob("runs/*corpus*"))


@pytest.mark.long
@pytest.mark.parametrize("launcher", ["none", "torchrun"])
def test_ctrl_c_in_two_processes_keeps_the_state(tmp_path, launcher):
    write_inputs(tmp_path)
    arguments = command(tmp_path, WAYS[1], "runs", 3000)
    if launcher == "none":
        processes = start(arguments, 2)
    else:
        torchrun = ["-m", "torch.distributed.run", "--nproc_per_node=2", f"--master_port={free_port()}"]
        processes = start([*torchrun, *arguments], session=True)
    (metrics,) = wait_for(tmp_path, "runs/*/metrics.jsonl")
    if launcher == "none":
        for process in processes:
            process.send_signal(signal.SIGINT)
    else:  # the terminal sends it to all, and torchrun a second time to its own
        os.killpg(processes[0].pid, signal.SIGINT)
    codes, errors = finish(processes)
    assert codes == ([130, 130] if launcher == "none" else [1]), errors
    done = len(metrics.read_text().splitlines())
    kept = f"stopped by Ctrl-C: the state after step {done} is kept, the same command goes on; exit code 130"
    assert errors[0].count(kept) == 1, errors
    assert (metrics.parent / "resume" / f"step{done:08d}").is_dir()
    assert json.loads((metrics.parent / "run.json").read_text())["status"] == "interrupted"
