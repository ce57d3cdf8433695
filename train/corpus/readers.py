"""Reads documents from files, lazily but for JSON arrays: text, JSON, tables and Parquet, plain or compressed."""

import bz2
import contextlib
import csv
import gzip
import io
import itertools
import json
import lzma
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Literal, cast

from ucurve.errors import UserError, unknown_name
from ucurve.training.corpus.files import COMPRESSIONS, compression_by_name, ending, file_form

Unit = Literal["record", "line"]
_ROWS_AT_ONCE = 1024  # so many rows of Parquet are read at once
# The longest field of a table, in characters: a field is a document, and Python allows 131,072 by default.
_LONGEST_FIELD = 2**31 - 1
PIECE_CHARACTERS = 2**18  # of a text file that is one document
_READ_AT_ONCE = 2**20  # of a Parquet column, which is otherwise read whole for each row group


class Continuation(str):
    """The next part of a document, cut between two lines."""

    __slots__ = ()


class Mark(str):
    """A place between documents, as JSON that says how to read on from there."""

    __slots__ = ()


def read_documents(path: Path, unit: Unit, text_field: str) -> Iterator[str]:
    """Yield the documents of one file, in order, without blank ones; a long text file in parts (``Continuation``).

    Raises:
        UserError: naming the file and the line that cannot be read.
    """
    form = file_form(path)
    if form == "text" and unit == "line":
        yield from (_without_newline(line) for _, line in _lines(path) if line.strip())
    elif form == "text":
        yield from cut_document(line for _, line in _lines(path))
    else:
        assert form is not None, "a file of another form is no file of a corpus"
        for text in _TEXTS[form](path, text_field):
            yield from split_record(text, unit)


def split_record(text: str, unit: Unit) -> Iterator[str]:
    """Yield the documents of one record: the record itself, or its lines; blank ones are left out."""
    parts = [text] if unit == "record" else [_without_newline(line) for line in text.split("\n")]
    return (part for part in parts if part.strip())


def field_text(record: object, field: str, place: str) -> str:
    """Return the text of a record.

    Raises:
        UserError: when the record is not a mapping with text in the field.
    """
    if not isinstance(record, dict):
        raise UserError(f"{place}: a record must be an object with a field {field!r}, not {_type_name(record)}")
    if field not in record:
        raise unknown_name("data.text_field", field, map(str, record), place)
    return _checked_text(record[field], field, place)


def cut_document(lines: Iterable[str]) -> Iterator[str]:
    """Cut a document, where it is long, between two lines that neither end nor begin with a space; none is blank."""
    part: list[str] = []
    characters, kind = 0, str
    for line in lines:
        # A token may hold the end of a line together with spaces beside it.
        if characters >= PIECE_CHARACTERS and not line[0].isspace() and part[-1].rstrip("\r\n")[-1:].strip():
            yield kind("".join(part))
            part, characters, kind = [], 0, Continuation
        part.append(line)
        characters += len(line)
    rest = "".join(part)
    if rest.strip():
        yield kind(rest)


def _json(path: Path, field: str) -> Iterator[str]:
    """Read a file named ``.json``, which holds lines of JSON or one array."""
    lines = _lines(path)
    start = list(itertools.islice(itertools.dropwhile(lambda numbered: not numbered[1].strip(), lines), 1))
    lines = itertools.chain(start, lines)
    if any(line.lstrip().startswith("[") for _, line in start):
        return _texts_of_array("".join(line for _, line in lines), path, field)
    return _texts_of_lines(lines, path, field)


def _texts_of_lines(lines: Iterable[tuple[int, str]], path: Path, field: str) -> Iterator[str]:
    """Yield the text of each line of JSON."""
    for number, line in lines:
        if not line.strip():
            continue
        place = f"{path}:{number}"
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:  # Python refuses thousands of digits or brackets so
            raise UserError(f"{place}: not a line of JSON ({error})") from error
        yield field_text(record, field, place)


def _texts_of_array(text: str, path: Path, field: str) -> Iterator[str]:
    try:
        records = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: neither lines of JSON nor one JSON array ({error})") from error
    for number, record in enumerate(records, 1):
        yield field_text(record, field, f"{path}: record {number}")


def _table(path: Path, field: str) -> Iterator[str]:
    """Read the column of a table with a header: commas and quotation marks, or tabs, where quotation marks are text."""
    tabs = ending(path) == ".tsv"
    reader = csv.reader(
        (line for _, line in _lines(path)),
        delimiter="\t" if tabs else ",",
        quoting=csv.QUOTE_NONE if tabs else csv.QUOTE_MINIMAL,
        strict=True,  # a quotation mark that is never closed is an error
    )
    first = 1
    try:
        rows = _long_rows(reader)
        header = next(filter(None, rows), None)
        if header is None:
            return
        if field not in header:
            raise unknown_name("data.text_field", field, header, f"{path}:1")
        # A field may hold line breaks; messages name the line in which its row begins.
        column, first = header.index(field), reader.line_num + 1
        for row in rows:
            if row and len(row) != len(header):
                raise UserError(f"{path}:{first}: {len(row)} fields; the header has {len(header)}")
            first = reader.line_num + 1
            if row:
                yield row[column]
    except csv.Error as error:
        raise UserError(f"{path}:{first}: not a table ({error})") from error


