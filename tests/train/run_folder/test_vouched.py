"""What a run's record vouches for: a damaged file stops a run that goes on, and a kill never makes one look damaged."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.facts import run_facts, write_run
from tests.flips import write_inputs
from tests.settings import verify_command
from ucurve.config import compose
from ucurve.errors import DamagedError, RunError
from ucurve.storage.facts import own_faults, read_run_facts
from ucurve.storage.files import sha256_file
from ucurve.training.config import read_settings
from ucurve.training.replay import open_batches
from ucurve.training.run.run import train_run
from ucurve.training.run_folder.records import MetricsLog, RunRecord
from ucurve.training.run_folder.resume import find_newest_state, metrics_sha256, save_state, state_faults
from ucurve.training.verify import run_faults

FACTS = run_facts()


def flip_digit(path):
    """Change the last digit of a text file."""
    whole = bytearray(path.read_bytes())
    place = max(place for place, byte in enumerate(whole) if chr(byte).isdigit())
    whole[place] ^= 1
    path.write_bytes(whole)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The settings of a small run that is finished, and a copy of it."""
    folder = tmp_path_factory.mktemp("trained")
    write_inputs(folder)
    paths = [f"paths.{key}={folder / key}" for key in ("runs", "cache", "tokenizers")]
    small = [
        "model=tiny",
        "tokens=1536",
        "tokenizer=char",
        f"data.path={folder / 'corpus'}",
        "engine.micro_batch=4",
    ]
    small += ["batch.sequences=8", "batch.length=16", "schedule.count=4", "resume.seconds=0"]
    settings = read_settings(compose("train", [*small, *paths]))
    train_run(settings)
    shutil.copytree(settings.folder, folder / "kept")
    return settings, folder / "kept"


@pytest.fixture
def settings(trained):
    return trained[0]


@pytest.fixture
def finished(trained):
    settings, kept = trained
    run = settings.folder
    shutil.rmtree(run, ignore_errors=True)
    return shutil.copytree(kept, run)


def test_the_record_names_every_file_of_the_run_itself(finished):
    record = read_run_facts(finished)
    inside = {f"tokenizer/{path.name}" for path in (finished / "tokenizer").iterdir()}
    assert {"tokenizer/statistics.json", "tokenizer/unigram_counts.npy"} < inside
    assert record.files == {name: sha256_file(finished / name) for name in {"config.yaml", *inside}}
    assert record.metrics_sha256 == sha256_file(finished / "metrics.jsonl")
    assert json.loads((finished / "run.json").read_text())["record_sha256"]


def test_a_run_that_was_moved_is_whole(finished, tmp_path):
    moved = finished.rename(tmp_path / "elsewhere")
    assert run_faults(moved) == []


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("run.json", "run.json: not what was written (its digest does not match)"),
        ("config.yaml", "config.yaml: its hash is not run.json's"),
        ("metrics.jsonl", "metrics.jsonl: its hash is not run.json's"),
        ("tokenizer/statistics.json", "tokenizer/statistics.json: its hash is not run.json's"),
        ("resume/step00000011/state.json", "resume/step00000011: no whole resume state; it may be removed"),
    ],
)
def test_verify_finds_a_changed_digit(finished, name, fault):
    flip_digit(finished / name)
    assert f"{finished}/{fault}" in run_faults(finished)


@pytest.mark.parametrize("name", ["run.json", "metrics.jsonl", "checkpoints/step00000003/manifest.json"])
def test_a_finished_run_with_a_changed_digit_is_not_taken_up(finished, settings, name):
    flip_digit(finished / name)
    with pytest.raises(RunError, match=rf"{Path(name).name}: not what was written"):
        train_run(settings)


def test_a_damaged_tokenizer_is_copied_again_once_it_is_removed(finished, settings):
    flip_digit(finished / "tokenizer" / "statistics.json")
    with pytest.raises(
        RunError, match=r"statistics\.json: its hash is not run\.json's; remove .*tokenizer and start"
    ):
        train_run(settings)
    with pytest.raises(
        DamagedError, match=r"statistics\.json: its hash is not run\.json's; restore it from a copy"
    ):
        open_batches(finished)
    for path in (finished / "tokenizer").iterdir():
        path.unlink()
    (finished / "tokenizer").rmdir()
    train_run(settings)
    assert run_faults(finished) == []


