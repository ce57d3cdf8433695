import subprocess
import sys
from pathlib import Path

import pytest

from ucurve.eval.store.tables import ACCURACY, read_table

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def score(tmp_path):
    """Run score.py as a user would, in an empty folder."""

    def call(*arguments):
        command = [sys.executable, str(ROOT / "score.py"), *arguments]
        return subprocess.run(command, check=False, cwd=tmp_path, capture_output=True, text=True, timeout=120)

    return call


@pytest.mark.long
def test_run_then_model(score, run, tmp_path, records, write_benchmark):
    root = write_benchmark(tmp_path / "benchmarks", records[:20])
    common = ("benchmarks=[zhoblimp]", f"benchmark_root={root}")
    done = score(f"run={run}", "steps=[8]", *common)
    assert done.returncode == 0, done.stderr
    assert_says_nothing_else(done, run)
    assert read_table(ACCURACY, run / "eval" / "accuracy.csv")["step"].unique().tolist() == [8]
    done = score(f"model={run / 'checkpoints' / 'step00000000'}", "out=alone", "dtype=int8", *common)
    assert done.returncode == 0, done.stderr
    assert "dtype=int8: scores are coarser than float32" in done.stderr
    assert_says_nothing_else(done, run, "GPTNeoXForCausalLM: no computation is shared between sentences")
    assert read_table(ACCURACY, tmp_path / "alone" / "eval" / "accuracy.csv")["step"].unique().tolist() == [-1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["alone", "benchmarks", "runs"]


def assert_says_nothing_else(done, run, *more):
    """Standard output has the table and the next command; every other line is ours: no library complains."""
    first, *_, last = done.stdout.splitlines()
    assert "zhoblimp: accuracy (%)" in first
    assert last.startswith("next: ")
    ours = ("zhoblimp", "step ", "scoring ", "dtype=", f"{run}", *more)
    assert [line for line in done.stderr.splitlines() if not line.startswith(ours)] == []


def test_broken_line_leaves_nothing(score, run, tmp_path):
    folder = tmp_path / "benchmarks" / "zhoblimp"
    folder.mkdir(parents=True)
    (folder / "a.jsonl").write_text('{"UID": "a"\n')
    done = score(f"run={run}", "benchmarks=[zhoblimp]", f"benchmark_root={tmp_path / 'benchmarks'}")
    assert done.returncode == 2
    assert f"{folder / 'a.jsonl'}:1: not JSON" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (run / "eval").exists()
