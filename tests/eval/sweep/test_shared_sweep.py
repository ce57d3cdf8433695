"""Sweeps that are killed, and sweeps that several processes do together."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.facts import write_manifest_of
from ucurve.errors import RunError
from ucurve.eval.linking import parse_linking
from ucurve.eval.metrics.accuracy import accuracy_table
from ucurve.eval.run import load_benchmarks, score_run
from ucurve.eval.settings import score_settings
from ucurve.eval.store import scores as results
from ucurve.eval.store.tables import ACCURACY, STATISTICS, read_table
from ucurve.eval.sweep import sweep
from ucurve.eval.sweep.compute import Computer
from ucurve.eval.sweep.jobs import prepare
from ucurve.eval.sweep.load import SweepCache
from ucurve.storage.locks import Claims

ROOT = Path(__file__).resolve().parents[3]
STEPS = tuple(range(20))
LOCKS = (".claims", ".scoring.lock")


class Workers:
    """Processes that score, started by ``sweep_worker.py``."""

    def __init__(self, log):
        command = [sys.executable, str(Path(__file__).with_name("sweep_worker.py"))]
        environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
        self.log = log
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, cwd=ROOT
        )

    def start(self, run, root, **more):
        options = {name: more.pop(name) for name in ("hang_at", "die_at") if name in more}
        values = {
            "run": str(run),
            "benchmarks": ["zhoblimp"],
            "benchmark_root": str(root),
            "linking": ["lp"],
        } | more
        return self._ask({"values": values, "log": str(self.log), **options})

    def end_of(self, pid):
        return self._ask({"wait": pid})

    def _ask(self, request):
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def computed(self):
        """Every line of the log: process, step, benchmark, scorer."""
        return [tuple(line.split()) for line in self.log.read_text().splitlines()] if self.log.exists() else []

    def said(self):
        return Path(f"{self.log}.err").read_text()

    def until(self, count):
        """Wait until so many scores have been begun."""
        self._until(lambda: len(self.computed()) >= count)

    def until_said(self, text):
        self._until(lambda: text in self.said())

    def _until(self, true):
        for _ in range(6000):
            if true():
                return
            time.sleep(0.005)
        raise AssertionError(f"waited in vain:\n{self.said()}")

    def close(self):
        self._process.kill()
        self._process.wait()
        self._process.stdin.close()
        self._process.stdout.close()


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("shared")


@pytest.fixture(scope="module")
def workers(place):
    workers = Workers(place / "log")
    yield workers
    workers.close()


@pytest.fixture(autouse=True)
def _fresh_log(request):
    if "workers" in request.fixturenames:
        workers = request.getfixturevalue("workers")
        for file in (workers.log, Path(f"{workers.log}.err")):
            file.unlink(missing_ok=True)


@pytest.fixture(scope="module")
def benchmark_root(place, records):
    folder = place / "benchmarks" / "zhoblimp"
    folder.mkdir(parents=True)
    lines = [
        json.dumps(record, ensure_ascii=False)
        for record in records[:40]
        if len(record["sentence_good"]) > 1 < len(record["sentence_bad"])
    ]
    (folder / "pairs.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder.parent


@pytest.fixture(scope="module")
def untouched(place, make_model, tokenizer):
    """A run of 20 checkpoints without scores."""
    run = place / "runs" / "untouched" / "tiny-1M-char-text-s0"
    for step in STEPS:
        folder = run / "checkpoints" / f"step{step:08d}"
        make_model(seed=step).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        write_manifest_of(folder, step, tokens=step)
    (run / "tokenizer").mkdir()
    np.save(run / "tokenizer" / "unigram_counts.npy", np.arange(42, dtype=np.int64))
    return run


@pytest.fixture
def run(untouched, tmp_path):
    return Path(shutil.copytree(untouched, tmp_path / untouched.name))


@pytest.fixture(scope="module")
def alone(untouched, benchmark_root, workers, place):
    """What is in the folder after a sweep that was left alone."""
    run = shutil.copytree(untouched, place / "alone" / untouched.name)
    assert workers.end_of(workers.start(run, benchmark_root)) == 0, workers.said()
    return contents(run)


def contents(run):
    """Every file of the run's eval folder with its bytes; lock files without."""
    files = [path for path in (run / "eval").rglob("*") if path.is_file()]
    return {str(path.relative_to(run)): b"" if path.name in LOCKS else path.read_bytes() for path in files}


