"""A corpus: the files or data set it consists of, its documents in order, and a fingerprint of its content."""

import contextlib
import functools
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ucurve.errors import UserError
from ucurve.huggingface.pretrained import stream_rows
from ucurve.huggingface.revisions import pin_commit
from ucurve.progress import log_line
from ucurve.storage.files import sha256_file, sha256_json
from ucurve.token_stream.joining import describe_joining
from ucurve.training.corpus.files import hash_file
from ucurve.training.corpus.held_out import DEFAULT_SHARE, HeldOut, OtherText, SetApart
from ucurve.training.corpus.interventions import Interventions
from ucurve.training.corpus.readers import Mark, field_text, read_documents, split_record
from ucurve.training.corpus.selection import Selection, find_validation_files, relative_names, select_files
from ucurve.training.corpus.settings import CorpusSettings

_FORMAT = 1  # raised when the same files would give other documents
_SEGMENT_CHARACTERS = 2**27  # of a stream of the hub between two marks; minutes of one core that encodes them


@dataclass(frozen=True)
class Corpus:
    """The documents that settings name."""

    settings: CorpusSettings

    @property
    def parts(self) -> tuple["Corpus", ...]:
        """The corpora that one of several consists of."""
        return tuple(Corpus(part.data) for part in self.settings.parts)

    def check_files(self) -> None:
        """Check that there are files where some are named, without reading them.

        Raises:
            UserError: naming the path or the part.
        """
        _ = self.files  # the property looks for them
        for part in self.settings.parts:
            try:
                Corpus(part.data).check_files()
            except UserError as error:
                raise UserError(f"data.parts, {part.name}: {error}") from error

    @functools.cached_property
    def files(self) -> tuple[Path, ...]:
        """The files of a ``text`` corpus, absolute, in the order they are read; other kinds have no files."""
        return self._selection.files

    @functools.cached_property
    def _selection(self) -> Selection:
        if self.settings.kind != "text":
            return Selection()
        if not self.settings.paths:
            raise UserError("data.path: no value given; data=text needs data.path=FILE, FOLDER or GLOB")
        return select_files(self.settings.paths, self.settings.exclude)

    @functools.cached_property
    def validation_files(self) -> tuple[Path, ...]:
        """The files of held-out text, absolute, of a ``text`` corpus whose ``holdout`` is not a number."""
        if self.settings.kind != "text" or self.settings.holdout is not None:
            return ()
        return tuple(find_validation_files(self.settings.paths, self.files))

    @property
    def share(self) -> float:
        """The share of documents that is set apart from the training text."""
        settings = self.settings
        if settings.holdout is None:
            return 0.0 if self.validation_files else DEFAULT_SHARE
        return settings.holdout

    def held_out(self) -> HeldOut | None:
        """Return the held-out text, if there is any; it is known once the documents have gone through it."""
        if self.settings.kind == "demo":
            from ucurve.templates.demo import held_out_text

            return OtherText("further sentences of the grammar", lambda: held_out_text(_demo_records()))
        if self.validation_files:
            return OtherText(
                ", ".join(file.name for file in self.validation_files), lambda: self._read(self.validation_files)
            )
        return SetApart(self.share) if self.share else None

    def say_notes(self) -> None:
        """Log which files of the paths are left out for what they are, or are doubtful."""
        for note in self._selection.notes:
            log_line(note)
        for part in self.parts:
            part.say_notes()

    @property
    def plain(self) -> "Corpus":
        """The corpus without its interventions."""
        parts = tuple(replace(part, data=Corpus(part.data).plain.settings) for part in self.settings.parts)
        return Corpus(replace(self.settings, interventions=(), parts=parts))

    def documents(
        self, held_out: HeldOut | None = None, interventions: Interventions | None = None
    ) -> Iterator[str]:
        """Yield the documents to train on, as ``read_documents`` does, after the interventions; of parts, one by one.

        What ``held_out`` returned sees the documents before the interventions. These are those of the settings unless
        they are given, and they count what they change.

        Raises:
            UserError: when no document is left to train on.
        """
        settings = self.settings
        if self.parts:
            for part in self.parts:
                yield from part.documents()
            return
        # Text that is set apart is never trained on, also where nobody asks for it.
        if held_out is None and self.share:
            held_out = SetApart(self.share)
        if interventions is None and settings.interventions:
            interventions = Interventions(settings.interventions)
        texts = self._read(self.files)
        if settings.kind != "text":
            records = _demo_records() if settings.kind == "demo" else _HubStream(settings)
            texts = (document for record in records for document in split_record(record, settings.unit))
        documents = _change(texts, held_out, interventions)
        # A corpus without a document is an error, and not an empty stream.
        first = next(documents, None)
        if first is None:
            raise self.without_text()
        yield first
        yield from documents

    def marked_documents(
        self, place: Mapping[str, Any] | None, held_out: HeldOut | None, interventions: Interventions | None
    ) -> Iterator[str]:
        """Yield the documents of a data set of the hub after a place in it, and marks with the place, one at the end.

        The other arguments are as for ``documents``.
        """
        stream = _HubStream(self.settings, place)
        records = iter(stream)
        while (first := next(records, None)) is not None:
            segment = itertools.chain([first], _take(records, _SEGMENT_CHARACTERS - len(first)))
            documents = itertools.chain.from_iterable(split_record(text, self.settings.unit) for text in segment)
            yield from _change(documents, held_out, interventions)
            yield Mark(json.dumps(stream.place()))

    def without_text(self) -> UserError:
        """Return the error for a corpus of which no document is left to train on."""
        settings = self.settings
        place = settings.dataset or ", ".join(settings.paths) or settings.kind
        apart = f" that data.holdout={self.share:g} does not set apart" if self.share else ""
        left = " after data.interventions" if settings.interventions else ""
        return UserError(f"the corpus {settings.run_name!r} has no document with text{left}{apart}: {place}")

    def fingerprint(self) -> str:
        """Return a hex SHA-256 of the files or of the dataset, of how documents are cut, set apart and changed.

        For the demo the files are its grammar and its engine; of a dataset of the hub its id, subset, split, limit and
        commit are hashed. A local dataset folder has no commit: its path stands for its content.
        """
        settings = self.settings
        if settings.joining is not None:
            return sha256_json([describe_joining(settings.joining), *(part.fingerprint() for part in self.parts)])
        parts = [_FORMAT, settings.kind, settings.unit, settings.text_field, self._content, self.share]
        return sha256_json(parts + [step.content() for step in settings.interventions])

    def held_out_content(self) -> list[object]:
        """Identify the held-out text that ``fingerprint`` does not; empty where there is none."""
        if self.settings.kind == "demo":
            return ["demo"]
        names = relative_names(self.validation_files) if self.validation_files else {}
        return [[names[file], _sha256(file)] for file in self.validation_files]

    @functools.cached_property
    def _content(self) -> object:
        """What the documents are read from: files with their hashes, the place in the hub, or the demo's sources."""
        settings = self.settings
        if settings.kind == "text":
            names = relative_names(self.files)
            return [[names[file], _sha256(file)] for file in self.files]
        if settings.kind == "hub":
            # Of a local folder only the path is hashed.
            commit = [] if settings.commit is None else [settings.commit]
            return [settings.dataset, settings.subset, settings.split, settings.max_documents, *commit]
        from ucurve.templates import demo

        files = sorted(Path(demo.__file__).parent.rglob("*"))
        # Python writes its bytecode beside the files, another one in each version.
        return [sha256_file(file) for file in files if file.is_file() and file.suffix != ".pyc"]

    def _read(self, files: Sequence[Path]) -> Iterator[str]:
        for file in files:
            yield from read_documents(file, self.settings.unit, self.settings.text_field)


