"""What was typed and is not saved, kept on disk at every change, with the way back.

A journal is a file of JSON lines, each on the disk before it is answered; however the server ends, reading the lines
again gives what was there. A line that is broken, as the last one may be when the machine stops, is passed over.
"""

import contextlib
import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TypedDict

from ucurve.errors import UcurveError, UserError
from ucurve.storage.files import sync_folder, write_text

_LARGEST = 64 * 1024 * 1024  # bytes of a journal before its oldest changes are forgotten
_KEPT = 20  # changes that are kept then


class Line(TypedDict, total=False):
    """One line of a journal: a beginning with its changes, a change, another file, an undo or a redo."""

    begin: str | None
    changes: list[object]
    add: object
    base: str | None
    undo: bool
    redo: bool


class Journal:
    """The changes of one document by one browser.

    ``base`` is the SHA-256 of the file that the first change was made to, None where there was none. The first
    ``position`` changes hold; those behind were undone. Where each change is the ``whole`` document, the oldest ones
    can be forgotten.
    """

    def __init__(self, path: Path, *, whole: bool) -> None:
        self._path = path
        self._whole = whole
        self._lock = threading.Lock()
        self.base: str | None = None
        self.changes: list[object] = []
        self.position = 0
        for line in self._lines():
            self._follow(line)

    @property
    def current(self) -> list[object]:
        """The changes that hold."""
        return self.changes[: self.position]

    def begin(self, base: str | None, first: list[object]) -> None:
        """Forget all changes and begin with others."""
        self._write({"begin": base, "changes": first})

    def add(self, change: object) -> None:
        """Add a change behind those that hold; what was undone is forgotten."""
        self._write({"add": change})

    def rebase(self, base: str | None) -> None:
        """Say that the file is another one now, to which the same changes belong."""
        self._write({"base": base})

    def undo(self, least: int = 0) -> None:
        """Take the last change back, unless no more than ``least`` hold."""
        if self.position > least:
            self._write({"undo": True})

    def redo(self) -> None:
        """Let the change hold again that was undone last."""
        if self.position < len(self.changes):
            self._write({"redo": True})

    def _write(self, line: Line) -> None:
        """Keep a line, then do what it says; a file that grew too long keeps the last changes alone."""
        with self._lock:
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                _append_line(self._path, _encode(line))
            except OSError as error:
                raise UserError(f"{self._path}: what was typed cannot be kept ({error.strerror})") from error
            self._follow(line)
            if self._whole and self._path.stat().st_size > _LARGEST:
                kept = self.current[-_KEPT:]
                # On a full disk the long file stays, with all that was typed.
                with contextlib.suppress(OSError, UcurveError):
                    write_text(self._path, _encode({"begin": self.base, "changes": kept}).decode())
                    self.changes, self.position = kept, len(kept)

    def _follow(self, line: Line) -> None:
        """Do what a line says, which may come from a file that lacks lines before it."""
        if "begin" in line:
            self.base, self.changes = line["begin"], list(line["changes"])
            self.position = len(self.changes)
        elif "add" in line:
            self.changes = [*self.current, line["add"]]
            self.position = len(self.changes)
        elif "base" in line:
            self.base = line["base"]
        elif "redo" in line:
            self.position = min(self.position + 1, len(self.changes))
        else:
            self.position = max(self.position - 1, 0)

    def _lines(self) -> Iterator[Line]:
        """Read the lines that are whole and as this class writes them."""
        kind = str if self._whole else dict
        for data in self._path.read_bytes().split(b"\n") if self._path.is_file() else ():
            with contextlib.suppress(ValueError, RecursionError):
                match line := json.loads(data.decode()):
                    case {"begin": str() | None, "changes": list(of)} if all(isinstance(one, kind) for one in of):
                        yield line
                    case {"add": change} if isinstance(change, kind):
                        yield line
                    case {"base": str() | None} | {"undo": True} | {"redo": True}:
                        yield line


def _encode(line: Line) -> bytes:
    return (json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n").encode()


def _append_line(path: Path, data: bytes) -> None:
    """Append a line and flush it to the disk.

    What a killed server left unfinished is ended first, and what does not fit onto the disk is cut off again: else the
    next line would be a part of a broken one.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    # Without a buffer, what was written is what the system has taken.
    with os.fdopen(descriptor, "a+b", buffering=0) as file:
        before = os.fstat(file.fileno()).st_size
        try:
            ends_line = before == 0 or os.pread(file.fileno(), 1, before - 1) == b"\n"
            left = memoryview(data if ends_line else b"\n" + data)
            while left:  # the system may take a part of them at a time
                left = left[file.write(left) :]
            os.fsync(file.fileno())
            if before == 0:
                sync_folder(path.parent)
        except OSError:
            os.ftruncate(file.fileno(), before)
            raise
