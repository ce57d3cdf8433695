"""Documents that are one text: a template, or the phrases. Each browser has a draft of its own."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict

from ucurve.errors import UserError
from workbench.replies import ConflictError
from workbench.write.journal import Journal
from workbench.write.projects import Project, check_name, read_saved, save, sha256_text

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


def _as_it_is(text: str) -> str:
    return text


@dataclass(frozen=True)
class Document:
    """A file of a project, and how its content is written on the page."""

    project: Project
    file: Path
    shown: Callable[[str], str] = _as_it_is  # from the content of the file to the text of the page
    stored: Callable[[str], str] = _as_it_is  # from the text of the page to the content of the file

    def read(self) -> tuple[str, str | None]:
        """Read the file: the text of the page, and the SHA-256 of the file."""
        content, sha256 = read_saved(self.file)
        return self.shown(content), sha256

    def save(self, text: str, base: str | None) -> str:
        """Write the file (``projects.save``); in a conflict both versions are texts of the page."""
        try:
            return save(self.project, self.file, self.stored(text), base)
        except ConflictError as error:
            both = {name: self.shown(str(error.details[name])) for name in ("theirs", "mine")}
            raise ConflictError(str(error), {**error.details, **both}) from error


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


class Draft:
    """A document in one browser: what the file holds, and what was typed since."""

    def __init__(self, drafts: Drafts, document: Document, browser: str) -> None:
        self._document = document
        self._journal = drafts.journal(document.project, document.file, browser)

    def open(self) -> TextState:
        """Return the document as this browser left it."""
        journal, (on_disk, sha256) = self._journal, self._document.read()
        if journal.position and journal.current[-1] != on_disk:
            return self._state(str(journal.current[-1]), saved=False, changed=sha256 != journal.base)
        if journal.base != sha256 and journal.position:
            journal.rebase(sha256)
        return self._state(on_disk, saved=True, changed=False, base=sha256)

    def type(self, text: str, base: str | None) -> TextState:
        """Keep what was typed into the page of a file with the SHA-256 ``base``."""
        if len(text) > LARGEST:
            raise UserError(f"{self._document.file.name}: {len(text):,} characters; at most {LARGEST:,} are taken")
        journal, (on_disk, sha256) = self._journal, self._document.read()
        if not journal.position:
            journal.begin(base, [on_disk])
        if journal.current[-1] != text:
            journal.add(text)
        return self._state(text, saved=text == on_disk, changed=sha256 != journal.base)

    def step(self, *, back: bool) -> TextState:
        """Undo the last change, or redo the one that was undone last."""
        journal = self._journal
        if back:
            journal.undo(least=1)
        else:
            journal.redo()
        on_disk, sha256 = self._document.read()
        text = str(journal.current[-1]) if journal.position else on_disk
        return self._state(text, saved=text == on_disk, changed=journal.position > 0 and sha256 != journal.base)

    def save(self, text: str, base: str | None) -> TextState:
        """Write the document to its file if that is still ``base``; else a ConflictError has both versions."""
        self.type(text, base)
        self._journal.rebase(self._document.save(text, base))
        return self._state(text, saved=True, changed=False)

    def take_theirs(self) -> TextState:
        """Take what the file holds in place of the draft, which undo brings back."""
        on_disk, sha256 = self._document.read()
        if self._journal.position and self._journal.current[-1] != on_disk:
            self._journal.add(on_disk)
        self._journal.rebase(sha256)
        return self._state(on_disk, saved=True, changed=False, base=sha256)

    def _state(self, text: str, *, saved: bool, changed: bool, base: str | None = None) -> TextState:
        journal = self._journal
        return {
            "text": text, "sha256": sha256_text(text), "base": journal.base if base is None else base, "saved": saved,
            "changed_on_disk": changed, "can_undo": journal.position > 1,
            "can_redo": journal.position < len(journal.changes),
        }  # fmt: skip