@pytest.mark.long
def test_a_sweep_killed_five_times_ends_as_one_left_alone(workers, run, benchmark_root, alone):
    draw = random.Random()
    for _ in range(5):
        begun = len(workers.computed())
        process = workers.start(run, benchmark_root)
        workers.until(begun + draw.randint(1, 3))
        time.sleep(draw.uniform(0, 0.15))
        os.kill(process, signal.SIGKILL)
        assert workers.end_of(process) == -signal.SIGKILL
    assert workers.end_of(workers.start(run, benchmark_root)) == 0, workers.said()
    assert contents(run) == alone
    assert max(Counter(line[1:] for line in workers.computed()).values()) <= 5


@pytest.mark.long
def test_a_kill_at_any_file_leaves_nothing_that_stays(workers, run, benchmark_root):
    assert workers.end_of(workers.start(run, benchmark_root, steps=[0])) == 0, workers.said()
    expected = contents(run)
    codes = []
    while 0 not in codes:
        shutil.rmtree(run / "eval")
        process = workers.start(run, benchmark_root, steps=[0], die_at=len(codes) + 1)
        codes.append(workers.end_of(process))
        assert workers.end_of(workers.start(run, benchmark_root, steps=[0])) == 0, workers.said()
        assert contents(run) == expected, f"killed at {len(codes)}"
    assert codes == [-signal.SIGKILL] * 6 + [0], "pairs, scores, their key, their rows and two tables"


@pytest.mark.long
def test_two_processes_share_a_sweep(workers, run, benchmark_root, alone):
    both = [workers.start(run, benchmark_root) for _ in range(2)]
    assert [workers.end_of(process) for process in both] == [0, 0], workers.said()
    assert contents(run) == alone
    computed = workers.computed()
    assert sorted(int(step) for _, step, *_ in computed) == list(STEPS)
    assert len({process for process, *_ in computed}) == 2


@pytest.mark.long
def test_a_process_killed_with_a_claim_blocks_no_other(workers, run, benchmark_root, alone):
    steps = list(STEPS[:5])
    stuck = workers.start(run, benchmark_root, steps=steps, hang_at=1)
    workers.until(1)
    other = workers.start(run, benchmark_root, steps=steps)
    workers.until_said(f"waiting for another process, which scores 1 of {len(steps)}")
    os.kill(stuck, signal.SIGKILL)
    assert workers.end_of(stuck) == -signal.SIGKILL
    assert workers.end_of(other) == 0, workers.said()
    of_tables = ("eval/accuracy.csv", "eval/statistics.csv")
    found = {name: data for name, data in contents(run).items() if name not in of_tables}
    assert found == {name: alone[name] for name in found}
    assert len([name for name in found if name.endswith(".json")]) == len(steps)
    assert sorted(read_table(ACCURACY, ACCURACY.path(run))["step"].unique()) == steps


def test_other_linkings_and_a_subset_at_the_same_time(workers, run, benchmark_root):
    pairs = len((benchmark_root / "zhoblimp" / "pairs.jsonl").read_text().splitlines())
    others = {"linking": ["mean_lp", "nll"]}, {"subset": 5}, {}
    started = [workers.start(run, benchmark_root, steps=[0, 1, 2, 3], **other) for other in others]
    assert [workers.end_of(process) for process in started] == [0, 0, 0], workers.said()
    computed = Counter(line[1:] for line in workers.computed())
    assert set(computed.values()) == {1}
    assert len(computed) == 4 * 2
    for kind in (ACCURACY, STATISTICS):
        table = read_table(kind, kind.path(run))
        whole, part = (table[table["benchmark"] == name] for name in ("zhoblimp", "zhoblimp@5"))
        assert set(whole["linking"]) == {"lp", "mean_lp", "nll"}
        assert set(part["linking"]) == {"lp"}
        assert (whole["n"].max(), part["n"].max()) == (pairs, 25)
        for rows in (whole, part):
            assert rows.groupby("linking")["step"].nunique().eq(4).all()


