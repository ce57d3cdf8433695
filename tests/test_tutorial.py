"""Every file and command of the tutorial, exactly as the page prints them, from an empty folder to the curves."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FILES = {"tsv", "json", "python"}  # the languages of blocks that are files; blocks without one are commands


def files():
    """Yield the name and the content of each file; the name is the last one before its block."""
    for block in BLOCK.finditer(PAGE):
        if block[1] in FILES:
            yield re.findall(r"`(english/[\w./]+)`", PAGE[: block.start()])[-1], block[2]


def commands():
    """Return the commands after those that install ucurve."""
    return [block[2] for block in BLOCK.finditer(PAGE) if not block[1]][1:]


def test_the_page_is_short_and_shows_every_file():
    assert len(PAGE.splitlines()) < 155
    assert len(dict(files())) == 4


@pytest.mark.long
def test_the_tutorial_ends_with_curves(tmp_path):
    installed, programs = tmp_path / "ucurve", tmp_path / "bin"
    installed.mkdir()
    programs.mkdir()
    for name, start in (("python", ""), ("ucurve", "-m ucurve")):
        program = programs / name
        program.write_text(f'#!/bin/sh\nexec {sys.executable} {start} "$@"\n', encoding="utf-8")
        program.chmod(0o755)
    environment = os.environ | {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    said = ""
    for number, command in enumerate(commands()):
        place = tmp_path / "tutorial" if number else installed
        done = subprocess.run(
            ["bash", "-e", "-c", command], cwd=place, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, command + done.stderr
        said += done.stdout + done.stderr
        if number == 0:
            for name, content in files():
                (tmp_path / "tutorial" / name).write_text(content, encoding="utf-8")
    quoted = re.findall(r"ends with `(.*?)`", PAGE)
    assert len(quoted) == 2
    assert [line for line in quoted if line not in said] == []
    assert "the teachers sleep .\n" in (tmp_path / "tutorial" / "english" / "text.txt").read_text(encoding="utf-8")
    assert (tmp_path / "tutorial" / "figures" / "report.html").is_file()
    assert (tmp_path / "tutorial" / "figures" / "learning_curves_english_phenomena.png").is_file()
