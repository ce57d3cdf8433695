import sys

import pytest

from ucurve.config import compose
from ucurve.launch.demo import demo_command


@pytest.fixture
def steps(tmp_path, monkeypatch):
    """What the demo would do, in order, and in a folder that is no checkout."""
    done = []

    def train(composed):
        done.append(("train", composed[0].values["paths"]["runs"], composed[0].values["grid"] != []))
        for name in ("b", "a"):
            (tmp_path / "runs" / "demo" / name).mkdir(parents=True)
            (tmp_path / "runs" / "demo" / name / "run.json").touch()

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    monkeypatch.setattr(sys, "argv", ["ucurve demo"])
    monkeypatch.setattr("ucurve.training.cli.train_cells", train)
    monkeypatch.setattr("ucurve.training.verify.verify_folder", lambda run: done.append(("verify", str(run))))
    monkeypatch.setattr("ucurve.analysis.run.print_analysis", lambda settings: done.append(("analyze", settings.out)))
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
