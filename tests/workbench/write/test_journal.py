"""Journals that were torn, cut or met a full disk: nothing that was acknowledged is lost but the torn line."""

import copy
import random
import resource
from contextlib import contextmanager

import pytest

from ucurve.errors import UserError
from ucurve.workbench.write.journal import Journal

TEARS = 4  # kinds of them
ROUNDS = 60  # journals of each kind, each torn twice


def state(journal):
    return journal.base, list(journal.changes), journal.position


def reopen(path):
    return Journal(path, whole=True)


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch):
    monkeypatch.setattr("ucurve.workbench.write.journal.os.fsync", lambda _: None)


@contextmanager
def files_of_at_most(size):
    """Let no file grow beyond a size, as a full disk does: what fits is written, and the rest is refused."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def type_some(journal, rng, acknowledged):
    """Make some changes; ``acknowledged`` gets the state after each line, and the size of the file then."""
    for number in range(rng.randrange(1, 9)):
        what = rng.randrange(8)
        if what == 0:
            journal.begin(f"base {number}", [f"first {number}"])
        elif what == 1:
            journal.rebase(None if number % 2 else "another")
        elif what == 2:
            journal.undo()
        elif what == 3:
            journal.redo()
        else:
            journal.add(f'text {rng.random()} " \\ \n 猫 {"x" * rng.randrange(60)}')
        acknowledged.append(
            (journal._path.stat().st_size if journal._path.exists() else 0, copy.deepcopy(state(journal)))
        )


def tear(path, rng, kind, acknowledged):
    """Damage the end of the file; returns the state that must be there afterwards."""
    size = path.stat().st_size if path.exists() else 0
    if kind == 0:  # cut anywhere: what ended before it is there, a line that lacks its end of line alone is whole
        kept = rng.randrange(size + 1)
        with path.open("ab") as file:
            file.truncate(kept)
        acknowledged[:] = [line for line in acknowledged if line[0] - 1 <= kept]
        return acknowledged[-1][1]
    junk = {
        1: rng.randbytes(rng.randrange(1, 40)).replace(b"\n", b"?"),
        2: b"\0" * rng.randrange(1, 5000),
        3: rng.choice(
            [b'{"add":"torn', b'{"und', b"{}", b"7", b'{"add":7}', b"[" * 5000, b'{"add":"\xff"}', b'"add"']
        ),
    }[kind]
    with path.open("ab") as file:
        file.write(junk + rng.choice([b"", b"\n"]))
    return acknowledged[-1][1]


@pytest.mark.parametrize("kind", range(TEARS), ids=["cut", "garbage", "zeros", "broken lines"])
def test_what_is_typed_after_a_tear_is_there_after_the_next_start(tmp_path, kind):
    for seed in range(ROUNDS):
        rng = random.Random(f"{kind} {seed}")
        path = tmp_path / f"{seed}.jsonl"
        acknowledged = [(0, (None, [], 0))]
        type_some(reopen(path), rng, acknowledged)
        for _ in range(2):
            expected = tear(path, rng, kind, acknowledged)
            journal = reopen(path)
            assert state(journal) == expected, seed
            type_some(journal, rng, acknowledged)
            assert state(reopen(path)) == state(journal), seed


def test_what_is_typed_after_a_full_disk_is_there_after_the_next_start(tmp_path):
    refused = 0
    for seed in range(ROUNDS):
        rng = random.Random(seed)
        path = tmp_path / f"{seed}.jsonl"
        journal = reopen(path)
        type_some(journal, rng, [])
        before, size = state(journal), path.stat().st_size if path.exists() else 0
        text = "no room for this " * 3
        with files_of_at_most(size + rng.randrange(len(text))):
            with pytest.raises(UserError, match=r"\.jsonl: what was typed cannot be kept \(File too large\)"):
                journal.add(text)
            refused += 1
        assert state(journal) == state(reopen(path)) == before, seed
        type_some(journal, rng, [])
        journal.add("an hour of work")
        assert state(reopen(path)) == state(journal), seed
        assert reopen(path).current[-1] == "an hour of work"
    assert refused == ROUNDS


def test_a_long_journal_on_a_full_disk_keeps_all_lines(tmp_path, monkeypatch):
    monkeypatch.setattr("ucurve.workbench.write.journal._LARGEST", 500)
    monkeypatch.setattr("ucurve.workbench.write.journal.write_text", full)
    journal = reopen(tmp_path / "j.jsonl")
    for number in range(60):
        journal.add(f"text {number}")
    assert state(reopen(tmp_path / "j.jsonl")) == state(journal)
    assert journal.position == 60


def full(*_):
    raise OSError(28, "No space left on device")
