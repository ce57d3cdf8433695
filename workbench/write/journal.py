"""What was typed and is not saved, kept on disk at every change, with the way back.

A journal is a file of JSON lines. Each line is a change, an undo, a redo or a new beginning, and is on the disk before
it is answered; whatever ends the server, reading the lines again gives what was there.
"""

import json
import os
import threading
from pathlib import Path
from typing import Any

from ucurve.errors import UserError
from ucurve.storage.files import write_text

_LARGEST = 64 * 1024 * 1024  # bytes of a journal before its oldest changes are forgotten
_KEPT = 20  # changes that are kept then


class Journal:
    """The changes of one document by one browser.

    Args:
        whole: whether each change is the whole document, so that the oldest ones can be forgotten.

    Attributes:
        base: the SHA-256 of the file that the first change was made to; None where there was none.
        changes: JSON values in their order.
        position: how many of them hold; those behind it were undone.
    """

    def __init__(self, path: Path, *, whole: bool) -> None:
        self._path = path
        self._whole = whole
        self._lock = threading.Lock()
        self.base: str | None = None
        self.changes: list[Any] = []
        self.position = 0
        for line in self._lines():
            self._follow(line)

    @property
    def current(self) -> list[Any]:
        """The changes that hold."""
        return self.changes[: self.position]

    def begin(self, base: str | None, first: list[Any]) -> None:
        """Forget all changes and begin with others."""
        self._write({"begin": base, "changes": first})

    def add(self, change: Any) -> None:
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

    def _write(self, line: dict[str, Any]) -> None:
        data = (json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n").encode()
        with self._lock:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                with os.fdopen(descriptor, "ab") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
            except OSError as error:
                raise UserError(f"{self._path}: what was typed cannot be kept ({error.strerror})") from error
            self._follow(line)
            if self._whole and self._path.stat().st_size > _LARGEST:
                self._shorten()

    def _shorten(self) -> None:
        """Write the last changes anew, in place of all lines."""
        self.changes = self.current[-_KEPT:]
        self.position = len(self.changes)
        line = {"begin": self.base, "changes": self.changes}
        write_text(self._path, json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")

    def _follow(self, line: dict[str, Any]) -> None:
        if "begin" in line:
            self.base, self.changes = line["begin"], list(line["changes"])
            self.position = len(self.changes)
        elif "add" in line:
            self.changes = [*self.current, line["add"]]
            self.position = len(self.changes)
        elif "base" in line:
            self.base = line["base"]
        else:
            self.position += 1 if "redo" in line else -1

    def _lines(self) -> list[dict[str, Any]]:
        """Read the lines; the last one may have been cut off when the machine stopped."""
        if not self._path.is_file():
            return []
        lines = []
        for line in self._path.read_bytes().splitlines():
            try:
                lines.append(json.loads(line))
            except ValueError:
                break
        return lines
