import platform
import subprocess
from pathlib import Path

import ucurve
from ucurve import provenance
from ucurve.provenance import code_revision, hardware, versions


def test_versions_name_what_is_installed_and_nothing_else():
    found = versions()
    assert (found["ucurve"], found["python"]) == (ucurve.__version__, platform.python_version())
    assert {"torch", "transformers", "tokenizers", "numpy", "safetensors"} <= set(found)
    assert all(found.values())


def test_hardware_names_the_processor_where_the_system_tells_it(monkeypatch):
    def read(text):
        monkeypatch.setattr(Path, "read_text", lambda self, **_: text)
        return hardware()["processor"]

    assert (
        read("processor\t: 0\nmodel name\t: Chip X 3\n\nmodel name\t: Chip X 3\n")
        == f"{platform.machine()} Chip X 3"
    )
    assert read("processor: 0\n") == platform.machine()


def test_a_system_that_does_not_tell(monkeypatch):
    def fail(self, **_):
        raise FileNotFoundError

    monkeypatch.setattr(Path, "read_text", fail)
    assert hardware()["processor"] == platform.machine()


def test_a_folder_of_another_project_that_the_code_is_installed_into_gives_no_revision(tmp_path, monkeypatch):
    file = tmp_path / "venv" / "ucurve" / "provenance.py"
    file.parent.mkdir(parents=True)
    file.touch()
    monkeypatch.setattr(provenance, "__file__", str(file))
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    assert code_revision() is None
    subprocess.run([*git, "add", "."], check=True)
    assert len(code_revision().removesuffix("+changes")) == 40
