"""What ``import ucurve`` gives to a notebook, and what it does not load."""

import ast
import pickle
import re
import subprocess
import sys
import traceback
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell

import ucurve
from ucurve.errors import RunError, UserError, short_traceback

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


@pytest.mark.parametrize(
    "error", [UserError("no run folder matches 'a'"), RunError("x"), ValueError("x")], ids=repr
)
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


MISTAKES = [
    ('ucurve.open("nothing/*")', "no run folder matches 'nothing/*'"),
    ('ucurve.score("nothing")', "run or model: no folder nothing"),
    ('ucurve.train("modl=tiny")', "unknown key 'modl'"),
]


@pytest.mark.parametrize("code_and_message", MISTAKES, ids=lambda pair: pair[0])
def test_a_mistake_has_the_line_of_the_program_and_the_message(code_and_message: tuple[str, str]) -> None:
    code, message = code_and_message
    with pytest.raises(UserError) as caught:
        exec(compile(f"import ucurve\n\n{code}\n", "program.py", "exec"))  # noqa: S102 - written above
    assert caught.value.__cause__ is None and caught.value.__suppress_context__
    told = traceback.format_exception(caught.value)
    places = [line.splitlines()[0] for line in told if line.startswith("  File ")][1:]  # first this test
    assert places[0] == '  File "program.py", line 3, in <module>'
    assert len(places) == 2 and places[1].endswith("in call"), "one line of ours, which raises it again"
    assert told[-1].startswith(f"ucurve.UserError: {message}")


def test_a_program_that_makes_a_mistake_gets_its_own_line_and_the_message(tmp_path) -> None:
    code, message = MISTAKES[1]
    program = tmp_path / "program.py"
    program.write_text(f"import ucurve\n\n{code}\n")
    done = subprocess.run([sys.executable, program], cwd=tmp_path, capture_output=True, text=True, check=False)
    lines = done.stderr.splitlines()
    assert done.returncode == 1
    places = [line for line in lines if line.startswith("  File ")]
    assert places[0] == f'  File "{program}", line 3, in <module>'
    assert len(places) == 2 and places[1].endswith("in call"), "one line of ours, which raises it again"
    assert lines[-1].startswith(f"ucurve.UserError: {message}")
    assert len(lines) <= 8 and sum("Traceback" in line for line in lines) == 1


def test_only_the_lines_of_a_mistake_are_left_out_and_a_function_keeps_what_it_says_of_itself() -> None:
    def fail(what: type[Exception]) -> None:
        """Fail."""
        raise what("x") from KeyError("y")

    short = short_traceback(fail)
    assert short.__doc__ == "Fail."
    with pytest.raises(UserError) as mistake:
        short(UserError)
    assert mistake.value.__cause__ is None and mistake.traceback[-1].name == "call"
    for kind in (ValueError, RunError):
        with pytest.raises(kind) as caught:
            short(kind)
        assert isinstance(caught.value.__cause__, KeyError) and caught.traceback[-1].name == "fail"


def test_a_mistake_reaches_another_process_whole() -> None:
    error = pickle.loads(pickle.dumps(UserError("no run")))  # noqa: S301 - made here
    assert type(error) is UserError and str(error) == "no run"
