"""Budgets of one grid with ``rate=wsd`` grow out of one trunk, to what each is when it is trained alone."""

import json

import pytest

from tests.train.launching import finish, start
from ucurve.errors import BusyError, RunError
from ucurve.storage.facts import read_manifest, read_run_facts, write_run_facts
from ucurve.storage.run_folder import checkpoints, step_name
from ucurve.training.grid.cells import Cell, list_costs
from ucurve.training.grid.trunks import expect_grid, find_trunks, start_branch, with_trunks
from ucurve.training.grid.worker import GridRun, record_failure
from ucurve.training.run.run import train_run
from ucurve.training.verify import run_faults

WSD = ["rate=wsd", "rate.decay=0.25", "optimizer.warmup=2"]
BUDGETS = {8: 6, 16: 12, 24: 18}  # steps, and the last of them before the decay
TRUNK = "tiny-2304-char-small_corpus-s0-rate=constant-optimizer.warmup=2-trunk"


@pytest.fixture
def cells_of(settings_of):
    """A function from further overrides to one cell for each budget."""

    def build(*more):
        return [Cell(settings_of(f"tokens={steps * 128}", *WSD, *more), ()) for steps in BUDGETS]

    return build


def metrics(run):
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [{key: value for key, value in line.items() if key != "tokens_per_second"} for line in lines]


def statuses(cells):
    run = GridRun(*with_trunks(cells, train_run))
    run.work()
    return {outcome.cell: outcome.status for outcome in run.outcomes}


def test_branches_are_the_runs_trained_alone(cells_of, settings_of, tmp_path):
    more = ["data.holdout=0.1", "resume.keep_states=[3,7]"]
    cells = cells_of(*more)
    assert list(statuses(cells)) == [TRUNK, *(cell.name for cell in cells)]
    trunk = tmp_path / "runs" / TRUNK
    assert run_faults(trunk) == []
    for cell, end in zip(cells, BUDGETS.values(), strict=True):
        run, single = cell.settings.folder, tmp_path / "alone" / cell.name
        assert_trained_as_alone(cell, settings_of, tmp_path / "alone", *more)
        assert (run / "held_out.csv").read_bytes() == (single / "held_out.csv").read_bytes()
        parent = read_run_facts(run).parent
        assert (parent.name, parent.step) == (TRUNK, end)
        assert parent.config_sha256 == read_run_facts(trunk).config_sha256
        assert {read_manifest(folder).parent for folder in checkpoints(run)} == {parent}
        assert [session.after_step for session in read_run_facts(run).sessions] == [0]
        assert (run / "resume" / step_name(3)).is_dir()
    assert set(statuses(cells).values()) == {"skipped"}
    assert find_trunks(cells) == [], "all runs are there"


def test_forms_of_the_decay_share_a_trunk(settings_of, tmp_path):
    forms = [["rate.form=linear"], ["rate.form=exponential", "optimizer.minimum=0.1"], ["rate.decay=0.5"]]
    cells = [Cell(settings_of("tokens=2048", *WSD, *form), ()) for form in forms]
    assert list(statuses(cells).values()) == ["done"] * 4
    assert [read_run_facts(cell.settings.folder).parent.step for cell in cells] == [12, 12, 8]
    for cell, form in zip(cells, forms, strict=True):
        assert_trained_as_alone(cell, settings_of, tmp_path / "alone", *form)


def assert_trained_as_alone(cell, settings_of, place, *more):
    """Compare a run of a grid with the same run trained by itself into another folder."""
    run, alone = cell.settings.folder, place / cell.name
    train_run(settings_of(f"tokens={cell.settings.tokens}", *WSD, *more, f"paths.runs={place}"))
    assert run_faults(run) == []
    weights = {one.name: (one / "model.safetensors").read_bytes() for one in checkpoints(alone)}
    assert {one.name: (one / "model.safetensors").read_bytes() for one in checkpoints(run)} == weights
    assert metrics(run) == metrics(alone)


