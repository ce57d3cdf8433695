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
    """Store judgments (``ucurve.eval.benchmarks.ratings.load.load_ratings``) beside the pairs that they are about."""
    path = ratings_path(folder, benchmark)
    stored, digest = _read_whole(path, benchmark), _digest(benchmark, ratings)
    if stored is not None and _digest(benchmark, stored) == digest:
        return
    table = pa.Table.from_pandas(ratings, preserve_index=False)
    with new_file(path) as temporary:
        pq.write_table(
            table.replace_schema_metadata({**(table.schema.metadata or {}), _DIGEST: digest}), temporary
        )


def read_ratings_beside(folder: Path, benchmark: str) -> pd.DataFrame | None:
    """Read people's judgments of a benchmark (``RATING_COLUMNS`` or ``CHOICE_COLUMNS``); None where there are none."""
    path = ratings_path(folder, benchmark)
    ratings = _read_whole(path, benchmark)
    if ratings is None and path.exists():
        raise DamagedError(f"{path}: not what was written; score.py writes it again; no score is computed again")
    return ratings


def _read_whole(path: Path, benchmark: str) -> pd.DataFrame | None:
    """Read judgments; None for a file that is missing, not what was written, or of another benchmark."""
    try:
        table = pq.read_table(path)
        ratings = table.to_pandas()
    except (OSError, ValueError):
        return None
    right = tuple(ratings.columns) in (RATING_COLUMNS, CHOICE_COLUMNS)
    return (
        ratings if right and (table.schema.metadata or {}).get(_DIGEST) == _digest(benchmark, ratings) else None
    )


def _digest(benchmark: str, ratings: pd.DataFrame) -> bytes:
    text = f"{benchmark}\n{ratings.to_csv(index=False)}"
    return hashlib.sha256(text.encode()).hexdigest().encode()
