"""Reads what a run folder stores of single sentences: the pairs of a benchmark, and what a model gave them."""

import re
from collections.abc import Collection
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from eval.results import pairs_path, score_path
from ucurve.errors import UserError

_STEP = re.compile(r"step(-?\d+)")
_PAIRS = ("pair", "phenomenon", "paradigm", "good", "bad")


def stored_pairs(folder: Path, benchmark: str) -> pd.DataFrame | None:
    """Read the pairs of a benchmark from a run folder; None where they are not there.

    Returns:
        ``pair``, ``phenomenon``, ``paradigm``, ``good`` and ``bad``.

    Raises:
        UserError: when the file is broken.
    """
    path = pairs_path(folder, benchmark)
    return _read(path, _PAIRS) if path.is_file() else None


def stored_scores(folder: Path, benchmark: str, scorer: str, step: int) -> pd.DataFrame | None:
    """Read the scores of one checkpoint; None where they are not there.

    Returns:
        ``pair``, then ``lp``, ``n`` and what else the scorer stores, each as ``_good`` and ``_bad``.

    Raises:
        UserError: when the file is broken.
    """
    path = score_path(folder, benchmark, scorer, step)
    return _read(path) if path.is_file() else None


def scored_steps(folder: Path, benchmark: str, scorer: str) -> list[int]:
    """Return the steps whose scores are stored, in order."""
    names = (path.stem for path in score_path(folder, benchmark, scorer, 0).parent.glob("step*.parquet"))
    return sorted(int(match[1]) for match in map(_STEP.fullmatch, names) if match)


def _read(path: Path, columns: Collection[str] | None = None) -> pd.DataFrame:
    try:
        frame: pd.DataFrame = pyarrow.parquet.read_table(path, columns=columns and list(columns)).to_pandas()
    except (pa.ArrowException, OSError) as error:
        raise UserError(f"{path}: broken: {str(error).splitlines()[0]}; score the checkpoint again") from error
    missing = set(columns or ("pair",)) - set(frame.columns)
    if missing:
        raise UserError(f"{path}: no column {', '.join(sorted(missing))}; score the checkpoint again")
    return frame