LISTED = [
    "schedule=list",
    "schedule.count=null",
    "schedule.steps=[1,4]",
]  # so that budgets share their checkpoints


def test_a_budget_smaller_than_all_of_a_finished_grid_is_trained_alone(cells_of, settings_of, tmp_path, capsys):
    small, *others = cells_of(*LISTED)
    statuses(others)
    found = statuses([small, *others])
    assert found == {TRUNK: "skipped", small.name: "done", **{cell.name: "skipped" for cell in others}}
    assert read_run_facts(small.settings.folder).parent is None
    assert f"{small.name} is trained alone: {tmp_path / 'runs' / TRUNK} kept no state" in capsys.readouterr().err
    assert_trained_as_alone(small, settings_of, tmp_path / "alone", *LISTED)


def test_a_budget_between_those_of_a_finished_grid_goes_on_from_the_state_before(cells_of, settings_of, tmp_path):
    small, middle, large = cells_of(*LISTED)
    statuses([small, large])
    plans = {run.plan.settings.run_name: run.plan for run in expect_grid([small, middle, large])}
    assert plans[middle.name].own_steps == 16 - 6
    statuses([small, middle, large])
    parent = read_run_facts(middle.settings.folder).parent
    assert (parent.name, parent.step) == (TRUNK, 6)
    assert_trained_as_alone(middle, settings_of, tmp_path / "alone", *LISTED)


def test_a_trunk_begun_for_another_schedule_serves_up_to_the_first_checkpoint_it_lacks(
    cells_of, settings_of, tmp_path
):
    """As where two people have grids with one longest budget in one folder."""
    small, _, large = cells_of(*LISTED)
    statuses([small, large])
    more = [*LISTED[:-1], "schedule.steps=[1,8]", "resume.keep_states=[7]"]
    other = cells_of(*more)[1]
    found = statuses([small, other, large])
    assert found == {TRUNK: "skipped", small.name: "skipped", other.name: "done", large.name: "skipped"}
    assert read_run_facts(other.settings.folder).parent.step == 6, "it wants the state of step 7"
    assert_trained_as_alone(other, settings_of, tmp_path / "alone", *more)


def test_an_interrupted_trunk_goes_on_as_it_was_begun(cells_of, settings_of, tmp_path):
    small, middle, large = cells_of(*LISTED)
    trunk = find_trunks([small, large])[0].settings
    train_run(trunk)
    facts = read_run_facts(trunk.folder)
    write_run_facts(trunk.folder, facts.model_copy(update={"status": "interrupted"}))
    found = statuses([small, middle, large])
    assert set(found.values()) == {"done"}
    assert [read_run_facts(cell.settings.folder).parent.step for cell in (small, middle, large)] == [6, 6, 18]
    assert_trained_as_alone(middle, settings_of, tmp_path / "alone", *LISTED)


def test_no_run_goes_on_from_a_trunk_of_another_configuration(cells_of, tmp_path):
    statuses(cells_of()[1:])
    cells = cells_of("batch.sequences=4")
    run = GridRun(*with_trunks(cells, train_run))
    run.work()
    (reason,) = [outcome.reason for outcome in run.outcomes if outcome.cell == cells[0].name]
    assert reason.startswith(f"{tmp_path / 'runs' / TRUNK} holds a run of another configuration")
    assert "batch.sequences: 8 -> 4" in reason
    assert not cells[0].settings.folder.exists()


def test_leftovers_of_a_killed_copy_of_the_trunk_are_removed(cells_of, tmp_path):
    cells = cells_of()
    for name in (cells[0].name, "another-run"):
        (tmp_path / "runs" / f".{name}.tmp-0123456789ab" / "checkpoints").mkdir(parents=True)
    statuses(cells)
    assert [path.name for path in (tmp_path / "runs").glob(".*.tmp-*")] == [".another-run.tmp-0123456789ab"]


