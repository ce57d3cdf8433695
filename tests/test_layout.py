import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import ucurve

ROOT = Path(__file__).resolve().parents[1]
WHEEL = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
TOPS = [path.parent for path in (ROOT / "ucurve").glob("*/__init__.py")]  # the packages below the one name


def origin(module):
    """Where a module comes from in a Python that was started in the root."""
    command = [sys.executable, "-c", f"import {module}; print({module}.__file__)"]
    return Path(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip())


def test_library_tokenizers_is_not_hidden_by_the_folder_of_that_name():
    assert (ROOT / "tokenizers").is_dir()
    assert origin("tokenizers").is_relative_to(sysconfig.get_path("purelib"))


def test_the_folders_of_the_root_are_packages_below_one_name():
    folders = {path.parent for path in ROOT.glob("*/__init__.py")} - {ROOT / "ucurve"}
    linked = {top.resolve(): top.name for top in TOPS if top.is_symlink()}
    assert linked == {folder: folder.name.replace("train", "training") for folder in folders}
    assert callable(ucurve.train)


def test_folder_of_built_tokenizers_holds_no_package():
    assert not (ROOT / "tokenizers" / "__init__.py").exists()


def test_the_packages_of_a_wheel_are_the_folders_that_hold_code():
    listed = WHEEL["packages"]
    folders = {file.parent.relative_to(ROOT) for top in [ROOT / "ucurve", *TOPS] for file in top.rglob("*.py")}
    assert sorted(listed) == sorted([".".join(folder.parts) for folder in folders] + ["ucurve.conf"])
    assert all((ROOT / folder / "__init__.py").is_file() for folder in folders)


def test_the_yaml_files_beside_the_code_are_in_a_wheel():
    there = {file for top in TOPS for file in top.rglob("*.yaml")}
    data = [
        (ROOT / package.replace(".", "/"), pattern)
        for package, listed in WHEEL["package-data"].items()
        for pattern in listed
    ]
    assert there
    assert there <= {file for folder, pattern in data for file in folder.glob(pattern)}
