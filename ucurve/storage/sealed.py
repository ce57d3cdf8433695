"""JSON files that hold a digest of themselves, so that a changed byte anywhere in them is found.

One key of such a file holds the SHA-256 of the rest, and the text must be exactly what would be written: a blank
or a line end that changed is found too.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ucurve.errors import DamagedError
from ucurve.storage.files import canonical_json, readable_json, sha256_json, write_text

_DIGITS = 64  # of a SHA-256 in hexadecimal


@dataclass(frozen=True)
class Seal:
    """A kind of file that holds its own digest.

    Attributes:
        key: what holds the digest; it is written last where the layout does not sort.
        layout: writes a JSON value as text.
    """

    key: str
    layout: Callable[[Any], str]

    def text(self, record: Mapping[str, Any]) -> str:
        """Return the text of a record with its digest."""
        return self.layout({**record, self.key: sha256_json(record)}) + "\n"

    def write(self, path: Path, record: Mapping[str, Any]) -> None:
        """Write a record, complete or not at all."""
        write_text(path, self.text(record))

    def read(self, path: Path) -> dict[str, Any]:
        """Read a record, without its digest.

        Raises:
            DamagedError: when it is missing, unreadable, without a digest, or not what was written.
        """
        record, sealed = self._read(path)
        if not sealed:
            raise DamagedError(f"{path}: does not say {self.key}, which vouches for it")
        return record

    def read_older(self, path: Path) -> dict[str, Any]:
        """Read a record as ``read`` does; one that was written without a digest is taken as it is.

        Older versions wrote such files. A change of one letter makes no such file of one that has a digest.

        Raises:
            DamagedError: when it is missing, unreadable, or not what was written.
        """
        return self._read(path)[0]

    def is_on(self, path: Path) -> bool:
        """Tell whether a file that can be read has a digest.

        Raises:
            DamagedError: as ``read_older``.
        """
        return self._read(path)[1]

    def _read(self, path: Path) -> tuple[dict[str, Any], bool]:
        try:
            text = path.read_bytes().decode()  # as it is: reading as text would let a changed line end pass
            record = json.loads(text, parse_constant=_refuse_constant)
            if not isinstance(record, dict):
                raise ValueError(f"a JSON object is expected, this is a {type(record).__name__}")
            digest = record.pop(self.key, None)
            if digest is None and not _holds_its_digest(record):
                return record, False
            whole = digest == sha256_json(record) and text == self.text(record)
        except (OSError, ValueError) as error:
            raise DamagedError(f"{path}: cannot be read ({error})") from error
        if not whole:
            raise DamagedError(f"{path}: not what was written (its digest does not match)")
        return record, True


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _holds_its_digest(record: dict[str, Any]) -> bool:
    """Tell whether a value is the digest of the rest, under any key; then the key's name was changed."""
    digests = [key for key, value in record.items() if isinstance(value, str) and len(value) == _DIGITS]
    return any(record[key] == sha256_json({name: record[name] for name in record if name != key}) for key in digests)


MANIFEST = Seal("manifest_sha256", canonical_json)  # manifest.json of a checkpoint
RECORD = Seal("record_sha256", readable_json)  # run.json
STATE = Seal("facts_sha256", readable_json)  # state.json of a resume state
KEY = Seal("key_sha256", readable_json)  # the key beside stored scores
SUMS = Seal("sums_sha256", readable_json)  # eval/manifest.json
