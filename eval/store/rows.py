"""The rows of one score, ``step00000512.rows`` beside it: what the tables below ``eval/`` have of it, line by line.

The first line is a JSON object with a digest of itself; it says of which score the rows are, and has the SHA-256 of the
lines of each table, which follow as they stand in the table. A file of rows can be computed again from its score.
"""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from pydantic import ValidationError

from eval.store.tables import TABLES, TableFile
from ucurve.errors import DamagedError
from ucurve.storage.facts import Facts
from ucurve.storage.files import new_file
from ucurve.storage.score_key import ScoreKey
from ucurve.storage.sealed import ROWS

_NOTHING: Mapping[str, object] = {}
VERSION = 1  # of the numbers in the rows; rows of another version are computed again


class Block(Facts):
    """The lines of a table that belong to one linking function and rule for ties, or to one fit.

    Attributes:
        table: name of the table.
        of: what the lines are of: linking function and rule for ties; of a fit ``family, label, fitted_on, ties_rule``.
        size: bytes of the lines.
        request: what a fit was asked for; empty for other tables.
    """

    table: str
    of: tuple[str, ...]
    size: int
    request: Mapping[str, object] = {}


class Header(Facts):
    """The first line of a file of rows."""

    score_sha256: str
    version: int
    lines_sha256: Mapping[str, str]
    blocks: tuple[Block, ...]


@dataclass(frozen=True, eq=False)
class ScoreRows:
    """The rows of one score.

    Attributes:
        score_sha256: of the score (``ScoreKey.score_sha256``).
        version: of the numbers.
        lines: of each block, as they stand in its table.
    """

    score_sha256: str
    version: int = VERSION
    lines: dict[tuple[str, tuple[str, ...]], bytes] = field(default_factory=dict)
    requests: dict[tuple[str, tuple[str, ...]], Mapping[str, object]] = field(default_factory=dict)

    def blocks(self, kind: TableFile) -> list[tuple[str, ...]]:
        """Return what there are lines of in a table, in its order."""
        return sorted(of for table, of in self.lines if table == kind.name)

    def of_table(self, kind: TableFile) -> bytes:
        """Return all lines of a table."""
        return b"".join(self.lines[kind.name, of] for of in self.blocks(kind))

    def fault(self, scores: Path, key: ScoreKey) -> str | None:
        """Describe why the rows are not those of the score beside them, computed as they are now."""
        return _fault(scores, key, self.score_sha256, self.version)

    def add(
        self, kind: TableFile, of: tuple[str, ...], lines: bytes, request: Mapping[str, object] | None = None
    ) -> None:
        """Add a block, in place of an older one of the same name."""
        self.lines[kind.name, of] = lines
        self.requests[kind.name, of] = request or {}


def rows_path(scores: Path) -> Path:
    """Return where the rows of a score are, beside its Parquet file."""
    return scores.with_suffix(".rows")


def write_rows(scores: Path, rows: ScoreRows) -> None:
    """Write the rows of a score, complete or not at all."""
    names = [(kind.name, of) for kind in TABLES for of in rows.blocks(kind)]
    header = Header(
        score_sha256=rows.score_sha256,
        version=rows.version,
        lines_sha256={kind.name: hashlib.sha256(rows.of_table(kind)).hexdigest() for kind in TABLES},
        blocks=tuple(
            Block(table=table, of=of, size=len(rows.lines[table, of]), request=rows.requests[table, of])
            for table, of in names
        ),
    )
    with new_file(rows_path(scores)) as temporary, temporary.open("wb") as file:
        file.write(ROWS.text(header.model_dump(mode="json")).encode())
        for name in names:
            file.write(rows.lines[name])


def _fault(scores: Path, key: ScoreKey, score_sha256: str, version: int) -> str | None:
    same = (score_sha256, version) == (key.score_sha256, VERSION)
    return None if same else f"{rows_path(scores)}: not the rows of the score beside it"


class OpenRows:
    """The rows of a score, opened; the first line is read and checked, and so is the size of the file.

    Raises:
        DamagedError: when the file is missing, or not what was written.
    """

    def __init__(self, scores: Path) -> None:
        self._scores, path = scores, rows_path(scores)
        try:
            self._file = path.open("rb")
        except OSError as error:
            raise DamagedError(f"{path}: cannot be read ({error})") from error
        first = self._file.readline()
        try:
            self.header = Header.model_validate(ROWS.parse(first, path))
        except ValidationError as error:
            raise DamagedError(f"{path}: not what this version writes") from error
        self._begin = len(first)
        if os.fstat(self._file.fileno()).st_size != self._begin + sum(block.size for block in self.header.blocks):
            raise DamagedError(f"{path}: not what was written")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def fault(self, key: ScoreKey) -> str | None:
        """Describe why the rows are not those of the score beside them, computed as they are now."""
        return _fault(self._scores, key, self.header.score_sha256, self.header.version)

    def read(self, kind: TableFile, checked: bool) -> bytes:
        """Read the lines of a table.

        Raises:
            DamagedError: when they are ``checked`` and not what was written.
        """
        sizes = {one.name: sum(block.size for block in self.header.blocks if block.table == one.name) for one in TABLES}
        before = TABLES[: TABLES.index(kind)]
        self._file.seek(self._begin + sum(sizes[one.name] for one in before))
        lines = self._file.read(sizes[kind.name])
        if checked and hashlib.sha256(lines).hexdigest() != self.header.lines_sha256.get(kind.name):
            raise DamagedError(f"{rows_path(self._scores)}: not what was written")
        return lines


def read_rows(scores: Path) -> ScoreRows | None:
    """Read the rows of a score; None where there are none.

    Raises:
        DamagedError: when the file is not what was written.
    """
    if not rows_path(scores).exists():
        return None
    with OpenRows(scores) as opened:
        header = opened.header
        lines = b"".join(opened.read(kind, checked=True) for kind in TABLES)
    rows, place = ScoreRows(header.score_sha256, header.version), 0
    for block in header.blocks:
        rows.lines[block.table, block.of] = lines[place : place + block.size]
        rows.requests[block.table, block.of] = block.request
        place += block.size
    return rows
