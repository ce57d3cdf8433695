"""Work on texts in several processes: the results in order, a mistake as it is, and a process that dies as one message."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from ucurve.errors import RunError, UserError
from ucurve.training.corpus import parallel
from ucurve.training.corpus.parallel import map_batches

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = """
import ucurve
ucurve.train(model="tiny", tokens="20K", data="demo", benchmarks=[])
"""


def texts_and_process(texts: list[str]) -> tuple[list[str], int]:
    return texts, os.getpid()


def refuse(texts: list[str]) -> None:
    raise UserError(f"no {texts[0]}")


def die(_: list[str]) -> None:
    os._exit(1)


def sleep(_: list[str]) -> None:
    time.sleep(5)


@pytest.fixture(autouse=True)
def a_batch_for_each_text(monkeypatch):
    monkeypatch.setattr(parallel, "_CHARACTERS_AT_ONCE", 1)


def test_results_are_in_order_and_made_elsewhere():
    found = [*map_batches(texts_and_process, ["c", "a", "b"], 2, "reads")]
    assert [texts for texts, _ in found] == [["c"], ["a"], ["b"]]
    assert os.getpid() not in {process for _, process in found}


@pytest.mark.parametrize(("texts", "processes"), [(["a"], 2), ([], 2), (["a", "b"], 1)])
def test_one_batch_or_one_process_needs_no_other_process(texts, processes):
    found = map_batches(texts_and_process, texts, processes, "reads")
    assert [*found] == [([text], os.getpid()) for text in texts]


def test_a_mistake_is_raised_as_it_is():
    with pytest.raises(UserError, match="no apples"):
        [*map_batches(refuse, ["apples", "pears"], 2, "reads")]


def test_a_process_that_dies_is_one_message():
    with pytest.raises(RunError, match="a process that reads was killed, perhaps because the memory"):
        [*map_batches(die, ["a", "b"], 2, "reads")]


@pytest.mark.long
def test_a_program_that_trains_while_it_is_imported_is_told_so(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=False, timeout=200,
    )  # fmt: skip
    assert done.returncode == 1
    assert 'call it below `if __name__ == "__main__":`' in done.stderr
    assert "RunError: a process that tokenizes was killed" in done.stderr


def signal_itself() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def receive_in_another_thread() -> None:
    """What a signal does here that another thread received: it is not held back."""
    raise KeyboardInterrupt


@pytest.mark.parametrize("interrupt", [signal_itself, receive_in_another_thread])
def test_ctrl_c_while_the_processes_start_ends_them_all(monkeypatch, interrupt):
    start_process = multiprocessing.context.SpawnProcess.start

    def start_and_interrupt(self) -> None:
        start_process(self)
        interrupt()

    monkeypatch.setattr(multiprocessing.context.SpawnProcess, "start", start_and_interrupt)
    with pytest.raises(KeyboardInterrupt):
        [*map_batches(sleep, ["a", "b"], 2, "sleeps")]
    assert multiprocessing.active_children() == []


def test_ctrl_c_ends_the_processes_without_a_word_of_theirs(capfd):
    def interrupt() -> None:
        while len(multiprocessing.active_children()) < 2:
            time.sleep(0.1)
        time.sleep(1)
        for process in multiprocessing.active_children():  # the terminal sends Ctrl-C to all of them
            os.kill(process.pid, signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        [*map_batches(sleep, ["a", "b"], 2, "sleeps")]
    assert multiprocessing.active_children() == []
    assert "Traceback" not in capfd.readouterr().err
