"""Runs whose sequences grow: each step has the batch that it has in a run of that length, also after a stop."""

import shutil

import numpy as np
import pytest

from tests.train.run.interrupting import outcome, train_with_a_stop
from tests.train.run.test_objectives import BERT
from ucurve.errors import UserError
from ucurve.storage.run_folder import step_name
from ucurve.training.replay import open_batches
from ucurve.training.run.prepare import expect_run, prepare
from ucurve.training.run.run import train_run
from ucurve.training.verify import run_faults

MASKED = [*BERT, "objective=masked", "objective.last_rate=0.3"]
SHORTER = (
    "batch.shorter=[{length: 4, tokens: 256}, {length: 8, tokens: 400}]"  # 2 steps and 3 of 12, of 128 tokens
)
STAGES = {4: range(1, 3), 8: range(3, 6), 16: range(6, 13)}


def of_length(length):
    return [f"batch.length={length}", f"batch.sequences={128 // length}"]


@pytest.mark.parametrize("more", [[], MASKED], ids=["causal", "masked"])
def test_a_step_has_the_batch_of_a_run_of_its_length(settings_of, more):
    settings = settings_of(SHORTER, "name=grows", *more)
    batches = prepare(settings).batches
    for length, steps in STAGES.items():
        single = prepare(settings_of(*of_length(length), *more))
        for step in steps:
            found = batches.of_step(step)
            assert np.array_equal(found, single.batches.of_step(step))
            assert np.array_equal(batches.of_step(step, lambda all_: all_[1::2][:1]), found[1:2])
    if not more:
        blocks = [window.tolist() for block in batches.between(1, 7, 40) for window in block]
        assert blocks == [window for step in range(2, 8) for window in batches.of_step(step).tolist()]


@pytest.mark.parametrize("more", [[], ["optimizer=muon"], MASKED])
def test_flops_are_those_of_each_length(settings_of, more):
    plan = expect_run(settings_of(SHORTER, "name=grows", *more)).plan
    expected = 12 * plan.optimizer_flops
    for length, steps in STAGES.items():
        for step in steps:
            rate = plan.settings.objective.rate_at(step, 12) if more == MASKED else 1.0
            expected += plan.settings.model.design.count_flops(plan.vocabulary, length, 128, rate)
    assert plan.flops_exact(plan.tokens) == pytest.approx(expected, rel=1e-12)
    assert plan.flops(plan.tokens) == expect_run(settings_of(*more)).plan.flops(plan.tokens)


def test_weights_of_the_first_stage_are_those_of_a_run_of_its_length(settings_of, monkeypatch, tmp_path):
    listed = ["schedule=list", "schedule.count=null", f"schedule.steps=[{','.join(map(str, range(13)))}]"]
    settings = settings_of(SHORTER, "name=grows", *listed, "data.holdout=0.1", "resume.seconds=0")
    train_run(settings)
    assert run_faults(settings.folder) == []
    whole, single = outcome(settings.folder), settings_of(*of_length(4), *listed, "data.holdout=0.1")
    train_run(single)
    short = outcome(single.folder)
    equal = [whole[0][step_name(step)] == short[0][step_name(step)] for step in range(13)]
    assert equal == [True] * 3 + [False] * 10
    assert whole[1][:2] == short[1][:2]
    seen = [one for one in open_batches(settings.folder).between(0, 12) if one.sequence == 0]
    assert [len(one.ids) - 1 for one in seen] == [4] * 2 + [8] * 3 + [16] * 7
    shutil.rmtree(settings.folder)
    train_with_a_stop(settings, monkeypatch)
    assert outcome(settings.folder) == whole


def test_a_plan_says_the_steps_of_each_length(settings_of):
    lines = expect_run(settings_of(SHORTER, "name=grows")).describe().splitlines()
    assert [line.removeprefix("steps").strip() for line in lines if line.startswith("steps")] == [
        "2 of 32 x 4 tokens", "3 of 16 x 8 tokens", "7 of 8 x 16 tokens",
    ]  # fmt: skip


def test_lengths_are_in_the_identity(settings_of):
    assert settings_of(SHORTER, "name=grows").identity()["batch"]["shorter"][1] == {"length": 8, "tokens": 400}


@pytest.mark.parametrize(
    ("shorter", "message"),
    [
        (
            "{length: 8, tokens: 1K}, {length: 4, tokens: 1K}",
            r"shorter: got the lengths 8, 4; they must grow, and each",
        ),
        (
            "{length: 6, tokens: 1K}",
            r"shorter: got the lengths 6; .* each must divide length=16, which comes last",
        ),
        ("{length: 16, tokens: 1K}", r"shorter: got the lengths 16; "),
        ("{length: 8, tokens: 100}", r"shorter\.0\.tokens=100 is less than one step of 128 tokens"),
        ("{length: 8, tokens: many}", r"batch\.shorter\.0\.tokens: 'many' is not a count"),
        ("{length: 8}", r"batch\.shorter\.0\.tokens: no value given"),
    ],
)
def test_lengths_that_cannot_be_are_refused(settings_of, shorter, message):
    with pytest.raises(UserError, match=message):
        settings_of(f"batch.shorter=[{shorter}]")
