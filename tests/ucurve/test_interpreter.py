"""A Python that cannot run ucurve: one line that says what to type, and exit code 2."""

import ast
import json
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
MODULES = [
    "launch.cost",
    "ucurve.launch.status",
    "launch.publish",
    "train.batches",
    "eval.leaderboard",
    "workbench",
    "ucurve",
]
FOLDERS = [
    "train",
    "eval",
    "validation",
    "analysis",
    "launch",
    "workbench",
]  # with modules that ``python -m`` starts
USED = r"use \.venv/bin/python, or source \.venv/bin/activate\n$"


def without_packages(*words, folder=ROOT, paths=()):
    """Start this Python without what is installed for it, as the system's Python would be."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    variables["PYTHONPATH"] = os.pathsep.join(map(str, paths))
    python = Path(sys.executable).resolve()
    return started([python, "-S", *words], folder, variables)


def started(command, folder=ROOT, variables=None):
    return subprocess.run(
        command, check=False, cwd=folder, env=variables, capture_output=True, text=True, timeout=60
    )


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A copy of the suite with an environment in .venv, as an installation leaves it."""
    root = tmp_path_factory.mktemp("checkout")
    for name in (*SCRIPTS, "pyproject.toml"):
        (root / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, root / name)
    for package in ("ucurve", "launch", "train", "eval", "workbench"):
        shutil.copytree(
            ROOT / package, root / package, symlinks=True, ignore=shutil.ignore_patterns("__pycache__")
        )
    (root / "ucurve.egg-info").mkdir()
    (root / "ucurve.egg-info" / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: ucurve\nVersion: 0.1.0\n")
    (root / ".venv/bin").mkdir(parents=True)
    (root / ".venv/bin/python").touch()
    return root


@pytest.mark.parametrize(
    "words", [*([script] for script in SCRIPTS), *(["-m", module] for module in MODULES)], ids=str
)
def test_a_python_without_ucurve_says_what_to_type(checkout, words):
    done = without_packages(*words, folder=checkout)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert re.search(
        rf"^error: ucurve is not installed in this Python \(.*, no package 'hydra'\): {USED}", done.stderr
    )


def test_another_program_gets_the_message_as_an_error(checkout):
    done = without_packages("-c", "import ucurve.eval.api", folder=checkout)
    assert done.returncode == 1
    assert re.search(rf"\nImportError: ucurve is not installed in this Python .*: {USED}", done.stderr)


def test_an_environment_that_is_not_there_is_made(checkout, tmp_path):
    shutil.copytree(checkout, tmp_path / "root", symlinks=True, ignore=shutil.ignore_patterns(".venv"))
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
    (tmp_path / "ucurve-0.1.0.dist-info/METADATA").write_text(
        "Metadata-Version: 2.1\nName: ucurve\nVersion: 0.1.0\n"
    )
    done = without_packages("train.py", folder=checkout, paths=[tmp_path])
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("error: the package 'antlr4', which ucurve needs, is missing in this Python (")
    (tmp_path / "hydra.py").write_text("from json import nothing\n")
    done = without_packages("train.py", folder=checkout, paths=[tmp_path])
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert re.match(
        r"error: the package 'json' of this Python .* cannot be imported \(cannot import", done.stderr
    )


def test_an_import_that_is_a_fault_of_ours_shows_its_traceback(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["verify.py", "run=x"])
    monkeypatch.setattr(cli, "_start", lambda *_: cli._call("ucurve.training.nothing.at_all", None))
    with pytest.raises(ModuleNotFoundError, match=r"ucurve\.training\.nothing"):
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
    read = [*SCRIPTS, "ucurve/__init__.py", *(f"{folder}/__init__.py" for folder in FOLDERS)]
    read += [f"{module.replace('.', '/')}.py" for module, _ in imports("ucurve")]
    assert "ucurve/interpreter.py" in read
    for name in read:
        ast.parse((ROOT / name).read_text(encoding="utf-8"), feature_version=(3, 6))
    assert not list(imports("ucurve.interpreter"))
    for folder in FOLDERS:
        package = f"ucurve.{folder.replace('train', 'training')}"
        assert next(target for target, _ in imports(package)) == "ucurve"


WITHOUT_LOCKS = """
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name == "fcntl":
            raise ModuleNotFoundError("No module named 'fcntl'", name=name)

sys.modules.pop("fcntl", None)
sys.meta_path.insert(0, Hidden())
"""
OTHER_SYSTEM = (
    r"ucurve runs on Linux and macOS, and on Windows in WSL \(the Windows Subsystem for Linux\); this Python \(.*\) has no "
    r"module 'fcntl', with which files are locked there"
)


@pytest.fixture
def on_windows(tmp_path):
    """A function that starts this Python without the module that Windows has not."""
    (tmp_path / "sitecustomize.py").write_text(WITHOUT_LOCKS)
    return lambda *words: started([sys.executable, *words], variables=os.environ | {"PYTHONPATH": str(tmp_path)})


@pytest.mark.parametrize(
    "words",
    [*([script] for script in SCRIPTS), ["-m", "ucurve", "score", "list=true"], ["train.py", "--help"]],
    ids=str,
)
def test_on_windows_a_command_names_the_systems_that_ucurve_runs_on(on_windows, words):
    done = on_windows(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(f"error: {OTHER_SYSTEM}\n", done.stderr)


@pytest.mark.parametrize("console", ["ucurve", "ucurve.exe"])
def test_on_windows_the_console_command_does_too(on_windows, console):
    done = on_windows(
        "-c", f"import sys; sys.argv = ['bin/{console}', 'train']; from ucurve.cli import main; main()"
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(f"error: {OTHER_SYSTEM}\n", done.stderr)


def test_on_windows_a_notebook_gets_the_message_as_an_error(on_windows):
    done = on_windows("-c", "import ucurve")
    assert done.returncode == 1
    assert re.fullmatch(f"ImportError: {OTHER_SYSTEM}", done.stderr.splitlines()[-1])


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


@pytest.mark.parametrize("name", ["datasets/__init__.py", "tokenizers/__init__.py", "torch.py"])
def test_a_file_of_the_users_that_hides_a_library_is_named(name, tmp_path):
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.touch()
    message = f"Python finds {file} in place of the library {re.split('[/.]', name)[0]!r}, which ucurve needs: rename it"
    done = started([sys.executable, "-m", "ucurve", "verify", "run=x"], tmp_path)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith(f"error: {message}")
    done = started([sys.executable, "-c", "import ucurve"], tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[-1].startswith(f"ImportError: {message}")


# Of a text of one line: of the demo's, the plan would draw all sentences.
PLANNED = ["model=tiny", "tokenizer=char", "tokens=20K", f"data.path={ROOT / 'constraints.txt'}", "dry_run=true"]
USERS_FILES = ["train.py", "analysis.py", "launch.py", "generation.py", "utils.py"]
USERS_FOLDERS = ["eval", "data", "models", "datasets", "tokenizers"]


def make_folder_of_a_user(folder):
    """Make a folder with modules and folders that many users have, none of which ucurve may run."""
    for name in (*USERS_FILES, *(f"{name}/loading.py" for name in USERS_FOLDERS)):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("raise SystemExit('a file of the user was run')\n")


@pytest.mark.parametrize(
    "words",
    [
        ["-c", "import ucurve; ucurve.train; ucurve.score; ucurve.open; print('done')"],
        ["-m", "ucurve", "train", *PLANNED],
        ["-m", "ucurve", "score", "list=true"],
        ["-m", "ucurve.launch.cost", "--help"],
    ],
    ids=str,
)
def test_names_that_a_user_has_are_in_nobodys_way(words, tmp_path):
    make_folder_of_a_user(tmp_path)
    done = started([sys.executable, *words], tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert "file of the user" not in done.stderr


TELL_TWICE = f"""
import atexit, json, sys
from pathlib import Path

def tell():
    found = {{}}
    for module in [*sys.modules.values()]:
        file = Path(getattr(module, "__file__", None) or "/").resolve()
        if file.is_relative_to({str(ROOT)!r}) and ".venv" not in file.parts:
            found.setdefault(str(file), set()).add(id(module))
    twice = [file for file, modules in found.items() if len(modules) > 1]
    Path(__file__).with_name("told.json").write_text(json.dumps([len(found), twice]))

atexit.register(tell)
"""


@pytest.mark.parametrize(
    "words",
    [
        ["train.py", *PLANNED],
        ["-m", "launch.cost", "experiment=demo", "tokens=zero"],
        ["-m", "train.batches", "run=none", "from=0", "to=1"],
        ["-m", "ucurve.launch.status", "runs=none"],
        ["-m", "eval.leaderboard", "run=none"],
        ["-m", "ucurve", "analyze", "runs=none"],
    ],
    ids=str,
)
def test_no_module_of_ours_is_loaded_twice(words, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(TELL_TWICE)
    done = started([sys.executable, *words], variables=os.environ | {"PYTHONPATH": str(tmp_path)})
    assert "Traceback" not in done.stderr, done.stderr
    count, twice = json.loads((tmp_path / "told.json").read_text())
    # ``python -m eval.leaderboard`` passes by the files of its folders, which have nothing but this import.
    assert not [file for file in twice if not _only_imports_ucurve(Path(file))]
    assert count > 10


def _only_imports_ucurve(file):
    _, *rest = ast.parse(file.read_text(encoding="utf-8")).body
    return file.name == "__init__.py" and [ast.unparse(statement) for statement in rest] in (
        [],
        ["import ucurve"],
    )
