import shutil

import pytest

from tests.facts import write_run
from tests.settings import command_asked, score_command
from ucurve.errors import UserError
from ucurve.eval import run as command
from ucurve.eval.run import check_benchmarks, find_runs, score_model, score_run
from ucurve.eval.scoring.scorers import find_scorer
from ucurve.eval.settings import LINKING, score_settings


def test_defaults():
    settings = score_settings(benchmarks=["demo", "demo"], linking=["slln_lp:0.5", "slln_lp", "lp"])
    assert settings.benchmarks == ("demo",)
    assert settings.linking == ("slln_lp", "lp")
    assert score_settings().linkings(find_scorer("sentence"), "demo") == LINKING
    assert score_settings().rules("demo") == ("half",)
    twice = command_asked(run="a", benchmarks=["demo"], ties_rules=["wrong", "wrong"], steps=[8, 8])
    assert (twice.ties_rules, twice.steps) == (("wrong",), (8,))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"benchmarks": ["zhoblmp"]}, r"benchmarks: unknown benchmark 'zhoblmp'; .*Did you mean 'zhoblimp'\?"),
        ({"linking": ["sllnlp"]}, r"linking\.0: unknown linking function 'sllnlp'; .*Did you mean 'slln_lp'\?"),
        ({"linking": ["lp:3"]}, r"linking\.0: linking function 'lp:3': no parameter allowed"),
        ({"ties_rules": ["best"]}, r"ties_rules\.0: got 'best'; Input should be 'half', 'wrong' or 'right'"),
        ({"batch_tokens": 0}, r"batch_tokens: got 0; Input should be greater than or equal to 1"),
        ({"batch_tokens": "many"}, r"batch_tokens: got 'many'"),
        ({"benchmarks": {"demo": 1}}, r"benchmarks: got {'demo': 1}; a list is expected, as \[a,b\]"),
        ({"bench": []}, r"bench: unknown key"),
        ({"linking": []}, r"linking: the list is empty; give at least one"),
        ({"ties_rules": []}, r"ties_rules: the list is empty; give at least one"),
        (
            {"batch_tokens": 0, "benchmarks": ["x"]},
            r"(?s)2 problems.*batch_tokens.*benchmarks|2 problems.*benchmarks",
        ),
    ],
)
def test_wrong_settings(values, message):
    with pytest.raises(UserError, match=message):
        score_settings(**values)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, r"give exactly one of run=RUN and model=PATH_OR_HUB_ID"),
        ({"run": "a", "steps": ["last"]}, r"steps\.0: got 'last'; a whole number is expected"),
        ({"run": "a", "model": "b", "out": "c"}, r"give exactly one of run=RUN and model="),
        ({"model": "a"}, r"out=DIR goes with model=, and model= needs it"),
        ({"run": "a", "out": "b"}, r"out=DIR goes with model="),
        ({"model": "a", "out": "b", "steps": [0]}, r"'steps=\[\.\.\.\]' goes with run="),
        ({"run": "a", "benchmarks": []}, r"give 'benchmarks=\[\.\.\.\]'; there are bl2mp, .*zhoblimp"),
        ({"run": "a", "steps": ["x"]}, r"steps\.0: got 'x'"),
        ({"run": "a", "steps": []}, r"steps: the list is empty; give at least one"),
    ],
)
def test_wrong_commands(values, message):
    with pytest.raises(UserError, match=message):
        command_asked(**{"benchmarks": ["demo"]} | values)


def test_pattern_of_runs(run):
    other = shutil.copytree(run, run.with_name("tiny-1M-char-text-s1"))
    (run.parent / "notes").mkdir()
    assert find_runs(str(run)) == [run]
    assert find_runs(str(run.parent / "*")) == [run, other]


def test_runs_without_a_checkpoint_are_passed_over(run, capsys):
    (run.with_name("tiny-1M-char-text-s1") / "checkpoints" / "step00000000").mkdir(parents=True)
    assert find_runs(str(run.parent / "*")) == [run]
    assert "tiny-1M-char-text-s1: no checkpoint yet; passed over" in capsys.readouterr().err
    with pytest.raises(UserError, match=r"run: no checkpoint yet in .*text-s1"):
        find_runs(str(run.parent / "*s1"))


def test_execute_scores_every_run_of_a_pattern(run, monkeypatch):
    scored = []
    monkeypatch.setattr(command, "score_run", lambda run, _, steps, __: scored.append((run, steps)) or [])
    score_command({"run": str(run.parent / "*"), "steps": [0], "benchmarks": ["demo"]})
    assert scored == [(run, (0,))]


def test_check_before_training(tmp_path, records, write_benchmark, tokenizer):
    settings = score_settings(benchmarks=("zhoblimp",), benchmark_root=write_benchmark(tmp_path, records))
    check_benchmarks(settings, tokenizer, context=64)
    message = r"benchmark zhoblimp, paradigm .* but the model.s context holds 5 .* pairs fit.*batch.length=\d+"
    with pytest.raises(UserError, match=message):
        check_benchmarks(settings, tokenizer, context=5)


@pytest.mark.parametrize("linking", [("slor",), ("lp", "morcela:0.6:18")])
def test_asked_for_unigrams_that_are_not_there(run, linking):
    (run / "tokenizer" / "unigram_counts.npy").unlink()
    message = rf"linking: {linking[-1]} needs unigram counts, and there is no .*unigram_counts\.npy"
    with pytest.raises(UserError, match=message):
        score_run(run, score_settings(benchmarks=("demo",), linking=linking))
    assert not (run / "eval").exists()


def test_unigrams_by_default_are_left_out_and_that_is_said_once(run, tmp_path, records, write_benchmark, capsys):
    (run / "tokenizer" / "unigram_counts.npy").unlink()
    root = write_benchmark(tmp_path / "benchmarks", records[:9])
    score_run(run, score_settings(benchmarks=("zhoblimp",), benchmark_root=root))
    assert capsys.readouterr().err.count("unigram_counts.npy: slor is left out") == 1


@pytest.mark.parametrize("out", ["file", "file/below"])
def test_out_that_is_no_folder(tmp_path, out):
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=rf"out=.*{out} is a file or lies below one; give a folder"):
        score_model("./nowhere", tmp_path / out, score_settings(benchmarks=("demo",)))


def test_out_that_is_a_run(run, copy_model):
    write_run(run)
    with pytest.raises(UserError, match=r"out=.*s0 is a run folder; its scores are those of its checkpoints"):
        score_model(str(copy_model()), run, score_settings(benchmarks=("demo",)))
    assert not (run / "eval").exists()


def test_out_that_holds_the_scores_of_another_model(run, copy_model, tmp_path, records, write_benchmark):
    settings = score_settings(
        benchmarks=("zhoblimp",), benchmark_root=write_benchmark(tmp_path / "b", records[:9])
    )
    model, out = str(copy_model()), tmp_path / "out"
    score_model(model, out, settings)
    score_model(model, out, settings)
    with pytest.raises(UserError, match=r"out=.*out holds scores of another model .*; give another folder"):
        score_model(str(run / "checkpoints" / "step00000008"), out, settings)
