"""Documents that are one text: a template, or the phrases. Each browser has a draft of its own."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict

from ucurve.errors import UserError
from ucurve.workbench.replies import ConflictError
from ucurve.workbench.write.journal import Journal
from ucurve.workbench.write.projects import Project, check_name, read_saved, save, sha256_text

LARGEST = 2 * 1024 * 1024  # characters of a template or of phrases


class TextState(TypedDict):
    """A document as a browser left it."""

    text: str
    sha256: str
    base: str | None  # the SHA-256 of the file it was made from
    saved: bool  # whether it is what the file holds
    changed_on_disk: bool  # whether the file is another one than ``base``
    can_undo: bool
    can_redo: bool


@dataclass
class Drafts:
    """The drafts of all browsers, opened once."""

    _journals: dict[Path, Journal] = field(default_factory=dict, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def journal(self, project: Project, file: Path, browser: str) -> Journal:
        """Return the journal of a document in a browser, which gave itself a name."""
        path = project.drafts / check_name("browser", browser) / f"{file.name}.jsonl"
        with self._lock:
            if path not in self._journals:
                self._journals[path] = Journal(path, whole=file != project.vocabulary)
            return self._journals[path]


@dataclass(frozen=True)
class Draft:
    """A document in one browser: what the file holds, and what was typed since."""

    project: Project
    file: Path
    journal: Journal
    shown: Callable[[str], str] = str  # from the content of the file to the text of the page
    stored: Callable[[str], str] = str  # from the text of the page to the content of the file

    def open(self) -> TextState:
        """Return the document as this browser left it."""
        return self._state(self._text())

    def type(self, text: str, base: str | None) -> TextState:
        """Keep what was typed into the page of a file with the SHA-256 ``base``."""
        if len(text) > LARGEST:
            raise UserError(f"{self.file.name}: {len(text):,} characters; at most {LARGEST:,} are taken")
        # The first change is what the file holds, to which undo leads back.
        if not self.journal.position:
            self.journal.begin(base, [self._on_disk()[0]])
        if self._text() != text:
            self.journal.add(text)
        return self._state(text)

    def step(self, *, back: bool) -> TextState:
        """Undo the last change, or redo the one that was undone last."""
        if back:
            self.journal.undo(least=1)
        else:
            self.journal.redo()
        return self.open()

    def save(self, text: str, base: str | None) -> TextState:
        """Write the document to its file if that is still ``base``; else a ConflictError has both versions."""
        self.type(text, base)
        try:
            save(self.project, self.file, self.stored(text), base)
        except ConflictError as error:
            both = {name: self.shown(str(error.details[name])) for name in ("theirs", "mine")}
            raise ConflictError(str(error), {**error.details, **both}) from error
        return self.take_theirs()

    def take_theirs(self) -> TextState:
        """Take what the file holds in place of the draft, which undo brings back."""
        on_disk, _ = self._on_disk()
        if self._text() != on_disk:
            self.journal.add(on_disk)
        return self._state(on_disk)

    def _on_disk(self) -> tuple[str, str | None]:
        """Read the file: the text of the page, and the SHA-256 of the file."""
        content, sha256 = read_saved(self.file)
        return self.shown(content), sha256

    def _text(self) -> str:
        return str(self.journal.current[-1]) if self.journal.position else self._on_disk()[0]

    def _state(self, text: str) -> TextState:
        """Compare a text with the file; where they are equal, the changes belong to this file from now on."""
        journal, (on_disk, sha256) = self.journal, self._on_disk()
        saved = text == on_disk
        if saved and journal.position and journal.base != sha256:
            journal.rebase(sha256)
        base = sha256 if saved else journal.base
        return {
            "text": text, "sha256": sha256_text(text), "base": base, "saved": saved,
            "changed_on_disk": sha256 != base, "can_undo": journal.position > 1,
            "can_redo": journal.position < len(journal.changes),
        }  # fmt: skip
