"""Files to rows, by the form that the end of a file's name says. What a row means is decided elsewhere.

Of a workbook the values are read, and no formulas.
"""

import codecs
import io
import json
import re
import zipfile
import zlib
from collections.abc import Callable, Container, Iterator, Sequence
from typing import NamedTuple

from ucurve.errors import UserError
from ucurve.eval.benchmarks.files.source_file import SourceFile
from ucurve.eval.benchmarks.files.tables import (
    MOST_COLUMNS,
    Record,
    TableForm,
    check_columns,
    name_fields,
    table_records,
    too_many_columns,
    without_blank,
    written,
)
from ucurve.eval.pairs import lacks, parse_json, parse_json_lines

_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_TRUTH = {"True": True, "False": False, "true": True, "false": False}
_OTHER_FORMS = {
    b"PK\x03\x04": "a zip archive (.zip) or a workbook (.xlsx)",
    b"PAR1": "Parquet (.parquet)",
    b"\x1f\x8b": "gzip data (.gz) in gzip data",
    b"\xfd7zXZ\0": "xz data, which is not read,",
}
_TABLES = (".csv", ".tsv", ".txt", ".xlsx")  # their fields are text at first
_DEEPEST = 3  # arrays within arrays, of which each value becomes a column
_BATCH = 1024  # rows of Parquet that are unpacked at a time
Sheet = list[tuple[object, ...]]


def read_sheets(file: SourceFile) -> list[Sheet]:
    """Return the rows of each sheet of a workbook, in its order."""
    try:
        from openpyxl import load_workbook
    except ImportError as error:
        raise UserError(f"{file.place}: xlsx files need openpyxl; install ucurve with the extra xlsx") from error
    content = io.BytesIO(file.read())
    try:
        with zipfile.ZipFile(content) as packed:  # a workbook is a zip
            file.budget.take(sum(info.file_size for info in packed.infolist()), file.place)
        book = load_workbook(content, read_only=True, data_only=True)
        return [list(sheet.iter_rows(values_only=True)) for sheet in book.worksheets]
    # SyntaxError is that of broken XML
    except (zipfile.BadZipFile, zlib.error, KeyError, ValueError, OSError, SyntaxError, RuntimeError) as error:
        raise UserError(f"{file.place}: not an xlsx file ({error})") from error


class Row(NamedTuple):
    """One published record."""

    part: str  # the stem of its file, or the configuration of the hub data set
    folder: str  # the name of the folder that holds the file
    place: str  # for messages
    record: Record
    set: str = ""  # what the rows of one set share, where a set has more than two candidates

    def value(self, name: str) -> object:
        """Return the value of a column that must exist."""
        if name not in self.record:
            raise lacks(self.place, name, self.record)
        return self.record[name]


def read_rows(files: Sequence[SourceFile], form: TableForm, text: Container[str] = ()) -> list[Row]:
    """Read the rows of files: JSON lines, JSON arrays, tables, parquet and xlsx.

    Columns of tables become integers, numbers or truth values if all their fields are such, apart from those in
    ``text``. The columns of a JSON array of arrays are the places of the values, as ``0.1``.
    """
    rows: list[Row] = []
    of_tables: list[Row] = []
    columns: set[str] = set()
    for file in files:
        found = [Row(file.stem, file.folder, place, record) for place, record in _records(file, form)]
        for row in found:
            columns.update(row.record)
            if len(columns) > MOST_COLUMNS:
                raise too_many_columns(len(columns), row.place)
        rows += found
        if file.suffix in _TABLES:
            of_tables += found
    # The fields of tables are text until all of a column are known; a name may be in several files.
    names = dict.fromkeys(name for row in of_tables for name in row.record)
    kinds = {name: _kind({str(row.record.get(name, "")) for row in of_tables}, name in text) for name in names}
    changed = {name: kind for name, kind in kinds.items() if kind is not str}
    for row in of_tables:
        for name, kind in changed.items():
            if name in row.record:
                row.record[name] = kind(str(row.record[name]))
    return rows


