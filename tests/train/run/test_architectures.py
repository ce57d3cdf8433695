"""Runs of other architectures than Pythia's, from a model file: resumed, verified, told apart by name."""

import pytest

from tests.train.run.interrupting import outcome, train_with_a_stop
from tests.train.stress import MODELS
from tests.train.tiny_models import TINY
from ucurve.config import compose
from ucurve.training.run.run import train_run
from ucurve.training.verify import run_faults


@pytest.mark.parametrize("model", ["llama-14m", "mamba-14m", "dropout"])
def test_an_interrupted_run_ends_as_if_left_alone(settings_of, monkeypatch, model):
    alone, settings = settings_of(*MODELS[model], "name=alone"), settings_of(*MODELS[model])
    assert f"model={settings.run_name}".startswith(f"{MODELS[model][0]}-")
    train_run(alone)
    train_with_a_stop(settings, monkeypatch)
    expected, found = (outcome(each.folder) for each in (alone, settings))
    assert found == expected
    assert len(found[1]) == settings.steps
    assert run_faults(settings.folder) == []


@pytest.mark.parametrize("model", ["llama-14m", "mamba-14m"])
def test_half_a_budget_is_the_beginning_of_the_whole(settings_of, model):
    half, whole = (settings_of(*TINY[model], "rate=constant", f"tokens={tokens}") for tokens in (768, 1536))
    first, both = (outcome_of(settings) for settings in (half, whole))
    assert len(first) == half.steps == whole.steps / 2
    assert both[: half.steps] == first


def outcome_of(settings):
    train_run(settings)
    return outcome(settings.folder)[1]


def test_keys_of_a_model_are_set_and_added_on_the_command_line():
    given = ["model=llama-14m", "tokens=1M", "data=demo", "model.config.hidden_size=64"]
    values = compose("train", [*given, "+model.config.num_key_value_heads=2"])
    assert values["model"]["config"]["hidden_size"] == 64
    assert values["model"]["config"]["num_key_value_heads"] == 2


@pytest.mark.parametrize(("deviation", "told"), [("0.02", False), ("0.9", True)])
def test_first_weights_that_are_too_large_are_told_by_the_first_loss(settings_of, capsys, deviation, told):
    train_run(settings_of(*TINY["llama-14m"], f"+model.config.initializer_range={deviation}"))
    assert ("the first weights are large for this shape" in capsys.readouterr().err) == told
