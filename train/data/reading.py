"""The documents of a corpus as they are read for its token stream, with what is learned from them on the way."""

import gzip
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

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
            if not isinstance(document, Mark):
                yield document
                continue
            reached: dict[str, Any] = {"place": json.loads(document), "sizes": {}}
            if isinstance(self.held_out, SetApart):
                reached["held_out"] = self.held_out.state()
            if self.interventions is not None and self._list is not None:
                reached["interventions"] = self.interventions.state()
                reached["sizes"] = self._list.end_part()
            yield Mark(json.dumps(reached))


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