def _records(file: SourceFile, form: TableForm) -> list[tuple[str, Record]]:
    """Read the records of a file with their places, by the form that its name says."""
    if file.suffix == ".xlsx":
        sheets = read_sheets(file)
        if not sheets:
            raise UserError(f"{file.place}: not an xlsx file (it has no sheet)")
        rows = ([written(value) for value in values] for values in sheets[0])
        placed = ((f"{file.place}:{number}", row) for number, row in enumerate(rows, 1))
        return name_fields(list(without_blank(placed)), None)
    content = file.read()
    if file.suffix == ".parquet":
        return list(_parquet(content, file))
    if not content.strip():
        raise UserError(f"{file.place}: the file is empty; at least one pair is expected")
    text = decode(content, file.place)
    match file.suffix:
        case ".jsonl":
            return parse_json_lines(content, file.place)
        case ".json":
            return list(_json(content, text, file.place))
    return table_records(text, file.place, file.suffix, form)


def decode(data: bytes, place: str) -> str:
    """Decode UTF-8 text, with or without its byte order mark; an error says what else the file is."""
    for start, what in _OTHER_FORMS.items():
        if data.startswith(start):
            raise UserError(f"{place}: {what} and not text, whatever its name says; rename it")
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise UserError(f"{place}:1: UTF-16; the file must be UTF-8")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UserError(
            f"{place}:{line}: not UTF-8 ({error.reason} at byte {error.start} of the file)"
        ) from error


def _json(content: bytes, text: str, name: str) -> Iterator[tuple[str, Record]]:
    """Read a JSON array of pairs, or JSON lines under that name, as the hub's library writes them."""
    try:
        values = parse_json(text)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data" and text.lstrip().startswith("{"):
            yield from parse_json_lines(content, name)
            return
        raise UserError(f"{name}:{error.lineno}: not JSON ({error.msg})") from error
    except RecursionError as error:
        raise UserError(f"{name}: not JSON ({error})") from error
    except ValueError as error:
        raise UserError(f"{name}: {error}") from error
    if isinstance(values, dict) and values and "\n" not in text.strip():
        values = [values]  # JSON lines, of which there is one
    if not isinstance(values, list):
        raise UserError(
            f"{name}:1: an array of pairs is expected, not {type(values).__name__}; if the file holds no pairs, "
            "`files` of a card can leave it out, as in `files: pairs/*.json`"
        )
    for number, value in enumerate(values, start=1):
        place = f"{name}:pair {number}"
        if isinstance(value, list):
            yield place, dict(_flattened(value))
        elif isinstance(value, dict):
            yield place, value
        else:
            raise UserError(f"{place}: an object or an array is expected, not {value!r}")


def _flattened(values: list[object], before: str = "", depth: int = 1) -> Iterator[tuple[str, object]]:
    """Yield the values of arrays in one another by their places, as ``0.1``."""
    for place, value in enumerate(values):
        if isinstance(value, list) and depth < _DEEPEST:
            yield from _flattened(value, f"{before}{place}.", depth + 1)
        else:
            yield f"{before}{place}", value


def _parquet(content: bytes, file: SourceFile) -> Iterator[tuple[str, Record]]:
    """Yield the rows of a Parquet file; values that JSON does not have, such as dates, become text."""
    from pyarrow import ArrowException, BufferReader, parquet

    try:
        table = parquet.ParquetFile(BufferReader(content))
        check_columns(table.schema_arrow.names, file.place)
        number = 0
        for batch in table.iter_batches(_BATCH):
            file.budget.take(batch.nbytes, file.place)
            for record in batch.to_pylist():
                number += 1
                yield f"{file.place}:{number}", json.loads(json.dumps(record, default=str))
    except (ArrowException, OSError) as error:
        raise UserError(f"{file.place}: not a parquet file ({str(error).splitlines()[0]})") from error


def _kind(values: set[str], text: bool) -> Callable[[str], object]:
    """Choose what makes a value of each field of a column, ``str`` where it stays text."""
    present = {value for value in values if value}
    if text or not present:
        return str
    if all(map(_INTEGER.fullmatch, present)):
        return lambda value: int(value) if value else None
    if all(map(_NUMBER.fullmatch, present)):
        return lambda value: float(value) if value else None
    return _TRUTH.get if present <= _TRUTH.keys() else str
