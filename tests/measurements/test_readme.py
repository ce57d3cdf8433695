"""The page of the measurements has a row for each program, and what files say of a measurement leads to one."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "measurements"
COMMAND = re.compile(r"^\| [^|]+ \| `python (?:-m )?(measurements[\w./]+?)(?:\.py)?[ `]", re.MULTILINE)
PATH = re.compile(r"\bmeasurements/[\w/]+\.(?:py|R)\b")
MODULE = re.compile(r"\b(?:-m |from |import |`)(measurements(?:\.\w+)+)")


def test_every_program_has_one_row() -> None:
    programs = [file for file in FOLDER.rglob("*.py") if "__main__" in file.read_text(encoding="utf-8")]
    rows = COMMAND.findall((FOLDER / "README.md").read_text(encoding="utf-8"))
    assert sorted(row.replace(".", "/") for row in rows) == sorted(
        file.relative_to(ROOT).with_suffix("").as_posix() for file in programs
    )


def test_every_measurement_that_is_named_is_there() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    names = [
        name
        for name in listed.split("\0")
        if name.endswith((".py", ".md", "Makefile")) and (ROOT / name).is_file()
    ]
    texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in names}
    lost = {
        (name, said)
        for name, text in texts.items()
        for said in PATH.findall(text) + [module.replace(".", "/") + ".py" for module in MODULE.findall(text)]
        if not (ROOT / said).exists() and not (ROOT / said.removesuffix(".py")).is_dir()
    }
    assert lost == set()
