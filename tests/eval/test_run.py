import pytest

from eval import run as command
from eval.run import LINKING, ScoreCommand, ScoreSettings, check_benchmarks, execute, find_runs
from ucurve.command import check
from ucurve.errors import UserError


def test_defaults():
    settings = check(ScoreSettings, {"benchmarks": ["demo", "demo"], "linking": ["slln_lp:0.5", "slln_lp", "lp"]})
    assert settings.benchmarks == ("demo",)
    assert settings.linking == ("slln_lp", "lp")
    assert ScoreSettings().linking == LINKING
    assert ScoreSettings().ties_rules == ("half",)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"benchmarks": ["zhoblmp"]}, r"benchmarks: unknown benchmark 'zhoblmp'; .*Did you mean 'zhoblimp'\?"),
        ({"linking": ["sllnlp"]}, r"linking: unknown linking function 'sllnlp'; .*Did you mean 'slln_lp'\?"),
        ({"linking": ["lp:3"]}, r"linking: linking function 'lp:3': no parameter allowed"),
        ({"ties_rules": ["best"]}, r"ties_rules\.0: got 'best'; Input should be 'half', 'wrong' or 'right'"),
        ({"batch_tokens": 0}, r"batch_tokens: got 0; Input should be greater than or equal to 1"),
        ({"batch_tokens": "many"}, r"batch_tokens: got 'many'"),
        ({"benchmarks": "demo"}, r"benchmarks: got 'demo'; a list is expected, as \[a,b\]"),
        ({"bench": []}, r"bench: unknown key"),
        ({"batch_tokens": 0, "benchmarks": ["x"]}, r"(?s)2 problems.*batch_tokens.*benchmarks|2 problems.*benchmarks"),
    ],
)
def test_wrong_settings(values, message):
    with pytest.raises(UserError, match=message):
        check(ScoreSettings, values)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, r"give exactly one of run=RUN and model=PATH_OR_HUB_ID"),
        ({"run": "a", "model": "b", "out": "c"}, r"give exactly one of run=RUN and model="),
        ({"model": "a"}, r"out=DIR goes with model=, and model= needs it"),
        ({"run": "a", "out": "b"}, r"out=DIR goes with model="),
        ({"model": "a", "out": "b", "steps": [0]}, r"steps= goes with run="),
        ({"run": "a", "benchmarks": []}, r"give benchmarks=\[\.\.\.\]; there are demo, zhoblimp"),
        ({"run": "a", "steps": ["x"]}, r"steps\.0: got 'x'"),
    ],
)
def test_wrong_commands(values, message):
    with pytest.raises(UserError, match=message):
        check(ScoreCommand, {"benchmarks": ["demo"]} | values)


def test_pattern_of_runs(run):
    other = run.with_name("tiny-1M-char-text-s1")
    (other / "checkpoints").mkdir(parents=True)
    (run.parent / "notes").mkdir()
    assert find_runs(str(run)) == [run]
    assert find_runs(str(run.parent / "*")) == [run, other]


def test_no_run(run):
    with pytest.raises(UserError, match=r"run: no run folder matches '.*/14m-\*'"):
        find_runs(str(run.parent / "14m-*"))
    with pytest.raises(UserError, match=r"run: no folder .*Did you mean '.*tiny-1M-char-text-s0'\?"):
        find_runs(str(run.parent / "tiny-1M-char-text"))


def test_execute_scores_every_run_of_a_pattern(run, monkeypatch):
    scored = []
    monkeypatch.setattr(command, "score_run", lambda run, _, steps: scored.append((run, steps)))
    execute(ScoreCommand(run=str(run.parent / "*"), steps=(0,), benchmarks=("demo",)))
    assert scored == [(run, (0,))]


def test_check_before_training(tmp_path, records, write_benchmark, tokenizer):
    settings = ScoreSettings(benchmarks=("zhoblimp",), benchmark_root=write_benchmark(tmp_path, records))
    check_benchmarks(settings, tokenizer, context=64)
    with pytest.raises(UserError, match=r"benchmark zhoblimp, paradigm .* but the model's context holds 5"):
        check_benchmarks(settings, tokenizer, context=5)
