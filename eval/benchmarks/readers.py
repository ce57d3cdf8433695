"""Files to rows, by the form that the end of a file's name says. What a row means is decided elsewhere."""

import codecs
import csv
import io
import json
import re
import zipfile
import zlib
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from eval.benchmarks.columns import written
from eval.benchmarks.files import SourceFile
from eval.pairs import parse_json_lines
from ucurve.errors import UserError

_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_TRUTH = {"True": True, "False": False, "true": True, "false": False}
_DELIMITERS = {".csv": ",;\t|", ".tsv": "\t", ".txt": "\t"}
_OTHER_ENCODINGS = {codecs.BOM_UTF16_LE: "UTF-16", codecs.BOM_UTF16_BE: "UTF-16"}
_TABLES = (".csv", ".tsv", ".txt", ".xlsx")  # their fields are text at first
_DEEPEST = 3  # arrays within arrays, of which each value becomes a column


class Row(NamedTuple):
    """One published record.

    Attributes:
        part: the stem of its file, or the configuration of the hub data set.
        folder: the name of the folder that holds the file.
        place: where it stands, for messages.
        set: what rows of one set share, where a set has more than two candidates.
    """

    part: str
    folder: str
    place: str
    record: dict[str, Any]
    set: str = ""


@dataclass(frozen=True)
class TableForm:
    """How tables are written, as ``eval.benchmarks.card.Card`` says it."""

    delimiter: str | None = None
    header: tuple[str, ...] | None = None
    header_unless: str | None = None
    lines: tuple[str, str] | None = None


def read_rows(files: Sequence[SourceFile], form: TableForm, text: Container[str] = ()) -> list[Row]:
    """Read the rows of files: JSON lines, JSON arrays, tables, parquet, xlsx, and text with two lines a pair.

    A column of integers, of numbers or of truth values over all tables becomes such, with None where a field is empty.
    Of a JSON array of arrays, the columns are the places of the values, as ``0.1``.

    Args:
        text: columns of tables that stay text even if they look like numbers.

    Raises:
        UserError: naming the file that is empty, and file and line of what is not UTF-8 or not of the form, of two
            columns of one name, of a row that has not as many fields as the header, and of a line without its partner.
    """
    rows: list[Row] = []
    of_tables: list[Row] = []
    for file in files:
        found = [Row(file.stem, file.folder, place, record) for place, record in _records(file, form)]
        if not found and not file.read().strip():
            raise UserError(f"{file.place}: the file is empty; at least one pair is expected")
        rows += found
        if file.suffix in _TABLES:
            of_tables += found
    _set_types(of_tables, text)
    return rows


def _records(file: SourceFile, form: TableForm) -> Iterator[tuple[str, dict[str, Any]]]:
    match file.suffix:
        case ".jsonl":
            return _json_lines(file)
        case ".json":
            return _json_array(file)
        case ".parquet":
            return _parquet(file)
        case ".xlsx":
            return _xlsx(file)
        case ".txt" if form.lines is not None:
            return _two_lines(file, form.lines)
    return _table(file, form)


def decode(data: bytes, place: str) -> str:
    """Decode UTF-8 text, with or without its byte order mark.

    Raises:
        UserError: naming file, line and byte of what is not UTF-8.
    """
    for mark, encoding in _OTHER_ENCODINGS.items():
        if data.startswith(mark):
            raise UserError(f"{place}:1: {encoding}; the file must be UTF-8")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UserError(f"{place}:{line}: not UTF-8 ({error.reason} at byte {error.start} of the file)") from error


def _two_lines(file: SourceFile, order: tuple[str, str]) -> Iterator[tuple[str, dict[str, Any]]]:
    lines = [
        (f"{file.place}:{number}", line.strip())
        for number, line in enumerate(decode(file.read(), file.place).split("\n"), start=1)
        if line.strip()
    ]
    if len(lines) % 2:
        raise UserError(f"{lines[-1][0]}: a line without its partner; two lines, {' and '.join(order)}, make a pair")
    for (place, first), (_, second) in zip(lines[::2], lines[1::2], strict=True):
        yield place, dict(zip(order, (first, second), strict=True))


def _json_lines(file: SourceFile) -> Iterator[tuple[str, dict[str, Any]]]:
    content = file.read()
    decode(content, file.place)  # its messages name the encoding and the byte of the file
    return iter(parse_json_lines(content, file.place))


def _json_array(file: SourceFile) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        values = json.loads(decode(file.read(), file.place))
    except json.JSONDecodeError as error:
        raise UserError(f"{file.place}:{error.lineno}: not JSON ({error.msg})") from error
    except RecursionError as error:
        raise UserError(f"{file.place}: not JSON ({error})") from error
    if not isinstance(values, list):
        raise UserError(f"{file.place}:1: an array of pairs is expected, not {type(values).__name__}")
    for number, value in enumerate(values, start=1):
        place = f"{file.place}:pair {number}"
        if isinstance(value, list):
            yield place, dict(_flattened(value))
        elif isinstance(value, dict):
            yield place, value
        else:
            raise UserError(f"{place}: an object or an array is expected, not {value!r}")