def _sha256(file: Path) -> str:
    try:
        return hash_file(file)
    except OSError as error:
        raise UserError(f"{file}: cannot be read ({error.strerror})") from error


@functools.cache
def _demo_records() -> tuple[str, ...]:
    """Generate the demo's text, a few megabytes, which takes seconds."""
    from ucurve.templates.demo import training_text

    return tuple(training_text())


class _HubStream:
    """The records of a data set of the hub, after a place in it."""

    def __init__(self, settings: CorpusSettings, place: Mapping[str, Any] | None = None) -> None:
        self._settings = settings
        self._records = 0 if place is None else place["records"]
        with self._naming_errors():
            self._rows = stream_rows(
                str(settings.dataset), settings.subset, settings.split, settings.commit or settings.revision
            )
            if place is not None:
                self._rows.load_state_dict(place["rows"])

    def place(self) -> dict[str, Any]:
        """Return the place after the last record, for JSON."""
        return {"records": self._records, "rows": self._rows.state_dict()}

    def __iter__(self) -> Iterator[str]:
        settings = self._settings
        with self._naming_errors():
            most = settings.max_documents
            for row in itertools.islice(self._rows, None if most is None else most - self._records):
                self._records += 1
                yield field_text(row, settings.text_field, f"{settings.dataset}: record {self._records}")

    @contextlib.contextmanager
    def _naming_errors(self) -> Iterator[None]:
        """Turn what the library raises into a ``UserError`` that names the data set."""
        try:
            yield
        except UserError:
            raise
        except Exception as error:  # the library and its transports raise errors of many unrelated classes
            settings, what = self._settings, " ".join(str(error).split())
            raise UserError(
                f"data.dataset={settings.dataset} (subset {settings.subset}, split {settings.split}) cannot be read: "
                f"{what}"
            ) from error


def _take(records: Iterator[str], characters: int) -> Iterator[str]:
    """Yield records until they have so many characters."""
    while characters > 0 and (record := next(records, None)) is not None:
        yield record
        characters -= len(record)


def _change(
    documents: Iterator[str], held_out: HeldOut | None, interventions: Interventions | None
) -> Iterator[str]:
    """Yield the documents that are not set apart, after the interventions."""
    if held_out is not None:
        documents = held_out.watch(documents)
    return documents if interventions is None else interventions.apply(documents)


def pin_corpus(settings: CorpusSettings, online: bool = True) -> CorpusSettings:
    """Find the commits of datasets of the hub; offline, one that its cache does not know stays None.

    Raises:
        UserError: when neither the hub nor its cache knows the dataset or the revision.
    """
    if settings.parts:
        parts = tuple(replace(part, data=pin_corpus(part.data, online)) for part in settings.parts)
        return replace(settings, parts=parts)
    if settings.dataset is None:
        return settings
    if Path(settings.dataset).exists():
        if settings.revision is not None:
            raise UserError(
                f"data.revision is for datasets of the hub; data.dataset={settings.dataset} is a folder here"
            )
        return settings
    commit = pin_commit("data.dataset", settings.dataset, "dataset", settings.revision, online=online)
    return replace(settings, commit=commit)


def recall_commits(settings: CorpusSettings, before: Mapping[str, Any]) -> CorpusSettings:
    """Return the settings with the commits that the configuration of the same corpus had before."""
    parts = tuple(
        replace(part, data=recall_commits(part.data, was["data"]))
        for part, was in zip(settings.parts, before.get("parts") or (), strict=False)
    )
    return replace(settings, commit=before.get("commit"), parts=parts or settings.parts)
