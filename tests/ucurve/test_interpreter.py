"""A Python that cannot run ucurve: one line that says what to type, and exit code 2."""

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_imports import imports
from ucurve import __version__, cli, interpreter

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ["train.py", "score.py", "analyze.py", "verify.py", "generate.py", "tokenizers/build.py"]
MODULES = ["launch.cost", "launch.status", "launch.publish", "train.batches", "eval.leaderboard", "workbench", "ucurve"]
USED = r"use \.venv/bin/python, or source \.venv/bin/activate\n$"


def without_packages(*words, folder=ROOT, paths=()):
    """Start this Python without what is installed for it, as the system's Python would be."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    variables["PYTHONPATH"] = os.pathsep.join(map(str, paths))
    python = Path(sys.executable).resolve()
    return started([python, "-S", *words], folder, variables)


def started(command, folder=ROOT, variables=None):
    return subprocess.run(command, check=False, cwd=folder, env=variables, capture_output=True, text=True, timeout=60)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A copy of the suite with an environment in .venv, as an installation leaves it."""
    root = tmp_path_factory.mktemp("checkout")
    for name in (*SCRIPTS, "pyproject.toml"):
        (root / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, root / name)
    for package in ("ucurve", "launch", "train", "eval", "workbench"):
        shutil.copytree(ROOT / package, root / package, ignore=shutil.ignore_patterns("__pycache__"))
    (root / "ucurve.egg-info").mkdir()
    (root / "ucurve.egg-info" / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: ucurve\nVersion: 0.1.0\n")
    (root / ".venv/bin").mkdir(parents=True)
    (root / ".venv/bin/python").touch()
    return root


@pytest.mark.parametrize("words", [*([script] for script in SCRIPTS), *(["-m", module] for module in MODULES)], ids=str)
def test_a_python_without_ucurve_says_what_to_type(checkout, words):
    done = without_packages(*words, folder=checkout)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert re.search(rf"^error: ucurve is not installed in this Python \(.*, no package 'hydra'\): {USED}", done.stderr)


def test_another_program_gets_the_message_as_an_error(checkout):
    done = without_packages("-c", "import eval.api", folder=checkout)
    assert done.returncode == 1
    assert re.search(rf"\nImportError: ucurve is not installed in this Python .*: {USED}", done.stderr)


def test_an_environment_that_is_not_there_is_made(checkout, tmp_path):
    shutil.copytree(checkout, tmp_path / "root", ignore=shutil.ignore_patterns(".venv"))
    done = without_packages("root/train.py", folder=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    made = (
        f"cd {tmp_path}/root && .* -m venv --clear .venv && "
        r"\.venv/bin/pip install .* --editable \. && source \.venv/bin/activate\n"
    )
    assert re.search(made, done.stderr)


def test_a_package_that_is_missing_beside_ucurve_is_named(checkout, tmp_path):
    (tmp_path / "hydra.py").write_text("import antlr4\n")
    (tmp_path / "ucurve-0.1.0.dist-info").mkdir()
    (tmp_path / "ucurve-0.1.0.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: ucurve\nVersion: 0.1.0\n")
    done = without_packages("train.py", folder=checkout, paths=[tmp_path])
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("error: the package 'antlr4', which ucurve needs, is missing in this Python (")
    (tmp_path / "hydra.py").write_text("from json import nothing\n")
    done = without_packages("train.py", folder=checkout, paths=[tmp_path])
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert re.match(r"error: the package 'json' of this Python .* cannot be imported \(cannot import", done.stderr)


def test_an_import_that_is_a_fault_of_ours_shows_its_traceback(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["verify.py", "run=x"])
    monkeypatch.setattr(cli, "_start", lambda *_: cli._call("train.nothing.at_all", None))
    with pytest.raises(ModuleNotFoundError, match=r"train\.nothing"):
        cli.run("verify")


def test_an_older_python_is_told_which_it_needs(monkeypatch, capsys):
    monkeypatch.setattr(sys, "version_info", (3, 9, 18))
    monkeypatch.setattr(sys, "argv", ["train.py", "model=14m"])
    with pytest.raises(SystemExit) as ended:
        interpreter.check_interpreter()
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("error: ucurve needs Python 3.11 or later, this is 3.9.18 (")


def test_an_older_python_can_read_what_it_is_told_by():
    """All that is read before the check: the script, what is above it, and what these import in turn."""
    read = [*SCRIPTS, *(f"{package}/__init__.py" for package in cli._OURS)]
    read += [f"{module.replace('.', '/')}.py" for module, _ in imports("ucurve")]
    assert "ucurve/interpreter.py" in read
    for name in read:
        ast.parse((ROOT / name).read_text(encoding="utf-8"), feature_version=(3, 6))
    assert not list(imports("ucurve.interpreter"))
    for package in cli._OURS[1:]:
        assert next(target for target, _ in imports(package)) == "ucurve"


def test_every_script_in_the_root_is_known():
    assert {Path(script).name for script in SCRIPTS} <= set(interpreter.PROGRAMS)
    assert {path.name for path in ROOT.glob("*.py")} <= set(interpreter.PROGRAMS)


@pytest.mark.long
@pytest.mark.parametrize("version", ["3.8", "3.9", "3.10"])
@pytest.mark.parametrize("words", [["train.py"], ["-m", "launch.cost"], ["tokenizers/build.py"]], ids=str)
def test_an_older_python_that_is_here_says_so(version, words):
    python = shutil.which(f"python{version}")
    if python is None or started([python, "--version"]).returncode:
        pytest.skip(f"no Python {version} here")
    done = started([python, *words])
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith(f"error: ucurve needs Python 3.11 or later, this is {version}.")


@pytest.mark.parametrize("words", [["train.py"], ["-m", "eval.leaderboard", "form=x"], ["-m", "ucurve"]], ids=str)
def test_every_command_tells_the_versions(words):
    done = started([sys.executable, *words, "--version"])
    assert (done.returncode, done.stderr, done.stdout.count("\n")) == (0, "", 1)
    this = ".".join(map(str, sys.version_info[:3]))
    assert re.match(rf"ucurve {re.escape(__version__)}, python {re.escape(this)}, torch \d", done.stdout)


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_versions_are_told_without_a_configuration(name, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [f"ucurve {name}", "--version"])
    monkeypatch.setattr(cli, "_start", None)
    cli.run(name)
    assert capsys.readouterr().out.startswith(f"ucurve {__version__}, ")


def test_a_folder_of_the_users_that_hides_a_package_is_named(tmp_path):
    (tmp_path / "train").mkdir()
    (tmp_path / "train" / "__init__.py").touch()
    variables = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    command = [sys.executable, "-m", "ucurve", "verify", "run=x"]
    done = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True, check=False)
    message = f"error: Python finds another 'train' than ucurve's: {tmp_path / 'train' / '__init__.py'}. Rename it, "
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(message)
    assert done.stderr.count("\n") == 1
