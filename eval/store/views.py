"""Tables as views: each is its header and the lines of all files of rows, and can be written again at any time.

A table that is there is exactly what the files of rows give: whoever changes one of these first removes the tables, and
writes them again when its work is done. A table may be missing, after a kill or while scores are computed.
"""

import filecmp
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from ucurve.errors import DamagedError, UserError
from ucurve.eval.store.keys import ADVICE, Owner, order_of, scores_below
from ucurve.eval.store.rows import ScoreRows, of_other_version, read_score_rows, rows_path, write_rows
from ucurve.eval.store.tables import TABLES, TableFile, read_table
from ucurve.progress import log_line
from ucurve.storage.faults import lasting, refuse_faults
from ucurve.storage.files import beside
from ucurve.storage.locks import Claims
from ucurve.storage.run_folder import CHECKPOINTS, EVAL, STEPS
from ucurve.storage.score_key import read_key

RATED = "ratings-"  # the names of benchmarks that are rated sentences begin with it
_TABLES = "tables"  # what is claimed while tables or rows are changed


def store_rows(folder: Path, scores: Path, rows: ScoreRows, claims: Claims) -> None:
    """Store the rows of a score; the tables, which no longer fit, go first."""
    with claims.holding(_TABLES):
        remove_tables(folder)
        write_rows(scores, rows)


def drop_rows(folder: Path, scores: Path, claims: Claims) -> None:
    """Delete the rows of a score that is going to be replaced, and the tables that have them."""
    with claims.holding(_TABLES):
        remove_tables(folder)
        rows_path(scores).unlink(missing_ok=True)


def drop_other_versions(folder: Path, claims: Claims) -> None:
    """Delete the rows that another version of the suite computed, so that tables never mix numbers of two versions."""
    with claims.holding(_TABLES):
        outdated = [scores for scores in scores_below(folder) if of_other_version(scores)]
        if outdated:
            log_line(
                f"{folder}: another version of this suite computed the accuracies of {len(outdated)} stored scores; "
                "those of the benchmarks asked for are made again from the scores, the others when they are asked for"
            )
            remove_tables(folder)
        for scores in outdated:
            rows_path(scores).unlink(missing_ok=True)


def remove_tables(folder: Path) -> None:
    """Delete the tables, which no longer fit; ``write_tables`` writes them again."""
    for kind in TABLES:
        kind.path(folder).unlink(missing_ok=True)


def has_tables(folder: Path) -> bool:
    """Tell whether the tables are written: they are missing where scores or rows have changed since."""
    return any(kind.path(folder).exists() for kind in TABLES)


def write_tables(folder: Path, claims: Claims) -> None:
    """Write the tables that are missing or not what the files of rows give; damaged rows are a ``DamagedError``."""
    # Not flushed to disk: a table that a power cut tears is found, and written again.
    with claims.holding(_TABLES), ExitStack() as stack:
        made = {kind: beside(kind.path(folder)) for kind in TABLES}  # no folder, as a reader looks into each
        for file in made.values():
            stack.callback(file.unlink, missing_ok=True)
        _make_tables(folder, made)
        wrong = _wrong_tables(folder, made)
        for path in wrong:
            log_line(f"{path}: not what was written; it is made again from the rows of the stored scores")
        for kind, file in made.items():
            path = kind.path(folder)
            if file.stat().st_size == len(kind.header):  # no score has such rows
                path.unlink(missing_ok=True)
            elif path in wrong or not path.exists():
                file.replace(path)


