"""Judgments of people beside the pairs of a benchmark in a run folder, written and read back."""

import hashlib
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from ucurve.errors import DamagedError
from ucurve.storage.files import new_file
from ucurve.storage.run_folder import CHOICE_COLUMNS, EVAL, RATING_COLUMNS, RATINGS

_DIGEST = b"ratings_sha256"  # in the metadata of the file: a hash of the benchmark's name and all values


def ratings_path(folder: Path, benchmark: str) -> Path:
    """Return where people's judgments of a benchmark are, below the run folder ``folder``."""
    return folder / EVAL / benchmark / RATINGS


def keep_ratings(folder: Path, benchmark: str, ratings: pd.DataFrame) -> None:
    """Store judgments (``eval.benchmarks.ratings.load.load_ratings``) beside the pairs that they are about."""
    path = ratings_path(folder, benchmark)
    digest = _digest(benchmark, ratings)
    if path.is_file() and _read(path)[1] == digest and ratings_fault(folder, benchmark) is None:
        return
    table = pa.Table.from_pandas(ratings, preserve_index=False)
    with new_file(path) as temporary:
        pq.write_table(table.replace_schema_metadata({**(table.schema.metadata or {}), _DIGEST: digest}), temporary)


def read_ratings_beside(folder: Path, benchmark: str) -> pd.DataFrame | None:
    """Read people's judgments of a benchmark; None where there are none.

    Returns:
        Ratings as ``RATING_COLUMNS`` or choices as ``CHOICE_COLUMNS``.

    Raises:
        DamagedError: when the file is not what was written, or is of another benchmark.
    """
    path = ratings_path(folder, benchmark)
    if not path.is_file():
        return None
    if problem := ratings_fault(folder, benchmark):
        raise DamagedError(f"{problem}; score.py writes it again; no score is computed again")
    return _read(path)[0]


def ratings_fault(folder: Path, benchmark: str) -> str | None:
    """Describe what is wrong with the judgments beside the pairs of a benchmark, which are there."""
    path = ratings_path(folder, benchmark)
    table, digest = _read(path)
    whole = table is not None and tuple(table.columns) in (RATING_COLUMNS, CHOICE_COLUMNS)
    return None if whole and digest == _digest(benchmark, table) else f"{path}: not what was written"


def _read(path: Path) -> tuple[pd.DataFrame | None, bytes | None]:
    """Read judgments and their digest; None for what cannot be read."""
    try:
        table = pq.read_table(path)
        return table.to_pandas(), (table.schema.metadata or {}).get(_DIGEST)
    except (OSError, ValueError):
        return None, None


def _digest(benchmark: str, ratings: pd.DataFrame | None) -> bytes:
    assert ratings is not None
    text = f"{benchmark}\n{ratings.to_csv(index=False)}"
    return hashlib.sha256(text.encode()).hexdigest().encode()
