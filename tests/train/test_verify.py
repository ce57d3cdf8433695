"""Every kind of fault a run folder can have, each with the message that names it."""

import json
import shutil

import pytest

from tests.facts import run_facts
from tests.settings import verify_command
from ucurve.errors import RunError, UserError
from ucurve.invocation import command
from ucurve.storage.facts import read_manifest, read_run_facts, write_manifest, write_run_facts
from ucurve.storage.sealed import RECORD
from ucurve.training.plan import make_plan
from ucurve.training.run.run import train_run
from ucurve.training.run_folder.checkpoint import WEIGHTS, describe_files, write_checkpoint
from ucurve.training.verify import metrics_faults, run_faults, twin_faults


@pytest.fixture
def finished(finished_run):
    return finished_run("schedule.count=3")  # steps 0, 3 or so, and 12


def folders(run):
    return sorted((run / "checkpoints").iterdir())


def sign_anew(folder):
    """Write a manifest that vouches for whatever the folder holds now."""
    write_manifest(folder, describe_files(folder, read_manifest(folder)))


def copy_weights(source, target):
    shutil.copyfile(source / WEIGHTS, target / WEIGHTS)
    sign_anew(target)


def test_first_weights_of_another_seed(finished, settings_of):
    first = folders(finished)[0]
    settings, vocabulary = settings_of(), read_run_facts(finished).vocabulary
    assert run_faults(finished) == []
    facts = make_plan(settings, vocabulary).describe_checkpoint(0, read_run_facts(finished).data_sha256, 10)
    facts = read_manifest(first)
    for seed in (1, 0):
        model = settings.model.design.build_model(vocabulary, 16, 0, seed)
        with_token = json.loads((first / "config.json").read_text())
        model.config.bos_token_id, model.config.eos_token_id = (
            with_token["bos_token_id"],
            with_token["eos_token_id"],
        )
        write_checkpoint(finished, model, finished / "tokenizer", facts)
        expected = rf"{first}: not the weights that seeds.init=0 gives (torch "
        assert [fault[: len(expected)] for fault in run_faults(finished)] == ([expected] if seed else [])


def test_a_late_checkpoint_in_the_place_of_step_0(finished):
    first, *_, last = folders(finished)
    copy_weights(last, first)
    found = run_faults(finished)
    assert f"{last}: the same weights as {first.name}" in found
    assert any(fault.startswith(f"{first}: not the weights that seeds.init=0 gives (torch ") for fault in found)
    assert len(found) == 2


def test_two_steps_with_equal_weights(finished):
    _, middle, last = folders(finished)
    copy_weights(middle, last)
    assert run_faults(finished) == [f"{last}: the same weights as {middle.name}"]


def test_weights_may_be_equal_only_where_nothing_is_learnt(settings_of):
    settings = settings_of(
        "optimizer.minimum=0", "schedule=list", "schedule.count=null", "schedule.steps=[0,10,11,12]"
    )
    train_run(settings)
    run = settings.folder
    assert run_faults(run) == []  # the last step has learning rate 0
    tenth, eleventh = folders(run)[1:3]
    plan = make_plan(settings, read_run_facts(run).vocabulary)
    assert read_manifest(folders(run)[2]).weights_sha256 == read_manifest(folders(run)[3]).weights_sha256
    copy_weights(tenth, eleventh)
    assert twin_faults(folders(run), plan) == [f"{eleventh}: the same weights as {tenth.name}"]


def test_missing_and_foreign_in_the_run_folder(finished):
    (finished / "notes.txt").write_text("mine")
    (finished / "old").mkdir()
    (finished / ".run.json.tmp-0123456789ab").write_text("{")
    (finished / "checkpoints" / ".step00000003.tmp-0123456789ab").mkdir()
    (finished / "checkpoints" / "best").mkdir()
    (finished / "checkpoints" / "loose.safetensors").write_text("x")
    (folders(finished)[-1] / "deep").mkdir()
    left = "left behind by a killed process, or being written"
    last = finished / "checkpoints" / "step00000012"
    assert run_faults(finished) == [
        f"{finished}/.run.json.tmp-0123456789ab: {left}",
        f"{finished}/notes.txt: not part of a run folder",
        f"{finished}/old: not part of a run folder",
        f"{finished}/checkpoints/.step00000003.tmp-0123456789ab: {left}",
        f"{finished}/checkpoints/best: not on the schedule",
        f"{finished}/checkpoints/loose.safetensors: not on the schedule",
        f"{last}/deep: not in the manifest",
    ]


def test_a_file_in_the_place_of_a_folder(finished):
    shutil.rmtree(finished / "resume", ignore_errors=True)
    (finished / "resume").write_text("x")
    assert run_faults(finished) == [f"{finished}/resume: not part of a run folder"]


def test_a_missing_log_and_a_missing_tokenizer(finished):
    (finished / "metrics.jsonl").unlink()
    shutil.rmtree(finished / "tokenizer")
    assert run_faults(finished) == [f"{finished}/metrics.jsonl: missing", f"{finished}/tokenizer: missing"]


