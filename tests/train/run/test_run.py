"""A whole run in seconds, cut off and continued in every way, on a corpus written here."""

import json
import shutil
import signal
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from tests.facts import change_run
from tests.settings import verify_command
from tests.train.launching import finish, start
from tests.train.run.interrupting import train_cut_off
from ucurve.errors import BusyError, RunError, UserError
from ucurve.huggingface.pretrained import load_tokenizer
from ucurve.storage.facts import read_manifest, read_run_facts, write_manifest
from ucurve.storage.locks import only_writer
from ucurve.storage.run_folder import checkpoints
from ucurve.training.engine.engine import TorchEngine
from ucurve.training.optim import muon_flops
from ucurve.training.run import saving
from ucurve.training.run.prepare import prepare
from ucurve.training.run.run import train_run
from ucurve.training.run_folder import records
from ucurve.training.run_folder.checkpoint import describe_files
from ucurve.training.run_folder.records import MetricsLog
from ucurve.training.tokenizer.characters import Survey
from ucurve.training.verify import run_faults

LAST = "checkpoints/step00000012/model.safetensors"


def metrics(run):
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def losses(run):
    return [(line["step"], line["loss"], line["grad_norm"], line["lr"]) for line in metrics(run)]


@pytest.fixture
def finished(finished_run):
    return finished_run()


def test_a_finished_run_is_what_the_contract_says(finished):
    assert finished.name == "tiny-1536-char-small_corpus-s0"
    assert [folder.name for folder in checkpoints(finished)] == [f"step{step:08d}" for step in (0, 1, 2, 5, 12)]
    keys = {"step", "tokens", "loss", "bits_per_byte", "separator_bits", "lr", "grad_norm", "tokens_per_second"}
    assert [set(line) for line in metrics(finished)] == [keys] * 12
    record = read_run_facts(finished)
    assert record.status == "finished"
    assert record.parameters["total"] == sum(
        parameter.numel()
        for parameter in AutoModelForCausalLM.from_pretrained(finished / LAST.rpartition("/")[0]).parameters()
    )
    assert (finished / "config.yaml").exists()
    assert run_faults(finished) == []


def test_every_checkpoint_loads_with_its_tokenizer(finished):
    for folder in checkpoints(finished):
        tokenizer = AutoTokenizer.from_pretrained(folder)
        ids = tokenizer("天地玄黄", add_special_tokens=False, return_tensors="pt")["input_ids"]
        assert ids.shape == (1, 4)
        assert AutoModelForCausalLM.from_pretrained(folder)(ids).logits.shape[-1] == len(tokenizer)


def test_step_0_is_untrained_and_step_1_differs(finished):
    weights = [(folder / "model.safetensors").read_bytes() for folder in checkpoints(finished)]
    assert len(set(weights)) == len(weights)


def test_a_finished_run_is_left_alone(finished, settings_of):
    before = {path: path.stat().st_mtime_ns for path in finished.rglob("*.safetensors")}
    train_run(settings_of())
    assert before == {path: path.stat().st_mtime_ns for path in finished.rglob("*.safetensors")}


def test_another_configuration_is_refused_by_its_keys(finished, settings_of):
    before = (finished / "config.yaml").read_bytes()
    message = r"these keys differ: optimizer\.betas: \[0\.9, 0\.95\] -> \[0\.9, 0\.5\]; schedule\.count: 5 -> 4"
    with pytest.raises(UserError, match=message):
        train_run(settings_of("optimizer.betas=[0.9,0.5]", "schedule.count=4"))
    assert (finished / "config.yaml").read_bytes() == before


def test_other_data_under_the_same_name_is_refused(finished, settings_of, corpus):
    (corpus / "train.jsonl").write_text(json.dumps({"text": "天地玄黄宇宙洪荒" * 300}) + "\n")
    with pytest.raises(UserError, match=r"was trained on other data: data_sha256"):
        train_run(settings_of())


def test_what_does_not_change_the_outcome_may_change(finished, settings_of):
    before = {path: path.read_bytes() for path in finished.glob("checkpoints/*/*")}
    train_run(settings_of("engine.micro_batch=8", "resume.seconds=5"))
    assert before == {path: path.read_bytes() for path in finished.glob("checkpoints/*/*")}


