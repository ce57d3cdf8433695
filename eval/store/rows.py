"""The rows of one score, ``step00000512.rows`` beside it: what the tables below ``eval/`` have of it, line by line.

The first line is a JSON object with a digest of itself; it says of which score the rows are, and has the SHA-256 of the
lines of each table, which follow as they stand in the table. A file of rows can be computed again from its score.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from types import MappingProxyType

import pandas as pd

from ucurve.errors import DamagedError
from ucurve.eval.linking import Linking
from ucurve.eval.metrics.accuracy import TiesRule, accuracy_table
from ucurve.eval.metrics.significance import statistics_table
from ucurve.eval.store.tables import (
    ACCURACY,
    STATISTICS,
    TABLES,
    Labels,
    TableFile,
    as_lines,
    make_blocks,
    parse_table,
)
from ucurve.storage.facts import Facts, as_facts
from ucurve.storage.files import new_file
from ucurve.storage.score_key import read_key
from ucurve.storage.sealed import ROWS

VERSION = 2  # of the numbers in the rows; rows of another version are computed again

# Of a block: its table, and what it has in the columns ``TableFile.block``.
BlockName = tuple[str, tuple[str, ...]]


class _Block(Facts):
    """The lines of a table that belong to one linking function and rule for ties, or to one fit."""

    table: str
    of: tuple[str, ...]
    size: int  # bytes
    request: Mapping[str, object] = {}  # what a fit was asked for


class _Header(Facts):
    """The first line of a file of rows."""

    score_sha256: str
    version: int
    lines_sha256: Mapping[str, str]  # by table
    blocks: tuple[_Block, ...]


@dataclass(frozen=True, eq=False)
class ScoreRows:
    """The rows of one score: of each block its table, and what a fit was asked for.

    What was just computed is a frame until ``write_rows``. What was read stays the lines of its file, which are parsed
    only when their numbers are asked for.
    """

    score_sha256: str  # ``ScoreKey.score_sha256``
    blocks: dict[BlockName, pd.DataFrame | bytes] = field(default_factory=dict)
    requests: dict[BlockName, Mapping[str, object]] = field(default_factory=dict)

    def names(self, kind: TableFile) -> list[tuple[str, ...]]:
        """Return what there are blocks of in a table, in its order."""
        return sorted(of for table, of in self.blocks if table == kind.name)

    def table(self, kind: TableFile, of: tuple[str, ...]) -> pd.DataFrame:
        """Return the rows of a block, with the columns and types of its table; none where there is no such block."""
        block = self.blocks.get((kind.name, of), b"")
        return parse_table(kind, BytesIO(kind.header + block)) if isinstance(block, bytes) else block

    def lines(self, kind: TableFile, of: tuple[str, ...]) -> bytes:
        """Return the rows of a block as they are stored."""
        block = self.blocks[kind.name, of]
        return block if isinstance(block, bytes) else as_lines(block)

    def add(
        self,
        kind: TableFile,
        of: tuple[str, ...],
        block: pd.DataFrame,
        request: Mapping[str, object] = MappingProxyType({}),
    ) -> None:
        """Add a block, in place of an older one of the same name."""
        self.blocks[kind.name, of] = block
        self.requests[kind.name, of] = request


def add_linkings(
    rows: ScoreRows,
    pairs: pd.DataFrame,
    scores: pd.DataFrame,
    linkings: Sequence[Linking],
    rule: TiesRule,
    labels: Labels,
) -> None:
    """Compute accuracies and statistics of linking functions, and add them to the rows of a score."""
    accuracies = accuracy_table(pairs, scores, linkings, [rule])
    statistics = statistics_table(pairs, scores, linkings, rule)
    for kind, table in ((ACCURACY, accuracies), (STATISTICS, statistics)):
        blocks = make_blocks(kind, table, labels)
        for linking in linkings:  # one that reads what the scores lack has no rows, and a block that says so
            of = (linking.name, rule)
            rows.add(kind, of, blocks[of] if of in blocks else kind.empty())


def rows_path(scores: Path) -> Path:
    """Return where the rows of a score are, beside its Parquet file."""
    return scores.with_suffix(".rows")


def write_rows(scores: Path, rows: ScoreRows) -> None:
    """Write the rows of a score, complete or not at all."""
    # The lines of a table follow one another, so that a table is made of all files without parsing them.
    blocks = {(kind.name, of): rows.lines(kind, of) for kind in TABLES for of in rows.names(kind)}
    header = _Header(
        score_sha256=rows.score_sha256,
        version=VERSION,
        lines_sha256=_hash_tables(blocks),
        blocks=tuple(
            _Block(table=table, of=of, size=len(block), request=dict(rows.requests[table, of]))
            for (table, of), block in blocks.items()
        ),
    )
    with new_file(rows_path(scores)) as temporary, temporary.open("wb") as file:
        file.write(ROWS.text(header.model_dump(mode="json")).encode())
        file.writelines(blocks.values())


def _hash_tables(blocks: Mapping[BlockName, bytes]) -> dict[str, str]:
    """Return the SHA-256 of the lines of each table."""
    lines = {kind.name: [block for (table, _), block in blocks.items() if table == kind.name] for kind in TABLES}
    return {table: hashlib.sha256(b"".join(of_table)).hexdigest() for table, of_table in lines.items()}


def of_other_version(scores: Path) -> bool:
    """Tell whether a stored score has rows whose numbers another version of the suite computed."""
    try:
        with rows_path(scores).open("rb") as file:
            header = ROWS.parse(file.readline(), rows_path(scores))
    except (OSError, DamagedError):
        return False
    return header.get("version") != VERSION


def read_score_rows(scores: Path) -> ScoreRows | None:
    """Read the rows of a stored score; None where there are none.

    Raises:
        DamagedError: They are not what was written, of another version of this suite, or of another score.
    """
    path = rows_path(scores)
    if not path.exists():
        return None
    with path.open("rb") as file:
        header = as_facts(ROWS.parse(file.readline(), path), path, _Header)
        blocks = {(block.table, block.of): file.read(block.size) for block in header.blocks}
        more = file.read()
    if header.version != VERSION:
        raise DamagedError(
            f"{path}: its numbers are those of another version of this suite; python score.py with the same run or "
            "model makes them again from the stored scores, and computes no score again"
        )
    if more or _hash_tables(blocks) != header.lines_sha256:
        raise DamagedError(f"{path}: not what was written")
    if header.score_sha256 != read_key(scores).score_sha256:
        raise DamagedError(f"{path}: not the rows of the score beside it")
    requests = {(block.table, block.of): block.request for block in header.blocks}
    return ScoreRows(header.score_sha256, dict(blocks), requests)