def _make_tables(folder: Path, made: Mapping[TableFile, Path]) -> None:
    """Write what tables should be to other places: the rows of all stored scores, in the order of the tables."""
    with ExitStack() as stack:
        files = {kind: stack.enter_context(path.open("wb")) for kind, path in made.items()}
        for kind, file in files.items():
            file.write(kind.header)
        owner = Owner.of(folder)
        there = [scores for scores in scores_below(folder) if rows_path(scores).exists()]
        for scores in sorted(there, key=lambda scores: order_of(folder, scores)):
            key = read_key(scores)
            refuse_faults(owner.misplaced(scores, key), ADVICE)
            # Scores of weights that are gone are left out.
            rows = None if owner.outdated(scores, key) else read_score_rows(scores)
            if rows is not None:
                for kind, file in files.items():
                    file.writelines(rows.lines(kind, of) for of in rows.names(kind))


def _wrong_tables(folder: Path, made: Mapping[TableFile, Path]) -> list[Path]:
    """Return the tables that are there and are not what they should be."""
    paths = {kind.path(folder): file for kind, file in made.items()}
    return [path for path, file in paths.items() if path.exists() and not filecmp.cmp(path, file, shallow=False)]


def missing_rows(folder: Path) -> list[Path]:
    """Return where the rows of stored scores are not; those of rated sentences have none."""
    places = [scores for scores in scores_below(folder) if not scores.parents[1].name.startswith(RATED)]
    return [rows_path(scores) for scores in sorted(places) if scores.exists() and not rows_path(scores).exists()]


def has_rows(folder: Path) -> bool:
    """Tell whether there are rows of any score."""
    return any((folder / EVAL).rglob(f"{STEPS}.rows"))


@contextmanager
def open_table(kind: TableFile, folder: Path) -> Iterator[Path | None]:
    """Give a file that holds a table as the files of rows give it, else ``DamagedError``; None where nothing is scored.

    A table without any file of rows or key of a score was made by somebody else, and is given as it is.
    """
    path = kind.path(folder)
    is_ours = has_rows(folder) or (path.is_file() and any(scores_below(folder)))
    if not is_ours:
        yield path if path.is_file() else None
        return
    with TemporaryDirectory() as place:
        made = Path(place) / kind.name
        lasting(partial(_make_checked, kind, folder, made))
        yield made


def _make_checked(kind: TableFile, folder: Path, made: Path) -> None:
    """Write a table to another place and compare it with the one of the folder, if that is there."""
    _make_tables(folder, {kind: made})
    path = kind.path(folder)
    if not _wrong_tables(folder, {kind: made}):
        return
    if missing := missing_rows(folder):
        raise DamagedError(f"{missing[0]}: missing, and {path} is there; {ADVICE}")
    what = f"run={folder}" if (folder / CHECKPOINTS).is_dir() else f"model=... out={folder}"
    raise DamagedError(
        f"{path}: not what was written; python score.py {what} 'benchmarks=[...]' makes it again from the stored "
        "scores; no score is computed again"
    )


def load_table(kind: TableFile, folder: Path) -> pd.DataFrame:
    """Read a table of a folder; an empty one where nothing is scored.

    Raises:
        DamagedError: Rows are damaged or missing, or the table in the folder is not what they give.
        UserError: The table of a folder without scores of ours is none of accuracies.
    """
    with open_table(kind, folder) as path:
        return read_table(kind, kind.path(folder) if path is None else path)


def table_faults(folder: Path) -> list[str]:
    """Name the tables that are there and are not what the files of rows give."""
    if not has_tables(folder):
        return []
    with TemporaryDirectory() as place:
        made = {kind: Path(place) / kind.name for kind in TABLES}
        _make_tables(folder, made)
        wrong = _wrong_tables(folder, made)
    found = [f"{path}: not what the rows of the stored scores give" for path in wrong]
    return [
        *found,
        *(f"{rows}: missing, and the tables are there" for rows in (missing_rows(folder) if found else ())),
    ]


def check_no_foreign_table(folder: Path) -> None:
    """Check that the tables of a folder, if it has any, are those of scores that are stored there."""
    if not any(scores_below(folder)) and not has_rows(folder):
        for path in (kind.path(folder) for kind in TABLES):
            if path.exists():
                raise UserError(f"{path}: not a table of scores that are stored here; remove it and score again")
