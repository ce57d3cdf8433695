"""What made the steps of a run that went on with other code or on another machine."""

import json

import pytest

from tests.facts import run_facts
from ucurve.storage.facts import read_run_facts
from ucurve.training.run_folder.records import RunRecord, describe_changes

ENGINE = {"kind": "torch", "processes": 1, "precision": "float32", "compiled": False}


@pytest.fixture
def go_on(tmp_path):
    """Start a process on the run after some step, with some facts changed, and return the sessions it records."""

    def start(done, **changed):
        record = RunRecord(tmp_path, run_facts(**changed))
        record.write("running")
        record.begin(done)
        record.write("interrupted")
        sessions = json.loads((tmp_path / "run.json").read_text())["sessions"]
        return [(session["after_step"], session["code_revision"]) for session in sessions]

    return start


def test_every_change_is_kept_with_its_step(go_on):
    assert go_on(0) == [(0, "a")]
    assert go_on(40) == [(0, "a")], "going on with the same adds nothing"
    assert go_on(50, code_revision="b") == [(0, "a"), (50, "b")]
    assert go_on(60, code_revision="b", engine=ENGINE | {"kind": "deepspeed"}) == [(0, "a"), (50, "b"), (60, "b")]
    assert go_on(70, code_revision="b", versions={"torch": "3"})[-1] == (70, "b")


def test_a_session_with_something_else_that_numbers_depend_on_is_named(go_on, capsys, tmp_path):
    go_on(0, hardware={"threads": 1, "cores": 2})
    go_on(40, hardware={"threads": 1, "cores": 64}, code_revision="b")
    assert capsys.readouterr().err == ""
    go_on(50, hardware={"threads": 2}, versions={"torch": "3"})
    changed = "hardware.threads: 1 -> 2; versions.torch: '2' -> '3'"
    said = f"the steps after 50 were computed with something else than those before ({changed}), so the last bits"
    assert capsys.readouterr().err.startswith(f"{tmp_path.name}: {said}")
    go_on(60, hardware={"threads": 2}, versions={"torch": "3"})
    assert capsys.readouterr().err == ""
    (text,) = describe_changes(read_run_facts(tmp_path).sessions)
    assert text.startswith(said)


def test_steps_taken_again_belong_to_who_took_them(go_on):
    go_on(0)
    go_on(50, code_revision="b")
    assert go_on(40, code_revision="c") == [(0, "a"), (40, "c")]
    assert go_on(40, code_revision="d") == [(0, "a"), (40, "d")]
    assert go_on(0, code_revision="e") == [(0, "e")]


def test_the_record_says_what_a_session_was_made_with(go_on, tmp_path):
    go_on(0)
    session = json.loads((tmp_path / "run.json").read_text())["sessions"][0]
    assert session == {"after_step": 0} | {
        key: json.loads((tmp_path / "run.json").read_text())[key]
        for key in ("code_revision", "versions", "hardware", "engine")
    }
