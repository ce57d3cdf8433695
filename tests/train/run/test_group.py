"""Several processes that score one checkpoint together write what one process writes, and end together."""

import json
import random
import shutil
from pathlib import Path

import pytest

from tests.train.conftest import CHARACTERS
from tests.train.launching import finish, start
from ucurve.eval.run import score_run
from ucurve.eval.settings import score_settings
from ucurve.training.run.run import train_run

WORKER = Path(__file__).with_name("group_worker.py")


@pytest.fixture
def benchmark_root(tmp_path):
    chance = random.Random(1)
    folder = tmp_path / "benchmarks/zhoblimp"
    folder.mkdir(parents=True)
    pairs = []
    for number in range(300):
        good = "".join(chance.choices(CHARACTERS, k=chance.randint(4, 12)))
        pairs.append(
            {"UID": "ab"[number % 2], "phenomenon": "p", "sentence_good": good, "sentence_bad": good[::-1]}
        )
    (folder / "pairs.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    return folder.parent


@pytest.fixture
def run(settings_of):
    settings = settings_of("schedule.count=2", "eval.when=never")
    train_run(settings)
    return settings.folder


def scores(run):
    return {str(path.relative_to(run)): path.read_bytes() for path in (run / "eval").glob("*/*/*")}


@pytest.fixture
def alone(run, benchmark_root):
    """What one process writes; it is removed again."""
    score_run(run, score_settings(benchmarks=("zhoblimp",), benchmark_root=benchmark_root, linking=("lp",)))
    files = scores(run)
    assert len(files) == 6, "scores, keys and rows of two checkpoints"
    shutil.rmtree(run / "eval")
    return files


@pytest.mark.long
def test_two_processes_write_what_one_writes(run, benchmark_root, alone):
    processes = start([WORKER, run, benchmark_root], 2)
    printed = [process.communicate(timeout=240) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], printed
    assert scores(run) == alone
    assert "zhoblimp: accuracy (%)" in printed[0][0]
    assert printed[1][0] == "", "only rank 0 prints scores"


@pytest.mark.long
def test_memory_that_is_full_in_one_process_makes_smaller_batches_in_all(run, benchmark_root, alone):
    codes, errors = finish(start([WORKER, run, benchmark_root, "full"], 2))
    assert codes == [0, 0], errors
    assert "the device's memory is full; going on with 512 tokens at once" in errors[0]
    assert sorted(scores(run)) == sorted(alone)


@pytest.mark.long
@pytest.mark.parametrize(
    ("how", "code", "message"),
    [
        ("stopped", 75, "stopped by SIGTERM: the same command goes on"),
        ("broken", 1, "process 1: ValueError: odd"),
        ("missing", 2, "process 1: benchmark_root: no folder "),
    ],
)
def test_what_happens_to_one_process_ends_all(run, benchmark_root, how, code, message):
    codes, errors = finish(start([WORKER, run, benchmark_root, how], 2), timeout=60)
    assert codes == [code, code], errors
    assert message in errors[0]
    assert not list((run / "eval").glob("*/*/*.parquet"))
