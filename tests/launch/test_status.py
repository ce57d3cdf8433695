import json
import subprocess
import sys
from pathlib import Path

import pytest
from filelock import FileLock

from tests.facts import write_run
from ucurve.config import compose
from ucurve.errors import RunError, UserError
from ucurve.launch.status import cell_status, status_command
from ucurve.storage.locks import only_writer
from ucurve.training.config import read_request
from ucurve.training.grid.worker import record_failure

ROOT = Path(__file__).resolve().parents[2]
STEPS = [0, 5, 12]


@pytest.fixture
def run(tmp_path):
    """Write a run folder with a record of this status and some steps logged; return the folder."""

    def build(name, status, steps=0, **more):
        folder = tmp_path / "runs" / name
        folder.mkdir(parents=True)
        (folder / "config.yaml").touch()
        lines = [
            json.dumps({"step": step, "loss": 9.0 - step, "tokens_per_second": 100.0})
            for step in range(1, steps + 1)
        ]
        (folder / "metrics.jsonl").write_text("".join(line + "\n" for line in lines))
        write_run(folder, status, checkpoint_steps=STEPS, **more)
        return folder

    return build


@pytest.mark.parametrize(
    ("written", "shown"),
    [("finished", "done"), ("running", "interrupted"), ("interrupted", "interrupted"), ("failed", "failed")],
)
def test_a_record_that_no_process_writes(run, written, shown):
    row = cell_status(run("a", written, steps=4))
    assert (row.status, row.step, row.steps, row.loss, row.tokens_per_second) == (shown, 4, 12, 5.0, 100.0)


def test_the_loss_of_a_masked_model_is_that_of_its_masks(run):
    folder = run("a", "finished", steps=4)
    (folder / "metrics.jsonl").write_text('{"step": 4, "masked_loss": 5.07}\n', encoding="utf-8")
    assert cell_status(folder).loss == 5.07


def test_a_locked_run_is_running(run):
    folder = run("a", "running")
    (folder.parent / ".locks").mkdir()
    with FileLock(folder.parent / ".locks" / "a.lock"):
        assert cell_status(folder).status == "running"
        assert cell_status(folder.with_name("b")).status == "missing"
    assert cell_status(folder).status == "interrupted"


def test_a_run_is_running_by_whatever_path_it_is_written(run, tmp_path):
    folder = run("a", "running")
    link = tmp_path / "other" / "a"
    link.parent.mkdir()
    link.symlink_to(folder)
    with only_writer(link):
        assert cell_status(folder).status == cell_status(link).status == "running"


def test_the_reason_is_the_first_line_of_the_message(run):
    assert cell_status(run("a", "failed", error="the loss is nan\nat step 3")).reason == "the loss is nan"


def test_a_reason_of_several_runs_is_written_once(tmp_path, run, capsys):
    for name, error in ("a", "the disk is full"), ("b", "other"), ("c", "the disk is full"):
        run(name, "failed", error=error)
    status_command([f"runs={tmp_path}/runs/*"])
    assert [line.rpartition("  ")[2] for line in capsys.readouterr().out.splitlines()[1:4]] == [
        *("the disk is full", "other", "as a"),
    ]


def test_a_torn_last_line_is_passed_over(run):
    folder = run("a", "running", steps=3)
    with (folder / "metrics.jsonl").open("a") as file:
        file.write('{"step": 4, "lo')
    assert cell_status(folder).step == 3


def test_a_record_that_cannot_be_read_is_a_failure(run):
    folder = run("a", "running")
    (folder / "run.json").write_text("{")
    row = cell_status(folder)
    assert row.status == "failed"
    assert "cannot be read" in row.reason


def settings(tmp_path, *more):
    return read_request(
        compose("train", ["tokens=10M", "tokenizer=char", "data=text", f"paths.runs={tmp_path / 'runs'}", *more])
    )


def test_a_cell_that_failed_before_it_had_a_folder_is_listed_by_its_note(tmp_path, capsys):
    record_failure(settings(tmp_path), RunError("no corpus"))
    status_command([f"runs={tmp_path}/runs/*", "format=json"])
    [row] = json.loads(capsys.readouterr().out)
    assert (row["cell"], row["status"], row["reason"]) == ("14m-10M-char-text-s0", "failed", "no corpus")


def test_a_later_record_outlives_the_note_of_a_failure(tmp_path, run):
    given = settings(tmp_path)
    record_failure(given, RunError("once"))
    assert cell_status(run(given.run_name, "finished")).status == "done"
    record_failure(given, RunError("twice"))
    assert cell_status(tmp_path / "runs" / given.run_name).reason == "twice"


def test_a_grid_shows_what_is_missing(tmp_path, run, capsys):
    run("14m-10M-char-text-s1", "finished", steps=12)
    status_command(
        ["-m", "tokens=10M", "tokenizer=char", "data=text", "seed=0,1", f"paths.runs={tmp_path / 'runs'}"]
    )
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["cell", "status", "step", "loss", "tokens/s", "age", "reason"]
    assert lines[1].split()[:3] == ["14m-10M-char-text-s0", "missing", "0/610"]
    assert lines[2].split()[:4] == ["14m-10M-char-text-s1", "done", "12/12", "-3.000"]
    assert lines[3] == "2 cells: 1 missing, 1 done"


def test_csv_has_a_line_for_each_cell(tmp_path, run, capsys):
    run("a", "finished")
    run("b", "failed", error="x")
    status_command([f"runs={tmp_path}/runs/*", "format=csv"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "cell,status,step,steps,loss,tokens_per_second,age,reason"
    assert [line.split(",")[:2] for line in lines[1:]] == [["a", "done"], ["b", "failed"]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["runs=nowhere/*"], "no run folder there"),
        (["format=xml"], "format: got 'xml'"),
        (["modle=14m"], "unknown key 'modle'.*Did you mean 'model'"),
        (["seed=[1"], "cannot be read"),
    ],
)
def test_a_mistake_is_told(arguments, message):
    with pytest.raises(UserError, match=message):
        status_command(arguments)


def test_the_module_runs_without_torch_and_a_mistake_is_one_line(tmp_path, run):
    run("a", "finished")
    call = [sys.executable, "-X", "importtime", "-m", "launch.status", f"runs={tmp_path}/runs/*"]
    done = subprocess.run(call, check=False, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "1 cells: 1 done"
    assert "| torch\n" not in done.stderr
    done = subprocess.run(
        [*call[:1], *call[3:5], "runs=nowhere/*"],
        check=False,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


def test_the_steps_of_a_budget_in_words_are_not_known_before_the_run(tmp_path, capsys):
    grid = ["tokens=100Kw", "model=14m", "tokenizer=char", "data=demo", f"paths.runs={tmp_path}"]
    status_command([*grid, "format=json"])
    assert [(row["cell"], row["status"], row["steps"]) for row in json.loads(capsys.readouterr().out)] == [
        ("14m-100Kw-char-demo-s0", "missing", None)
    ]
