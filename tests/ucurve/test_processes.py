"""Work in several processes: the results in order, a mistake as it is, and a process that dies as one message."""

import os

import pytest

from ucurve import processes
from ucurve.errors import RunError, UserError
from ucurve.processes import map_in_processes


def number_and_process(number: int) -> tuple[int, int]:
    return number, os.getpid()


def refuse(name: str) -> None:
    raise UserError(f"no {name}")


def die(_: int) -> None:
    os._exit(1)


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
    with pytest.raises(UserError, match="no apples"):
        map_in_processes(refuse, ["apples", "pears"], "fruit")


def test_a_process_that_dies_is_one_message():
    with pytest.raises(RunError, match="a process that counts was killed, perhaps because the memory"):
        map_in_processes(die, [1, 2], "counts")