def test_other_pairs_at_the_same_time_are_refused(
    workers, run, benchmark_root, records, write_benchmark, monkeypatch
):
    monkeypatch.setattr(results, "_PAUSE", 0.001)
    other_root = write_benchmark(run.parent / "other", records[:10])
    stuck = workers.start(run, benchmark_root, hang_at=2)
    workers.until(2)
    before = contents(run)
    with pytest.raises(
        RunError, match=r"another process is scoring other pairs of zhoblimp into this folder; wait"
    ):
        score_run(run, score_settings(benchmarks=("zhoblimp",), benchmark_root=other_root))
    assert contents(run) == before
    os.kill(stuck, signal.SIGKILL)
    workers.end_of(stuck)
    score_run(run, score_settings(benchmarks=("zhoblimp",), benchmark_root=other_root), steps=[0])
    assert [path.name for path in sorted((run / "eval" / "zhoblimp" / "sentence").iterdir())] == [
        "step00000000.json", "step00000000.parquet", "step00000000.rows",
    ]  # fmt: skip
    assert read_table(ACCURACY, ACCURACY.path(run))["n"].max() == 10


def test_leftovers_of_a_live_process_stay(workers, run, benchmark_root):
    stuck = workers.start(run, benchmark_root, hang_at=1)
    workers.until(1)
    half = run / "eval" / "zhoblimp" / ".step00000000.parquet.tmp-0123456789ab"
    half.write_text("half")
    score_run(run, score_settings(benchmarks=("zhoblimp",), benchmark_root=benchmark_root, subset=1), steps=[0])
    assert half.exists()
    os.kill(stuck, signal.SIGKILL)
    workers.end_of(stuck)
    score_run(run, score_settings(benchmarks=("zhoblimp",), benchmark_root=benchmark_root, subset=1), steps=[0])
    assert not half.exists()


def test_rows_go_with_their_scores_when_settings_fight(run, benchmark_root, monkeypatch):
    """Between two scores of one sweep another sweep of other settings stores its own."""
    ours = score_settings(benchmarks=("zhoblimp",), benchmark_root=benchmark_root, linking=("lp", "slor"))
    theirs = score_settings(
        benchmarks=("zhoblimp",), benchmark_root=benchmark_root, bos="none", linking=("lp", "nll")
    )
    compute, calls = Computer.compute, []

    def intruded(computer, job, *rest):
        calls.append(job.target.step)
        scored = compute(computer, job, *rest)
        if len(calls) == 2:
            score_run(run, theirs, steps=[0, 1])
        return scored

    monkeypatch.setattr(Computer, "compute", intruded)
    score_run(run, ours, steps=[0, 1])
    assert calls == [0, 1, 0, 1]
    records = [
        json.loads((run / "eval/zhoblimp/sentence" / f"step0000000{step}.json").read_text()) for step in (0, 1)
    ]
    assert [record["settings"]["start_rule"] for record in records] == ["none", "eos"]
    assert_rows_are_of_the_stored_scores(run, load_benchmarks(ours)[0])
    table = read_table(ACCURACY, ACCURACY.path(run))
    assert set(table[table["step"] == 0]["linking"]) == {"lp", "nll"}
    assert "nll" not in set(table[table["step"] == 1]["linking"])


def assert_rows_are_of_the_stored_scores(run, pairs):
    table = read_table(ACCURACY, ACCURACY.path(run))
    for step, rows in table.groupby("step"):
        scores = pd.read_parquet(run / "eval" / "zhoblimp" / "sentence" / f"step{step:08d}.parquet")
        linkings = [parse_linking(name) for name in rows["linking"].unique()]
        made = accuracy_table(pairs, scores, linkings)
        names = list(made.columns[:5])
        found = rows[made.columns].sort_values(names, ignore_index=True)
        pd.testing.assert_frame_equal(found, made.sort_values(names, ignore_index=True), check_dtype=False)


def test_in_turn_takes_up_whatever_is_free(run, benchmark_root, workers, tmp_path):
    stuck = workers.start(run, benchmark_root, hang_at=3)
    workers.until(3)
    from ucurve.eval.models.targets import run_targets

    settings = score_settings(benchmarks=("zhoblimp",), benchmark_root=benchmark_root)
    pairs, cache = load_benchmarks(settings), SweepCache()
    jobs = [job for target in run_targets(run, STEPS[:6]) for job in prepare(target, pairs, settings, cache)]
    with Claims(run / "eval" / ".claims") as claims:
        order = []
        for job in sweep.claimed_in_order(jobs, claims):
            order.append(job.target.step)
            if len(order) == 5:
                os.kill(stuck, signal.SIGKILL)
    assert order == [0, 1, 3, 4, 5, 2]
    workers.end_of(stuck)
