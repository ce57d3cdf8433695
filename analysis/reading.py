"""Reads the CSV and JSON-lines files of a run folder; a broken one is an error that names the file and the line."""

import csv
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.json

from ucurve.errors import UserError

Kind = Literal["name", "integer", "number"]
_CSV_TYPES = {"name": pa.dictionary(pa.int32(), pa.string()), "integer": pa.int64(), "number": pa.float64()}
_JSON_TYPES = {"name": pa.string(), "integer": pa.int64(), "number": pa.float64()}


def read_table(
    path: Path, columns: Mapping[str, Kind], where: pyarrow.dataset.Expression | None = None
) -> pd.DataFrame:
    """Read some columns of a CSV file in blocks, keeping only the rows that match.

    Args:
        path: a CSV file with a header.
        columns: the columns to read; a name becomes categorical and is never missing, an empty number becomes NaN.
        where: which rows to keep; the others never take memory all at once.

    Returns:
        One row per kept line, the columns in the order asked for.

    Raises:
        UserError: with file and line, when a column is missing or a line is broken.
    """
    _check_header(path, columns)
    types = {name: _CSV_TYPES[kind] for name, kind in columns.items()}
    convert = pyarrow.csv.ConvertOptions(column_types=types, strings_can_be_null=False)
    try:
        source = pyarrow.dataset.dataset(path, format=pyarrow.dataset.CsvFileFormat(convert_options=convert))
        table = source.to_table(columns=list(columns), filter=where)
    except pa.ArrowException as error:
        raise _broken_line(path, columns, error) from error
    frame: pd.DataFrame = table.unify_dictionaries().to_pandas()
    return frame


def read_records(path: Path, columns: Mapping[str, Kind]) -> pd.DataFrame:
    """Read some fields of a JSON-lines file that may still be growing.

    Args:
        path: a file of one JSON object per line. A last line without its line break is a write in progress and is
            left out unless it is already whole.
        columns: the fields to read; a field that a line lacks becomes missing.

    Returns:
        One row per line.

    Raises:
        UserError: with file and line, when a line is broken.
    """
    data = _whole_lines(path.read_bytes())
    schema = pa.schema([(name, _JSON_TYPES[kind]) for name, kind in columns.items()])
    if not data.strip():
        empty: pd.DataFrame = schema.empty_table().to_pandas()
        return empty
    options = pyarrow.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    try:
        frame: pd.DataFrame = pyarrow.json.read_json(pa.BufferReader(data), parse_options=options).to_pandas()
    except pa.ArrowException as error:
        raise _broken_record(path, data, columns, error) from error
    return frame


def _check_header(path: Path, columns: Mapping[str, Kind]) -> None:
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        header = next(csv.reader(file), [])
    missing = [name for name in columns if name not in header]
    if missing:
        raise UserError(f"{path}:1: no column {', '.join(missing)}; found: {', '.join(header) or 'an empty file'}")


def _broken_line(path: Path, columns: Mapping[str, Kind], error: Exception) -> UserError:
    with path.open(encoding="utf-8", errors="surrogateescape", newline="") as file:
        reader = csv.reader(file)
        header = next(reader)
        for cells in reader:
            problem = _problem_in_cells(header, cells, columns)
            if problem:
                return UserError(f"{path}:{reader.line_num}: {problem}")
    return UserError(f"{path}: broken CSV: {error}")


def _problem_in_cells(header: list[str], cells: list[str], columns: Mapping[str, Kind]) -> str | None:
    if not cells:
        return None
    if len(cells) != len(header):
        return f"{len(cells)} cells where the header has {len(header)}"
    for name, cell in zip(header, cells, strict=True):
        if any("\udc80" <= letter <= "\udcff" for letter in cell):
            return f"column {name} is not UTF-8"
        if columns.get(name, "name") != "name" and not _is_number(cell):
            return f"column {name} holds {cell!r}, which is not a number"
    return None


def _is_number(cell: str) -> bool:
    try:
        float(cell or "nan")
    except ValueError:
        return False
    return True


def _whole_lines(data: bytes) -> bytes:
    cut = data.rfind(b"\n") + 1
    try:
        json.loads(data[cut:])
    except ValueError:
        return data[:cut]
    return data


def _broken_record(path: Path, data: bytes, columns: Mapping[str, Kind], error: Exception) -> UserError:
    for number, problem in _record_problems(data, columns):
        return UserError(f"{path}:{number}: {problem}")
    return UserError(f"{path}: broken JSON lines: {error}")


def _record_problems(data: bytes, columns: Mapping[str, Kind]) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(data.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except ValueError as error:
            yield number, f"broken JSON: {error}"
            continue
        if not isinstance(record, dict):
            yield number, f"expected a JSON object, found {type(record).__name__}"
            continue
        for name, kind in columns.items():
            value = record.get(name)
            if kind != "name" and value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
                yield number, f"field {name} holds {value!r}, which is not a number"
