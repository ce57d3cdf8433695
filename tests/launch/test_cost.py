import json

import pytest

from ucurve.launch.arguments import expand_grid
from ucurve.launch.cost import cost_command, estimate_scoring_hours, measure_costs, measure_step, random_batch
from ucurve.training.engine.execution import Execution
from ucurve.training.model.design import NOT_PREDICTED
from ucurve.training.run.prepare import expect_run

GRID = [
    "model=tiny",
    "tokenizer=char",
    "data=demo",
    "tokens=100K,200K",
    "seed=0,1",
    "engine=torch",
    "schedule.count=3",
]


@pytest.fixture
def plans():
    return [expect_run(cell.settings).plan for cell in expand_grid(GRID)]


def test_hours_are_those_of_all_steps(plans):
    assert measure_costs(plans[:1], lambda _: 3.0)[0]["hours"] == pytest.approx(plans[0].steps * 3.0 / 3600)


def test_scoring_takes_a_third_of_the_training_time_of_as_many_tokens(plans):
    plan = plans[0]
    assert estimate_scoring_hours(plan, 3.0, plan.settings.batch.tokens) == pytest.approx(3 * 3.0 / 3 / 3600)


def test_sentences_are_counted_and_nothing_is_scored_where_that_is_turned_off():
    sized = {}
    for when in ("each", "never"):
        [cell] = expand_grid([*GRID, f"eval.when={when}", "tokens=100K", "seed=0"])
        rows = measure_costs([expect_run(cell.settings).plan], lambda plan: 1.0)
        sized[when] = rows[0]["scoring_hours"]
    assert sized["each"] > 0
    assert sized["never"] == 0


def test_one_model_is_timed_once_and_the_totals_add_up(plans):
    timed = []
    rows = measure_costs(plans, lambda plan: timed.append(plan) or 1.0)
    assert len(timed) == 1
    *cells, total = rows
    assert [row["cell"] for row in cells] == [plan.settings.run_name for plan in plans]
    assert total["cell"] == "total"
    for key in ("parameters", "flops", "disk_bytes", "hours", "scoring_hours"):
        assert total[key] == pytest.approx(sum(row[key] for row in cells))
    assert cells[2]["hours"] == pytest.approx(2 * cells[0]["hours"], rel=0.1)


def test_another_model_is_timed_for_itself():
    plans = [expect_run(cell.settings).plan for cell in expand_grid(["model=tiny,14m", *GRID[1:]])]
    timed = []
    measure_costs(plans, lambda plan: timed.append(plan.settings.model.name) or 1.0)
    assert sorted(timed) == ["14m", "tiny"]


def test_another_optimizer_is_timed_for_itself():
    plans = [
        expect_run(cell.settings).plan for cell in expand_grid([*GRID, "optimizer=adamw,muon", "tokens=100K"])
    ]
    seconds = {"adamw": 1.0, "muon": 3.0}
    rows = measure_costs(plans, lambda plan: seconds[plan.settings.optimizer.kind])
    hours = {plan.settings.optimizer.kind: row["hours"] for plan, row in zip(plans, rows, strict=False)}
    assert hours["muon"] == pytest.approx(3 * hours["adamw"])


def test_scoring_is_timed_in_float32_where_training_is_not():
    keys = ["tokens=100k", "eval.benchmarks=[demo]", "seed=0"]
    hours, seconds = {}, {"float32": 2.0, "bfloat16": 1.0}
    for precision in seconds:
        [cell] = expand_grid([*GRID, *keys, f"engine.precision={precision}"])
        hours[precision], _ = measure_costs(
            [expect_run(cell.settings).plan], lambda plan: seconds[plan.settings.engine.precision]
        )
    assert hours["float32"]["hours"] == 2 * hours["bfloat16"]["hours"]
    assert hours["float32"]["scoring_hours"] == hours["bfloat16"]["scoring_hours"] > 0


def test_masked_tokens_are_timed_as_many_as_a_mean_step_predicts(plans):
    assert random_batch(plans[0]).shape == (256, 65)
    keys = ["model=bert-14m", *GRID[1:3], "tokens=100K", "objective=masked", "objective.last_rate=0.45"]
    [cell] = expand_grid(keys)
    inputs, targets = random_batch(expect_run(cell.settings).plan).swapaxes(0, 1)
    assert inputs.shape == (256, 64)
    predicted = targets != NOT_PREDICTED
    assert predicted.mean() == pytest.approx(0.3, abs=0.02)
    assert (targets[predicted] == inputs[predicted]).all()


def test_a_hybrid_run_is_timed_on_sequences_with_masks_and_without():
    keys = [
        "model=llama-tiny",
        *GRID[1:3],
        "tokens=100K",
        "objective=hybrid",
        "objective.share=0.25",
        "batch.sequences=16",
    ]
    [cell] = expand_grid([*keys, "batch.length=32", "schedule.count=3"])
    plan = expect_run(cell.settings).plan
    predicted = random_batch(plan)[:, 1] != NOT_PREDICTED
    assert predicted.all(axis=1).sum() == 12
    assert predicted[~predicted.all(axis=1)].mean() == pytest.approx(0.15, abs=0.1)
    assert measure_step(plan) > 0


@pytest.mark.long
@pytest.mark.parametrize("micro_batch", [8, 256])
def test_the_probe_times_the_engine_that_would_train(micro_batch, monkeypatch):
    [cell] = expand_grid([*GRID[:3], "tokens=100K", "schedule.count=3", f"engine.micro_batch={micro_batch}"])
    built = []
    build = Execution.build_engine
    monkeypatch.setattr(Execution, "build_engine", lambda *given: built.append(given[0].kind) or build(*given))
    assert measure_step(expect_run(cell.settings).plan) > 0
    assert built == ["torch"]


def test_the_command_prints_json_and_writes_nothing(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cost_command([*GRID, "format=json"])
    rows = json.loads(capsys.readouterr().out)
    assert len(rows) == 5
    assert rows[-1]["hours"] > 0
    assert not list(tmp_path.iterdir())
