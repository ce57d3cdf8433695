"""Whether this Python can run ucurve at all; if it cannot, one line says what to type instead.

Older versions of Python read this file and ``ucurve/__init__.py`` too, so both keep to what Python 3.6 understands.
"""

import shlex
import sys
from pathlib import Path

_OLDEST = (3, 11)
_FIRST_NEEDED = "hydra"  # what every command imports first
ROOT = Path(__file__).resolve().parent.parent
IN_CHECKOUT = (ROOT / "pyproject.toml").is_file()
_INSTALL = "pip install --constraint constraints.txt --editable ."
_MODULE = "-m"  # what ``python -m`` is called while it imports the packages above a module
_SCRIPTS = ("ucurve", "ucurve.exe", "train.py", "score.py", "analyze.py", "verify.py", "generate.py", "build.py")
PROGRAMS = (_MODULE, *_SCRIPTS)
# Libraries with names that a user may choose too.
_NAMED_LIKE_DATA = (
    "datasets",
    "tokenizers",
    "transformers",
    "torch",
)


def check_interpreter() -> None:
    """End a command, or refuse the import, with one message where this Python is too old or lacks packages."""
    problem = _problem()
    if not problem:
        return
    if Path(sys.argv[0]).name not in PROGRAMS:
        # A program that imports ucurve is not ended by it.
        raise ImportError(problem)
    sys.stderr.write(f"error: {problem}\n")
    sys.exit(2)


def missing_package(package: str) -> str:
    """Say in one message that a package, by its import name, cannot be found, and what to type."""
    is_installed = True
    if IN_CHECKOUT:
        import importlib.metadata

        # The folder that an installation leaves in the checkout says nothing.
        elsewhere = [entry for entry in sys.path if Path(entry).resolve() != ROOT]
        found = importlib.metadata.distributions(name="ucurve", path=elsewhere)
        is_installed = any(True for _ in found)
    if is_installed:
        return f"the package {package!r}, which ucurve needs, is missing in this Python ({sys.executable}): {_mend()}"
    return f"ucurve is not installed in this Python ({sys.executable}, no package {package!r}): {_mend()}"


def broken_package(package: str, problem: str) -> str:
    """Say in one message that a package is there and cannot be imported, and what to type."""
    return f"the package {package!r} of this Python ({sys.executable}) cannot be imported ({problem}): {_mend()}"


def _hidden_library() -> str:
    """Say in one message that Python would import a file of the user's in place of a library; empty if it would not."""
    import importlib.util

    # A file of the user's is NAME.py or NAME/__init__.py in one of these folders.
    own = {Path.cwd(), Path(sys.path[0]).resolve()}
    for name in _NAMED_LIKE_DATA:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.origin is not None and own & {*Path(spec.origin).resolve().parents[:2]}:
            return (
                f"Python finds {spec.origin} in place of the library {name!r}, which ucurve needs: rename it, or start "
                "Python in another folder"
            )
    return ""


def _problem() -> str:
    """Say in one message why this Python cannot run ucurve; empty if it can, as far as is known without imports."""
    try:
        import fcntl  # noqa: F401 - to lock files; a part of Python itself, but not on Windows
    except ImportError:
        return (
            "ucurve runs on Linux and macOS, and on Windows in WSL (the Windows Subsystem for Linux); this Python "
            f"({sys.executable}) has no module 'fcntl', with which files are locked there"
        )
    if sys.version_info < _OLDEST:
        oldest, this = (".".join(map(str, version)) for version in (_OLDEST, sys.version_info[:3]))
        return f"ucurve needs Python {oldest} or later, this is {this} ({sys.executable}): {_mend()}"
    if Path(sys.argv[0]).name in _SCRIPTS:
        return ""  # they import packages inside of ``ucurve.cli.run``, which names one that is missing
    import importlib.util

    return _hidden_library() if importlib.util.find_spec(_FIRST_NEEDED) else missing_package(_FIRST_NEEDED)


def _mend() -> str:
    """Return what to type: use the environment that is there, mend it where it is in use, or make it."""
    if not IN_CHECKOUT:
        return f"{shlex.quote(sys.executable)} -m pip install --upgrade ucurve"
    here = Path.cwd() == ROOT
    environment = ROOT / ".venv"
    in_use = Path(sys.prefix).resolve() == environment.resolve()
    if (environment / "bin" / "python").is_file() and not in_use:
        shown = shlex.quote(".venv" if here else str(environment))
        return f"use {shown}/bin/python, or source {shown}/bin/activate"
    is_old = sys.version_info < _OLDEST
    python = "python{}.{}".format(*_OLDEST) if is_old else shlex.quote(sys.executable)
    steps = [] if here else [f"cd {shlex.quote(str(ROOT))}"]
    steps += [f"{python} -m venv --clear .venv"] if is_old or not in_use else []
    return " && ".join([*steps, f".venv/bin/{_INSTALL}", "source .venv/bin/activate"])
