"""What the beginning of a corpus tells of it before all of it is read: its characters, and how many there are."""

import contextlib
import functools
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ucurve.errors import UserError
from ucurve.training.corpus.corpus import Corpus
from ucurve.training.corpus.readers import read_documents
from ucurve.training.corpus.settings import CorpusSettings
from ucurve.training.tokenizer.characters import Survey, survey

_READ = 2**22  # bytes of the files, as they lie on disk


@dataclass(frozen=True)
class Beginning:
    """A survey of the lines with which a corpus begins, or of all documents; the corpus is ``scale`` times as long."""

    found: Survey
    scale: float

    @property
    def most_tokens(self) -> int:
        """The tokens of the corpus at most: one for each character, and one for each document or end of line."""
        return round((self.found.characters + self.found.documents) * self.scale)

    def describe(self) -> str:
        """Say how much text there is, and where the number is from."""
        if self.scale == 1:
            return f"{self.found.characters:,} characters"
        rounded = f"{float(f'{self.found.characters * self.scale:.3g}'):,.0f}"
        return f"about {rounded} characters (estimated from {self.read} and their sizes)"

    @property
    def read(self) -> str:
        """What was read, in words."""
        return "all of the text" if self.scale == 1 else "the first 4 MB of its files"


@functools.cache
def survey_beginning(settings: CorpusSettings) -> Beginning | None:
    """Survey the demo's text or the first 4 MB of a corpus of files, before interventions; None where that fails.

    Nothing is fetched of the hub, and of a larger Parquet file or array of JSON the beginning alone cannot be read.
    """
    if settings.kind not in ("demo", "text") or not settings.has_text:
        return None
    corpus = Corpus(settings).plain
    with contextlib.suppress(UserError, OSError):  # whoever reads the whole text says what is wrong with it
        size = sum(file.stat().st_size for file in corpus.files)
        found = survey(
            corpus.documents() if size <= _READ else _first_lines(corpus.files, settings.text_field), 0
        )
        if found.characters:
            return Beginning(found, max(size / _READ, 1.0))
    return None


def _first_lines(files: Sequence[Path], text_field: str) -> Iterator[str]:
    """Yield the lines of copies of the files that end after so many bytes together."""
    left = _READ
    with tempfile.TemporaryDirectory() as folder:
        for file in files:
            if not left:
                return
            copy = Path(folder) / file.name
            with file.open("rb") as whole:
                copy.write_bytes(whole.read(left))
            left -= copy.stat().st_size
            with contextlib.suppress(UserError):  # of the line at which the copy ends
                yield from read_documents(copy, "line", text_field)
