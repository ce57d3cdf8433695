"""Grids with failing cells, started again, and shared by several workers; most with a stand-in for training."""

import multiprocessing
import os
import re
import shutil
import signal
from dataclasses import asdict, replace
from pathlib import Path

import pytest
import yaml

from tests.facts import write_run
from ucurve.config import Composed, compose_cells, plain, sweep
from ucurve.errors import BusyError, RunError
from ucurve.storage.facts import Seeds
from ucurve.training.engine.signals import Interrupted, StopSignals
from ucurve.training.grid.cells import Cell, grid_cells, longest_first
from ucurve.training.grid.worker import GridRun, Outcome, format_outcomes, read_failure, record_failure
from ucurve.training.run.run import train_run


@pytest.fixture
def cells(overrides, values_of):
    """Four cells, which nobody trains unless told to."""
    composed = [Composed(values_of(cell), tuple(cell)) for cell in sweep("train", [*overrides, "seed=0,1,2,3"])]
    return grid_cells(composed)


def finish(settings):
    """Stand in for training: write only the configuration and the record of a finished run."""
    folder = settings.folder
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.yaml").write_text(yaml.safe_dump(plain(asdict(settings))))
    write_run(folder)


def failing(seed, error):
    """Stand in for training that fails for one seed."""

    def train(settings):
        if settings.seeds.init == seed:
            raise error
        finish(settings)

    return train


def statuses(run):
    return [outcome.status for outcome in run.outcomes]


def test_a_refused_change_leaves_the_record_of_a_finished_run(cells):
    GridRun(cells, finish).work()
    changed = [
        Cell(replace(cell.settings, optimizer=replace(cell.settings.optimizer, betas=(0.9, 0.5))), ())
        for cell in cells
    ]
    run = GridRun(changed, finish)
    run.work()
    assert statuses(run) == ["failed"] * 4
    assert "optimizer.betas: [0.9, 0.95] -> [0.9, 0.5]" in run.outcomes[0].reason
    assert read_failure(cells[0].settings.folder) is None


@pytest.mark.parametrize("error", [RunError("the disk is full"), ZeroDivisionError("by zero"), KeyError("lost")])
def test_any_failure_of_a_cell_goes_to_its_log_and_the_others_go_on(cells, error):
    run = GridRun(cells, failing(1, error))
    run.work()
    assert statuses(run) == ["done", "failed", "done", "done"]
    failure = read_failure(cells[1].settings.folder)
    assert failure.error == str(error)
    text = Path(failure.log).read_text()
    assert "Traceback" in text
    assert type(error).__name__ in text
    assert run.outcomes[1] == Outcome(cells[1].name, "failed", str(error), failure.log)


def test_a_cell_that_was_cut_off_is_interrupted_at_its_step(cells):
    def train(settings):
        write_run(settings.folder, "interrupted")
        (settings.folder / "resume" / "step00000003").mkdir(parents=True)
        (settings.folder / "resume" / "step00000007").mkdir()
        raise Interrupted("told to end")

    run = GridRun(cells, train)
    with pytest.raises(SystemExit):
        run.work()
    assert run.outcomes[:2] == [
        Outcome(cells[0].name, "interrupted", "at step 7"),
        Outcome(cells[1].name, "not started"),
    ]


def test_ctrl_c_ends_the_grid_and_is_no_failure(cells):
    def train(settings):
        if settings.seeds.init == 1:
            with StopSignals() as signals, signals.at_once():
                os.kill(os.getpid(), signal.SIGINT)
        finish(settings)

    run = GridRun(cells, train)
    with pytest.raises(SystemExit) as raised:
        run.work()
    assert raised.value.code == 130
    assert statuses(run) == ["done", *["not started"] * 3]  # as there is no folder of the second one yet
    assert read_failure(cells[1].settings.folder) is None


def test_a_second_start_does_what_is_left_and_forgets_mended_failures(cells):
    def fail_odd(settings):
        if settings.seeds.init % 2:
            raise RunError("odd")
        finish(settings)

    GridRun(cells, fail_odd).work()
    tried = []

    def mended(settings):
        tried.append(settings.seeds.init)
        finish(settings)

    run = GridRun(cells, mended)
    run.work()
    assert tried == [1, 3]
    assert statuses(run) == ["skipped", "done", "skipped", "done"]
    assert not list((Path(cells[0].settings.paths.runs) / ".grid").iterdir())


