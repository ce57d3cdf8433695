"""The wheel in an environment of its own: the console command in a folder of a user, far from the checkout."""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from tests.ucurve.test_interpreter import make_folder_of_a_user
from ucurve import __version__

ROOT = Path(__file__).resolve().parents[1]
TINY = ["experiment=demo", "tokens=8K", "seed=0", "schedule.count=3", "batch.sequences=8", "eval.subset=2"]


@pytest.fixture(scope="module")
def ucurve(tmp_path_factory):
    """A function that runs the console command of a wheel in a folder of a user and returns what came of it."""
    place = tmp_path_factory.mktemp("wheel")
    for name in ("ucurve", "conf"):  # a copy, as setuptools leaves folders of its own beside what it builds
        shutil.copytree(ROOT / name, place / "source" / name)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, place / "source")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    alone = ["--no-deps", "--no-index"]
    subprocess.run([*pip, "wheel", *alone, "--no-build-isolation", "-w", place, place / "source"], check=True)
    venv.create(place / "venv", symlinks=True)
    python = place / "venv" / "bin" / "python"
    [wheel] = place.glob("*.whl")
    subprocess.run([*pip, "--python", python, "install", *alone, wheel], check=True)
    [packages] = place.glob("venv/lib/*/site-packages")
    (packages / "shared.pth").write_text(sysconfig.get_path("purelib"))  # what ucurve needs, without a download
    make_folder_of_a_user(place / "user")
    shutil.rmtree(place / "source")
    variables = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}

    def call(*arguments, code=0):
        command = [place / "venv" / "bin" / "ucurve", *arguments]
        done = subprocess.run(
            command, check=False, cwd=place / "user", env=variables, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == code, done.stderr
        return done.stdout if code == 0 else done.stderr

    call.folder, call.python, call.wheel = place / "user", python, wheel
    return call


@pytest.mark.long
def test_a_wheel_brings_one_name(ucurve):
    names = {name.partition("/")[0] for name in zipfile.ZipFile(ucurve.wheel).namelist()}
    assert names == {"ucurve", f"ucurve-{__version__}.dist-info"}
    code = "import ucurve; print(ucurve.train, ucurve.open, ucurve.score, ucurve.__file__)"
    done = subprocess.run(
        [ucurve.python, "-c", code], cwd=ucurve.folder, capture_output=True, text=True, check=True
    )
    assert "site-packages/ucurve/__init__.py" in done.stdout


@pytest.mark.long
def test_a_wheel_trains_scores_analyzes_and_verifies_in_a_folder_of_a_user(ucurve):
    ucurve("train", *TINY)
    [run] = ucurve.folder.glob("runs/demo/tiny-*")
    ucurve("score", f"run={run}", "benchmarks=[demo]", "subset=2", "linking=[lp]", "steps=[0]")
    assert ucurve("verify", f"run={run}").endswith("all as their manifests say\n")
    assert "report: figures" in ucurve("analyze", "runs='runs/demo/*'")
    assert (ucurve.folder / "figures" / "report.html").is_file()
    assert run.name in ucurve("status", "runs='runs/demo/*'")
    assert ucurve("emit", "format=commands", *TINY).startswith("python -m ucurve train experiment=demo ")


@pytest.mark.long
def test_a_wheel_has_the_files_of_a_questionnaire_and_of_the_look(ucurve):
    ucurve("questionnaire", "benchmark=demo", "formats=jspsych", "per_paradigm=1", "out=asked")
    page = (ucurve.folder / "asked" / "index.html").read_text(encoding="utf-8")
    for part in ("var jsPsychModule=", "Copyright (c) 2014-2022 Joshua R. de Leeuw", "--paper: #ffffff"):
        assert part in page


@pytest.mark.long
def test_a_wheel_finds_groups_of_the_users_own(ucurve):
    (ucurve.folder / "groups" / "model").mkdir(parents=True)
    tiny = (ROOT / "conf" / "model" / "tiny.yaml").read_text()
    (ucurve.folder / "groups" / "model" / "mine.yaml").write_text(tiny.replace("tiny", "mine"))
    given = ["--config-dir", "groups", "model=mine", *TINY]
    assert "mine-8K-char-demo-s0" in ucurve("train", *given, "dry_run=true")
    emitted = ucurve("emit", "format=commands", *given)
    assert "hydra.searchpath=" in emitted
    assert "Did you mean 'mine'?" in ucurve("train", "--config-dir", "groups", "model=mime", *TINY, code=2)
    assert "unknown model 'mine'" in ucurve("train", "model=mine", *TINY, code=2)
