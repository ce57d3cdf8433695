import json
from dataclasses import replace
from types import SimpleNamespace

import pytest

from ucurve.config import compose
from ucurve.fields import format_seconds
from ucurve.storage.facts import ParentFacts
from ucurve.training.config import read_settings
from ucurve.training.plan import make_plan
from ucurve.training.run import forecast
from ucurve.training.run.forecast import describe_forecast
from ucurve.training.run_folder.config_file import configuration_text


@pytest.fixture(autouse=True)
def on_processor(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setattr(forecast, "count_processes", lambda: 2)
    forecast._measured_here.cache_clear()


def lines(tmp_path, *overrides):
    given = ["tokens=4M", "data=demo", "eval.benchmarks=[]", f"paths.runs={tmp_path}", *overrides]
    return describe_forecast(make_plan(read_settings(compose("train", given)), 8000))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.1, "1 second"), (90, "90 seconds"), (121, "3 minutes"), (7200, "2 hours"), (2e6, "24 days")],
)
def test_a_time_is_in_the_largest_unit_that_fits(seconds, text):
    assert format_seconds(seconds) == text


def test_without_a_run_the_time_is_an_assumption_that_says_so(tmp_path):
    device, time, scoring = lines(tmp_path)
    assert device == "device         processor with 2 cores (engine.device=auto)"
    assert "assumed at 4e+10 FLOPs a second and core, no run like it here, so perhaps 3 times off" in time
    assert "nothing, as benchmarks= names no benchmark" in scoring


def record(folder, rate, processor, parameters, *overrides, steps=60):
    """Write what a forecast reads of a run, but for run.json."""
    folder.mkdir(parents=True)
    (folder / "metrics.jsonl").write_text(f"{json.dumps({'tokens_per_second': rate})}\n" * steps)
    settings = read_settings(compose("train", ["tokens=4M", "data=demo", *overrides]))
    (folder / "config.yaml").write_text(configuration_text(settings))
    (folder / "run.json").touch()
    hardware = {"processor": processor, "accelerators": []}
    return SimpleNamespace(name=folder.name, hardware=hardware, parameters={"total": parameters})


def test_the_rate_of_an_earlier_run_here_is_scaled_by_the_parameters(tmp_path, monkeypatch):
    total = make_plan(read_settings(compose("train", ["tokens=4M", "data=demo"])), 8000).parameters.total
    there = {
        "near": record(tmp_path / "demo" / "near", 1000.0, "x86 here", total),
        "far": record(tmp_path / "far", 50_000.0, "x86 here", total // 10),
        "elsewhere": record(tmp_path / "elsewhere", 9.0, "x86 elsewhere", total),
    }
    monkeypatch.setattr(forecast, "processor", lambda: "x86 here")
    monkeypatch.setattr(forecast, "read_run_facts", lambda run: there[run.name])
    time = lines(tmp_path)[1]
    assert (
        "about 67 minutes of training without scoring; by the rate of near here (1,000 tokens a second);" in time
    )
    time = lines(tmp_path, "model=410m")[1]
    assert "by the rate of near here (1,000 tokens a second), of another size, so perhaps 3 times off;" in time


def test_a_rate_is_of_a_run_that_computes_the_same_for_long_enough(tmp_path, monkeypatch):
    total = make_plan(read_settings(compose("train", ["tokens=4M", "data=demo"])), 8000).parameters.total
    there = {
        "llama": record(tmp_path / "llama", 1.0, "x86", total, "model=llama-14m"),
        "bert": record(tmp_path / "bert", 2.0, "x86", total, "model=bert-14m"),
        "muon": record(tmp_path / "muon", 3.0, "x86", total, "optimizer=muon"),
        "short": record(tmp_path / "short", 4.0, "x86", total, steps=49),
        "torn": record(tmp_path / "torn", 5.0, "x86", total),
    }
    (tmp_path / "torn" / "config.yaml").write_text("{")
    monkeypatch.setattr(forecast, "processor", lambda: "x86")
    monkeypatch.setattr(forecast, "read_run_facts", lambda run: there[run.name])
    assert "no run like it here" in lines(tmp_path)[1]
    assert "by the rate of muon here (3 tokens a second);" in lines(tmp_path, "optimizer=muon")[1]
    assert "by the rate of bert here (2 tokens a second)" in lines(tmp_path, "model=bert-14m")[1]


def test_a_branch_takes_the_time_of_its_own_steps(tmp_path, monkeypatch):
    given = ["tokens=4096000", "data=demo", f"paths.runs={tmp_path}"]
    plan = make_plan(read_settings(compose("train", given)), 8000)
    there = {"same": record(tmp_path / "same", 1024.0, "x86", plan.parameters.total)}
    monkeypatch.setattr(forecast, "processor", lambda: "x86")
    monkeypatch.setattr(forecast, "read_run_facts", lambda run: there[run.name])
    branch = replace(plan, parent=ParentFacts(name="trunk", step=240, config_sha256="0" * 64))
    assert (plan.steps, branch.own_steps) == (250, 10)
    assert "about 67 minutes of training" in describe_forecast(plan)[1]
    assert "about 3 minutes of training" in describe_forecast(branch)[1]


@pytest.mark.parametrize(
    ("when", "text"),
    [
        ("each", "demo at each of 5 checkpoints"),
        ("end", "demo 5 checkpoints, at the end"),
        ("never", "nothing, as "),
    ],
)
def test_the_benchmarks_and_how_often_they_are_scored_are_named(tmp_path, when, text):
    scoring = lines(tmp_path, "eval.benchmarks=[demo]", f"eval.when={when}", "schedule.count=5")[2]
    assert scoring.startswith(f"scoring        {text}")


def test_the_plan_of_a_run_fits_a_screen(tmp_path, capsys):
    from ucurve.config import Composed
    from ucurve.training.cli import train_command

    given = (
        "tokens=800K",
        "data=demo",
        "model=tiny",
        "dry_run=true",
        f"paths.runs={tmp_path}",
        "schedule=pythia",
        "benchmarks=[]",
    )
    given += (f"paths.cache={tmp_path}", f"paths.tokenizers={tmp_path}", "batch.sequences=1")
    train_command([Composed(compose("train", given), given)])
    said = capsys.readouterr()
    page = said.out.splitlines()
    assert len(page) <= 40
    assert max(map(len, page)) <= 100
    assert said.err == "next: the same command without dry_run=true\n"