def test_a_failure_of_another_worker_meanwhile_is_reported_and_not_repeated(cells):
    def train(settings):
        if settings.seeds.init == 0:
            record_failure(cells[2].settings, RunError("theirs"))
        assert settings.seeds.init != 2
        finish(settings)

    run = GridRun(cells, train)
    run.work()
    assert statuses(run) == ["done", "done", "failed", "done"]
    assert "theirs" in run.outcomes[2].reason


def test_a_busy_cell_is_looked_at_again_at_the_end(cells):
    tries = []

    def train(settings):
        tries.append(settings.seeds.init)
        if tries == [0]:
            raise BusyError("another process")
        finish(settings)

    run = GridRun(cells, train)
    run.work()
    assert tries == [0, 1, 2, 3, 0]
    assert statuses(run) == ["done"] * 4


def test_a_cell_that_stays_busy_is_no_failure(cells):
    run = GridRun(cells, failing(0, BusyError("another process")))
    run.work()
    assert run.outcomes[0] == Outcome(cells[0].name, "running", "in another process")


def test_a_process_told_to_end_starts_no_other_cell(cells):
    run = GridRun(cells, failing(1, Interrupted("told to end")))
    with pytest.raises(SystemExit) as left:
        run.work()
    assert left.value.code == 75
    assert statuses(run) == ["done", *["not started"] * 3]
    assert not list(Path(cells[0].settings.paths.runs).glob(".grid/*"))


def test_the_summary_names_every_cell_and_counts():
    text = format_outcomes(
        [Outcome("a", "done"), Outcome("long", "interrupted", "at step 5"), Outcome("b", "done")]
    )
    assert text.splitlines() == [
        *("a     done", "long  interrupted  at step 5", "b     done"),
        "3 cells: 2 done, 1 interrupted",
    ]


def test_the_reason_of_failures_is_said_once(cells, capsys):
    def train(settings):
        raise RunError("full\nas it is" if settings.seeds.init else "other")

    run = GridRun(cells, train)
    run.work()
    logs = [outcome.log for outcome in run.outcomes]
    text = format_outcomes(run.outcomes)
    assert text.splitlines() == [
        *(f"{cell.name}  failed       {log}" for cell, log in zip(cells, logs, strict=True)),
        f"{cells[0].name} failed: other",
        *(f"{cells[1].name}, {cells[2].name}, {cells[3].name} failed: full", "as it is"),
        "4 cells: 4 failed",
    ]
    assert (
        capsys.readouterr().err.splitlines()[1]
        == f"{cells[1].name} failed; {logs[1]} says why, and so will the summary"
    )


def outcomes(text):
    """Return the cells of a printed summary by status."""
    rows = re.findall(r"^(tiny-\S+) +(done|skipped|failed|running)\b", text, re.MULTILINE)
    return {status: {cell for cell, its in rows if its == status} for status in {its for _, its in rows}}


def name(seed):
    return f"tiny-256-char-small_corpus-s{seed}"


def occupy(runs, other):
    """Put a run of another configuration where seed 3 goes, and something that is not a run where seed 7 goes."""
    (runs / name(3)).mkdir(parents=True)
    (runs / name(3) / "config.yaml").write_text(yaml.safe_dump(plain(asdict(other))))
    (runs / name(7)).mkdir()
    (runs / name(7) / "notes.txt").write_text("no run")


def work(cells, results):
    run = GridRun(cells, train_run)
    run.work()
    results.put({outcome.cell: outcome.status for outcome in run.outcomes})


def two_workers(cells):
    """Let two processes work on one grid and return what each says of every cell."""
    fork = multiprocessing.get_context("fork")
    results = fork.SimpleQueue()
    workers = [fork.Process(target=work, args=(cells, results)) for _ in range(2)]
    for worker in workers:
        worker.start()
    found = [results.get() for _ in workers]
    for worker in workers:
        worker.join(10)
    return found


def of_status(outcomes, status):
    return {cell for cell, its in outcomes.items() if its == status}