def _flattened(values: list[Any], before: str = "", depth: int = 1) -> Iterator[tuple[str, Any]]:
    for place, value in enumerate(values):
        if isinstance(value, list) and depth < _DEEPEST:
            yield from _flattened(value, f"{before}{place}.", depth + 1)
        else:
            yield f"{before}{place}", value


def _parquet(file: SourceFile) -> Iterator[tuple[str, dict[str, Any]]]:
    from pyarrow import ArrowException, BufferReader, parquet

    try:
        records = parquet.read_table(BufferReader(file.read())).to_pylist()
    except (ArrowException, OSError) as error:
        raise UserError(f"{file.place}: not a parquet file ({str(error).splitlines()[0]})") from error
    for number, record in enumerate(records, start=1):
        yield f"{file.place}:{number}", json.loads(json.dumps(record, default=str))


def _xlsx(file: SourceFile) -> Iterator[tuple[str, dict[str, Any]]]:
    """Read the first sheet of a workbook; its values alone, no formulas."""
    try:
        from openpyxl import load_workbook
    except ImportError as error:
        raise UserError(f"{file.place}: xlsx files need openpyxl; install ucurve with the extra xlsx") from error
    content = io.BytesIO(file.read())
    try:
        book = load_workbook(content, read_only=True, data_only=True)
        sheet = list(book.worksheets[0].iter_rows(values_only=True))
    # SyntaxError is that of broken XML; without a sheet there is no first one
    except (zipfile.BadZipFile, zlib.error, KeyError, IndexError, ValueError, SyntaxError) as error:
        raise UserError(f"{file.place}: not an xlsx file ({error})") from error
    rows = ([written(value) for value in values] for values in sheet)
    yield from _with_header(_not_blank((f"{file.place}:{number}", row) for number, row in enumerate(rows, 1)), None)


def _table(file: SourceFile, form: TableForm) -> Iterator[tuple[str, dict[str, Any]]]:
    content = decode(file.read(), file.place)
    rows = _fields(content, file.place, form.delimiter or _find_delimiter(content, file))
    return _with_header(_not_blank(rows), form)


def _find_delimiter(content: str, file: SourceFile) -> str:
    """Return the delimiter that stands most often in the header, outside of quotation marks."""
    header = re.sub(r'"[^"]*"', "", next(iter(content.lstrip("\n").splitlines()), ""))
    allowed = _DELIMITERS.get(file.suffix, ",")
    found = max(allowed, key=header.count)
    return found if header.count(found) else allowed[0]


def _fields(content: str, name: str, delimiter: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the places and fields of the rows of a table."""
    lines = csv.reader(io.StringIO(content, newline=""), delimiter=delimiter, strict=True)
    first = 1
    try:
        for fields in lines:
            yield f"{name}:{first}", fields
            first = lines.line_num + 1
    except csv.Error as error:
        raise UserError(f"{name}:{first}: not a table with {delimiter!r} between fields ({error})") from error


def _not_blank(rows: Iterable[tuple[str, list[str]]]) -> Iterator[tuple[str, list[str]]]:
    return (row for row in rows if any(field.strip() for field in row[1]))


def _with_header(rows: Iterator[tuple[str, list[str]]], form: TableForm | None) -> Iterator[tuple[str, dict[str, Any]]]:
    header: list[str] = []
    for place, fields in rows:
        if not header and (form is None or form.header is None or _is_header(fields, form)):
            header = _header(fields, place)
            continue
        if not header:  # the table has none: the card's, as far as there are fields
            header = list(form.header[: len(fields)]) if form is not None and form.header is not None else []
        if len(fields) != len(header):
            raise UserError(f"{place}: {len(fields)} fields; the header has {len(header)}: {', '.join(header)}")
        yield place, dict(zip(header, fields, strict=True))


def _is_header(fields: list[str], form: TableForm | None) -> bool:
    unless = form.header_unless if form is not None else None
    return unless is not None and not any(re.search(unless, field) for field in fields)


def _header(fields: list[str], place: str) -> list[str]:
    names = [field.strip() or f"column_{number}" for number, field in enumerate(fields, start=1)]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UserError(f"{place}: two columns are named {twice!r}")
    return names


def _set_types(rows: list[Row], text: Container[str]) -> None:
    """Change the fields of tables, which are text, where all fields of a column are numbers or truth values."""
    columns = dict.fromkeys(name for row in rows for name in row.record)
    kinds = {name: _kind({row.record.get(name, "") for row in rows}, name in text) for name in columns}
    changed = {name: kind for name, kind in kinds.items() if kind is not str}
    for row in rows:
        for name, kind in changed.items():
            if name in row.record:
                row.record[name] = kind(row.record[name])


def _kind(values: set[str], text: bool) -> Callable[[str], Any]:
    present = {value for value in values if value}
    if text or not present:
        return str
    if all(map(_INTEGER.fullmatch, present)):
        return lambda value: int(value) if value else None
    if all(map(_NUMBER.fullmatch, present)):
        return lambda value: float(value) if value else None
    return _TRUTH.get if present <= _TRUTH.keys() else str
