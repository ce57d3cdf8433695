"""JSON files that hold a digest of themselves and are exactly the text that is written, so that any change is found."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ucurve.errors import DamagedError
from ucurve.storage.files import canonical_json, readable_json, sha256_json, write_text


@dataclass(frozen=True)
class Seal:
    """A kind of file that holds its own digest."""

    key: str  # what holds the digest; it is written last where the layout does not sort
    layout: Callable[[object], str]  # writes a JSON value as text

    def text(self, record: Mapping[str, object]) -> str:
        """Return the text of a record with its digest."""
        return self.layout({**record, self.key: sha256_json(record)}) + "\n"

    def write(self, path: Path, record: Mapping[str, object]) -> None:
        """Write a record, complete or not at all."""
        write_text(path, self.text(record))

    def read(self, path: Path) -> dict[str, Any]:
        """Read a record, without its digest; ``DamagedError`` when it is missing or not what was written."""
        try:
            return self.parse(path.read_bytes(), path)
        except OSError as error:
            raise DamagedError(f"{path}: cannot be read ({error})") from error

    def parse(self, content: bytes, path: Path) -> dict[str, Any]:
        """Read a record from the text of a file as ``read`` does; ``path`` is for messages."""
        try:
            text = content.decode()  # as it is: reading as text would let a changed line end pass
            record = json.loads(text, parse_constant=_refuse_constant)
            if not isinstance(record, dict):
                raise ValueError(f"a JSON object is expected, this is a {type(record).__name__}")
            digest = record.pop(self.key, None)
            whole = text == self.text(record)
        except ValueError as error:
            raise DamagedError(f"{path}: cannot be read ({error})") from error
        if digest is None:
            raise DamagedError(f"{path}: not what was written (it lacks {self.key}, the digest of the rest)")
        if not whole:
            raise DamagedError(f"{path}: not what was written (its digest does not match)")
        return record


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


MANIFEST = Seal("manifest_sha256", canonical_json)  # manifest.json of a checkpoint
RECORD = Seal("record_sha256", readable_json)  # run.json
STATE = Seal("facts_sha256", readable_json)  # state.json of a resume state
KEY = Seal("key_sha256", readable_json)  # the key beside stored scores
ROWS = Seal("header_sha256", canonical_json)  # the first line of the rows of a score
REPORTED = Seal("reported_sha256", readable_json)  # reported.json beside pairs
