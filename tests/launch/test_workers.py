"""Workers that share a grid; most with a stand-in for training."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ucurve.errors import UserError
from ucurve.launch.workers import run_workers, workers_command
from ucurve.storage.facts import read_run_facts

ROOT = Path(__file__).resolve().parents[2]
READY_THEN_WAIT = (
    "import sys, time\nprint('ready', flush=True)\ntry: time.sleep(30)\nexcept KeyboardInterrupt: sys.exit(130)"
)
GRID = ["model=tiny", "tokens=1536", "tokenizer=char", "batch.sequences=8", "batch.length=16", "schedule.count=2"]


@pytest.fixture
def grid(tmp_path, corpus):
    paths = [f"paths.{name}={tmp_path / name}" for name in ("runs", "cache", "tokenizers")]
    return [*GRID, "data=text", f"data.path={corpus}", *paths]


def python(code):
    return [sys.executable, "-c", code]


def test_every_worker_has_its_environment_and_its_lines_have_its_number(capfd):
    code = "import os, sys; print(os.environ['CUDA_VISIBLE_DEVICES']); print('warning', file=sys.stderr)"
    environments = [os.environ | {"CUDA_VISIBLE_DEVICES": device} for device in ("2", "5")]
    assert run_workers(python(code), environments) == 0
    out, err = capfd.readouterr()
    assert sorted(out.splitlines()) == ["[0] 2", "[1] 5"]
    assert sorted(err.splitlines()) == ["[0] warning", "[1] warning"]


@pytest.mark.parametrize(("codes", "worst"), [("0 0", 0), ("1 0", 1), ("0 75", 75), ("0 -9", 137)])
def test_the_exit_code_is_the_worst(codes, worst):
    code = (
        "import os; code = int(os.environ['CODE']); os.kill(os.getpid(), -code) if code < 0 else os._exit(code)"
    )
    assert run_workers(python(code), [os.environ | {"CODE": one} for one in codes.split()]) == worst


def test_a_signal_while_workers_are_started_reaches_all_of_them(monkeypatch):
    start, begun = subprocess.Popen, []

    def interrupted_start(*given, **options):
        begun.append(start(*given, **options))
        if len(begun) == 1:
            signal.raise_signal(signal.SIGTERM)
        return begun[-1]

    monkeypatch.setattr(subprocess, "Popen", interrupted_start)
    started = time.monotonic()
    assert run_workers(python("import time; time.sleep(30)"), [os.environ] * 2) == 75
    assert time.monotonic() - started < 20
    assert len(begun) == 2


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 75), (signal.SIGHUP, 75)])
def test_a_signal_reaches_every_worker_once(number, code):
    parent = f"import os, sys; from ucurve.launch.workers import run_workers; sys.exit(run_workers({python(READY_THEN_WAIT)!r}, [os.environ] * 2))"
    with subprocess.Popen(
        python(parent), cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert {process.stdout.readline(), process.stdout.readline()} == {"[0] ready\n", "[1] ready\n"}
        os.killpg(process.pid, number)  # as a terminal does with Ctrl-C
        started = time.monotonic()
        assert process.wait(timeout=20) == code
        assert time.monotonic() - started < 20


@pytest.mark.long
def test_two_workers_train_every_cell_of_a_grid_once(grid, tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(ROOT)
    workers_command(["workers=2", "seed=0,1,2", *grid])
    runs = sorted(path for path in (tmp_path / "runs").iterdir() if not path.name.startswith("."))
    assert [read_run_facts(run).status for run in runs] == ["finished"] * 3
    out = capfd.readouterr().out
    trained = [line.split()[1] for line in out.splitlines() if " done" in line and "cells" not in line]
    assert sorted(trained) == [run.name for run in runs]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "one of the two is needed"),
        (["gpus=1", "workers=1"], "one of the two is needed"),
        (["gpus=64"], r"gpus=64: \d+ CUDA devices are visible here; workers=N"),
        (["workers=2", "dry_run=true"], "dry_run=true trains nothing"),
        (["workers=2", "schedule.count=99"], "does not fit a run of 12 steps"),
    ],
)
def test_a_mistake_is_answered_before_a_worker_starts(grid, arguments, message, monkeypatch):
    monkeypatch.setattr("ucurve.launch.workers.run_workers", lambda *_: pytest.fail("a worker was started"))
    with pytest.raises(UserError, match=message):
        workers_command([*grid, *arguments])


@pytest.mark.long
def test_two_workers_score_every_checkpoint_of_every_run(grid, tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(ROOT)
    folder = tmp_path / "benchmarks" / "zhoblimp"
    folder.mkdir(parents=True)
    pair = {"UID": "a", "phenomenon": "p", "sentence_good": "天地玄黄", "sentence_bad": "黄玄地天"}
    (folder / "pairs.jsonl").write_text(json.dumps(pair) + "\n")
    workers_command(["workers=2", "seed=0,1", *grid])
    runs = [path for path in (tmp_path / "runs").iterdir() if not path.name.startswith(".")]
    capfd.readouterr()
    workers_command(
        [
            "workers=2",
            "score",
            f"run={tmp_path}/runs/*",
            "benchmarks=zhoblimp",
            f"benchmark_root={tmp_path}/benchmarks",
        ]
    )
    assert len(runs) == 2
    for run in runs:
        assert len(list(run.glob("eval/*/*/*.parquet"))) == len(list(run.glob("checkpoints/*"))), run
    assert {line[:3] for line in capfd.readouterr().out.splitlines()} == {"[0]", "[1]"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["list=true"], "list and check score nothing"),
        (["benchmarks=zhoblimp"], "run"),
        (["run=r", "no_such_key=1"], "no_such_key"),
    ],
)
def test_a_mistake_in_scoring_is_answered_before_a_worker_starts(arguments, message, monkeypatch):
    monkeypatch.setattr("ucurve.launch.workers.run_workers", lambda *_: pytest.fail("a worker was started"))
    with pytest.raises(UserError, match=message):
        workers_command(["workers=2", "score", *arguments])
