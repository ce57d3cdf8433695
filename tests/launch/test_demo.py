import sys

import pytest

from ucurve.config import compose
from ucurve.launch.demo import demo_command


@pytest.fixture
def steps(tmp_path, monkeypatch):
    """What the demo would do, in order, and in a folder that is no checkout."""
    done = []

    def leave_runs(place):
        for name in ("b", "a"):
            (tmp_path / place / name).mkdir(parents=True)
            (tmp_path / place / name / "run.json").touch()

    def train(composed):
        done.append(("train", composed[0].values["paths"]["runs"], composed[0].values["grid"] != []))
        leave_runs(composed[0].values["paths"]["runs"])

    def start_workers(arguments):
        done.append(("workers", *arguments))
        leave_runs(arguments[-1].partition("=")[2])

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    monkeypatch.setattr(sys, "argv", ["ucurve demo"])
    monkeypatch.setattr("ucurve.training.cli.train_cells", train)
    monkeypatch.setattr("ucurve.launch.workers.workers_command", start_workers)
    monkeypatch.setattr("ucurve.training.verify.verify_folder", lambda run: done.append(("verify", str(run))))
    monkeypatch.setattr(
        "ucurve.analysis.run.print_analysis", lambda settings: done.append(("analyze", settings.out))
    )
    return done


def test_the_demo_trains_verifies_and_analyzes_and_names_what_comes_next(steps, capsys):
    demo_command(compose("demo", []))
    assert steps == [
        ("train", "runs/demo", True),
        ("verify", "runs/demo/a"),
        ("verify", "runs/demo/b"),
        ("analyze", "figures/demo"),
    ]
    last = capsys.readouterr().out.splitlines()[-2:]
    assert last == [
        "    ucurve workbench runs='runs/demo/*'",
        "    ucurve train model=14m tokens=10M tokenizer=char data.path=TEXTS",
    ]


@pytest.mark.parametrize(("cores", "workers"), [(1, 1), (2, 2), (16, 2)])
def test_the_grid_is_trained_by_a_worker_for_each_of_two_cores(steps, monkeypatch, capsys, cores, workers):
    monkeypatch.setattr("ucurve.launch.demo.count_processes", lambda: cores)
    demo_command(compose("demo", ["grid=true"]))
    assert steps == [
        ("workers", f"workers={workers}", "experiment=demo_grid", "paths.runs=runs/demo_grid"),
        ("verify", "runs/demo_grid/a"),
        ("verify", "runs/demo_grid/b"),
        ("analyze", "figures/demo_grid"),
    ]
    last = capsys.readouterr().out.splitlines()[-2:]
    assert last[0] == "    ucurve workbench runs='runs/demo_grid/*'"
    assert last[1].startswith("    ucurve train -m model=14m,llama-14m,bert-14m tokenizer=char,bpe seed=0,1 ")


def test_runs_and_figures_go_where_they_are_told(steps):
    demo_command(compose("demo", ["grid=true", "runs=mine", "out=drawn"]))
    assert [step[-1] for step in steps] == ["paths.runs=mine", "mine/a", "mine/b", "drawn"]