def test_a_changed_configuration_is_told_from_another_one(finished, settings):
    config = finished / "config.yaml"
    config.write_text(config.read_text().replace("clip: 1.0", "clip: 2.0"))
    message = r"config\.yaml: not what was written: optimizer\.clip: 2\.0 -> 1\.0, and run\.json"
    with pytest.raises(RunError, match=message):
        train_run(settings)


def test_a_new_start_may_change_paths_and_stays_whole(finished, settings, tmp_path):
    before = sha256_file(finished / "config.yaml")
    train_run(replace(settings, paths=replace(settings.paths, cache=str(tmp_path / "elsewhere"))))
    assert sha256_file(finished / "config.yaml") != before
    assert run_faults(finished) == []
    assert read_run_facts(finished).files_before is None


class Killed(BaseException):
    """Stands for SIGKILL."""


@pytest.mark.parametrize("last", [1, 2, 3])
def test_a_kill_while_the_configuration_is_replaced_leaves_it_accepted(tmp_path, monkeypatch, last):
    record = RunRecord(tmp_path, FACTS)
    record.write_file("config.yaml", "old")
    (tmp_path / "tokenizer").mkdir()
    record.write("running")
    rename, done = Path.replace, []

    def dying(path, target):
        done.append(target)
        if len(done) == last:
            raise Killed
        return rename(path, target)

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(Path, "replace", dying)
        RunRecord(tmp_path, FACTS).write_file("config.yaml", "new")
    assert own_faults(tmp_path, read_run_facts(tmp_path)) == []
    RunRecord(tmp_path, FACTS).write_file("config.yaml", "third")
    record = read_run_facts(tmp_path)
    assert own_faults(tmp_path, record) == []
    assert record.files_before is None
    (tmp_path / "config.yaml").write_text("other")
    assert own_faults(tmp_path, record) == [f"{tmp_path}/config.yaml: its hash is not run.json's"]


def test_going_on_refuses_changed_lines_and_leaves_them(tmp_path):
    path = tmp_path / "metrics.jsonl"
    log = MetricsLog(path, 0)
    for step in (1, 2):
        log.append({"step": step, "loss": 1.25})
    save_state(tmp_path, 2, {}, {"metrics_sha256": log.sha256})
    log.append({"step": 3, "loss": 1.0})
    log.close()
    assert (
        MetricsLog(path, 2, metrics_sha256(tmp_path, 2)).sha256
        == metrics_sha256(tmp_path, 2)
        == sha256_file(path)
    )
    flip_digit(path)
    damaged = path.read_bytes()
    message = rf"metrics\.jsonl: the lines up to step 2 are not those that were written; restore .*or remove {tmp_path}/resume"
    with pytest.raises(RunError, match=message):
        MetricsLog(path, 2, metrics_sha256(tmp_path, 2))
    assert path.read_bytes() == damaged
    assert [path.name for path in tmp_path.glob(".*")] == []


def test_a_changed_digit_in_a_states_facts_is_noticed(tmp_path, capsys):
    for step in (1, 2):
        save_state(tmp_path, step, {}, {"data_sha256": "d"})
    flip_digit(tmp_path / "resume" / "step00000002" / "state.json")
    assert find_newest_state(tmp_path, {"data_sha256": "d"}) == 1
    assert "step00000002 is damaged" in capsys.readouterr().err
    (tmp_path / "resume" / "step00000001" / "more").touch()
    (tmp_path / "resume" / ".step00000003.tmp-0123456789ab").mkdir()
    assert [fault.removeprefix(f"{tmp_path}/resume/") for fault in state_faults(tmp_path)] == [
        ".step00000003.tmp-0123456789ab: left behind by a killed process, or being written",
        "step00000001/more: not part of a resume state",
        "step00000002: no whole resume state; it may be removed",
    ]


def test_verify_checks_a_folder_of_scores_alone(tmp_path, capsys):
    (tmp_path / "eval").mkdir()
    verify_command({"run": str(tmp_path)})
    assert "scores of a model, all as their keys say" in capsys.readouterr().out
    (tmp_path / "eval" / "notes.txt").touch()
    with pytest.raises(RunError, match=r"1 fault\(s\)\n  .*notes\.txt: not part of the scores"):
        verify_command({"run": str(tmp_path)})


def test_a_record_with_a_changed_name_of_its_digest_is_refused(tmp_path):
    write_run(tmp_path)
    path = tmp_path / "run.json"
    path.write_text(path.read_text().replace("record_sha256", "recorf_sha256"))
    with pytest.raises(DamagedError, match="it lacks record_sha256"):
        read_run_facts(tmp_path)
