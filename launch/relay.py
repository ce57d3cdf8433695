"""Starts a launcher, such as torchrun, passes signals to its workers and preserves exit code 75.

``python -m launch.relay torchrun ...``: SIGTERM, SIGUSR1 and SIGHUP go as SIGUSR1 to the processes below that handle
it, which save their state and exit. The launcher itself would answer with its own time limit and exit code.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from ucurve.errors import INTERRUPTED
from ucurve.training.engine.signals import REQUEUE, handle_signals


def relay(command: Sequence[str]) -> int:
    """Run a launcher and return its exit code, or 75 if it failed after a signal was passed on.

    A command that fails after Ctrl-C, which a terminal sends to it as well, gives 130.
    """
    signalled: list[int] = []
    # The launcher inherits this and so outlives a SIGUSR1 that a scheduler sends to all processes at once.
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    process = subprocess.Popen(command)

    def pass_on(number: int, _: FrameType | None) -> None:
        signalled.append(number)
        for worker in _find_handlers(process.pid):
            os.kill(worker, signal.SIGUSR1)

    interrupted: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: interrupted.append(number))
    handle_signals((signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP), pass_on)
    code = process.wait()
    if code and (interrupted or signalled):
        return INTERRUPTED if interrupted else REQUEUE
    # A command that a signal killed ends as in a shell: with 128 and the signal's number.
    return code if code >= 0 else 128 - code


def _find_handlers(process: int) -> list[int]:
    """Return the descendants of a process that have a handler for SIGUSR1."""
    found: list[int] = []
    for child in _children(process):
        found += [child] if _handles_usr1(child) else _find_handlers(child)
    return found


def _children(process: int) -> list[int]:
    """Return the processes that the threads of a process have started."""
    try:
        lists = [path.read_text() for path in Path(f"/proc/{process}/task").glob("*/children")]
    except OSError:  # it has just ended
        return []
    return [int(child) for text in lists for child in text.split()]


def _handles_usr1(process: int) -> bool:
    """Tell whether a process has a handler for SIGUSR1; one that has just ended has none."""
    try:
        status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    except OSError:
        return False
    # ``SigCgt`` has a bit for each signal that the process catches; see proc(5).
    mask = next((line.split()[1] for line in status.splitlines() if line.startswith("SigCgt:")), "0")
    return bool(int(mask, 16) >> (signal.SIGUSR1 - 1) & 1)


if __name__ == "__main__":
    sys.exit(relay(sys.argv[1:]))
