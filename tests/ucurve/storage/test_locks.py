import errno
import fcntl
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ucurve.errors import UserError
from ucurve.storage import locks
from ucurve.storage.locks import Claims, build_once, is_being_written, only_writer, scoring_into

ROOT = Path(__file__).resolve().parents[3]
OTHER = """
import sys
from ucurve.storage.locks import Claims
from pathlib import Path

with Claims(Path(sys.argv[1])) as claims:
    for line in sys.stdin:
        what, _, name = line.strip().partition(" ")
        print(getattr(claims, what)(name), flush=True)
"""


class Other:
    """Another process with claims on the same file."""

    def __init__(self, file):
        command = [sys.executable, "-c", OTHER, str(file)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
        )

    def ask(self, line):
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().strip()

    def kill(self):
        os.kill(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def close(self):
        self._process.kill()
        self._process.wait()
        self._process.stdin.close()
        self._process.stdout.close()


@pytest.fixture
def file(tmp_path):
    return tmp_path / ".claims"


@pytest.fixture
def other(file):
    other = Other(file)
    yield other
    other.close()


@pytest.fixture
def claims(file):
    with Claims(file) as claims:
        yield claims


def test_a_thing_is_claimed_by_one(claims, other):
    assert other.ask("acquire a") == "True"
    assert not claims.acquire("a")
    assert claims.acquire("b")
    assert other.ask("acquire b") == "False"
    other.ask("release a")
    assert claims.acquire("a")


def test_a_killed_process_leaves_no_claim(claims, other):
    assert other.ask("acquire a") == "True"
    assert other.ask("acquire_shared b") == "None"
    assert not claims.acquire("b")
    other.kill()
    assert claims.acquire("a", wait=True)
    assert claims.acquire("b")


def test_many_may_share_what_none_has_alone(claims, other):
    claims.acquire_shared("a")
    assert other.ask("acquire_shared a") == "None"
    assert other.ask("acquire a") == "False"
    assert not claims.acquire("a")
    other.ask("release a")
    assert claims.acquire("a")
    claims.acquire_shared("a")
    assert other.ask("acquire_shared a") == "None"


def test_the_end_gives_everything_up(file, other):
    with Claims(file) as claims:
        assert claims.acquire("a")
        assert other.ask("acquire a") == "False"
    assert other.ask("acquire a") == "True"


def test_claims_write_nothing(file, claims):
    assert claims.acquire("a")
    assert file.read_bytes() == b""


def write_run(run):
    with only_writer(run):
        pass


def score_run(run):
    with scoring_into(run):
        pass


def claim(run):
    with Claims(run / ".claims") as claims:
        claims.acquire("a")


def share(run):
    with Claims(run / ".claims") as claims:
        claims.acquire_shared("a")


def build(run):
    build_once(run / "made", lambda _: False, lambda _: None)


@pytest.fixture
def run(tmp_path):
    """A run folder whose only writer was killed."""
    run = tmp_path / "runs" / "one"
    run.mkdir(parents=True)
    (run.parent / ".locks").mkdir()
    (run.parent / ".locks" / "one.lock").touch()
    return run


@pytest.mark.parametrize("fault", [errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK])
@pytest.mark.parametrize("work", [write_run, is_being_written, score_run, claim, share, build])
def test_a_file_system_without_locks_is_named_with_what_to_mount(run, monkeypatch, work, fault):
    def refuse(*_):
        raise OSError(fault, os.strerror(fault))

    mounts = (
        "21 1 0:5 / / rw - ext4 /dev/a rw\n22 1 0:6 / {} rw,relatime shared:1 - lustre 10.0.0.1@tcp:/scratch rw\n"
    )
    (run / "mounts").write_text(mounts.format(run.parent))
    monkeypatch.setattr(locks, "_MOUNTS", run / "mounts")
    monkeypatch.setattr(fcntl, "flock", refuse)
    monkeypatch.setattr(fcntl, "lockf", refuse)
    message = (
        rf" cannot be locked \({os.strerror(fault)}\): the file system {re.escape(str(run.parent))} of type lustre passes "
        r"no file locks on\. Mount it with them \(Lustre: the option flock; NFS: version 4"
    )
    with pytest.raises(UserError, match=message):
        work(run)
    assert not [
        path for path in run.parent.rglob("*") if path.stat().st_size and path.name != "mounts" and path.is_file()
    ]


def test_where_the_system_lists_no_mounts_the_message_does_without(run, monkeypatch):
    monkeypatch.setattr(locks, "_MOUNTS", run / "absent")

    def refuse(*_):
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", refuse)
    message = r"one\.lock cannot be locked \(Function not implemented\): its file system passes"
    with pytest.raises(UserError, match=message):
        is_being_written(run)


def test_a_claim_that_is_held_is_given_up_after_an_error(tmp_path):
    with Claims(tmp_path / "c") as claims:
        with pytest.raises(ValueError, match="x"), claims.holding("a"):
            raise ValueError("x")
        other = subprocess.run(
            [sys.executable, "-c", OTHER, str(tmp_path / "c")],
            input="acquire a\n", capture_output=True, text=True, cwd=ROOT, check=True,
        )  # fmt: skip
    assert other.stdout == "True\n"
