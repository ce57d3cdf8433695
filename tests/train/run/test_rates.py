"""Runs under other learning rates: what a shorter budget has in common with a longer one, and what a plan says."""

import json
import shutil

import pytest

from tests.train.run.interrupting import train_cut_off
from ucurve.errors import UserError
from ucurve.storage.run_folder import step_name
from ucurve.training.run.prepare import expect_run
from ucurve.training.run.run import train_run
from ucurve.training.verify import run_faults

FORMS = {"wsd": ["rate=wsd", "rate.decay=0.25"], "constant": ["rate=constant"], "linear": ["rate=linear"]}
FORMS["wsd_s"] = ["rate=wsd_s", "rate.decay=0.25"]


@pytest.fixture
def train(settings_of):
    """A function that trains some steps of 8 x 16 tokens with a checkpoint at each, and returns the run folder."""

    def run(steps, form, *more):
        listed = [
            "schedule=list",
            "schedule.count=null",
            f"schedule.steps=[{','.join(map(str, range(steps + 1)))}]",
        ]
        settings = settings_of(f"tokens={steps * 128}", *FORMS[form], "optimizer.warmup=2", *listed, *more)
        train_run(settings)
        assert run_faults(settings.folder) == []
        return settings.folder

    return run


def weights(run):
    return [file.read_bytes() for file in sorted(run.glob("checkpoints/*/model.safetensors"))]


def learning_rates(run):
    return [json.loads(line)["lr"] for line in (run / "metrics.jsonl").read_text().splitlines()]


def test_up_to_its_decay_a_run_is_the_beginning_of_every_longer_one(train):
    longer, shorter, constant = train(16, "wsd"), train(8, "wsd"), train(6, "constant")
    assert shorter.name == "tiny-1024-char-small_corpus-s0-rate=wsd-rate.decay=0.25-optimizer.warmup=2"
    assert weights(shorter)[:7] == weights(longer)[:7] == weights(constant)
    assert weights(shorter)[7] != weights(longer)[7], "after step 6 the shorter one decays"
    assert learning_rates(shorter)[:6] == learning_rates(constant) == learning_rates(longer)[:6]


def test_wsd_s_has_the_whole_run_of_each_smaller_budget(train):
    longer, shorter = train(16, "wsd_s", "rate.at=[1024]"), train(8, "wsd_s")
    assert weights(shorter) == weights(longer)[:9]
    assert learning_rates(longer)[6:9] == pytest.approx([3e-3 / 5.5, 3e-4, 3e-3])


def test_a_decay_ends_at_a_checkpoint(settings_of):
    keys = ["rate=wsd_s", "rate.at=[640]", "optimizer.warmup=2", "schedule.count=2"]
    plan = expect_run(settings_of(*keys)).plan
    assert plan.checkpoint_steps == (0, 5, 12)
    assert [step for step in range(1, 13) if plan.learning_rate(step) < 3e-3] == [1, 5, 12]


def test_with_a_linear_rate_it_is_not(train):
    longer, shorter = train(8, "linear"), train(4, "linear")
    assert weights(shorter)[:3] == weights(longer)[:3], "the warm-up is the same"
    assert weights(shorter)[3] != weights(longer)[3]


def test_a_plan_says_when_the_rate_falls(settings_of):
    def rate(*overrides):
        return next(
            line for line in expect_run(settings_of(*overrides)).describe().splitlines() if "at its peak" in line
        )

    assert rate().endswith("at the end")
    assert rate("rate=wsd", "optimizer.warmup=2").endswith("0 at the end; rate=wsd falls after step 10")
    assert rate("rate=wsd", "rate.form=linear", "optimizer.warmup=2").endswith(
        "rate=wsd (linear) falls after step 10"
    )
    assert rate("rate=linear").endswith("at the end; rate=linear")
    assert rate("rate=wsd_s", "rate.at=[640]", "optimizer.warmup=2").endswith("rate=wsd_s falls after step 4, 11")
    assert rate("optimizer.scale.output=0.1").endswith("at the end; 0.1 times as high for output")
    lines = expect_run(settings_of("optimizer=muon")).describe().splitlines()
    assert "optimizer      Muon for matrices between embedding and output layer, AdamW for the rest" in lines


def test_states_are_kept_for_good_and_verified(settings_of):
    settings = settings_of("schedule.count=2", "resume.keep_states=[4,1K]", "resume.seconds=0")
    train_run(settings)
    states = settings.folder / "resume"
    assert [path.name for path in sorted(states.iterdir())] == [step_name(step) for step in (4, 7, 11, 12)]
    assert run_faults(settings.folder) == []
    shutil.rmtree(states / step_name(4))
    assert run_faults(settings.folder) == [f"{states / step_name(4)}: missing, and resume.keep_states names it"]
    with pytest.raises(UserError, match=r"is past step 5, whose state was not kept; leave it out"):
        train_run(settings_of("schedule.count=2", "resume.keep_states=[5]"))


@pytest.mark.parametrize(
    ("places", "message"),
    [
        ("[13]", r"resume\.keep_states: the run has the steps 1 to 12, not 13"),
        ("[100]", r"not 100"),
        ("[1.5]", r"got 1\.5; allowed: a step, as 500, or tokens with a unit, as 10M"),
        ("[0]", r"got 0; allowed"),
        ("[many]", r"got 'many'; allowed"),
    ],
)
def test_a_state_that_no_run_can_keep_is_refused(settings_of, places, message):
    with pytest.raises(UserError, match=message):
        settings_of(f"resume.keep_states={places}")


def test_muon_goes_on_exactly(settings_of, monkeypatch):
    settings = settings_of("optimizer=muon", "optimizer.scale.hidden=0.5", "resume.seconds=0")
    train_run(settings)
    assert run_faults(settings.folder) == []
    whole, lines = weights(settings.folder), learning_rates(settings.folder)
    adamw = settings_of()
    train_run(adamw)
    assert weights(adamw.folder)[0] == whole[0]
    assert weights(adamw.folder)[1] != whole[1]
    shutil.rmtree(settings.folder)
    train_cut_off(settings, monkeypatch, 6)
    train_run(settings)
    assert weights(settings.folder) == whole
    assert learning_rates(settings.folder) == lines


def test_names_have_the_keys_that_differ(settings_of):
    keys = ["optimizer.clip=2", "rate=linear"]
    name = "tiny-1536-char-small_corpus-s0-rate=linear-optimizer.clip=2.0"
    assert settings_of(*keys).run_name == name
    assert settings_of(*keys, "name=mine").run_name == name + "-mine"
