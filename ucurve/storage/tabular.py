"""Small CSV files that a user gives: rows of text by column, with file and line in every error."""

import csv
import io
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from ucurve.errors import UserError, did_you_mean
from ucurve.storage.files import read_utf8

Rows = list[tuple[int, dict[str, str]]]  # line number, and texts by column


def read_rows(path: Path, setting: str, required: Sequence[str], *, line_breaks: bool = False) -> Rows:
    """Read a CSV file with a header (``.tsv``: tabs): line number and cells by column of each row, at least one.

    ``setting`` is what it was given as, for messages; the ``required`` columns must be there. Only with ``line_breaks``
    may a cell go over several lines: elsewhere a quotation mark in a text could take in the rows that follow it.

    Raises:
        UserError: when the file cannot be read, is not CSV, has no row, lacks a column or has two of one name, a row
            has more or fewer cells than the header, or a cell has a line break that it may not have.
    """
    try:
        delimiter = "\t" if path.suffix == ".tsv" else ","
        reader = csv.DictReader(io.StringIO(read_utf8(path), newline=""), delimiter=delimiter, strict=True)
        columns = list(reader.fieldnames or [])
        _check_columns(columns, required, f"{path}:1")
        rows: Rows = []
        for row in reader:
            if None in row or None in row.values():
                raise UserError(f"{path}:{reader.line_num}: {len(columns)} cells are expected, as in the header")
            rows.append((reader.line_num, row))
    except UserError as error:
        raise UserError(f"{setting}: {error}") from error
    except csv.Error as error:
        raise UserError(f"{setting}: {path} is not CSV ({error})") from error
    for line, row in () if line_breaks else rows:
        broken = next((name for name, cell in row.items() if "\n" in cell or "\r" in cell), None)
        if broken is not None:
            start = line - sum(len(cell.splitlines()) - 1 for cell in row.values())
            raise UserError(
                f"{setting}: {path}:{start}: in the column {broken!r} a quotation mark begins a cell that does not end "
                "on its line. A quotation mark that belongs to the text is written twice, in a cell in quotation marks"
            )
    if not rows:
        raise UserError(f"{setting}: {path} has a header and no line below it")
    return rows


def read_number(text: str) -> float | None:
    """Read a finite number; None for a text that is none."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _check_columns(columns: Sequence[str], required: Sequence[str], place: str) -> None:
    """Refuse a header that lacks a required column, or has two of one name."""
    for name in required:
        if name not in columns:
            there = ", ".join(columns) or "none"
            raise UserError(f"{place}: no column {name!r}; the columns are {there}.{did_you_mean(name, columns)}")
    repeated = next((name for name, times in Counter(columns).items() if times > 1), None)
    if repeated is not None:
        raise UserError(f"{place}: the column {repeated!r} occurs twice")