@pytest.mark.parametrize("last", [1, 5, 11])
def test_a_cut_off_run_goes_on_to_the_same_bytes(finished, settings_of, monkeypatch, last):
    whole, expected = (finished / LAST).read_bytes(), losses(finished)
    shutil.rmtree(finished)
    train_cut_off(settings_of("resume.seconds=0"), monkeypatch, last)
    assert run_faults(finished), "a run that was cut off is not whole"
    train_run(settings_of("resume.seconds=0"))
    assert (finished / LAST).read_bytes() == whole
    assert losses(finished) == expected
    assert run_faults(finished) == []


@pytest.mark.long
def test_kill_minus_nine_at_any_moment_loses_nothing(tmp_path, finished, overrides):
    whole, expected = (finished / LAST).read_bytes(), losses(finished)
    shutil.rmtree(finished)
    command = ["train.py", *overrides, "resume.seconds=0"]
    codes = []
    for wanted in (1, 6):
        (process,) = start(command)
        while process.poll() is None and not (
            (finished / "metrics.jsonl").exists()
            and len((finished / "metrics.jsonl").read_text().splitlines()) >= wanted
        ):
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        codes += finish([process])[0]
    assert codes[0] == -signal.SIGKILL, "the first kill must hit a run under way"
    assert finish(start(command))[0] == [0]
    assert (finished / LAST).read_bytes() == whole
    assert losses(finished) == expected


def test_a_checkpoint_torn_by_the_kill_is_written_again(finished, settings_of):
    (finished / "checkpoints" / ".step00000005.tmp-1").mkdir()
    change_run(finished, status="running")
    (finished / "checkpoints/step00000005/config.json").unlink()
    train_run(settings_of())
    assert run_faults(finished) == []


def recorded_batches(settings):
    prepared = prepare(settings)
    batches = prepared.batches
    return [batches.of_step(number) for number in range(1, prepared.plan.steps + 1)]


def test_half_the_budget_sees_a_prefix_of_the_batches(settings_of):
    once = recorded_batches(settings_of())
    twice = recorded_batches(settings_of("tokens=3072"))
    assert len(twice) == 2 * len(once)
    assert all((a == b).all() for a, b in zip(once, twice, strict=False))


def test_seeds_touch_only_their_own_stream(settings_of):
    base = recorded_batches(settings_of())
    other_init = recorded_batches(settings_of("seeds.init=1"))
    other_data = recorded_batches(settings_of("seeds.data=1"))
    assert all((a == b).all() for a, b in zip(base, other_init, strict=True))
    assert any((a != b).any() for a, b in zip(base, other_data, strict=True))


def test_unigram_counts_lie_beside_the_tokenizer_and_in_the_run(finished, settings_of):
    prepared = prepare(settings_of())
    for folder in (prepared.tokenizer, finished / "tokenizer"):
        counts = np.load(folder / "unigram_counts.npy")
        assert counts.sum() == prepared.store.length
        assert counts[prepared.document_token] == 200


def test_documents_begin_with_their_separator(settings_of):
    prepared = prepare(settings_of())
    stream = prepared.store.windows(torch.zeros(1, dtype=torch.int64).numpy(), prepared.store.length)[0]
    assert stream[0] == prepared.document_token
    assert (stream == prepared.document_token).sum() == prepared.store.documents == 200


def test_a_run_that_muon_trains_says_what_it_costs_and_its_manifests_have_it(settings_of, capsys):
    settings = settings_of("optimizer=muon", "engine=torch")
    train_run(settings)
    assert "warning: matrix products take " in capsys.readouterr().err
    assert run_faults(settings.folder) == []
    last, design = read_manifest(checkpoints(settings.folder)[-1]), settings.model.design
    vocabulary = read_run_facts(settings.folder).vocabulary
    of_muon = 12 * muon_flops(design.count_parameters(vocabulary, 16).hidden)
    assert last.flops_exact == design.count_flops(vocabulary, 16, 12 * 8 * 16) + of_muon


