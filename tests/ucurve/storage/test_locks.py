import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ucurve.storage.locks import Claims

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
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)

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
    assert other.ask("take a") == "True"
    assert not claims.take("a")
    assert claims.take("b")
    assert other.ask("take b") == "False"
    other.ask("give a")
    assert claims.take("a")


def test_a_killed_process_leaves_no_claim(claims, other):
    assert other.ask("take a") == "True"
    assert other.ask("share b") == "None"
    assert not claims.take("b")
    other.kill()
    assert claims.take("a", wait=True)
    assert claims.take("b")


def test_many_may_share_what_none_has_alone(claims, other):
    claims.share("a")
    assert other.ask("share a") == "None"
    assert other.ask("take a") == "False"
    assert not claims.take("a")
    other.ask("give a")
    assert claims.take("a")
    claims.share("a")
    assert other.ask("share a") == "None"


def test_the_end_gives_everything_up(file, other):
    with Claims(file) as claims:
        assert claims.take("a")
        assert other.ask("take a") == "False"
    assert other.ask("take a") == "True"


def test_claims_write_nothing(file, claims):
    assert claims.take("a")
    assert file.read_bytes() == b""
