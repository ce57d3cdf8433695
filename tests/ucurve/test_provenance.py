import platform
from pathlib import Path

import ucurve
from ucurve.provenance import hardware, versions


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
        read("processor\t: 0\nmodel name\t: Chip X 3\n\nmodel name\t: Chip X 3\n") == f"{platform.machine()} Chip X 3"
    )
    assert read("processor: 0\n") == platform.machine()


def test_a_system_that_does_not_tell(monkeypatch):
    def fail(self, **_):
        raise FileNotFoundError

    monkeypatch.setattr(Path, "read_text", fail)
    assert hardware()["processor"] == platform.machine()
