"""Runs that start from a checkpoint of another run."""

import json
import shutil
from dataclasses import asdict

import pytest

from ucurve.config import plain
from ucurve.errors import UserError
from ucurve.storage.facts import read_manifest, read_run_facts
from ucurve.storage.run_folder import checkpoints
from ucurve.training.config import read_request
from ucurve.training.identity import config_sha256, pick_identity
from ucurve.training.run.prepare import expect_run
from ucurve.training.run.run import train_run
from ucurve.training.run_folder.config_file import load_settings
from ucurve.training.verify import run_faults


@pytest.fixture
def parent(finished_run):
    """A finished run of 12 steps."""
    return finished_run()


def from_step(parent, step, settings_of, *more):
    start = parent / "checkpoints" / f"step{step:08d}"
    return settings_of(
        f"start={start}", "name=next", f"tokenizer.path={parent}/tokenizer", "tokenizer=hub", *more
    )


def test_a_run_that_starts_from_step_0_is_the_run_itself(parent, settings_of):
    settings = settings_of(f"start={parent}/checkpoints/step00000000", "name=again", "seeds.init=7")
    train_run(settings)
    assert settings.folder.name == "tiny-1536-char-small_corpus-si7d0-again"
    for mine, original in zip(checkpoints(settings.folder), checkpoints(parent), strict=True):
        assert (mine / "model.safetensors").read_bytes() == (original / "model.safetensors").read_bytes()
    assert run_faults(settings.folder) == []


def test_a_later_start_is_named_in_every_record(parent, settings_of):
    settings = from_step(parent, 12, settings_of)
    train_run(settings)
    run, last = settings.folder, read_manifest(checkpoints(parent)[-1])
    assert run_faults(run) == []
    first = read_manifest(checkpoints(run)[0])
    assert first.weights_sha256 == last.weights_sha256
    assert first.config_sha256 != last.config_sha256
    for record in (read_run_facts(run), *map(read_manifest, checkpoints(run))):
        assert (record.start.run, record.start.step) == (parent.name, 12)
        assert record.start.weights_sha256 == last.weights_sha256
    losses = [json.loads(line)["loss"] for line in (run / "metrics.jsonl").read_text().splitlines()]
    trained = [json.loads(line)["loss"] for line in (parent / "metrics.jsonl").read_text().splitlines()]
    assert losses[0] < trained[0], "it begins with what the other run learned"
    assert "start" not in json.loads((checkpoints(parent)[-1] / "manifest.json").read_text())
    shutil.rmtree(parent)
    assert load_settings(run) == settings, "what a run is does not need the run that it starts from"
    assert run_faults(run) == []


def test_the_place_of_the_start_is_no_part_of_the_identity(parent, settings_of, tmp_path):
    moved = tmp_path / "elsewhere" / parent.name
    shutil.copytree(parent, moved)
    one, other = (from_step(folder, 5, settings_of).identity() for folder in (parent, moved))
    assert one["started_from"] == other["started_from"]
    assert config_sha256(pick_identity(plain(asdict(settings_of())))) == config_sha256(
        plain(settings_of().identity())
    )


def test_the_name_of_the_folder_that_a_run_starts_from_may_change(parent, settings_of, tmp_path):
    renamed = shutil.copytree(parent, tmp_path / "renamed")
    assert from_step(renamed, 5, settings_of).identity() == from_step(parent, 5, settings_of).identity() | {
        "tokenizer": from_step(renamed, 5, settings_of).identity()["tokenizer"]
    }


def test_mistakes_are_named(parent, settings_of):
    place = parent / "checkpoints" / "step00000012"
    with pytest.raises(UserError, match=r"start=.*step00000012 needs name=SUFFIX"):
        settings_of(f"start={place}")
    with pytest.raises(UserError, match=r"start=.*: no checkpoint of a run, which holds manifest\.json"):
        settings_of(f"start={parent}", "name=next")
    with pytest.raises(
        UserError, match=r"made with another tokenizer than .* tokenizer\.path=.*/tokenizer takes that"
    ):
        train_run(settings_of(f"start={place}", "name=next", "tokenizer.coverage=0.5"))
    with pytest.raises(UserError, match=r"a model of another shape; give the model="):
        train_run(other := from_step(parent, 12, settings_of, "model=14m"))
    assert not other.folder.exists()
    (place / "model.safetensors").write_bytes(b"")
    with pytest.raises(UserError, match="its weights are missing or not what its manifest says"):
        train_run(from_step(parent, 12, settings_of))


