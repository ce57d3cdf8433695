"""Commands as they are printed can be typed in any shell: in zsh, unquoted brackets and braces are patterns of files."""

import ast
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from ucurve import invocation
from ucurve.arguments import MULTIRUN, read_arguments
from ucurve.config import compose, sweep
from ucurve.launch import demo

ROOT = Path(__file__).resolve().parents[1]
OLD = {"CHANGELOG.md"}  # tells what was
INPUTS = {"measurements/readers/fuzz_targets.py"}  # its texts are split at spaces and handed over, not printed
CODE = ("ucurve", "eval", "train", "analysis", "launch", "workbench", "tokenizers", "measurements", "studies")
# Settings as they are typed. In Python the first thing in the brackets is a string, or a space follows the comma.
LIST = re.compile(r"""(?<![\w'"+.@/~-])[+~]{0,2}[A-Za-z][\w.@/]*=\[(?!["'])[^\]\s]*\]""")
MAPPING = re.compile(r"""(?<![\w'"+.@/~-])[+~]{0,2}[A-Za-z][\w.@/]*=\{(?![{"'%])[^}]*\}""")
PATTERN = re.compile(r"""(?<![\w'"+.@/~-])[A-Za-z][\w.@/]*=[\w./-]*[*?|<>][^\s`]*""")
COMMAND = re.compile(r"^\s*(?:[A-Z_]+=\S+ )*(?:python|ucurve|make|bash|\.venv/bin/\w+) (?!-c ).*$")
QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")


def files(*endings):
    done = subprocess.run(["git", "ls-files", "-z", "*"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in done.stdout.split("\0") if name.endswith(endings) and (ROOT / name).is_file()]


def unquoted(text):
    """What of a text a shell could take for a pattern: lists and mappings anywhere, other signs in command lines."""
    found = [one[0] for kind in (LIST, MAPPING) for one in kind.finditer(text)]
    typed = [*re.findall(r"`([^`\n]+)`", text), *text.replace("\\\n", " ").splitlines()]
    commands = [line.partition(" # ")[0] for line in typed if COMMAND.match(line)]
    return found + [one[0] for line in commands for one in PATTERN.finditer(QUOTED.sub("''", line))]


def printed(code):
    """The texts that a Python file can print, an f-string with ``X`` for each value in it.

    A text that is one setting alone is left out: such are handed to a program as they are.
    """
    return [said for said in _texts(ast.parse(code)) if not LIST.fullmatch(said)]


def _texts(tree):
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            yield node.value


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("python score.py benchmarks=[demo]", ["benchmarks=[demo]"]),
        ("or `eval.benchmarks=[]` in `conf`", ["eval.benchmarks=[]"]),
        ("python train.py +a.b={c: 1}", ["+a.b={c: 1}"]),
        ("python analyze.py runs=runs/*", ["runs=runs/*"]),
        ("see `ucurve workers gpus=N|workers=N`", ["gpus=N|workers=N"]),
        ("python analyze.py 'runs=runs/*' run='runs/*' 'a=[b]' \"c={d: 1}\" > page.md", []),
        ('score(RUN, benchmarks=["demo"])', []),
        ("x = y[0] if z == [1] else w", []),
    ],
)
def test_what_is_unquoted_is_found(text, found):
    assert unquoted(text) == found


def texts(*endings):
    """The files of some endings with their text, without those in which no shell could find a pattern."""
    for name in files(*endings):
        text = (ROOT / name).read_text(encoding="utf-8")
        if name not in OLD | INPUTS and not name.startswith("tests/") and re.search(r"=[\w./-]*[\[{*?|<>]", text):
            yield name, text


def faults(found):
    return {name: wrong for name, text in found if (wrong := unquoted(text))}


def test_pages_quote_what_a_shell_would_expand():
    pages = {name: re.sub(r"(?ms)^```python\n.*?^```$", "", text) for name, text in texts(".md", ".jinja", ".sh")}
    assert {"docs/analysis.md", "docs/how-do-i.md"} <= set(pages)
    assert faults(pages.items()) == {}


@pytest.mark.parametrize(("active", "own"), [(True, demo.OWN_RUN), (False, demo.OWN_RUN), (False, demo.OWN_GRID)])
def test_the_last_lines_of_the_demo_can_be_typed(tmp_path, monkeypatch, active, own):
    """An environment that is active already is not activated again."""
    (tmp_path / ".venv/bin").mkdir(parents=True)
    (tmp_path / ".venv/bin/activate").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(ROOT / "launch/demo.py")])
    monkeypatch.setattr(demo, "ROOT", tmp_path)
    monkeypatch.setattr(invocation, "ROOT", tmp_path)
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    if active:
        monkeypatch.setenv("VIRTUAL_ENV", f"{tmp_path}/.venv")
    said = demo.what_next("runs/demo", own)
    assert ("    source .venv/bin/activate\n" in said) != active
    commands = [
        shlex.split(line) for line in said.splitlines() if line.startswith(("    ucurve ", "    python "))
    ]
    assert [words[:2] for words in commands] == [["ucurve", "workbench"], ["python", "train.py"]]
    assert unquoted(said) == []
    compose("workbench", read_arguments(commands[0][2:]))
    cells = sweep("train", [word for word in read_arguments(commands[1][2:]) if word not in MULTIRUN])
    assert len(cells) == (12 if own == demo.OWN_GRID else 1)
    for cell in cells:
        compose("train", cell)


def test_the_readme_activates_the_environment_before_it_calls_python():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text.index("source .venv/bin/activate") < text.index("python train.py")
    install = text.partition("## Install")[2].partition("##")[0]
    assert install.index("--editable .") < install.index("source .venv/bin/activate")


def test_messages_and_docstrings_quote_what_a_shell_would_expand():
    code = [(name, text) for name, text in texts(".py") if name.split("/")[0] in CODE or "/" not in name]
    assert faults((f"{name}: {said[:40]}", said) for name, text in code for said in printed(text)) == {}


def test_comments_of_the_configuration_quote_what_a_shell_would_expand():
    comments = [
        (name, "\n".join(line.partition("#")[2].strip() for line in text.splitlines()))
        for name, text in texts(".yaml")
        if name.startswith("conf/")
    ]
    assert "conf/eval/default.yaml" in dict(comments)
    assert faults(comments) == {}


def test_notebooks_quote_what_a_shell_would_expand():
    found = []
    for name, text in texts(".ipynb"):
        cells = json.loads(text)["cells"]
        said = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
        code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
        found += [(name, one) for one in (*said, *re.findall(r"#.*|^[!%].*", code, re.MULTILINE))]
    assert faults(found) == {}


def test_pages_of_the_workbench_quote_what_a_shell_would_expand():
    pages = [(name, text) for name, text in texts(".js", ".html") if name.startswith("workbench/")]
    assert pages
    assert {name: wrong for name, text in pages if (wrong := LIST.findall(text))} == {}