def _long_rows(reader: Iterator[list[str]]) -> Iterator[list[str]]:
    """Yield rows with fields of any length; the limit is one of the process, so other tables keep theirs."""
    while True:
        before = csv.field_size_limit(_LONGEST_FIELD)
        try:
            row = next(reader, None)
        finally:
            csv.field_size_limit(before)
        if row is None:
            return
        yield row


def _parquet(path: Path, field: str) -> Iterator[str]:
    """Read a column of a Parquet file, a few rows at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    row = 0
    try:
        with open_seekable(path) as stream:
            table = pq.ParquetFile(stream, pre_buffer=False, buffer_size=_READ_AT_ONCE)
            if field not in table.schema_arrow.names:
                raise unknown_name("data.text_field", field, table.schema_arrow.names, str(path))
            for batch in table.iter_batches(batch_size=_ROWS_AT_ONCE, columns=[field]):
                for value in batch.column(0):
                    row += 1
                    yield _checked_text(value.as_py(), field, f"{path}: row {row}")
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: row {row}: not valid UTF-8 ({error.reason})") from error
    except (pa.ArrowException, *DAMAGED) as error:
        raise UserError(f"{path}: damaged or no Parquet file, after row {row} ({one_line(error)})") from error


_TEXTS: dict[str, Callable[[Path, str], Iterator[str]]] = {
    "json_lines": lambda path, field: _texts_of_lines(_lines(path), path, field),
    "json": _json,
    "table": _table,
    "parquet": _parquet,
}


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file, unpacked and decoded, with their numbers and line ends."""
    number = 0
    try:
        with open_lines(path) as stream:
            for number, raw in enumerate(stream, 1):
                # A byte order mark is not part of the text.
                yield number, (raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw).decode()
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path}:{number}: not valid UTF-8 (byte {error.start + 1} of the line); convert the file to UTF-8"
        ) from error
    except DAMAGED as error:
        raise UserError(f"{path}: damaged or cut off after line {number} ({one_line(error)})") from error


def _checked_text(value: object, field: str, place: str) -> str:
    """Return a value that is Unicode text; a ``UserError`` says what else it is."""
    if not isinstance(value, str):
        raise UserError(f"{place}: field {field!r} holds {_type_name(value)}, not text")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise UserError(
            f"{place}: field {field!r} holds half a surrogate pair, which is not Unicode text"
        ) from error
    return value


def _type_name(value: object) -> str:
    names = {type(None): "null", bool: "a truth value", int: "a number", float: "a number", list: "a list"}
    return names.get(type(value), "text" if isinstance(value, str) else "an object")


def _without_newline(line: str) -> str:
    return line.removesuffix("\n").removesuffix("\r")


DAMAGED = (OSError, EOFError, zlib.error, lzma.LZMAError)  # what reading a damaged file raises

# Compressed files begin with these bytes, whatever their names.
_BEGINNINGS = {
    b"\x1f\x8b\x08": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\xfd7zXZ\x00": "xz",
    **{b"BZh%d1AY&SY" % level: "bz2" for level in range(1, 10)},
}
_POINTER = (
    b"version https://git-lfs.github.com/spec/"  # what a clone without Git LFS has in place of a large file
)


def open_lines(path: Path) -> BinaryIO:
    """Open a file for reading from its beginning; reading on may raise any of ``DAMAGED``."""
    match _compression(path):
        case "gzip":
            return cast(BinaryIO, gzip.open(path, "rb"))
        case "bz2":
            return cast(BinaryIO, bz2.open(path, "rb"))
        case "xz":
            return cast(BinaryIO, lzma.open(path, "rb"))
        case "zstd":
            import pyarrow as pa

            return io.BufferedReader(pa.input_stream(str(path), compression="zstd"))
    return path.open("rb")


@contextlib.contextmanager
def open_seekable(path: Path) -> Iterator[BinaryIO]:
    """Open a file that can be read out of order; a compressed one is unpacked into a temporary file."""
    with open_lines(path) as stream:
        if _compression(path) is None:
            yield stream
            return
        with tempfile.TemporaryFile() as unpacked:
            shutil.copyfileobj(stream, unpacked)
            unpacked.seek(0)
            yield cast(BinaryIO, unpacked)


def one_line(error: Exception) -> str:
    """Return the text of an error in one line."""
    return " ".join(str(error).split())


def _compression(path: Path) -> str | None:
    """Tell how a file is compressed, by its name or its first bytes; None for one that is plain."""
    with path.open("rb") as file:
        beginning = file.read(len(_POINTER))
    if beginning == _POINTER:
        raise UserError(f"{path}: a pointer of Git LFS, not the file itself; 'git lfs pull' fetches it")
    by_name = compression_by_name(path)
    if by_name is not None:
        return COMPRESSIONS[by_name]
    # The name of a download may have lost its ending.
    return next((kind for start, kind in _BEGINNINGS.items() if beginning.startswith(start)), None)