def weights(run, *steps):
    return [(run / "checkpoints" / f"step{step:08d}" / "model.safetensors").read_bytes() for step in steps]


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
def test_a_second_stage_that_starts_with_the_state_is_that_of_one_run(
    settings_of, values_of, overrides, tmp_path, corpus, optimizer
):
    (tmp_path / "other.txt").write_text(
        "\n".join(f"黄{one}宙{one}月日昃" for one in "天地玄黄宇宙洪荒日月盈昃" * 40)
    )
    both = (
        f"data.parts=[{{path: {corpus}, name: one, tokens: 768}}, {{path: {tmp_path / 'other.txt'}, name: two}}]"
    )
    keys = [f"optimizer={optimizer}", "rate=constant", "schedule=list", "schedule.count=null"]
    without_path = [one for one in overrides if not one.startswith(("data.path", "schedule.count"))]
    more = ["data=stages", both, *keys, "schedule.steps=[6,8,12]", "optimizer.warmup=2"]
    whole = read_request(values_of([*without_path, *more]))
    train_run(whole)
    keys += ["tokens=768", "tokenizer=hub", f"tokenizer.path='{whole.folder}/tokenizer'"]
    kept = ["resume.keep_states=[6]", "schedule.steps=[6]", "optimizer.warmup=2"]
    first = settings_of(*keys, *kept)
    train_run(first)
    assert weights(first.folder, 6) == weights(whole.folder, 6)
    start = [f"start='{first.folder}/checkpoints/step00000006'", "name=then", "schedule.steps=[2,6]"]
    start += [f"data.path={tmp_path / 'other.txt'}", "optimizer.warmup=0"]
    second, fresh = (settings_of(*keys, *start, f"start_with={what}") for what in ("state", "weights"))
    train_run(second)
    assert weights(second.folder, 0, 2, 6) == weights(whole.folder, 6, 8, 12)
    assert run_faults(second.folder) == []
    facts = read_run_facts(second.folder).start
    assert (
        json.loads((first.folder / "resume/step00000006/state.json").read_text())["state_sha256"]
        == facts.state_sha256
    )
    assert {read_manifest(folder).start for folder in checkpoints(second.folder)} == {facts}
    assert load_settings(second.folder) == second
    shutil.rmtree(second.folder)
    train_run(fresh)
    assert weights(fresh.folder, 0) == weights(whole.folder, 6)
    assert weights(fresh.folder, 2) != weights(whole.folder, 8), "without the moments it is another run"
    assert "state_sha256" not in (checkpoints(fresh.folder)[0] / "manifest.json").read_text()


def test_a_start_with_a_state_that_is_not_there_is_refused(parent, settings_of):
    with pytest.raises(UserError, match=r"start_with=state needs start=RUN/checkpoints/STEP"):
        settings_of("start_with=state")
    message = r"start_with=state: .*resume/step00000005 holds no full state; 'resume\.keep_st"
    with pytest.raises(UserError, match=message):
        from_step(parent, 5, settings_of, "start_with=state")
    assert from_step(parent, 12, settings_of).started_from.step == 12


def test_a_state_that_was_changed_or_is_of_another_optimizer_is_refused(settings_of):
    first = settings_of("resume.keep_states=[12]")
    train_run(first)
    other = from_step(first.folder, 12, settings_of, "start_with=state", "optimizer=muon")
    with pytest.raises(
        UserError, match=r"start_with=state: .* was trained with optimizer=adamw, whose state optimizer=m"
    ):
        train_run(other)
    assert not other.folder.exists()
    settings = from_step(first.folder, 12, settings_of, "start_with=state")
    lines = expect_run(settings).describe().splitlines()
    assert f"start          weights and optimizer of step 12 of {first.run_name}" in lines
    (first.folder / "resume/step00000012/state.safetensors").write_bytes(b"")
    with pytest.raises(UserError, match=r"the full state of that step is missing or not what was written"):
        train_run(settings)
