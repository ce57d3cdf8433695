import json

import pytest
import torch

from tests.facts import run_facts
from ucurve.errors import UserError
from ucurve.storage.facts import read_run_facts
from ucurve.training.run_folder.records import MetricsLog, RunRecord
from ucurve.training.run_folder.resume import find_newest_state, load_state, save_state

OWNER = {"config_sha256": "c", "data_sha256": "d"}


def lines(path):
    return [json.loads(line)["step"] for line in path.read_text().splitlines()]


def test_metrics_are_appended_line_by_line(tmp_path):
    log = MetricsLog(tmp_path / "metrics.jsonl", 0)
    log.append({"step": 1, "loss": 2.0})
    assert lines(tmp_path / "metrics.jsonl") == [1], "on disk before the log is closed"
    log.append({"step": 2, "loss": 1.5})
    log.close()
    assert lines(tmp_path / "metrics.jsonl") == [1, 2]


def test_a_resumed_log_drops_the_steps_to_be_taken_again_and_a_torn_line(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step": 1}\n{"step": 2}\n{"step": 3}\n{"ste')
    log = MetricsLog(path, 2)
    log.append({"step": 3})
    log.close()
    assert lines(path) == [1, 2, 3]
    path.write_text('{"step": 1}\n{"ste')
    MetricsLog(path, 9).close()
    assert lines(path) == [1]


def test_the_record_keeps_its_facts(tmp_path):
    assert read_run_facts(tmp_path) is None
    facts = run_facts()
    record = RunRecord(tmp_path, facts)
    record.write("running")
    record.write("finished", steps=3)
    assert read_run_facts(tmp_path) == run_facts(status="finished", steps=3)


@pytest.mark.parametrize(
    ("text", "message"),
    [("{", "cannot be read"), ("[]", "a JSON object is expected"), ("{}", "it lacks record_sha256")],
)
def test_a_broken_record_is_named(tmp_path, text, message):
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(UserError, match=rf"run\.json: .*{message}"):
        read_run_facts(tmp_path)


def test_a_state_of_another_run_is_refused(tmp_path):
    save_state(tmp_path, 1, {"x": torch.zeros(1)}, OWNER)
    with pytest.raises(UserError, match=r"step00000001 is the state of another run: data_sha256 differ"):
        find_newest_state(tmp_path, OWNER | {"data_sha256": "e"})


def test_the_two_newest_states_are_kept(tmp_path):
    for step in (1, 2, 3):
        save_state(tmp_path, step, {"x": torch.tensor([float(step)])}, OWNER)
    assert sorted(path.name for path in (tmp_path / "resume").iterdir()) == ["step00000002", "step00000003"]
    assert find_newest_state(tmp_path, OWNER) == 3
    assert load_state(tmp_path, 3)["x"].item() == 3.0


def test_kept_states_stay_beside_the_two_newest(tmp_path):
    for step in range(1, 7):
        save_state(tmp_path, step, {"x": torch.zeros(1)}, OWNER, kept=(2, 6))
    names = sorted(path.name for path in (tmp_path / "resume").iterdir())
    assert names == ["step00000002", "step00000004", "step00000005", "step00000006"]


def test_a_damaged_state_is_named_and_the_one_before_it_used(tmp_path, capsys):
    for step in (1, 2):
        save_state(tmp_path, step, {"x": torch.tensor([float(step)])}, OWNER)
    torn = tmp_path / "resume" / "step00000002" / "state.safetensors"
    torn.write_bytes(torn.read_bytes()[:-1])
    assert find_newest_state(tmp_path, OWNER) == 1
    assert "step00000002 is damaged" in capsys.readouterr().err
    (tmp_path / "resume" / "step00000001" / "state.json").write_text("{")
    assert find_newest_state(tmp_path, OWNER) is None


def test_leftovers_of_a_killed_writer_go(tmp_path):
    save_state(tmp_path, 1, {"x": torch.zeros(1)}, OWNER)
    (tmp_path / "resume" / ".step00000002.tmp-abc").mkdir()
    assert find_newest_state(tmp_path, OWNER) == 1
    assert [path.name for path in (tmp_path / "resume").iterdir()] == ["step00000001"]


def test_no_state_no_resume(tmp_path):
    assert find_newest_state(tmp_path, OWNER) is None
