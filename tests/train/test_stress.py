"""Runs killed at random times end as if left alone; the long version is ``python -m tests.train.stress 30``."""

import pytest

from tests.train.launching import finish, start
from tests.train.stress import WAYS, command, stress, write_inputs


@pytest.mark.slow
def test_a_run_of_two_processes_that_is_killed_ends_as_if_left_alone(tmp_path):
    pytest.importorskip("deepspeed")
    write_inputs(tmp_path)
    assert stress(tmp_path, WAYS[2], 1, 20, seed=0).total() >= 1


@pytest.mark.slow
def test_two_processes_say_one_mistake_once_and_end_with_its_code(tmp_path):
    pytest.importorskip("deepspeed")
    write_inputs(tmp_path)
    arguments = command(tmp_path, WAYS[2], "runs", 20)
    codes, errors = finish(start([*arguments, "tokens=1_000_000_000"], 2))
    assert codes == [2, 2], errors
    assert errors[0].count("error: ") == 1
    assert "epochs of data=corpus" in errors[0]
    assert "error: " not in errors[1]
    assert not list(tmp_path.glob("runs/*corpus*"))
