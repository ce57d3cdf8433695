"""Reads what a run folder stores of single sentences: the pairs of a benchmark, and what a model gave them."""

from collections.abc import Collection
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from eval.linking import Linking, parse_linking
from eval.results import pairs_path, score_path
from eval.sums import check_scores, check_summed
from ucurve.errors import UserError
from ucurve.run_folder import STEPS, parse_step

PAIR_COLUMNS = ("pair", "phenomenon", "paradigm", "good", "bad")


def known_linking(name: str) -> Linking | None:
    """Return a linking function; None for one that a user registered where it was scored, which is not known here."""
    try:
        return parse_linking(name)
    except UserError:
        return None


def stored_pairs(folder: Path, benchmark: str) -> pd.DataFrame | None:
    """Read ``PAIR_COLUMNS`` of the pairs of a benchmark from a run folder; None where they are not there.

    Raises:
        UserError: when the file is broken.
        DamagedError: when it is not what was written.
    """
    path = pairs_path(folder, benchmark)
    check_summed(folder, path)
    return read_stored(path, PAIR_COLUMNS) if path.is_file() else None


def stored_scores(folder: Path, benchmark: str, scorer: str, step: int) -> pd.DataFrame | None:
    """Read the scores of one checkpoint; None where they are not there.

    Returns:
        ``pair``, then ``lp``, ``n`` and what else the scorer stores, each as ``_good`` and ``_bad``.

    Raises:
        UserError: when the file is broken.
        DamagedError: when it is not what was written.
    """
    path = score_path(folder, benchmark, scorer, step)
    check_scores(folder, path)
    return read_stored(path) if path.is_file() else None


def scored_steps(folder: Path, benchmark: str, scorer: str) -> list[int]:
    """Return the steps whose scores are stored, in order."""
    place = score_path(folder, benchmark, scorer, 0).parent
    return sorted(step for path in place.glob(f"{STEPS}.parquet") if (step := parse_step(path.stem)) is not None)


def read_stored(
    path: Path, columns: Collection[str] | None = None, needed: Collection[str] = ("pair",)
) -> pd.DataFrame:
    """Read columns of a Parquet file of pairs or scores; None reads all, of which ``needed`` must be there.

    Raises:
        UserError: when the file is broken or lacks one of them.
    """
    try:
        names = pyarrow.parquet.read_schema(path).names
        missing = [name for name in columns or needed if name not in names]
        if missing:
            raise UserError(f"{path}: no column {', '.join(missing)}; score it again")
        table = pyarrow.parquet.read_table(path, columns=columns and list(columns), use_threads=False)
    except (pa.ArrowException, OSError) as error:
        why = str(error).splitlines()[0]
        what = "score it again, or delete it and its key to leave a gap"
        raise UserError(f"{path}: broken Parquet: {why}; {what}") from error
    frame: pd.DataFrame = table.to_pandas()
    return frame
