"""Means of checkpoints: the weights are those added by hand, and scored, verified and drawn as a run of its own."""

import shutil
from pathlib import Path

import pandas as pd
import pytest
from safetensors.torch import load_file, save_file

from tests.settings import analyze_settings, score_command
from tests.train.test_evaluation import scored  # noqa: F401 - a fixture
from ucurve.analysis.data.runs import find_runs
from ucurve.analysis.data.study import read_study
from ucurve.errors import UserError
from ucurve.launch.publish.publish import publish_run, revisions
from ucurve.storage.facts import read_manifest, read_run_facts, write_manifest, write_run_facts
from ucurve.storage.run_folder import checkpoints, step_name
from ucurve.training.run.run import train_run
from ucurve.training.verify import run_faults

SMALL = ["model.config.hidden_size=32", "model.config.num_hidden_layers=1"]


@pytest.fixture
def ask(tmp_path):
    """A function that scores what ``score.py`` is asked for."""

    def score(**keys):
        usual = {"benchmarks": ["zhoblimp"], "benchmark_root": tmp_path / "benchmarks", "linking": ["lp"]}
        score_command(usual | keys)

    return score


@pytest.mark.parametrize(
    "model",
    [
        "tiny",
        *(pytest.param(f"{name}-14m", marks=pytest.mark.long) for name in ("llama", "lstm", "mamba", "bert")),
    ],
)
def test_scores_are_those_of_weights_added_by_hand(scored, ask, tmp_path, model):  # noqa: F811
    more = [] if model == "tiny" else [f"model={model}", *SMALL]
    more += ["model.config.num_attention_heads=2"] * (model in ("llama-14m", "bert-14m"))
    run = train_of(
        scored("eval.when=never", "schedule.count=4", "data.holdout=0.1", "resume.keep_states=[5]", *more)
    )
    mean = Path(f"{run}-average=3")
    ask(run=str(run), average=3)
    assert run_faults(mean, deep=True) == []
    by_hand = tmp_path / "by_hand"
    shutil.copytree(checkpoints(run)[-1], by_hand, ignore=shutil.ignore_patterns("manifest.json"))
    weights = [load_file(folder / "model.safetensors") for folder in checkpoints(run)[-3:]]
    added = {name: weights[0][name] + weights[1][name] + weights[2][name] for name in weights[0]}
    save_file({name: total / 3 for name, total in added.items()}, by_hand / "model.safetensors", {"format": "pt"})
    ask(model=str(by_hand), out=tmp_path / "scores")
    (alone,) = (tmp_path / "scores").rglob("step*.parquet")
    last = next((mean / "eval").rglob(f"{step_name(12)}.parquet"))
    columns = ["pair", "lp_good", "lp_bad", "n_good"]
    pd.testing.assert_frame_equal(
        pd.read_parquet(last)[columns], pd.read_parquet(alone)[columns], check_exact=True
    )


def test_means_are_a_line_beside_the_run(scored, ask, tmp_path):  # noqa: F811
    run = train_of(scored())
    ask(run=str(run.parent / "*"), average=2)
    ask(run=str(run.parent / "*"), average=2)  # of what is there; the means themselves are passed over
    mean = Path(f"{run}-average=2")
    assert sorted(path.name for path in run.parent.glob("tiny*")) == [run.name, mean.name]
    assert read_manifest(checkpoints(mean)[0]).averaged == (read_manifest(checkpoints(run)[0]).weights_sha256,)
    study = read_study(find_runs([f"{run}*"]), analyze_settings(runs=f"{run}*", out=str(tmp_path / "figures")))
    assert {one.folder: one.line for one in study.runs} == {run: "tiny", mean: "mean of 2 checkpoints"}
    assert set(study.metrics["run"]) == {run.name}, "the losses of steps are those of the run"
    publish_run(mean, tmp_path / "published", revisions(mean))
    card = (tmp_path / "published" / "main" / "README.md").read_text()
    assert "the mean of those of the last 2 checkpoints" in card


def train_of(settings):
    train_run(settings)
    return settings.folder


def test_means_that_cannot_be_are_refused(scored, ask):  # noqa: F811
    run = train_of(scored("eval.when=never"))
    facts = read_run_facts(run)
    ask(run=str(run), average=2, steps=[0])
    mean = f"{run}-average=2"
    with pytest.raises(UserError, match=r"average=3: .*-average=2 is the mean of checkpoints already"):
        ask(run=mean, average=3)
    write_manifest(
        checkpoints(Path(mean))[1], read_manifest(checkpoints(Path(mean))[1]).model_copy(update={"averaged": ()})
    )
    with pytest.raises(
        UserError, match=r"-average=2: not the means of the checkpoints of .*; remove it, and they are"
    ):
        ask(run=str(run), average=2)
    write_run_facts(run, facts.model_copy(update={"status": "interrupted"}))
    with pytest.raises(
        UserError, match=r"average=2: .* is not finished, and its means would be of fewer checkpoints"
    ):
        ask(run=str(run), average=2)
    with pytest.raises(
        UserError, match=r"average=N is of the checkpoints of a finished run; it goes with neither"
    ):
        ask(run=str(run), average=2, watch=True)
    with pytest.raises(UserError, match=r"average: got 1; Input should be greater than or equal to 2"):
        ask(run=str(run), average=1)