def test_another_tokenizer_in_the_run(finished):
    file = finished / "tokenizer" / "tokenizer.json"
    file.write_text(file.read_text() + "\n")
    assert run_faults(finished) == [
        f"{file}: its hash is not run.json's",
        f"{file}: not the file of step00000000",
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda lines: lines[:5] + lines[6:], ":6: step 7 after step 5"),
        (lambda lines: lines[:5] + lines[4:], ":6: step 5 after step 5"),
        (lambda lines: lines[:-1], ": ends at step 11, the run has 12"),
        (lambda lines: [*lines[:3], "{torn", *lines[4:]], ":4: no readable line"),
        (lambda lines: [*lines[:3], "[4]", *lines[4:]], ":4: no readable line"),
        (lambda lines: [*lines[:3], lines[3].replace("512", "513"), *lines[4:]], ":4: tokens is 513 at step 4, 512 is expected"),
        (lambda lines: [*lines[:3], '{"step": 4, "tokens": 512, "loss": NaN}', *lines[4:]], ":4: loss is nan at step 4"),
        (lambda lines: [*lines[:3], '{"step": 4, "tokens": 512}', *lines[4:]], ":4: loss is None at step 4"),
    ],
)  # fmt: skip
def test_metrics(tmp_path, settings_of, change, message):
    path = tmp_path / "metrics.jsonl"
    plan = make_plan(settings_of(), 40)
    lines = [json.dumps({"step": step, "tokens": step * 128, "loss": 1.5}) for step in range(1, 13)]
    path.write_text("\n".join(lines) + "\n")
    assert metrics_faults(path, plan, run_facts(status="finished")) == []
    path.write_text("\n".join(change(lines)) + "\n")
    assert metrics_faults(path, plan, run_facts(status="finished")) == [f"{path}{message}"]


def test_metrics_of_a_run_cut_off_may_end_early_and_many_faults_are_summed_up(tmp_path, settings_of):
    path = tmp_path / "metrics.jsonl"
    plan = make_plan(settings_of(), 40)
    path.write_text(
        "".join(json.dumps({"step": step, "tokens": step * 128, "loss": 1}) + "\n" for step in (1, 2, 3))
    )
    assert metrics_faults(path, plan, run_facts(status="running")) == []
    path.write_text("x\n" * 12)
    found = metrics_faults(path, plan, run_facts(status="finished"))
    assert (len(found), found[-1]) == (6, f"{path}: 7 more faults")


RECORDS = {
    r"run\.json: config_sha256 is '0', config\.yaml gives '[0-9a-f]{64}'": ("config_sha256", "0"),
    r"run\.json: checkpoint_steps is \[0, 12\], config\.yaml gives": ("checkpoint_steps", [0, 12]),
    r"run\.json: seeds is {'init': 3, 'data': 0}, config\.yaml gives": ("seeds", {"init": 3, "data": 0}),
    r"run\.json: parameters is {}, config\.yaml gives": ("parameters", {}),
    r"run\.json: tokenizer_sha256 is not that of step00000000": ("tokenizer_sha256", "0"),
    r"run\.json: not what this version writes \(versions: Field required\)": ("versions", ...),
    r"run\.json: not what this version writes \(further: Extra inputs are not permitted\)": ("further", 1),
    r"the run is failed, not finished": ("status", "failed"),
}


def test_the_record(finished):
    record = read_run_facts(finished).model_dump()
    for message, (key, value) in RECORDS.items():
        changed = {name: old for name, old in record.items() if name != key} | (
            {} if value is ... else {key: value}
        )
        RECORD.write(finished / "run.json", changed)
        with pytest.raises(RunError, match=rf"1 fault\(s\)\n  .*{message}"):
            verify_command({"run": str(finished)})


@pytest.mark.parametrize(
    ("scored", "following"),
    [([], "list=true"), (["eval.benchmarks=[zhoblimp,demo]", "eval.subset=first:20"],
                         "run={run} benchmarks=zhoblimp,demo subset=first:20")],
)  # fmt: skip
def test_the_command_that_follows_has_the_pairs_of_the_run(finished_run, capsys, scored, following):
    run = finished_run("schedule.count=3", *scored, "eval.when=never")
    verify_command({"run": str(run)})
    assert capsys.readouterr().err.splitlines()[-1] == f"next: {command('score', following.format(run=run))}"


def test_a_copy_under_another_name_and_other_threads_are_notes(finished_run, tmp_path, capsys):
    run = finished_run("schedule.count=3")
    verify_command({"run": str(run)})
    assert "named" not in (said := capsys.readouterr().err)
    assert "something else" not in said
    facts = read_run_facts(run)
    first = facts.sessions[0]
    threads = {**first.hardware, "threads": int(first.hardware["threads"]) + 1}
    later = first.model_copy(update={"after_step": 5, "hardware": threads})
    write_run_facts(run, facts.model_copy(update={"sessions": (first, later)}))
    copy = shutil.copytree(run, tmp_path / "tiny-1536-char-small_corpus-s7")
    verify_command({"run": str(copy)})
    said = capsys.readouterr().err
    assert f"{copy}: the folder is named {copy.name}, and the run in it is {run.name}\n" in said
    assert (
        f"{copy}: the steps after 5 were computed with something else than those before (hardware.threads: "
        in said
    )


def test_files_of_a_desktop_are_no_faults(finished_run):
    run = finished_run("schedule.count=3", "resume.keep_states=[3]")
    places = [path for path in (run, *run.rglob("*")) if path.is_dir()]
    for place in places:
        (place / ".DS_Store").write_bytes(b"x")
    assert len(places) > 6
    assert run_faults(run) == []
    (run / "Desktop").write_bytes(b"x")
    assert run_faults(run) == [f"{run / 'Desktop'}: not part of a run folder"]


def test_a_folder_of_runs_is_answered_with_one_of_them(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.json").touch()
    with pytest.raises(UserError) as caught:
        verify_command({"run": str(tmp_path)})
    assert str(caught.value) == (
        f"run={tmp_path} is not a run folder, which holds config.yaml and run.json, but holds some: "
        f"give run={tmp_path / 'a'}"
    )
