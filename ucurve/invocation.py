"""How a command is typed here, for messages that name one: they repeat the way in which this process was started."""

import shlex
import sys
from pathlib import Path

from ucurve.interpreter import IN_CHECKOUT, ROOT

CONSOLE, MODULE = "ucurve", "python -m ucurve"
# Commands that a checkout has a script for.
_SCRIPTS = (
    "train",
    "score",
    "analyze",
    "verify",
    "generate",
    "build",
)


def command(name: str, arguments: str = "") -> str:
    """Return a command that works when it is copied: ``python train.py ...`` in a checkout, else ``ucurve train ...``.

    ``arguments`` are quoted for the shell already, as ``"run='runs/*' benchmarks=demo"``.
    """
    return f"{_program(name)} {arguments}".rstrip()


def _program(name: str) -> str:
    """Return the words that start a command."""
    started = sys.argv[0].rpartition(" ")[0]  # ``ucurve.cli.main`` writes ``ucurve train`` there
    if started in (CONSOLE, MODULE):
        return f"{started} {name}"
    if not IN_CHECKOUT or name not in _SCRIPTS:
        return f"{CONSOLE} {name}"
    file = "tokenizers/build.py" if name == "build" else f"{name}.py"
    script = Path(file) if Path.cwd() == ROOT else ROOT / file
    return f"python {shlex.quote(str(script))}"
