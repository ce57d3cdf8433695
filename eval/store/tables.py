"""The tables below ``eval/``: what their columns are, and how rows are written as lines and read back."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from io import BytesIO
from pathlib import Path
from typing import cast

import pandas as pd

from ucurve.errors import UserError
from ucurve.eval.metrics.accuracy import COLUMNS
from ucurve.eval.metrics.fitting import FIT_COLUMNS
from ucurve.eval.metrics.significance import STATISTICS_COLUMNS
from ucurve.storage.run_folder import EVAL

SCORE = ("step", "benchmark", "scorer")  # the columns that tell which score a row comes from


@dataclass(frozen=True, eq=False)
class TableFile:
    """A table below ``eval/``."""

    name: str
    columns: tuple[str, ...]  # the first ones are ``run, step, tokens, flops, benchmark, scorer``
    types: Mapping[str, str]
    block: tuple[str, ...]  # columns that tell apart the blocks of rows that one score has
    order: tuple[str, ...]  # columns that rows are sorted by; they begin with those of ``SCORE`` and ``block``

    def path(self, folder: Path) -> Path:
        """Return the file of a run folder."""
        return folder / self.place

    @property
    def place(self) -> Path:
        """The file's path below a run folder."""
        return Path(EVAL, self.name)

    @property
    def header(self) -> bytes:
        """The first line of the file."""
        return (",".join(self.columns) + "\n").encode()

    def empty(self) -> pd.DataFrame:
        """Return a table without rows."""
        return pd.DataFrame(columns=list(self.columns)).astype(dict(self.types))


_WHERE = ("run", "step", "tokens", "flops", "benchmark", "scorer")
_TYPES = {
    **dict.fromkeys(
        ("step", "n", "clusters", "n_distinct", "right", "ties", "unk", "n_fitted", "n_held_out"), "int64"
    ),
    "tokens": "Int64",
    **dict.fromkeys(("run", *SCORE[1:], "linking", "phenomenon", "paradigm", "split", "ties_rule"), "str"),
    **dict.fromkeys(("family", "label", "fitted_on", "objective"), "str"),
}  # what is not named here is float64


def _define_table(
    name: str, columns: Sequence[str], block: Sequence[str], order: Sequence[str] = ()
) -> TableFile:
    """Describe a table by the columns that follow those of every one."""
    every = (*_WHERE, *columns)
    types = {column: _TYPES.get(column, "float64") for column in every}
    return TableFile(name, every, types, tuple(block), (*SCORE, *block, *order))


_LINKED = ("linking", "ties_rule")
ACCURACY = _define_table("accuracy.csv", COLUMNS, _LINKED, ("split", "phenomenon", "paradigm"))
STATISTICS = _define_table("statistics.csv", STATISTICS_COLUMNS, _LINKED, ("phenomenon", "paradigm"))
FITS = _define_table("fits.csv", FIT_COLUMNS, ("family", "label", "fitted_on", "ties_rule"))
TABLES = (ACCURACY, STATISTICS, FITS)


@dataclass(frozen=True)
class Labels:
    """The first columns of a row: which model, benchmark and scorer it is about."""

    run: str  # name of the run or the model
    step: int
    tokens: int | None  # training tokens; None where nothing says, as for ``flops``
    flops: float | None
    benchmark: str
    scorer: str


def make_blocks(kind: TableFile, rows: pd.DataFrame, labels: Labels) -> dict[tuple[str, ...], pd.DataFrame]:
    """Make the rows of one score those of a table: its columns, types and order, a frame for each block."""
    table = (
        rows.assign(**asdict(labels))[list(kind.columns)].astype(dict(kind.types)).sort_values(list(kind.order))
    )
    return {cast(tuple[str, ...], of): block for of, block in table.groupby(list(kind.block), sort=False)}


def as_lines(block: pd.DataFrame) -> bytes:
    """Write rows as the lines of their table."""
    return block.to_csv(index=False, header=False).encode()


def read_labels(block: pd.DataFrame) -> Labels:
    """Read what the first row is about."""
    row = block.iloc[0]
    tokens, flops = (None if pd.isna(row[name]) else row[name] for name in ("tokens", "flops"))
    return Labels(
        row["run"],
        int(row["step"]),
        None if tokens is None else int(tokens),
        None if flops is None else float(flops),
        row["benchmark"],
        row["scorer"],
    )


def read_table(kind: TableFile, path: Path) -> pd.DataFrame:
    """Read a table; without a file, an empty one with its columns. A file of anything else is a ``UserError``."""
    if not path.exists():
        return kind.empty()
    try:
        table = parse_table(kind, path)
    except ValueError as error:
        raise _not_ours(path, str(error).splitlines()[0]) from error
    if set(table.columns) != set(kind.columns):
        raise _not_ours(path, f"its columns are {', '.join(map(str, table.columns))}")
    return table


def parse_table(kind: TableFile, source: Path | BytesIO) -> pd.DataFrame:
    """Read the header and the lines of a table."""
    blanks = {name: [""] for name, type_ in kind.types.items() if type_ != "str"}
    return pd.read_csv(source, dtype=dict(kind.types), keep_default_na=False, na_values=blanks)


def _not_ours(path: Path, reason: str) -> UserError:
    return UserError(
        f"{path}: not a table of accuracies ({reason}); remove it and score again; stored scores are not computed again"
    )