def test_a_grid_costs_its_trunk_and_the_decays(cells_of):
    plans = [run.plan for run in expect_grid(cells_of())]
    assert [(plan.settings.run_name == TRUNK, plan.own_steps) for plan in plans] == [
        (True, 18),
        (False, 2),
        (False, 4),
        (False, 6),
    ]
    *rows, total = list_costs(plans)
    assert total["flops"] == pytest.approx(plans[0].flops(30 * 128)) == sum(row["flops"] for row in rows)


def test_only_runs_that_differ_in_their_budget_share_a_trunk(cells_of):
    cells = cells_of()
    seeds = cells_of("seed=1")
    assert [trunk.branches for trunk in find_trunks([*cells, *seeds])] == [
        tuple(cell.name for cell in group) for group in (cells, seeds)
    ]
    assert find_trunks(cells[:1]) == []
    assert find_trunks([cells[0], seeds[1]]) == []
    assert find_trunks(cells_of("optimizer.warmup=0.1")) == [], "their warm-ups differ"
    assert find_trunks(cells_of("rate=linear", "rate.decay=null")) == []


def test_a_branch_does_not_start_from_a_trunk_that_failed_or_was_changed(cells_of, tmp_path):
    cells = cells_of()

    def fail(settings):
        if settings.run_name == TRUNK:
            raise RunError("the disk is full")
        train_run(settings)

    run = GridRun(*with_trunks(cells, fail))
    run.work()
    assert [outcome.status for outcome in run.outcomes] == ["failed"] * 4
    assert run.outcomes[1].reason.startswith(
        f"{tmp_path / 'runs' / TRUNK}, from which this run goes on, has failed"
    )
    trunk = find_trunks(cells)[0].settings
    train_run(trunk)
    weights = checkpoints(trunk.folder)[1] / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])
    run = GridRun(*with_trunks(cells, train_run))
    run.work()
    assert not cells[0].settings.folder.exists()
    assert "cannot be copied: " in run.outcomes[1].reason


def statuses_beside_another(cells, monkeypatch, finish_trunk):
    """Work on a grid whose trunk another worker has until this one pauses; returns the pauses too."""
    pauses = []

    def pause(seconds):
        pauses.append(seconds)
        finish_trunk(find_trunks(cells)[0].settings)

    def train(settings):
        if settings.run_name == TRUNK and not pauses:
            raise BusyError("another process trains it")
        train_run(settings)

    monkeypatch.setattr("ucurve.training.grid.worker.time.sleep", pause)
    run = GridRun(*with_trunks(cells, train))
    run.work()
    return {outcome.cell: outcome.status for outcome in run.outcomes}, pauses


def test_a_worker_waits_while_another_trains_the_trunk(cells_of, monkeypatch):
    cells = cells_of()
    found, pauses = statuses_beside_another(cells, monkeypatch, train_run)
    assert pauses == [5.0]
    assert found == {TRUNK: "skipped", **{cell.name: "done" for cell in cells}}
    assert [read_run_facts(cell.settings.folder).parent.name for cell in cells] == [TRUNK] * 3


def test_a_worker_ends_when_the_trunk_fails_in_another(cells_of, monkeypatch):
    cells = cells_of()
    found, _ = statuses_beside_another(
        cells, monkeypatch, lambda trunk: record_failure(trunk, RunError("the disk is full"))
    )
    assert list(found.values()) == ["failed"] * 4


@pytest.mark.long
def test_a_branch_goes_on_in_two_processes(cells_of, overrides):
    cells = cells_of()
    trunk, settings = find_trunks(cells)[0].settings, cells[0].settings
    train_run(trunk)
    start_branch(settings, trunk)
    codes, errors = finish(start(["train.py", *overrides, "tokens=1024", *WSD], size=2))
    assert codes == [0, 0], errors
    assert run_faults(settings.folder) == []
    facts = read_run_facts(settings.folder)
    assert (facts.parent.name, facts.engine.processes) == (TRUNK, 2)
    assert [session.after_step for session in facts.sessions] == [0, 6]