def test_a_loss_that_is_not_finite_keeps_the_last_good_state(settings_of, monkeypatch):
    accumulate = TorchEngine.accumulate
    calls = []

    def poisoned(self, *given):
        calls.append(1)
        return torch.tensor(float("nan")) if len(calls) == 7 else accumulate(self, *given)

    monkeypatch.setattr(TorchEngine, "accumulate", poisoned)
    settings = settings_of()
    with pytest.raises(RunError, match=r"the loss is nan at step 7; the state after step 6 is kept in resume/"):
        train_run(settings)
    run = settings.folder
    assert read_run_facts(run).status == "failed"
    assert [path.name for path in (run / "resume").iterdir()] == ["step00000006"]
    assert len(metrics(run)) == 6


def test_a_disk_too_full_for_the_record_is_still_one_error(settings_of, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    settings = settings_of()
    with monkeypatch.context() as patch:
        patch.setattr("ucurve.training.run_folder.checkpoint._save_model", full)
        write = records.write_run_facts
        patch.setattr(
            records,
            "write_run_facts",
            lambda run, facts: (full if facts.status == "failed" else write)(run, facts),
        )
        with pytest.raises(RunError, match="No space left on device"):
            train_run(settings)


def test_a_full_disk_is_said_and_the_run_can_go_on(settings_of, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    settings = settings_of()
    with monkeypatch.context() as patch:
        patch.setattr("ucurve.training.run_folder.checkpoint._save_model", full)
        with pytest.raises(RunError, match="No space left on device"):
            train_run(settings)
    train_run(settings)
    assert run_faults(settings.folder) == []


def test_a_corpus_shorter_than_the_budget_says_how_many_epochs(settings_of):
    with pytest.raises(UserError, match=r"tokens=100,352 means 1\d\.\d+ epochs of data=small_corpus"):
        train_run(settings_of("tokens=100352"))
    settings = settings_of("tokens=100352", "data.max_epochs=40", "dry_run=true")
    assert prepare(settings).plan.steps == 784


def test_a_corpus_without_one_whole_sequence_is_refused(settings_of, corpus):
    (corpus / "train.jsonl").write_text(json.dumps({"text": "天地"}) + "\n")
    with pytest.raises(UserError, match=r"has 3 tokens, too few for one sequence of 16"):
        train_run(settings_of("data.max_epochs=1000"))


def test_a_folder_that_is_no_run_is_refused(settings_of):
    settings = settings_of()
    folder = settings.folder
    folder.mkdir(parents=True)
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(UserError, match=r"exists and is not a run of this suite"):
        train_run(settings)
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("key", ["runs", "cache", "tokenizers"])
def test_a_place_that_cannot_be_written_is_refused(settings_of, tmp_path, key):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=rf"paths\.{key}=.*file is not a folder that can be written to"):
        train_run(settings_of(f"paths.{key}={tmp_path / 'file' / 'below'}"))


def test_a_name_too_long_for_a_file_system_is_refused(settings_of):
    with pytest.raises(UserError, match=r"is longer than 200 bytes"):
        train_run(settings_of(f"name={'a' * 250}"))


def test_a_checkpoint_of_another_trajectory_is_written_anew(finished, settings_of, capsys):
    whole = (finished / LAST).read_bytes()
    change_run(finished, status="running")
    other = settings_of("seed=1")
    train_run(other)
    strange = other.folder / LAST
    folder = finished / Path(LAST).parent
    (folder / "model.safetensors").write_bytes(strange.read_bytes())
    write_manifest(folder, describe_files(folder, read_manifest(folder)))
    train_run(settings_of())
    assert (finished / LAST).read_bytes() == whole
    assert "is incomplete or has other weights than this run computes; it is rewritten" in capsys.readouterr().err


def test_a_finished_run_with_a_checkpoint_gone_says_so(finished, settings_of):
    shutil.rmtree(finished / "checkpoints/step00000002")
    with pytest.raises(RunError, match=r"checkpoints are missing: step00000002"):
        train_run(settings_of())


def test_two_writers_of_one_run_are_refused(settings_of):
    from filelock import FileLock

    settings = settings_of()
    folder = Path(settings.paths.runs)
    (folder / ".locks").mkdir(parents=True)
    with (
        FileLock(folder / ".locks" / f"{settings.run_name}.lock"),
        pytest.raises(UserError, match="is being written"),
    ):
        train_run(settings)


def test_a_second_writer_by_another_path_is_refused_at_once(settings_of, tmp_path):
    settings = settings_of()
    run = settings.folder
    (tmp_path / "elsewhere" / run.name).mkdir(parents=True)
    run.parent.mkdir()
    run.symlink_to(tmp_path / "elsewhere" / run.name)
    with (
        only_writer(run),
        pytest.raises(BusyError, match=f"elsewhere/{run.name} is being written by another process"),
    ):
        train_run(settings_of(f"paths.runs={tmp_path / 'elsewhere'}"))
    assert not Path(settings.paths.tokenizers).exists()
    train_run(settings)
    assert run_faults(run) == []


def test_verify_names_what_is_wrong(finished, capsys):
    verify_command({"run": str(finished)})
    assert "5 checkpoints, all as their manifests say" in capsys.readouterr().out
    weights = finished / "checkpoints/step00000002/model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(RunError, match=r"step00000002/model\.safetensors: its hash is not the manifest's"):
        verify_command({"run": str(finished)})
    weights.write_bytes(whole)
    shutil.rmtree(finished / "checkpoints/step00000005")
    with pytest.raises(RunError, match=r"step00000005: missing"):
        verify_command({"run": str(finished)})


def test_verify_finds_a_checkpoint_copied_over_another(finished):
    shutil.rmtree(finished / "checkpoints/step00000005")
    shutil.copytree(finished / "checkpoints/step00000002", finished / "checkpoints/step00000005")
    assert any("step00000005: the manifest is of step 2" in fault for fault in run_faults(finished))
    shutil.copytree(finished / "checkpoints/step00000002", finished / "checkpoints/step00000003")
    assert any("step00000003: not on the schedule" in fault for fault in run_faults(finished))


def test_verify_compares_with_the_configuration(finished):
    config = finished / "config.yaml"
    config.write_text(config.read_text().replace("clip: 1.0", "clip: 2.0"))
    assert any("config_sha256 is" in fault for fault in run_faults(finished))


def test_verify_finds_a_tokenizer_that_is_not_the_others(finished):
    folder = finished / "checkpoints/step00000005"
    (folder / "tokenizer.json").write_text((folder / "tokenizer.json").read_text() + "\n")
    write_manifest(folder, describe_files(folder, read_manifest(folder)))
    assert run_faults(finished) == [f"{folder}: another tokenizer than step00000000"]


@pytest.mark.parametrize("text", ["{", "[]", "{}"])
def test_verify_names_a_broken_record(finished, text):
    (finished / "run.json").write_text(text)
    assert "run.json" in run_faults(finished)[0]


def test_a_line_a_checkpoint_and_a_state_are_written_in_this_order(settings_of, monkeypatch):
    written = []
    train_cut_off(settings_of("resume.seconds=0"), monkeypatch, 10)
    for name, place in (("append", MetricsLog), ("write_checkpoint", saving), ("save_state", saving)):
        real = getattr(place, name)

        def noted(*given, _name=name, _real=real, **more):
            written.append(_name)
            return _real(*given, **more)

        monkeypatch.setattr(place, name, noted)
    train_run(settings_of("resume.seconds=0", "resume.background=false"))
    assert written == ["append", "save_state", "append", "write_checkpoint", "save_state"]


def test_a_run_that_goes_on_at_step_1_000_000_has_its_data_in_under_a_second(settings_of):
    prepared = prepare(settings_of("tokens=200_000_000", "data.max_epochs=100000"))
    started = time.monotonic()
    batch = prepared.batches.of_step(1_000_000)
    assert time.monotonic() - started < 1
    assert batch.shape == (8, 17)


def test_a_run_goes_on_with_its_own_tokenizer_when_the_rule_that_builds_one_has_changed(corpus, settings_of):
    with (corpus / "train.jsonl").open("a") as file:
        file.write(json.dumps({"text": "鑫天地玄黄"}) + "\n")
    settings = settings_of()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Survey, "choose_characters", lambda found, _: list(found.counts))
        train_run(settings)
        first = prepare(settings)
    shutil.rmtree(settings.paths.tokenizers)
    again = prepare(settings)
    assert (again.tokenizer, again.store.sha256) == (settings.folder / "tokenizer", first.store.sha256)
    assert "鑫" in load_tokenizer(again.tokenizer).get_vocab()
    other = prepare(settings_of("name=other", f"paths.tokenizers={settings.paths.tokenizers}-new"))
    assert "鑫" not in load_tokenizer(other.tokenizer).get_vocab()
    train_run(settings)
