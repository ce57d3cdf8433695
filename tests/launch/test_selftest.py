"""What tries a machine; its checks are made on this one in the long test."""

import pytest

from ucurve.errors import RunError, UserError
from ucurve.launch import selftest
from ucurve.launch.selftest import SelfTest, selftest_command


@pytest.mark.long
def test_a_processor_trains_resumes_shares_a_run_and_scores(tmp_path, capsys):
    selftest_command({"gpus": 0, "out": str(tmp_path)})
    rows = capsys.readouterr().out.splitlines()[1:]
    assert [row.split()[-1].isdigit() and " ok " in row for row in rows] == [True] * 6
    assert "the same bytes as the whole run in one process" in rows[1]


def test_a_check_that_fails_is_named_and_the_runs_stay(tmp_path, monkeypatch, capsys):
    def fail():
        raise RunError("no state to resume from within 300 s")

    monkeypatch.setattr(SelfTest, "checks", lambda _: {"train": lambda: "2 runs", "a killed run goes on": fail})
    with pytest.raises(RunError, match="failed: a killed run goes on; the runs are in"):
        selftest_command({"gpus": 0, "out": str(tmp_path)})
    assert "failed  no state to resume from" in capsys.readouterr().out


def test_a_command_that_hangs_or_fails_says_how(monkeypatch):
    with pytest.raises(RunError, match=r"(?s)ucurve verify run=/nowhere: exit code 2.*no folder"):
        selftest._finish(selftest._command("verify", "run=/nowhere"))
    monkeypatch.setattr(selftest, "_LIMIT", 0.1)
    with pytest.raises(RunError, match=r"not done within 0 s"):
        selftest._finish(selftest._command("verify", "run=/nowhere"))


def test_more_devices_than_there_are_are_refused():
    with pytest.raises(UserError, match="gpus=99: 0 CUDA devices are visible here; gpus=0 tests the processor"):
        selftest_command({"gpus": 99, "out": None})
