"""The documents of a corpus as they are read for its token stream, with what is learned from them on the way.

A stream that is there already is read once on a machine between two of its starts, to know that it is what was written.
"""

import contextlib
import gzip
import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ucurve.storage.files import read_json_or_empty, sha256_json, write_json
from ucurve.storage.locks import file_lock
from ucurve.token_stream.store import is_complete_store
from ucurve.training.corpus.corpus import Corpus
from ucurve.training.corpus.held_out import SetApart
from ucurve.training.corpus.interventions import Interventions
from ucurve.training.corpus.readers import Mark


class Reading:
    """Gives the documents, and afterwards knows the held-out text and the effects of interventions.

    What interventions drop is listed in a file. With marks among the documents, the list is whole on disk at each, and
    a mark has the whole state of reading.
    """

    def __init__(self, corpus: Corpus, dropped: Path) -> None:
        self._corpus = corpus
        self.held_out = corpus.held_out()
        steps = corpus.settings.interventions
        self._list = _DroppedList(dropped) if steps else None
        self.interventions = None if self._list is None else Interventions(steps, self._list.add)

    def __enter__(self) -> "Reading":
        return self

    def __exit__(self, *_: object) -> None:
        if self._list is not None:
            self._list.end_part()

    def documents(self) -> Iterator[str]:
        """Yield all documents."""
        return self._corpus.documents(self.held_out, self.interventions)

    def marked_documents(self, state: Mapping[str, Any] | None) -> Iterator[str]:
        """Yield the documents after the state of a mark."""
        if state is not None and isinstance(self.held_out, SetApart):
            self.held_out.go_on(state["held_out"])
        if state is not None and self.interventions is not None:
            self.interventions.go_on(state["interventions"])
        place = None if state is None else state["place"]
        for document in self._corpus.marked_documents(place, self.held_out, self.interventions):
            yield Mark(json.dumps(self._state(document))) if isinstance(document, Mark) else document

    def _state(self, mark: Mark) -> dict[str, Any]:
        state: dict[str, Any] = {"place": json.loads(mark), "sizes": {}}
        if isinstance(self.held_out, SetApart):
            state["held_out"] = self.held_out.state()
        if self.interventions is not None and self._list is not None:
            state["interventions"] = self.interventions.state()
            state["sizes"] = self._list.end_part()
        return state


class _DroppedList:
    """A compressed file of what is dropped, in parts that each can be read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: gzip.GzipFile | None = None
        if not path.exists():  # else there are parts already
            self._begin_part()

    def _begin_part(self) -> None:
        self._raw = self._path.open("ab")
        # Without name and time in the header, the same text gives the same bytes.
        self._file = gzip.GzipFile(fileobj=self._raw, mode="wb", compresslevel=1, filename="", mtime=0)

    def add(self, step: str, document: int, text: str) -> None:
        """Add what a step dropped of a document."""
        if self._file is None:
            self._begin_part()
        line = {"step": step, "document": document, "text": text}
        assert self._file is not None, "it was begun"
        self._file.write((json.dumps(line, ensure_ascii=False) + "\n").encode())

    def end_part(self) -> dict[str, int]:
        """End what has been written as a part of its own; return the size of the file by its name."""
        if self._file is not None:
            self._file.close()
            self._raw.close()
            self._file = None
        return {self._path.name: self._path.stat().st_size}


_BOOT = Path("/proc/sys/kernel/random/boot_id")  # another number after each start of a machine
_SETTLED_SECONDS = 2.0  # as some file systems count coarsely, a later change could leave the times of a newer file


def is_complete_here(folder: Path, key: str) -> bool:
    """Tell whether a folder holds the stream of ``key``, byte for byte.

    Of the processes of a machine one reads the bytes while the others wait. The files are not read again while their
    sizes and times are the same, until the machine is started again. Other machines read them at the same time.
    """
    if not is_complete_store(folder, key, read_all=False):
        return False
    try:
        record = folder.with_name(f".{folder.name}.read") / f"{_BOOT.read_text().strip()}.json"
        record.parent.mkdir(exist_ok=True)
        lock = file_lock(record.with_suffix(".lock"))
    except OSError:  # another system, or a cache that cannot be written to
        return is_complete_store(folder, key)
    with lock:
        # The time is taken before the files are read, so that a change during the reading counts as new.
        started, found = time.time(), _describe(folder)
        if read_json_or_empty(record).get("files") == found:
            return True
        whole = is_complete_store(folder, key)
        newest = max(file.stat().st_ctime for file in folder.iterdir())
        if whole and started - newest > _SETTLED_SECONDS:
            with contextlib.suppress(OSError):  # a full disk
                write_json(record, {"files": found})
        return whole


def _describe(folder: Path) -> str:
    """Return the hash of the names, sizes and times of change of files."""
    files = sorted((file.name, file.stat()) for file in folder.iterdir())
    return sha256_json([[name, of.st_size, of.st_ino, of.st_mtime_ns, of.st_ctime_ns] for name, of in files])
