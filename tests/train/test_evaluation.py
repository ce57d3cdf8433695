"""Scores made while training: the settings of score.py below ``eval`` of train.py."""

import json
from pathlib import Path

import pytest

from tests.printed import read_printed
from ucurve.config import compose
from ucurve.errors import UserError
from ucurve.eval.store.tables import ACCURACY, read_table
from ucurve.eval.sweep.load import SweepCache
from ucurve.invocation import command
from ucurve.training.run.run import train_run
from ucurve.training.verify import run_faults

LETTERS = "天地玄黄宇宙洪荒"


@pytest.fixture
def scored(tmp_path, settings_of):
    folder = tmp_path / "benchmarks" / "zhoblimp"
    folder.mkdir(parents=True)
    pairs = [
        {"UID": uid, "phenomenon": "p", "sentence_good": LETTERS[:size], "sentence_bad": LETTERS[size::-1]}
        for uid in ("a", "b")
        for size in range(2, 8)
    ]
    (folder / "pairs.jsonl").write_text("\n".join(json.dumps(pair) for pair in pairs) + "\n")

    def settings(*more):
        given = ["eval.benchmarks=[zhoblimp]", f"benchmark_root={folder.parent}", "eval.linking=[lp]"]
        return settings_of("schedule.count=2", *given, *more)

    return settings


def test_a_subset_is_scored_while_training_and_verify_does_not_mind(scored):
    settings = scored("eval.subset=2", "eval.scorer=[sentence,mink]", "eval.bos=none")
    train_run(settings)
    run = settings.folder
    table = read_table(ACCURACY, ACCURACY.path(run))
    assert table[["benchmark", "scorer"]].drop_duplicates().values.tolist() == [
        ["zhoblimp@2", "mink"], ["zhoblimp@2", "sentence"],
    ]  # fmt: skip
    assert table["n"].max() == 4
    assert sorted(table["step"].unique()) == [0, 12]
    record = json.loads((run / "eval" / "zhoblimp@2" / "sentence" / "step00000012.json").read_text())
    assert record["settings"]["start_rule"] == "none"
    assert run_faults(run) == []


def test_own_pairs_in_one_key_while_training(tmp_path, settings_of):
    (tmp_path / "pairs.csv").write_text("sentence_good,sentence_bad\n天地,地天\n玄黄,黄玄\n")
    settings = settings_of("schedule.count=2", f"benchmarks={tmp_path}/pairs.csv", "linking=[lp]")
    train_run(settings)
    table = read_table(ACCURACY, ACCURACY.path(settings.folder))
    assert set(table["benchmark"]) == {"pairs"}
    assert set(table["linking"]) == {"lp"}


@pytest.mark.parametrize("model", ["llama-14m", "mamba-14m", "lstm-14m"])
def test_other_architectures_are_scored_while_training(scored, model):
    settings = scored(f"model={model}", "model.config.hidden_size=32", "model.config.num_hidden_layers=1")
    train_run(settings)
    table = read_table(ACCURACY, ACCURACY.path(settings.folder))
    assert sorted(table["step"].unique()) == [0, 12]
    assert run_faults(settings.folder) == []


def test_another_way_to_score_is_no_other_run(scored):
    first, second = scored("eval.subset=2"), scored("eval.preset=zhoblimp", "eval.when=end")
    assert first.identity() == second.identity()


def test_wrong_settings_of_scoring_stop_before_training(scored):
    with pytest.raises(
        UserError, match=r"eval\.scorer\.0: unknown scorer 'sentense'; .*Did you mean 'sentence'\?"
    ):
        scored("eval.scorer=[sentense]")
    with pytest.raises(UserError, match=r"eval\.subset: got 0"):
        scored("eval.subset=0")


def test_a_fact_about_a_benchmark_is_said_once_in_a_training_process(scored, monkeypatch, capsys):
    monkeypatch.setattr("ucurve.training.evaluation._cache", SweepCache())
    settings = scored("eval.scorer=[sentence,mink]")
    pairs = Path(settings.eval.benchmark_root) / "zhoblimp" / "pairs.jsonl"
    pairs.write_text(pairs.read_text().replace(json.dumps(LETTERS[0])[1:-1], "鑫"), encoding="utf-8")
    train_run(settings)
    printed, told = capsys.readouterr()
    rows = [(row["step"], row["scorer"]) for row in read_printed(printed)]
    assert rows == [("0", "sentence"), ("0", "mink"), ("12", "sentence"), ("12", "mink")], "each once"
    assert (
        told.count("zhoblimp sentence, mink: 12 tokens (1 different ones) never occur in the training text") == 1
    )
    assert told.count("never occur in the training text") == 1


def test_a_run_that_scores_nothing_says_so_once_with_a_command(settings_of, capsys):
    settings = settings_of("schedule.count=2")
    train_run(settings)
    told = capsys.readouterr().err
    assert (
        "nothing is scored, as benchmarks= names no benchmark; later, for example:\n"
        f"  {command('score', f'run={settings.folder}')} benchmarks=demo\n"
    ) in told
    assert told.count("nothing is scored") == told.count("score.py run=") == 1
    train_run(settings_of("schedule.count=2", "eval.when=never"))
    assert "nothing is scored" not in capsys.readouterr().err


def test_every_key_of_scoring_is_one_of_training(settings_of):
    training, scoring = compose("train", [])["eval"], compose("score", [])
    of_the_command = {"run", "steps", "watch", "model", "revisions", "keep", "out", "check", "list", "average"}
    assert training.keys() - {"when"} == scoring.keys() - of_the_command
    assert training["benchmarks"] == ["zhoblimp"]  # those that suit the default corpus
    same = training.keys() - {"when", "benchmarks"}
    assert {key: training[key] for key in same} == {key: scoring[key] for key in same}
    values = {
        "benchmarks": "[blimp]", "benchmark_root": "b", "custom.path": "x.csv", "subset": "3", "preset": "zhoblimp",
        "scorer": "[region]", "bos": "eos", "dtype": "bfloat16", "device": "cuda:1", "batch_tokens": "64",
        "bow_correction": "true", "prompt.language": "eng", "linking": "[lp]", "ties_rules": "[wrong]",
        "unigrams.path": "u.csv", "add_k": "2", "fit.on": "paradigms", "weights": "bin",
        "verbose": "true", "tokens": "true", "words": "true", "leading_space": "true", "benchmark_unpacked": "2G", "too_long": "skip",
    }  # fmt: skip
    assert {key.partition(".")[0] for key in values} == training.keys() - {"when", "benchmark_revision"}
    given = [f"eval.{key}={value}" for key, value in values.items() if key not in ("benchmarks", "custom.path")]
    assert settings_of(*given, "eval.benchmarks=[blimp,custom]", "eval.custom.path=x.csv").eval.device == "cuda:1"
    pinned = settings_of("eval.benchmarks=[blimp]", "eval.benchmark_revision={blimp: v1}")  # which no folder has
    assert pinned.eval.benchmark_revision == {"blimp": "v1"}


def test_scoring_that_is_left_for_later_is_named_by_its_command(scored, capsys):
    settings = scored("eval.when=later")
    train_run(settings)
    line = (
        "scored beside the training or later by this, with the other keys given below eval.:\n"
        f"  {command('score', f'run={settings.folder}')} watch=true benchmarks=zhoblimp "
        f"benchmark_root={settings.eval.benchmark_root}\n"
    )
    assert capsys.readouterr().err.count(line) == 1
    assert not (settings.folder / "eval").exists()
