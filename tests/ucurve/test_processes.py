"""Work in several processes: the results in order, a mistake as it is, and a process that dies as one message."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from ucurve import processes
from ucurve.errors import RunError, UserError
from ucurve.processes import map_in_processes

ROOT = Path(__file__).resolve().parents[2]


def number_and_process(number: int) -> tuple[int, int]:
    return number, os.getpid()


def refuse(name: str) -> None:
    raise UserError(f"no {name}")


def die(_: int) -> None:
    os._exit(1)


def sleep_or_refuse(seconds: float) -> None:
    if not seconds:
        raise UserError("no sleep")
    time.sleep(seconds)


@pytest.fixture(autouse=True)
def two_processes(monkeypatch):
    monkeypatch.setattr(processes, "count_processes", lambda: 2)


def test_results_are_in_order_and_made_elsewhere():
    found = map_in_processes(number_and_process, [3, 1, 2], "numbers")
    assert [number for number, _ in found] == [3, 1, 2]
    assert os.getpid() not in {process for _, process in found}


def test_one_argument_needs_no_other_process():
    assert map_in_processes(number_and_process, [3], "numbers") == [(3, os.getpid())]
    assert map_in_processes(number_and_process, [], "numbers") == []


def test_a_mistake_is_raised_as_it_is():
    with pytest.raises(UserError, match=r"no (apples|pears)"):
        map_in_processes(refuse, ["apples", "pears"], "fruit")


def test_a_process_that_dies_is_one_message():
    with pytest.raises(RunError, match="a process that counts was killed, perhaps because the memory"):
        map_in_processes(die, [1, 2], "counts")


def test_a_program_whose_work_is_not_below_its_name_is_told_so(tmp_path, monkeypatch):
    program = tmp_path / "program.py"
    program.write_text(
        "from ucurve import processes\n"
        "processes.count_processes = lambda: 2\n"
        "processes.map_in_processes(len, ['a', 'b'], 'counts')\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False)
    assert "RunError: a process that counts was killed" in done.stderr
    assert 'does so below `if __name__ == "__main__":`' in done.stderr


def test_after_a_mistake_the_other_pieces_are_not_waited_for():
    start = time.monotonic()
    with pytest.raises(UserError, match="no sleep"):
        map_in_processes(sleep_or_refuse, [60, 0], "sleeps")
    assert time.monotonic() - start < 30
    assert multiprocessing.active_children() == []


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
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        map_in_processes(sleep_or_refuse, [60, 60], "sleeps")
    assert time.monotonic() - start < 30
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
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        map_in_processes(sleep_or_refuse, [60, 60], "sleeps")
    assert time.monotonic() - start < 30
    assert multiprocessing.active_children() == []
    assert "Traceback" not in capfd.readouterr().err
