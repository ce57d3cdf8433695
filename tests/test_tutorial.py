"""Every file and command of the tutorial as the page prints them, from an empty folder to the curves.

Only the numbers of tokens are a tenth of those on the page, so that six trainings take a minute.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FORMS = {  # of one verb, all that good and bad sentence may differ in
    "english": {frozenset({verb, f"{verb}s"}) for verb in ("sing", "sleep", "run", "smile", "wait", "work")},
    "python": {frozenset(two.split()) for two in ("is are", "has have", "does do", "contains contain")},
}
TENTHS = {"600K": "60K", "1M": "100K"}
TOKENS = re.compile("|".join(TENTHS))
FILES = {"tsv", "json", "python"}  # the languages of blocks that are files; blocks without one are commands


def difference(pair):
    """The words that only one of the two sentences has."""
    return set(pair["sentence_good"].split()) ^ set(pair["sentence_bad"].split())


def files():
    """Yield the name and the content of each file; the name is the last one before its block."""
    for block in BLOCK.finditer(PAGE):
        if block[1] in FILES:
            yield re.findall(r"`((?:english|python)/[\w./]+)`", PAGE[: block.start()])[-1], block[2]


def commands():
    """Return the commands after those that install ucurve, with a tenth of the tokens."""
    printed = [block[2] for block in BLOCK.finditer(PAGE) if not block[1]][1:]
    return [TOKENS.sub(lambda found: TENTHS[found[0]], command) for command in printed]


def test_the_page_is_short_and_shows_every_file():
    assert len(PAGE.splitlines()) < 230
    assert len(dict(files())) == 6


def test_the_first_template_of_the_language_changes_the_form_of_one_verb(tmp_path, run_command):
    page = (ROOT / "docs" / "templates.md").read_text(encoding="utf-8")
    (template,) = (block[2] for block in BLOCK.finditer(page) if block[1] == "json")
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / "one.json").write_text(template, encoding="utf-8")
    (tmp_path / "words.tsv").write_text(dict(files())["english/vocabulary.tsv"], encoding="utf-8")
    (tmp_path / "phrases.json").write_text("{}", encoding="utf-8")
    keys = {"templates": "templates", "vocabulary": "words.tsv", "phrases": "phrases.json", "out": "out"}
    given = [f"{key}={tmp_path / name}" for key, name in keys.items()]
    assert run_command("generate", "source=templates", "pairs=90", *given)[0] == 0
    pairs = [json.loads(line) for line in (tmp_path / "out" / "verb_agreement.jsonl").open(encoding="utf-8")]
    assert len(pairs) == 90
    assert {frozenset(difference(pair)) for pair in pairs} == FORMS["english"]


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
    quoted = re.findall(r"(?:ends with|says) `(.*?)`", PAGE)
    assert len(quoted) == 2
    assert [line for line in quoted if line not in said] == []
    assert "the teachers sleep .\n" in (tmp_path / "tutorial" / "english" / "text.txt").read_text(
        encoding="utf-8"
    )
    for name in ("english", "python"):
        figures = tmp_path / "tutorial" / "figures" / name
        assert (figures / "report.html").is_file()
        assert (figures / f"learning_curves_{name}_phenomena.png").is_file()
        pairs = [
            json.loads(line)
            for file in (tmp_path / "tutorial" / "pairs" / name).glob("*.jsonl")
            for line in file.read_text(encoding="utf-8").splitlines()
        ]
        assert {frozenset(difference(pair)) for pair in pairs} == FORMS[name]
