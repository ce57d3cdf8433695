"""What a run is, as run.json says it."""

from tests.facts import change_run
from ucurve.analysis.data.runs import find_runs
from ucurve.storage.facts import read_run_facts
from ucurve.training.factors import factors_of

PARAMETERS = {"non_embedding": 1_234_567}


def test_a_run_records_its_factors(finished_run):
    factors = read_run_facts(finished_run("optimizer.warmup=0.05", "name=mine")).factors
    named = (
        "architecture",
        "size",
        "model",
        "objective",
        "tokenizer",
        "budget",
        "optimizer",
        "rate",
        "precision",
        "name",
    )
    assert [factors[name] for name in named] == [
        "gpt_neox", "tiny", "tiny", "causal", "char", "1536", "adamw", "cosine", "float32", "mine",
    ]  # fmt: skip
    assert factors["optimizer.warmup"] == 0.05
    assert "optimizer.eps" not in factors, "it is at its default"
    assert not [name for name in factors if name.startswith(("model.", "seeds", "schedule", "eval", "paths"))]


def test_a_run_trained_before_has_its_factors_in_its_configuration(finished_run):
    folder = finished_run()
    recorded = read_run_facts(folder).factors
    change_run(folder, factors={})
    [run] = find_runs([str(folder)])
    assert {name: run.design.level(run.label, name) for name in recorded} == recorded


def test_a_model_without_a_size_has_that_of_its_parameters(settings_of):
    small, named = settings_of(), settings_of("model.size=null")
    assert factors_of(small, PARAMETERS)["size"] == "tiny"
    assert factors_of(named, PARAMETERS)["size"] == "1230K"
    assert small.identity() == named.identity(), "the size is a label"


def test_a_choice_that_is_another_line_is_another_factor(settings_of):
    usual = factors_of(settings_of(), PARAMETERS)
    for choice in ("batch.sequences=16", "data.holdout=0.2", "optimizer=muon", "optimizer.betas=[0.9,0.99]"):
        other = factors_of(settings_of(choice), PARAMETERS)
        assert other != usual, choice
    assert factors_of(settings_of("schedule.count=3", "seed=2"), PARAMETERS) == usual
