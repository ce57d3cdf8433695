"""Scoring beside the training: checkpoints are found as they appear, and watching ends with the runs."""

import pytest

from tests.facts import write_empty_checkpoint, write_run
from tests.settings import command_asked, score_command
from ucurve.errors import RunError, UserError
from ucurve.eval import watch
from ucurve.eval.run import score_as_they_appear
from ucurve.eval.settings import score_settings
from ucurve.eval.store.tables import ACCURACY, read_table
from ucurve.storage.locks import only_writer


@pytest.fixture
def meanwhile(monkeypatch):
    """What training does in each pause of watching; more pauses than that are an error."""
    todo = []
    monkeypatch.setattr(watch.time, "sleep", lambda _: todo.pop(0)())
    return todo


def test_checkpoints_come_as_they_appear_and_once(tmp_path, meanwhile, capsys):
    run = tmp_path / "run"
    write_empty_checkpoint(run, 0)
    (run / "checkpoints" / "step00000001").mkdir()
    (run / "checkpoints" / ".step00000002.tmp-0123456789ab").mkdir()
    write_run(run, "running")
    meanwhile += [
        lambda: write_empty_checkpoint(run, 8),
        lambda: (write_empty_checkpoint(run, 16), write_run(run, "finished")),
    ]
    with only_writer(run):
        assert list(watch.watch_runs(str(run))) == [(run, [0]), (run, [8]), (run, [16])]
    assert capsys.readouterr().err.count("running; waiting for its checkpoints") == 1


def test_an_interrupted_run_is_waited_for_and_so_is_one_that_was_killed(tmp_path, meanwhile, capsys):
    run = tmp_path / "run"
    write_empty_checkpoint(run, 0)
    write_run(run, "interrupted")
    meanwhile += [lambda: write_run(run, "running"), lambda: write_run(run, "finished")]
    assert list(watch.watch_runs(str(run))) == [(run, [0])]
    assert capsys.readouterr().err.count("interrupted; waiting for its checkpoints") == 1


def test_the_next_run_of_a_grid_may_begin_after_the_others_have_ended(tmp_path, meanwhile):
    write_empty_checkpoint(tmp_path / "a", 0)
    write_run(tmp_path / "a", "finished")
    meanwhile += [
        lambda: None,
        lambda: (write_empty_checkpoint(tmp_path / "b", 0), write_run(tmp_path / "b", "finished")),
    ]
    meanwhile += [lambda: None] * (watch._LAST_LOOKS - 1)
    assert list(watch.watch_runs(str(tmp_path / "*"))) == [(tmp_path / "a", [0]), (tmp_path / "b", [0])]
    assert meanwhile == []


def test_a_run_that_cannot_be_scored_stops_none_of_the_others(tmp_path, monkeypatch, capsys):
    for name in "ab":
        write_empty_checkpoint(tmp_path / name, 0)
        write_run(tmp_path / name, "finished")
    scored = []

    def score(run, *_):
        scored.append(run.name)
        if run.name == "a":
            raise RunError("a score is not finite")
        return []

    monkeypatch.setattr("ucurve.eval.run.score_run", score)
    monkeypatch.setattr(watch, "_LAST_LOOKS", 1)
    with pytest.raises(RunError, match=r"1 of 2 runs were not scored:\n  \S+/a: a score is not finite$"):
        score_as_they_appear(str(tmp_path / "*"), score_settings(benchmarks=["demo"]))
    assert scored == ["a", "b"]


def test_a_run_that_has_failed_ends_the_watch_with_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(watch, "_LAST_LOOKS", 1)
    for name, status in (("a", "failed"), ("b", "finished")):
        write_empty_checkpoint(tmp_path / name, 0)
        write_run(tmp_path / name, status)
    found = watch.watch_runs(str(tmp_path / "*"))
    assert [next(found), next(found)] == [(tmp_path / "a", [0]), (tmp_path / "b", [0])]
    with pytest.raises(RunError, match=r"training has failed: \S+/a$"):
        next(found)


def test_a_run_that_is_not_there_yet_is_a_mistake(tmp_path):
    with pytest.raises(
        UserError, match=r"no run there yet; start watching when training has made the run folder"
    ):
        next(watch.watch_runs(str(tmp_path / "nowhere")))


@pytest.mark.parametrize("more", [{"steps": [0]}, {"run": None, "model": "m", "out": "o"}])
def test_watching_is_of_all_checkpoints_of_a_run(more):
    with pytest.raises(UserError, match=r"watch=true scores every checkpoint of run=RUN"):
        command_asked(**{"run": "r", "benchmarks": ["demo"], "watch": True} | more)


def test_what_is_found_is_scored(run, tmp_path, records, write_benchmark):
    root = write_benchmark(tmp_path / "benchmarks", records[:10])
    write_run(run, "finished")
    values = {"run": str(run), "watch": True, "benchmarks": ["zhoblimp"], "benchmark_root": str(root)}
    score_command(values)
    assert sorted(read_table(ACCURACY, ACCURACY.path(run))["step"].unique()) == [0, 8]
