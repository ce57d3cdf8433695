"""Runs with attention within documents: resumed, measured, in two processes, told apart by name."""

import csv

import pytest
import torch
from transformers import AutoModelForCausalLM

from tests.train.launching import finish, start
from tests.train.model.test_view import sum_over_documents
from tests.train.run.interrupting import outcome, train_with_a_stop
from tests.train.tiny_models import TINY
from ucurve.errors import UserError
from ucurve.storage.run_folder import HELD_OUT, checkpoints
from ucurve.training.run.prepare import prepare
from ucurve.training.run.run import train_run
from ucurve.training.verify import run_faults

DOCUMENTS = ["data.attention=document", "data.holdout=0.1"]


@pytest.mark.parametrize("model", ["14m", "lstm-14m", "bert-14m"])
def test_an_interrupted_run_ends_as_if_left_alone(settings_of, monkeypatch, model):
    alone, settings = settings_of(*TINY[model], *DOCUMENTS, "name=alone"), settings_of(*TINY[model], *DOCUMENTS)
    train_run(alone)
    train_with_a_stop(settings, monkeypatch)
    assert outcome(settings.folder) == outcome(alone.folder)
    assert (settings.folder / HELD_OUT).read_text() == (alone.folder / HELD_OUT).read_text()
    assert run_faults(settings.folder) == []
    assert settings.run_name.endswith("-s0-data.attention=document")


def test_held_out_documents_are_apart_too(settings_of):
    settings = settings_of(*DOCUMENTS)
    train_run(settings)
    model = AutoModelForCausalLM.from_pretrained(checkpoints(settings.folder)[-1])
    run = prepare(settings)
    ids = torch.from_numpy(run.store.held_out.ids)
    windows = [ids[first : first + 17] for first in range(0, len(ids) - 1, 16)]
    with torch.no_grad():
        total = sum(
            sum_over_documents(model, one[None, :-1], one[None, 1:], run.document_token) for one in windows
        )
    with (settings.folder / HELD_OUT).open(newline="") as file:
        assert float([*csv.DictReader(file)][-1]["loss"]) == pytest.approx(
            float(total) / (len(ids) - 1), rel=1e-5
        )


def test_attention_is_part_of_the_identity(settings_of):
    assert settings_of().identity()["data"]["attention"] == "stream"
    assert settings_of(*DOCUMENTS).identity()["data"]["attention"] == "document"
    with pytest.raises(UserError, match=r"data.attention: got 'line'; Input should be 'stream' or 'document'"):
        settings_of("data.attention=line")


@pytest.mark.long
@pytest.mark.parametrize("model", ["14m", "lstm-14m"])
def test_two_processes_train_as_one(settings_of, overrides, tmp_path, model):
    words = [*overrides, *TINY[model], *DOCUMENTS]
    one = settings_of(*TINY[model], *DOCUMENTS)
    train_run(one)
    given = [*words, "name=two", "eval.when=never"]
    codes, errors = finish(start(["train.py", *given], size=2))
    assert codes == [0, 0], errors
    two = settings_of(*TINY[model], *DOCUMENTS, "name=two")
    losses = [[line["loss"] for line in outcome(each.folder)[1]] for each in (one, two)]
    assert losses[1] == pytest.approx(losses[0], rel=1e-6)
