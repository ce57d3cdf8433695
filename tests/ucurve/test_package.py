"""What ``import ucurve`` gives to a notebook, and what it does not load."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell

import ucurve
from ucurve.errors import RunError, UserError

STUB = Path(ucurve.__file__).with_name("__init__.pyi")
NAMES = ["UserError", "compare", "open", "score", "train"]


def test_importing_it_loads_no_large_package() -> None:
    code = "import sys, ucurve; print(*sorted({'torch', 'pandas', 'hydra', 'numpy', 'rich'} & set(sys.modules)), dir(ucurve))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == str([*NAMES[:1], "__version__", *NAMES[1:]])


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_found_and_is_in_the_stub(name: str) -> None:
    assert callable(getattr(ucurve, name))
    there = {
        alias.asname
        for node in ast.walk(ast.parse(STUB.read_text()))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert name in there


def test_other_names_are_not_there() -> None:
    with pytest.raises(AttributeError, match="module 'ucurve' has no attribute 'analyse'"):
        ucurve.analyse  # noqa: B018 - reading it is the test


@pytest.mark.parametrize("error", [UserError("no run folder matches 'a'"), RunError("x"), ValueError("x")], ids=repr)
def test_ipython_shows_a_mistake_of_the_user_in_one_line_and_hides_nothing_else(error: Exception, capsys) -> None:
    shell = InteractiveShell.instance()

    def fail() -> None:
        raise error

    shell.user_ns["fail"] = fail
    shell.run_cell("fail()")
    shown = capsys.readouterr().out.strip()
    if isinstance(error, UserError):
        assert shown == "UserError: no run folder matches 'a'"
    else:
        assert "Traceback" in shown
        assert "raise error" in re.sub(r"\x1b\[[\d;]*m", "", shown)
