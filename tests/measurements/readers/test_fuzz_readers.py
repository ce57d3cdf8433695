"""The fuzzer of the readers: what it makes and how it counts; in ``make long`` a small share of its inputs is read."""

import multiprocessing
import os
import signal
import time

import pytest

from measurements.readers import fuzz_readers
from measurements.readers.fuzz_readers import READERS, fuzz, make_input, shares_of, table, try_inputs
from measurements.readers.fuzz_targets import TARGETS, Target
from ucurve.errors import UserError


def use(monkeypatch, read):
    monkeypatch.setitem(TARGETS, "jsonl", Target(TARGETS["jsonl"].cases, read))


def never_end(folder, name):
    while True:
        assert folder.name
        assert name


def test_every_reader_has_valid_files():
    assert tuple(TARGETS) == READERS


def test_an_input_follows_from_its_seed_and_number():
    first, again, other = (make_input("csv", seed, 11) for seed in (3, 3, 4))
    assert first == again
    assert first != other
    assert [make_input("csv", 0, number).changed_once for number in range(10)] == [
        False,
        *[True] * 6,
        *[False] * 3,
    ]


def test_inputs_are_divided_evenly():
    shares = shares_of(["a", "b"], 1001)
    assert [(reader, len(numbers)) for reader, numbers in shares] == [
        ("a", 400),
        ("a", 101),
        ("b", 400),
        ("b", 100),
    ]
    assert [number for reader, numbers in shares if reader == "a" for number in numbers] == list(range(501))


def test_what_comes_of_an_input(monkeypatch):
    def read(outcome):
        use(monkeypatch, outcome)
        [result] = try_inputs("jsonl", 0, [1])
        return result.outcome

    def fail(error):
        def read(folder, name):
            assert (folder / name).exists()
            raise error

        return read

    assert read(lambda folder, name: None) == "last stage"
    assert read(fail(UserError("no"))) == "message"
    assert read(fail(FileNotFoundError("no"))) == "message"
    assert read(fail(KeyError("no"))) == "traceback"
    assert read(fail(MemoryError())) == "memory"
    monkeypatch.setattr(fuzz_readers, "MOST_SECONDS", 0.2)
    assert read(never_end) == "slow"
    assert signal.getitimer(signal.ITIMER_PROF) == (0, 0)


def test_the_table_names_what_failed():
    tally = fuzz_readers.Tally()
    for number, outcome in enumerate(["last stage", "message", "traceback", "traceback"]):
        tally.add(fuzz_readers.Result(number, outcome, 0.5, number < 3, 100))
    assert tally.failures == 2
    line = next(line for line in table({"csv": tally}).splitlines() if line.startswith("csv"))
    assert line.split() == ["csv", "4", "3", "25.0%", "1", "2", "0", "0", "0.50", "100"]


@pytest.mark.long
@pytest.mark.parametrize("reader", READERS)
def test_no_reader_fails(reader):
    number = 20 if reader in ("answers", "overrides") else 100
    results = list(try_inputs(reader, 0, range(number)))
    failed = {
        result.number: result.detail for result in results if result.outcome not in ("last stage", "message")
    }
    assert not failed
    assert any(result.outcome == "last stage" for result in results)


@pytest.mark.long
def test_processes_that_die_and_hang_are_failures_and_the_others_go_on(tmp_path, monkeypatch):
    """The processes are forked here, so that they have the readers of this test."""
    fork = multiprocessing.get_context("fork")
    monkeypatch.setattr(multiprocessing, "get_context", lambda _: fork)
    monkeypatch.setattr(fuzz_readers, "_UNTIL_KILLED", 4)
    monkeypatch.setattr(fuzz_readers, "make_input", lambda *_: fuzz_readers.Input("a.jsonl", b"", {}, True))
    calls, valid = tmp_path / "calls", len(TARGETS["jsonl"].cases())  # each process reads the valid files first

    def read(folder, name):
        with calls.open("a") as file:
            file.write("x")
        if calls.stat().st_size == 2 + valid:
            os._exit(3)
        if calls.stat().st_size == 4 + 2 * valid:
            time.sleep(60)

    use(monkeypatch, read)
    tally = fuzz(["jsonl"], 6, 0, 1, tmp_path / "out")["jsonl"]
    assert dict(tally.outcomes) == {"last stage": 4, "traceback": 1, "slow": 1}
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["jsonl-1-traceback", "jsonl-3-slow"]
