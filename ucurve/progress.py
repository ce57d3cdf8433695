"""Progress of long work: a bar on a terminal, plain lines elsewhere."""

import contextlib
import errno
import os
import sys
import time
from collections.abc import Iterator
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

_SECONDS_BETWEEN_LINES = 10.0
_console = Console(stderr=True)


class ProgressBar:
    """Counts finished units of one piece of work and shows them on standard error; use as a context manager."""

    def __init__(self, title: str, total: int, done: int = 0) -> None:
        self._title, self._total, self._done = title, total, done
        self._last_line = time.monotonic()
        self._bar: Progress | None = None

    def __enter__(self) -> Self:
        if _console.is_terminal:
            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
            self._bar = Progress(*columns, TextColumn("{task.fields[note]}"), console=_console)
            self._bar.add_task(self._title, total=self._total, completed=self._done, note="")
            with _while_terminal_is_there():
                self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            with _while_terminal_is_there():
                self._bar.stop()

    def advance(self, units: int = 1, note: str = "") -> None:
        """Count ``units`` more as finished."""
        self._done += units
        if self._bar is not None:
            with _while_terminal_is_there():
                self._bar.update(self._bar.task_ids[0], completed=self._done, note=note)
            return
        now = time.monotonic()
        if self._done >= self._total or now - self._last_line >= _SECONDS_BETWEEN_LINES:
            self._last_line = now
            log_line(f"{self._title}: {self._done}/{self._total} {note}".rstrip())


def log_line(text: str) -> None:
    """Write one plain line to standard error, above a progress bar when one is shown."""
    with _while_terminal_is_there():
        if _console.is_terminal:
            _console.print(text, markup=False, highlight=False)
        else:
            sys.stderr.write(text + "\n")
            sys.stderr.flush()


def leave_lost_terminal() -> None:
    """Discard what is still written to a terminal that is gone, so that it does not end the work as an error."""
    for stream in (1, 2):
        try:
            os.write(stream, b"")
        except OSError as error:
            if error.errno == errno.EIO:
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, stream)
                os.close(nowhere)


@contextlib.contextmanager
def _while_terminal_is_there() -> Iterator[None]:
    """Ignore that a terminal is gone: SIGHUP, which comes with it, decides what becomes of the work."""
    try:
        yield
    except OSError as error:
        if error.errno != errno.EIO:
            raise
        leave_lost_terminal()
