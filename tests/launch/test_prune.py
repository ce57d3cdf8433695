"""A run whose scored checkpoints have no weights any more is verified, analyzed and scored as before."""

import json
import shutil

import pandas as pd
import pytest

from tests.settings import prune_command, score_command
from ucurve.errors import RunError, UserError
from ucurve.eval.store.tables import ACCURACY
from ucurve.eval.store.views import load_table
from ucurve.launch.publish.publish import publish_run, revisions
from ucurve.storage.facts import read_manifest
from ucurve.storage.run_folder import WEIGHTS, checkpoints
from ucurve.training.run.run import train_run
from ucurve.training.run_folder.checkpoint import copy_checkpoint, find_faults
from ucurve.training.run_folder.config_file import load_settings
from ucurve.training.verify import run_faults, run_notes

STEPS = [0, 3, 7, 12]


def make_benchmark(root, name, letters):
    (root / name).mkdir(parents=True)
    pairs = [{"sentence_good": letters[:size], "sentence_bad": letters[size:1:-1]} for size in range(2, 8)]
    lines = [json.dumps({"UID": "a", "phenomenon": "p"} | pair) for pair in pairs]
    (root / name / "pairs.jsonl").write_text("\n".join(lines) + "\n")


@pytest.fixture
def root(tmp_path):
    make_benchmark(tmp_path / "benchmarks", "zhoblimp", "天地玄黄宇宙洪荒")
    return tmp_path / "benchmarks"


SHORT = ["schedule=list", "schedule.count=null", f"schedule.steps={STEPS}", "resume.seconds=0"]


@pytest.fixture
def run(finished_run, root):
    return finished_run(*SHORT, "eval.benchmarks=[zhoblimp]", f"benchmark_root={root}")


def with_weights(run):
    return [read_manifest(folder).step for folder in checkpoints(run) if (folder / WEIGHTS).exists()]


def score(run, root, name="zhoblimp", **more):
    score_command({"run": str(run), "benchmarks": [name], "benchmark_root": str(root)} | more)


def test_what_is_scored_goes_and_all_else_goes_on(run, root, tmp_path, capsys):
    before = load_table(ACCURACY, run)
    prune_command({"run": str(run), "dry_run": True})
    assert with_weights(run) == STEPS
    prune_command({"run": f"{run.parent}/*"})
    assert with_weights(run) == [STEPS[0], STEPS[-1]]
    assert list((run / "resume").iterdir()) == []
    assert "weights of 2 of 4 checkpoints and 2 states to resume from removed" in capsys.readouterr().err
    assert run_faults(run, deep=True) == []
    assert "the weights of 2 checkpoints were removed" in run_notes(run)[0]
    train_run(load_settings(run))  # which is finished
    score(run, root)  # all is there, and no model is loaded
    pd.testing.assert_frame_equal(load_table(ACCURACY, run), before)
    other, [_, pruned, *_] = tmp_path / "branch", checkpoints(run)
    copy_checkpoint(run, other, read_manifest(pruned))
    assert find_faults(*checkpoints(other)) == []
    assert read_manifest(*checkpoints(other)).weights_sha256 == read_manifest(pruned).weights_sha256
    with pytest.raises(
        UserError, match=r"average=2: the weights of step00000003, step00000007 of .* were removed"
    ):
        score(run, root, average=2)
    with pytest.raises(
        UserError, match="step00000003, step00000007 were removed by prune, so it is not published"
    ):
        publish_run(run, tmp_path / "out", revisions(run))


def test_new_pairs_are_scored_where_the_weights_are(run, root, capsys):
    prune_command({"run": str(run)})
    make_benchmark(root, "blimp", "玄黄宇宙洪荒天地")
    score(run, root, "custom", custom={"path": str(root / "blimp")})
    assert (
        "the weights of steps 3, 7 were removed by prune, so nothing new is scored there"
        in capsys.readouterr().err
    )
    table = load_table(ACCURACY, run)
    assert set(table[table["benchmark"] != "zhoblimp"]["step"]) == {0, 12}
    assert run_faults(run) == []


def test_scores_that_could_not_be_computed_again_are_not_replaced(run, root):
    prune_command({"run": str(run)})
    (root / "zhoblimp" / "pairs.jsonl").unlink()
    (root / "zhoblimp").rmdir()
    make_benchmark(root, "zhoblimp", "荒洪宙宇黄玄地天")
    with pytest.raises(
        UserError, match="are of other pairs or settings than those asked for; they would be lost"
    ):
        score(run, root)
    assert run_faults(run) == []


def test_what_is_not_scored_or_damaged_stays(run, root, capsys):
    (run / "eval" / "zhoblimp" / "sentence" / "step00000007.json").write_text("{}")
    prune_command({"run": str(run)})
    assert with_weights(run) == [0, 7, 12]
    assert "not scored on zhoblimp by sentence, so with their weights: step00000007" in capsys.readouterr().err
    (checkpoints(run)[1] / "config.json").write_text("{}")
    score(run, root, steps=[7])
    with pytest.raises(RunError, match=r"nothing of .* is removed"):
        prune_command({"run": str(run)})
    with pytest.raises(UserError, match="no folder /nowhere"):
        prune_command({"run": "/nowhere"})


@pytest.mark.parametrize(
    "scored",
    [
        ["eval.benchmarks=[zhoblimp]", "eval.subset=3"],
        ["eval.benchmarks=[own.pairs.jsonl]"],
        ["eval.benchmarks=[custom]", "eval.custom.path=own.pairs.jsonl", "eval.custom.name=mine"],
    ],
)
def test_a_subset_and_own_pairs_are_scored_under_their_names(finished_run, root, scored, monkeypatch):
    shutil.copy(root / "zhoblimp" / "pairs.jsonl", root / "own.pairs.jsonl")
    monkeypatch.chdir(root)
    run = finished_run(*SHORT, f"benchmark_root={root}", *scored)
    prune_command({"run": str(run)})
    assert with_weights(run) == [STEPS[0], STEPS[-1]]


def test_a_subset_does_not_stand_for_all_pairs(run, root):
    shutil.rmtree(run / "eval")
    score(run, root, subset=3)
    with pytest.raises(UserError, match="not scored on zhoblimp yet"):
        prune_command({"run": str(run)})
    assert with_weights(run) == STEPS


def test_what_is_never_to_be_scored_is_not_waited_for(finished_run, root):
    make_benchmark(root, "sling", "天地玄黄宇宙洪荒")
    run = finished_run(*SHORT, "eval.benchmarks=[zhoblimp]", "eval.when=never", f"benchmark_root={root}")
    score(run, root, "sling")
    prune_command({"run": str(run)})
    assert with_weights(run) == [STEPS[0], STEPS[-1]]


def test_a_run_without_scores_keeps_its_weights(settings_of):
    settings = settings_of()
    train_run(settings)
    with pytest.raises(UserError, match="not scored yet; score it first"):
        prune_command({"run": str(settings.folder)})