@pytest.mark.long
def test_two_workers_share_twenty_runs_with_two_faults_which_a_later_start_mends(tmp_path, settings_of):
    runs, faulty = tmp_path / "runs", {name(3), name(7)}
    one = settings_of("tokens=256", "schedule.count=2")
    cells = [Cell(replace(one, seed=seed, seeds=Seeds(seed, seed)), ()) for seed in range(20)]
    occupy(runs, settings_of("tokens=256", "schedule.count=2", "optimizer.betas=[0.9,0.5]"))
    found = two_workers(cells)
    done = [of_status(outcomes, "done") for outcomes in found]
    assert all(done), "both had a share"
    assert not done[0] & done[1], "no cell was done twice"
    assert done[0] | done[1] == {cell.name for cell in cells} - faulty
    assert of_status(found[0], "failed") | of_status(found[1], "failed") == faulty
    assert all(of_status(outcomes, "failed") <= faulty for outcomes in found)
    assert "optimizer.betas: [0.9, 0.5] -> [0.9, 0.95]" in (runs / ".grid" / f"{name(3)}.log").read_text()
    for cell in faulty:
        shutil.rmtree(runs / cell)
    before = {path: path.stat().st_mtime_ns for path in runs.glob("*/run.json")}
    again = GridRun(cells, train_run)
    again.work()
    assert {outcome.cell for outcome in again.outcomes if outcome.status == "done"} == faulty
    assert [outcome.status for outcome in again.outcomes].count("skipped") == 18
    assert before == {path: path.stat().st_mtime_ns for path in before}


def test_a_grid_through_the_command_names_every_cell_and_exits_with_one(
    overrides, run_command, tmp_path, settings_of
):
    occupy(tmp_path / "runs", settings_of("tokens=256", "schedule.count=2", "optimizer.betas=[0.9,0.5]"))
    code, text, errors = run_command("train", "-m", *overrides, "tokens=256", "schedule.count=2", "seed=2,3,7")
    assert code == 1
    assert outcomes(text) == {"done": {name(2)}, "failed": {name(3), name(7)}}
    assert text.splitlines()[-1] == "3 cells: 1 done, 2 failed"
    assert f"error: 2 of 3 runs failed: {name(3)}, {name(7)}" in errors


def test_a_mistake_in_one_cell_ends_with_two_before_anything_runs(overrides, run_command, tmp_path):
    code, text, errors = run_command("train", "-m", *overrides, "batch.length=16,1")
    assert (code, text) == (2, "")
    assert "batch.length: got 1" in errors
    assert not (tmp_path / "runs").exists()


def test_a_cell_with_a_broken_corpus_is_named_with_file_and_line_before_any_trains(
    run_command, overrides, tmp_path, corpus
):
    (tmp_path / "broken.jsonl").write_text('{"text": "天地"}\n{"text": \n')
    paths = f"data.path={corpus},{tmp_path / 'broken.jsonl'}"
    code, text, errors = run_command(
        "train",
        "-m",
        *[one for one in overrides if not one.startswith("data.path")],
        "tokens=256",
        "schedule.count=2",
        paths,
    )
    assert (code, text) == (2, "")
    assert re.search(r"nothing was started:\n  tiny-256-char-broken-s0: \S*broken\.jsonl:2: ", errors)
    assert not (tmp_path / "runs").exists()


def test_pairs_that_do_not_fit_are_named_before_any_cell_trains(run_command, overrides, tmp_path):
    (tmp_path / "own.csv").write_text("sentence_good,sentence_bad\n" + "天" * 30 + "," + "地" * 30 + "\n")
    pairs = [f"eval.custom.path={tmp_path / 'own.csv'}", "eval.custom.language=zho", "eval.benchmarks=[custom]"]
    keys = ["tokens=1024", "schedule.count=2", "batch.length=64,16", "name=x${batch.length}", "seed=0,1"]
    code, text, errors = run_command("train", "-m", *overrides, *keys, *pairs)
    assert (code, text) == (2, "")
    names = "tiny-1024-char-small_corpus-s0-x16, tiny-1024-char-small_corpus-s1-x16"
    assert f"nothing was started:\n  {names}: " in errors
    assert "x64" not in errors
    assert not (tmp_path / "runs").exists()


def test_what_is_true_of_all_cells_is_said_once(run_command, overrides, tmp_path):
    code, _, errors = run_command("train", "-m", *overrides, "tokens=256", "schedule.count=2", "seed=0,1")
    assert code == 0
    assert errors.count("nothing is scored") == 1
    assert f"'run={tmp_path / 'runs'}/*' benchmarks=demo" in errors


def test_the_longest_cells_come_first(overrides):
    grid = sweep("train", [*overrides, "tokens=2048,2560", "model=tiny,14m", "seed=0,1"])
    found = longest_first(grid_cells(compose_cells("train", grid)))
    assert [(cell.settings.model.name, cell.settings.tokens, cell.settings.seed) for cell in found] == [
        *(("14m", 2560, seed) for seed in (0, 1)),
        *(("14m", 2048, seed) for seed in (0, 1)),
        *(("tiny", 2560, seed) for seed in (0, 1)),
        *(("tiny", 2048, seed) for seed in (0, 1)),
    ]
