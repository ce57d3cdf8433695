"""The held-out loss of every checkpoint: its value, its file, and what a run that goes on makes of it."""

import csv
import math
import re
import shutil

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from tests.train.conftest import CHARACTERS
from tests.train.run.interrupting import train_cut_off
from ucurve.errors import RunError, UserError
from ucurve.storage.facts import read_run_facts
from ucurve.storage.run_folder import HELD_OUT, HELD_OUT_COLUMNS, checkpoints
from ucurve.training.run.held_out import add_up, window_losses
from ucurve.training.run.prepare import prepare
from ucurve.training.run.run import train_run
from ucurve.training.verify import run_faults

STEPS = ["0", "1", "2", "5", "12"]
SHARE = "data.holdout=0.1"


def rows(run):
    with (run / HELD_OUT).open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def finished(finished_run):
    return finished_run(SHARE)


@pytest.fixture
def cut(finished, settings_of, monkeypatch):
    """A function that makes of the finished run one that was cut off after a step, and returns its held-out losses."""

    def make(step=6, seconds=0):
        whole = (finished / HELD_OUT).read_bytes()
        shutil.rmtree(finished)
        train_cut_off(settings_of(SHARE, f"resume.seconds={seconds}"), monkeypatch, step)
        return whole

    return make


def test_it_equals_a_direct_computation(finished, settings_of):
    ids = prepare(settings_of(SHARE)).store.held_out.ids
    tokenizer = AutoTokenizer.from_pretrained(checkpoints(finished)[0])
    texts = tokenizer.decode(ids.tolist()).split(tokenizer.eos_token)[1:]
    size = sum(len(text.encode()) for text in texts)
    assert 5 <= len(texts) <= 40, "about a tenth of 200 documents"
    assert (ids == tokenizer.eos_token_id).sum() == len(texts)
    assert [row["step"] for row in rows(finished)] == STEPS
    for folder, row in zip(checkpoints(finished), rows(finished), strict=True):
        model, nats, of_separators = AutoModelForCausalLM.from_pretrained(folder), 0.0, 0.0
        for start in range(0, len(ids) - 1, 16):  # batch.length
            window = torch.from_numpy(ids[start : start + 17])
            with torch.no_grad():
                predicted = model(window[None, :-1]).logits[0].double().log_softmax(-1)
            losses = [-predicted[place, token].item() for place, token in enumerate(window[1:])]
            nats += sum(losses)
            of_separators += sum(loss for loss, token in zip(losses, window[1:], strict=True) if token == ids[0])
        assert float(row["loss"]) == pytest.approx(nats / (len(ids) - 1), rel=1e-6)
        assert float(row["bits_per_byte"]) == pytest.approx((nats - of_separators) / math.log(2) / size, rel=1e-6)
        assert float(row["separator_bits"]) == pytest.approx(of_separators / math.log(2) / size, rel=1e-6)
        assert (row["scored_tokens"], row["scored_bytes"]) == (str(len(ids) - 1), str(size))
        assert int(row["tokens"]) == int(row["step"]) * 8 * 16


def test_no_held_out_document_is_in_the_token_shards(settings_of):
    run = prepare(settings_of(SHARE))
    tokenizer = AutoTokenizer.from_pretrained(run.tokenizer)
    stream = run.store.windows(np.array([0]), run.store.length)[0]
    trained = tokenizer.decode(stream.tolist()).split(tokenizer.eos_token)[1:]
    held_out = tokenizer.decode(run.store.held_out.ids.tolist()).split(tokenizer.eos_token)[1:]
    assert held_out
    assert set(held_out).isdisjoint(trained)
    assert len(trained) + len(held_out) == 200, "the corpus of the tests has 200 different documents"
    assert run.store.held_out.facts.documents == len(held_out)


def test_training_is_the_same_with_validation_files_and_with_nothing_held_out(settings_of, corpus):
    plain = settings_of("data.holdout=0")
    train_run(plain)
    (corpus / "validation.txt").write_text("天地玄黄，" + CHARACTERS)
    with_files = settings_of("name=with-files")
    train_run(with_files)
    assert not (plain.folder / HELD_OUT).exists()
    assert len(rows(with_files.folder)) == 5
    assert read_run_facts(plain.folder).data_sha256 == read_run_facts(with_files.folder).data_sha256
    for one, other in zip(checkpoints(plain.folder), checkpoints(with_files.folder), strict=True):
        assert (one / "model.safetensors").read_bytes() == (other / "model.safetensors").read_bytes()
    assert run_faults(plain.folder) == run_faults(with_files.folder) == []


@pytest.mark.parametrize("step", [1, 6])
def test_a_run_that_goes_on_ends_with_the_same_bytes(finished, settings_of, cut, step):
    whole = cut(step)
    assert [row["step"] for row in rows(finished)] == [number for number in STEPS if int(number) <= step]
    train_run(settings_of(SHARE, "resume.seconds=0"))
    assert (finished / HELD_OUT).read_bytes() == whole
    assert run_faults(finished) == []


def test_steps_that_are_repeated_give_no_second_line(finished, settings_of, cut):
    whole = cut(seconds=3600)  # no state: all steps are repeated
    train_run(settings_of(SHARE))
    assert (finished / HELD_OUT).read_bytes() == whole


