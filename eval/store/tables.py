"""The tables of results in a run folder: CSV files, which processes change one after the other."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from eval.metrics.accuracy import COLUMNS
from eval.metrics.fitting import FIT_COLUMNS
from eval.metrics.significance import STATISTICS_COLUMNS
from eval.models.targets import Target
from eval.store.checksums import check_summed, new_summed_file
from ucurve.errors import UserError
from ucurve.storage.locks import holding_tables
from ucurve.storage.run_folder import EVAL

SCORE = ("step", "benchmark", "scorer")  # the columns that tell which score a row comes from


@dataclass(frozen=True, eq=False)
class TableFile:
    """A table below ``eval/``.

    Attributes:
        columns: in their order; the first ones are ``run, step, tokens, flops, benchmark, scorer``.
        replaced_by: a new row replaces an older one that is equal in these columns.
        order: columns that rows are sorted by.
        added: columns that the tables of the first release do not have; read from such a table, they are missing.
    """

    name: str
    columns: tuple[str, ...]
    types: Mapping[str, str]
    replaced_by: tuple[str, ...]
    order: tuple[str, ...]
    added: tuple[str, ...] = ()

    def path(self, folder: Path) -> Path:
        """Return the file of a run folder."""
        return folder / self.place

    @property
    def place(self) -> Path:
        """The file's path below a run folder."""
        return Path(EVAL, self.name)


_WHERE = ("run", "step", "tokens", "flops", "benchmark", "scorer")
_TYPES = {
    **dict.fromkeys(("step", "n", "n_distinct", "right", "ties", "unk", "n_fitted", "n_held_out"), "int64"),
    "tokens": "Int64",
    **dict.fromkeys(("run", *SCORE[1:], "linking", "phenomenon", "paradigm", "split", "ties_rule"), "str"),
    **dict.fromkeys(("family", "label", "fitted_on", "objective"), "str"),
}  # what is not named here is float64


def _define_table(
    name: str, columns: Sequence[str], replaced_by: Sequence[str], order: Sequence[str], added: Sequence[str] = ()
) -> TableFile:
    every = (*_WHERE, *columns)
    types = {column: _TYPES.get(column, "float64") for column in every}
    return TableFile(name, every, types, (*SCORE, *replaced_by), (*SCORE, *order), tuple(added))


_LINKED = ("linking", "ties_rule")
_FITTED = ("family", "label", "fitted_on", "ties_rule")
ACCURACY = _define_table("accuracy.csv", COLUMNS, _LINKED, (*_LINKED, "split", "phenomenon", "paradigm"))
STATISTICS = _define_table(
    "statistics.csv", STATISTICS_COLUMNS, _LINKED, (*_LINKED, "phenomenon", "paradigm"),
    added=[column for column in STATISTICS_COLUMNS if "_minus_equal" in column],
)  # fmt: skip
FITS = _define_table("fits.csv", FIT_COLUMNS, _FITTED, _FITTED)
TABLES = (ACCURACY, STATISTICS, FITS)


def read_table(kind: TableFile, path: Path) -> pd.DataFrame:
    """Read a table; without a file, an empty one with its columns.

    Raises:
        UserError: when the file holds something else.
    """
    if not path.exists():
        return pd.DataFrame(columns=list(kind.columns)).astype(dict(kind.types))
    blanks = {name: [""] for name, kind_of in kind.types.items() if kind_of != "str"}
    try:
        table = pd.read_csv(path, dtype=dict(kind.types), keep_default_na=False, na_values=blanks)
    except ValueError as error:
        raise _not_ours(path, str(error).splitlines()[0]) from error
    if set(kind.columns) - set(table.columns) == set(kind.added):
        table = table.reindex(columns=list(kind.columns))
    if set(table.columns) != set(kind.columns):
        raise _not_ours(path, f"its columns are {', '.join(map(str, table.columns))}")
    return table


def _not_ours(path: Path, reason: str) -> UserError:
    return UserError(
        f"{path}: not a table of accuracies ({reason}); remove it and score again; stored scores are not computed again"
    )


def list_scores(table: pd.DataFrame) -> set[tuple[int, str, str]]:
    """Return step, benchmark and scorer of every score that a table has rows of."""
    return set(table[list(SCORE)].drop_duplicates().itertuples(index=False, name=None))


def without_scores(table: pd.DataFrame, scores: Collection[tuple[int, str, str]]) -> pd.DataFrame:
    """Return a table without the rows of some scores, given by step, benchmark and scorer."""
    return table[~pd.MultiIndex.from_frame(table[list(SCORE)]).isin(list(scores))] if scores else table


def drop_scores(kind: TableFile, folder: Path, scores: Collection[tuple[int, str, str]]) -> None:
    """Take the rows of scores (step, benchmark and scorer of each) that are going to be replaced out of a table."""
    if not scores:
        return
    with holding_tables(folder):
        replace_table(kind, folder, without_scores(_before(kind, folder), scores))


def drop_benchmark(kind: TableFile, folder: Path, benchmark: str) -> None:
    """Take all rows of a benchmark out of a table."""
    if kind.path(folder).exists():
        with holding_tables(folder):
            table = _before(kind, folder)
            replace_table(kind, folder, table[table["benchmark"] != benchmark])


def add_rows(kind: TableFile, folder: Path, tables: Sequence[pd.DataFrame]) -> None:
    """Put rows into a table, in place of older ones that are equal in ``replaced_by``."""
    fresh = [table for table in tables if len(table)]
    if not fresh:
        return
    added = pd.concat(fresh, ignore_index=True)[list(kind.columns)].astype(dict(kind.types))
    identity = list(kind.replaced_by)
    with holding_tables(folder):
        old = _before(kind, folder)
        replaced = pd.MultiIndex.from_frame(old[identity]).isin(pd.MultiIndex.from_frame(added[identity]))
        kept = old[~replaced]
        replace_table(kind, folder, pd.concat([kept, added], ignore_index=True) if len(kept) else added)


def _before(kind: TableFile, folder: Path) -> pd.DataFrame:
    """Read a table that is going to be changed, after checking that it is undamaged."""
    path = kind.path(folder)
    if path.exists():
        check_summed(folder, path)
    return read_table(kind, path)


def replace_table(kind: TableFile, folder: Path, table: pd.DataFrame) -> None:
    """Write a whole table."""
    with new_summed_file(folder, kind.path(folder)) as temporary:
        table.sort_values(list(kind.order))[list(kind.columns)].to_csv(temporary, index=False)


def labels(target: Target, benchmark: str, scorer: str) -> dict[str, Any]:
    """Return the columns that tell which model, benchmark and scorer a row is about."""
    facts = {"tokens": target.tokens, "flops": target.manifest and target.manifest.flops}
    return {"run": target.name, "step": target.step, **facts, "benchmark": benchmark, "scorer": scorer}
