"""Handles Ctrl-C, SIGTERM and SIGUSR1 (from schedulers) and SIGHUP (a terminal ends): the state is saved first.

During a step or while a state is saved a signal is only noted; work that can stop at any point ends at once. A second
Ctrl-C ends the process immediately.
"""

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from types import FrameType
from typing import Self

from ucurve.errors import INTERRUPTED
from ucurve.progress import leave_lost_terminal

SIGNALS = (signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP, signal.SIGINT)
REQUEUE = 75  # EX_TEMPFAIL: a job script starts the same command again
_LEFT_IGNORED = (signal.SIGINT, signal.SIGHUP)  # in the background Ctrl-C is for others; nohup ignores SIGHUP
_NAMES = {signal.SIGINT: "Ctrl-C"}
_NOTICE = b"Ctrl-C: the step in hand ends and the state is saved; Ctrl-C again ends at once and saves nothing\n"

Handler = Callable[[int, FrameType | None], object] | int | signal.Handlers | None


def handle_signals(
    numbers: Iterable[signal.Signals], handler: Callable[[int, FrameType | None], None]
) -> dict[signal.Signals, Handler]:
    """Handle signals, except Ctrl-C and SIGHUP where they were ignored at the start; return the handlers before."""
    before = {number: signal.getsignal(number) for number in numbers}
    changed = {
        number: known
        for number, known in before.items()
        if not (number in _LEFT_IGNORED and known == signal.SIG_IGN)
    }
    for number in changed:
        signal.signal(number, handler)
    return changed


class Interrupted(SystemExit):
    """Ends the process; the same command continues the run.

    The exit code is 75 after the signals of a scheduler, so that the job is requeued, and 130 after Ctrl-C. It is not
    an ``Exception``, so that a grid does not start the next cell.
    """

    def __init__(self, message: str, exit_code: int = REQUEUE) -> None:
        super().__init__(message, exit_code)  # what another process makes it from
        self.message, self.code, self.exit_code = message, exit_code, exit_code


class StopSignals:
    """Notes signals while it is entered, in the main thread, the only one that receives them."""

    def __init__(self, launched: bool = False) -> None:
        self.name: str | None = None
        # A launcher repeats the Ctrl-C of the terminal: a second one then does not mean to end at once.
        self._launched = launched
        self._at_once: str | None = None
        self._process = os.getpid()
        self._before: dict[signal.Signals, Handler] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = handle_signals(SIGNALS, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @property
    def requested(self) -> bool:
        """Whether a signal has come."""
        return self.name is not None

    @property
    def by_hand(self) -> bool:
        """Whether the signal was Ctrl-C."""
        return self.name == _NAMES[signal.SIGINT]

    @contextlib.contextmanager
    def at_once(self, note: str = "the same command goes on") -> Iterator[None]:
        """Raise ``Interrupted`` inside on a signal, also on an earlier one; the message notes what is kept."""
        self._at_once = note
        try:
            if self.requested:
                raise self.interruption(note)
            yield
        finally:
            self._at_once = None

    def interruption(self, note: str, by_hand: bool = False) -> Interrupted:
        """Return the error that names the signal and what is kept; ``by_hand`` if another process received Ctrl-C."""
        code = INTERRUPTED if by_hand or self.by_hand else REQUEUE
        return Interrupted(f"stopped by {self.name or 'a signal to another process'}: {note}", code)

    def _note(self, number: int, _: FrameType | None) -> None:
        """Note the first signal; raise ``Interrupted`` at once where no step is being taken."""
        if os.getpid() != self._process:  # a forked worker, which has nothing to save
            signal.signal(number, signal.SIG_DFL)
            # The worker ends as by a signal that nobody handles, so that whoever waits for it sees the signal.
            os.kill(os.getpid(), number)
            return
        if number == signal.SIGHUP:
            leave_lost_terminal()
        if number == signal.SIGINT and not self._launched:
            # The next one ends the process, also where Python waits for others.
            signal.signal(number, signal.SIG_DFL)
        if self.requested:
            return
        self.name = _NAMES.get(signal.Signals(number), signal.Signals(number).name)
        note, self._at_once = self._at_once, None
        if note is not None:
            raise self.interruption(note)
        if self.by_hand and not self._launched:
            os.write(2, _NOTICE)  # a handler may come in the middle of a write to sys.stderr