@pytest.mark.parametrize("change", ["changed", "removed", "cut off"])
@pytest.mark.long
def test_a_line_that_is_lost_while_the_run_is_cut_off_is_measured_again(finished, settings_of, cut, change):
    whole, path = cut(), finished / HELD_OUT
    content = path.read_bytes()
    if change == "removed":
        path.unlink()
    else:
        path.write_bytes(content[:-20] if change == "cut off" else content.replace(b"\n1,", b"\n3,"))
    train_run(settings_of(SHARE, "resume.seconds=0"))
    assert path.read_bytes() == whole
    assert run_faults(finished) == []


@pytest.mark.long
def test_a_line_is_not_measured_again_from_a_damaged_checkpoint(finished, settings_of, cut):
    cut()
    (finished / HELD_OUT).unlink()
    weights = finished / "checkpoints/step00000001/model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-5] + bytes(5))
    with pytest.raises(
        RunError, match=r"step00000001/model\.safetensors: its hash is not .* held_out\.csv needs"
    ):
        train_run(settings_of(SHARE, "resume.seconds=0"))


def test_a_changed_byte_of_a_finished_run_is_found(finished, settings_of):
    path = finished / HELD_OUT
    path.write_text(path.read_text().replace("12,1536,", "12,1537,"))
    assert run_faults(finished) == [f"{path}: its hash is not run.json's"]
    with pytest.raises(RunError, match=r"held_out\.csv: its hash is not run\.json's; restore it"):
        train_run(settings_of(SHARE))
    path.unlink()
    assert f"{path}: missing" in run_faults(finished)


def test_lines_are_checked_one_by_one(finished):
    path = finished / HELD_OUT
    header = ",".join(HELD_OUT_COLUMNS)
    path.write_text(f"{header}\n" + "".join(f"{step},0,0.0,nan,1.0,1,1\n" for step in STEPS))
    assert f"{path}: no finite numbers at step 5" in run_faults(finished)
    path.write_text(f"{header}\n1,128,0.0,1.0,1.0,1,1\n")
    assert any("for each checkpoint, in their order" in fault for fault in run_faults(finished))


def test_another_held_out_text_is_refused(settings_of, corpus):
    (corpus / "validation.txt").write_text(CHARACTERS)
    train_run(settings_of())
    (corpus / "validation.txt").write_text(CHARACTERS[::-1])
    with pytest.raises(UserError, match=r"has another held-out text: held_out\.sha256"):
        train_run(settings_of())


def test_the_share_is_part_of_a_run(settings_of):
    assert settings_of(SHARE).identity()["data"]["holdout"] == 0.1
    train_run(settings_of("data.holdout=0"))
    with pytest.raises(UserError, match=r"these keys differ: data\.holdout: 0\.0 -> 0\.1\."):
        train_run(settings_of(SHARE))


@pytest.mark.parametrize("length", [1, 2, 15, 16, 100])
def test_every_token_but_the_first_is_predicted_once(finished, length):
    model = AutoModelForCausalLM.from_pretrained(checkpoints(finished)[-1])
    ids = np.arange(32) % model.config.vocab_size
    expected, of_separators, separator = 0.0, 0.0, 5
    for start in range(0, 31, length):
        window = torch.from_numpy(ids[start : start + length + 1])
        predicted = model(window[None, :-1]).logits[0].log_softmax(-1)
        expected -= predicted.gather(1, window[1:, None]).sum().item()
        of_separators -= predicted.gather(1, window[1:, None])[window[1:] == separator].sum().item()
    found = add_up(window_losses(model, ids[:-1], ids[1:], length, separator))
    assert found == pytest.approx([expected, of_separators], rel=1e-5)


@pytest.mark.parametrize(
    ("share", "told"),
    [
        ("data.holdout=0.000001", "no held-out loss: .*; data.holdout=0.001 sets apart more documents"),
        (
            "data.holdout=0.005",
            r"only \d+ tokens, too few for a steady loss; data.holdout=0.1 sets apart more documents",
        ),
        ("data.holdout=0.5", None),
    ],
)
def test_held_out_text_that_is_too_small_is_said_with_what_to_set(settings_of, capsys, share, told):
    prepare(settings_of(share))
    lines = capsys.readouterr().err
    assert ("too few" in lines or "no held-out loss" in lines) == (told is not None)
    assert told is None or re.search(told, lines)


def test_a_held_out_file_that_is_too_small_is_named(settings_of, corpus, capsys):
    (corpus / "validation.txt").write_text("天地玄黄")
    prepare(settings_of())
    assert "too few for a steady loss; a longer validation.txt helps" in capsys.readouterr().err


@pytest.mark.parametrize("processes", [2, 3, 50])
def test_several_processes_measure_what_one_measures(finished, processes):
    model = AutoModelForCausalLM.from_pretrained(checkpoints(finished)[-1])
    ids = np.arange(2000) % model.config.vocab_size
    shares = [window_losses(model, ids[:-1], ids[1:], 16, 0, rank, processes) for rank in range(processes)]
    losses = {number: loss for share in shares for number, loss in share.items()}
    assert len(losses) == sum(map(len, shares)) == 5, "512 positions at a time, and the rest"
    assert add_up(losses).tolist() == add_up(window_losses(model, ids[:-1], ids[1:], 16, 0)).tolist()
