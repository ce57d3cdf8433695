"""Work on texts in several processes: the results in order, a mistake as it is, and a process that dies as one message."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from subprocess import PIPE

import pytest

from ucurve.errors import RunError, UserError
from ucurve.training.corpus import parallel
from ucurve.training.corpus.parallel import map_batches

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = """
import ucurve
ucurve.train(model="tiny", tokens="20K", data="demo", benchmarks=[])
"""
SLEEPERS = """
from tests.train.corpus import test_parallel
from ucurve.training.corpus import parallel
if __name__ == "__main__":
    parallel._CHARACTERS_AT_ONCE = 1
    [*parallel.map_batches(test_parallel.tell_and_sleep, ["a", "b"], 2, "sleeps")]
"""


def texts_and_process(texts: list[str]) -> tuple[list[str], int]:
    return texts, os.getpid()


def refuse(texts: list[str]) -> None:
    raise UserError(f"no {texts[0]}")


def die(_: list[str]) -> None:
    os._exit(1)


def tell_and_sleep(_: list[str]) -> None:
    os.write(1, b"begun\n")
    time.sleep(600)


def sleep(_: list[str]) -> None:
    time.sleep(2)


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


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_the_processes_start_ends_them_all(monkeypatch, number):
    start_process = multiprocessing.context.SpawnProcess.start

    def start_and_signal(self) -> None:
        start_process(self)
        os.kill(os.getpid(), number)
        time.sleep(0.5)

    monkeypatch.setattr(multiprocessing.context.SpawnProcess, "start", start_and_signal)
    before = signal.signal(number, signal.default_int_handler)  # a run handles SIGTERM as it handles Ctrl-C
    try:
        with pytest.raises(KeyboardInterrupt):
            [*map_batches(sleep, ["a", "b"], 2, "sleeps")]
    finally:
        signal.signal(number, before)
    assert multiprocessing.active_children() == []


def interrupt_while_sending(thread: int) -> None:
    while sys._current_frames()[thread].f_code.co_name != "_send":  # of multiprocessing.connection
        time.sleep(0.001)
    os.kill(os.getppid(), signal.SIGINT)


class Large:
    """A result that takes long to send; Ctrl-C comes meanwhile."""

    def __reduce__(self) -> tuple[type, tuple[bytes]]:
        threading.Thread(target=interrupt_while_sending, args=[threading.get_ident()]).start()
        return bytes, (bytes(2**27),)


def send_large(texts: list[str]) -> Large | None:
    return Large() if texts == ["a"] else None


def test_ctrl_c_while_a_process_sends_its_result_does_not_wait_for_ever():
    with pytest.raises(KeyboardInterrupt):
        [*map_batches(send_large, ["a", "b"], 2, "sends")]
    assert multiprocessing.active_children() == []


def test_processes_end_when_their_parent_is_killed():
    parent = subprocess.Popen(
        [sys.executable, "-c", SLEEPERS], env=os.environ | {"PYTHONPATH": str(ROOT)}, stdout=PIPE
    )
    assert parent.stdout.readline() == b"begun\n"
    parent.kill()
    # The processes hold the pipe open as long as they live.
    assert parent.communicate(timeout=60)[0] in {b"", b"begun\n"}


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
