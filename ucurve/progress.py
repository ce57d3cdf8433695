"""Progress of long work: a bar on a terminal, plain lines elsewhere."""

import contextlib
import errno
import os
import sys
import time
from collections.abc import Iterator
from typing import Self, TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.text import Text

from ucurve.fields import format_seconds

_SECONDS_BETWEEN_LINES = 20.0  # sooner, the rate says too little of the time left
_SHARE_BETWEEN_LINES = 0.2  # of the time so far, where that is more: long work has few lines
_console = Console(stderr=True)


class ProgressBar:
    """Counts finished units of one piece of work and shows them on standard error; use as a context manager.

    A ``transient`` bar leaves nothing on the terminal.
    """

    def __init__(self, title: str, total: int, done: int = 0, transient: bool = False) -> None:
        self._title, self._total, self._done, self._transient = title, total, done, transient
        self._begun = self._last_line = time.monotonic()
        self._done_before = done
        self._bar: Progress | None = None

    def __enter__(self) -> Self:
        if _console.is_terminal:
            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
            note = TextColumn("{task.fields[note]}")
            self._bar = Progress(*columns, note, console=_console, transient=self._transient)
            self._bar.add_task(self._title, total=self._total, completed=self._done, note="")
            with _while_terminal_is_there():
                self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            with _while_terminal_is_there():
                self._bar.stop()

    def advance(self, units: int = 1, note: str = "", seconds_left: float | None = None) -> None:
        """Count ``units`` more as finished; without ``seconds_left`` the rest is expected to go on as it did so far."""
        self._done += units
        now, done = time.monotonic(), self._done - self._done_before
        notes = [note] if note else []
        # Nothing is told before a unit is done, as when a batch was too large.
        if done > 0 and self._done != self._total:
            by_rate = (now - self._begun) / done * (self._total - self._done)
            notes.append(f"about {format_seconds(by_rate if seconds_left is None else seconds_left)} left")
        told = ", ".join(notes)
        if self._bar is not None:
            with _while_terminal_is_there():
                self._bar.update(self._bar.task_ids[0], completed=self._done, note=told)
            return
        if now - self._last_line >= max(_SECONDS_BETWEEN_LINES, _SHARE_BETWEEN_LINES * (now - self._begun)):
            self._last_line = now  # what is done sooner needs no lines
            log_line(f"{self._title}: {self._done}/{self._total} {told}")


def log_line(text: str) -> None:
    """Write one plain line to standard error, above a progress bar when one is shown; of a notebook, as plain text."""
    with _while_terminal_is_there():
        if _console.is_terminal:
            _console.print(text, markup=False, highlight=False)
        else:
            stream = sys.stdout if in_notebook() else sys.stderr  # which a notebook shows as a fault
            stream.write(text + "\n")
            stream.flush()


def print_line(text: Text) -> None:
    """Write one line of results to standard output, above a progress bar when one is shown; in color on a terminal."""
    with _while_terminal_is_there():
        if standard_output().isatty():  # where a bar is on the same terminal, its console puts the line above it
            (_console if _console.is_terminal else Console()).print(text, soft_wrap=True)
        else:
            sys.stdout.write(text.plain + "\n")
            sys.stdout.flush()


def standard_output() -> TextIO:
    """Return standard output itself, also while a progress bar has put something of its own in the place."""
    stream: TextIO = getattr(sys.stdout, "rich_proxied_file", sys.stdout)
    return stream


def in_notebook() -> bool:
    """Tell whether this process is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


def notebook_cell() -> int | None:
    """Return the number of the notebook's cell that is executed; None outside a notebook."""
    return int(sys.modules["IPython"].get_ipython().execution_count) if in_notebook() else None


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
    except BrokenPipeError:  # who reads the results has seen enough, as ``head``; the work goes on
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    except OSError as error:
        if error.errno != errno.EIO:
            raise
        leave_lost_terminal()
