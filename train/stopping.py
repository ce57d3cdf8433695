"""SIGTERM and SIGUSR1, with which schedulers announce that a job's time is over: save the state and go.

While a step is taken or a state saved, a signal is only noted. Where work can be dropped at any point, as scoring can,
it ends that work at once. A further signal changes nothing.
"""

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any, Self

from ucurve.progress import say

SIGNALS = (signal.SIGTERM, signal.SIGUSR1)


class Interrupted(SystemExit):
    """Ends the process with 75, EX_TEMPFAIL: nothing is wrong, and the same command goes on with the run.

    It is no ``Exception``, so that a grid does not take the next cell.
    """

    exit_code = 75

    def __init__(self, message: str) -> None:
        super().__init__(self.exit_code)
        self.message = message


class StopSignals:
    """Notes the signals while it is entered; outside the main thread, which alone gets signals, it notes nothing."""

    def __init__(self) -> None:
        self.name: str | None = None
        self._at_once = False
        self._process = os.getpid()
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._note) for number in SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @property
    def requested(self) -> bool:
        """Whether a signal has come."""
        return self.name is not None

    @contextlib.contextmanager
    def at_once(self) -> Iterator[None]:
        """Let a signal end the work inside by raising ``Interrupted``; also one that has come before.

        Raises:
            Interrupted: on a signal.
        """
        self._at_once = True
        try:
            if self.requested:
                raise self.interruption()
            yield
        finally:
            self._at_once = False

    def interruption(self, note: str = "the same command goes on") -> Interrupted:
        """Return the error that says which signal came and what is kept."""
        return Interrupted(f"stopped by {self.name or 'a signal to another process'}: {note}")

    def _note(self, number: int, _: FrameType | None) -> None:
        if os.getpid() != self._process:  # a forked worker, which has nothing to save
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
            return
        first, self.name = not self.requested, signal.Signals(number).name
        if first and self._at_once:
            self._at_once = False
            raise self.interruption()


def announce(error: Interrupted) -> None:
    """Say why the process ends; only the first process of a run says it."""
    say(f"{error.message}; exit code {error.exit_code}")
