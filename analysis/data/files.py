"""Reads the files of a run folder.

A broken file is a ``UserError`` that names file and line, one that was changed after it was written a ``DamagedError``.
"""

import csv
import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Literal

import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.json
import pyarrow.parquet

from ucurve.errors import UserError
from ucurve.eval.linking import Linking, parse_linking
from ucurve.eval.pairs import COUNTED
from ucurve.eval.store.keys import check_pairs, check_scores
from ucurve.eval.store.scores import pairs_path, score_path
from ucurve.storage.run_folder import STEPS, parse_step

Kind = Literal["name", "integer", "number"]
_CSV_TYPES = {"name": pa.dictionary(pa.int32(), pa.string()), "integer": pa.int64(), "number": pa.float64()}
_JSON_TYPES = {"name": pa.string(), "integer": pa.int64(), "number": pa.float64()}


def read_table(
    path: Path, columns: Mapping[str, Kind], where: pyarrow.dataset.Expression | None = None
) -> pd.DataFrame:
    """Read some columns of a CSV file in blocks; the rows that ``where`` leaves out never take memory all at once.

    A name becomes categorical and is never missing, an empty number becomes NaN.

    Raises:
        UserError: with file and line, when a column is missing or a line is broken.
    """
    # Arrow's own message about a column that is not there says neither file nor line.
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        header = next(csv.reader(file), [])
    if missing := [name for name in columns if name not in header]:
        raise UserError(
            f"{path}:1: no column {', '.join(missing)}; found: {', '.join(header) or 'an empty file'}"
        )
    types = {name: _CSV_TYPES[kind] for name, kind in columns.items()}
    convert = pyarrow.csv.ConvertOptions(column_types=types, strings_can_be_null=False)
    try:
        source = pyarrow.dataset.dataset(path, format=pyarrow.dataset.CsvFileFormat(convert_options=convert))
        table = source.to_table(columns=list(columns), filter=where)
    except pa.ArrowException as error:
        # Arrow does not say which line is broken, so the file is read again, with what is not UTF-8 as surrogates.
        with path.open(encoding="utf-8", errors="surrogateescape", newline="") as file:
            reader = csv.reader(file)
            header = next(reader)
            for cells in reader:
                if problem := _problem_in_cells(header, cells, columns):
                    raise UserError(f"{path}:{reader.line_num}: {problem}") from error
        raise UserError(f"{path}: broken CSV: {error}") from error
    frame: pd.DataFrame = table.unify_dictionaries().to_pandas()
    return frame


def read_records(path: Path, columns: Mapping[str, Kind]) -> pd.DataFrame:
    """Read some fields of a file of one JSON object per line; a field that a line lacks becomes missing.

    The file may still be growing: a last line without its line break is left out unless it is already whole.
    """
    lines = path.read_bytes().splitlines(keepends=True)
    if lines and not lines[-1].endswith(b"\n") and _problem_in_record(lines[-1], {}):
        lines.pop()
    data = b"".join(lines)
    schema = pa.schema([(name, _JSON_TYPES[kind]) for name, kind in columns.items()])
    if not data.strip():
        empty: pd.DataFrame = schema.empty_table().to_pandas()
        return empty
    options = pyarrow.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    try:
        frame: pd.DataFrame = pyarrow.json.read_json(pa.BufferReader(data), parse_options=options).to_pandas()
    except pa.ArrowException as error:
        for number, line in enumerate(lines, start=1):
            if line.strip() and (problem := _problem_in_record(line, columns)):
                raise UserError(f"{path}:{number}: {problem}") from error
        raise UserError(f"{path}: broken JSON lines: {error}") from error
    return frame


def _problem_in_cells(header: list[str], cells: list[str], columns: Mapping[str, Kind]) -> str | None:
    """Return what is wrong with a line of a CSV file; None where nothing is."""
    if not cells:  # Arrow passes over empty lines
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


def _problem_in_record(line: bytes, columns: Mapping[str, Kind]) -> str | None:
    """Return what is wrong with a line of JSON; None where nothing is."""
    try:
        record = json.loads(line)
    except ValueError as error:
        return f"broken JSON: {error}"
    if not isinstance(record, dict):
        return f"expected a JSON object, found {type(record).__name__}"
    for name, kind in columns.items():
        if kind != "name" and type(value := record.get(name)) not in (int, float, type(None)):
            return f"field {name} holds {value!r}, which is not a number"
    return None


_KINDS = {str: "text", int: "a whole number", list: "a list", dict: "a mapping of names to values"}


def check_types(path: Path, values: Mapping[str, object], types: Mapping[str, type], within: str = "") -> None:
    """Check the types of values; a missing value, null and a key that is not in ``types`` are accepted."""
    for key, kind in types.items():
        value = values.get(key)
        if value is not None and type(value) is not kind:  # for isinstance, true and false are whole numbers
            raise UserError(f"{path}: {within}{key} holds {value!r}, which is not {_KINDS[kind]}")


PAIR_COLUMNS = ("pair", "phenomenon", "paradigm", "good", "bad")


def known_linking(name: str) -> Linking | None:
    """Return a linking function; None for one that a user registered where it was scored, which is not known here."""
    try:
        return parse_linking(name)
    except UserError:
        return None


def stored_pairs(folder: Path, benchmark: str) -> pd.DataFrame | None:
    """Read ``PAIR_COLUMNS`` of the pairs of a benchmark from a run folder; None where they are not there."""
    path = pairs_path(folder, benchmark)
    check_pairs(path)
    return read_stored(path, PAIR_COLUMNS) if path.is_file() else None


def stored_scores(folder: Path, benchmark: str, scorer: str, step: int) -> pd.DataFrame | None:
    """Read ``pair`` and what the scorer stores of both members (``lp_good``, ...); None where no scores are there."""
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

    What says which pairs count is read too, where the file has it.
    """
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            names = file.schema_arrow.names
            missing = [name for name in columns or needed if name not in names]
            if missing:
                raise UserError(f"{path}: no column {', '.join(missing)}; score it again")
            also = [COUNTED] if COUNTED in names else []
            table = file.read(columns and [*columns, *also], use_threads=False)
    except (pa.ArrowException, OSError) as error:
        why = str(error).splitlines()[0]
        what = "score it again, or delete it and its key to leave a gap"
        raise UserError(f"{path}: broken Parquet: {why}; {what}") from error
    # What pandas wrote about its columns is left out: it is no part of the data, and no hash covers it.
    # The columns stay apart, so that none is copied.
    frame: pd.DataFrame = table.replace_schema_metadata().to_pandas(split_blocks=True)
    return frame
