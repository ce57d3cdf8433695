"""Tables of text, with one row on each line: which lines are rows, where fields end, and what the columns are called.

Quotation marks stand in many sentences, and a table may quote its fields as well. A mark that is read as the beginning
of a quoted field takes in all that follows, so a field must end on its line, and rows are counted against lines.
"""

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from ucurve.errors import UserError
from ucurve.eval.benchmarks.expressions import search
from ucurve.progress import log_line

Quotes = Literal["csv", "text"]
Record = dict[str, object]
MOST_COLUMNS = 10_000
_QUOTED = ",;"  # with these between fields, quotation marks are CSV's; with others they are text unless all quote
_DELIMITERS = {".csv": ",;\t|", ".tsv": "\t", ".txt": "\t"}
_LINE_END = re.compile(r"\r\n|\r|\n")
_WHAT_TO_DO = "Where quotation marks are text, say `quotes: text` in the card (custom.quotes=text)"


@dataclass(frozen=True)
class TableForm:
    """How tables are written, as ``ucurve.eval.benchmarks.card.Card`` says it."""

    delimiter: str | None = None
    header: tuple[str, ...] | None = None
    header_unless: str | None = None
    quotes: Quotes | None = None


def table_records(content: str, name: str, suffix: str, form: TableForm) -> list[tuple[str, Record]]:
    """Read the rows of a table as records with their places; ``suffix`` says what may be between fields."""
    lines = _LINE_END.split(content)
    delimiter = form.delimiter
    if delimiter is None:
        # The header has most of it, outside of quotation marks; the first one counts where it has none.
        header = re.sub(r'"[^"]*"', "", next(filter(None, lines), ""))
        delimiter = max(_DELIMITERS.get(suffix, ","), key=header.count)
    quoted = _are_quoted(lines, name, delimiter, form)
    plain = ((f"{name}:{number}", line.split(delimiter)) for number, line in enumerate(lines, start=1))
    rows = list(without_blank(_quoted_fields(lines, name, delimiter) if quoted else plain))
    records = name_fields(rows, form)
    headers = len(rows) - len(records)
    blank = re.compile(r'\s*|"\s*"' if quoted else r"\s*")
    filled = sum(not all(map(blank.fullmatch, line.split(delimiter))) for line in lines if line.strip())
    if headers not in (0, 1) or len(rows) != filled:
        raise UserError(
            f"{name}: {filled} lines that are not blank became {len(rows)} rows; each line must be a row"
        )
    return records


def written(value: object) -> str:
    """Return a value as text: None as the empty text, a whole number without a decimal point."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None else str(value)


def without_blank(rows: Iterable[tuple[str, list[str]]]) -> Iterator[tuple[str, list[str]]]:
    """Leave out rows without text."""
    return (row for row in rows if any(field.strip() for field in row[1]))


def name_fields(rows: Sequence[tuple[str, list[str]]], form: TableForm | None) -> list[tuple[str, Record]]:
    """Name the fields of rows by the header: the first row, or that of the form if the first row is one of pairs."""
    if not rows:
        return []
    place, first = rows[0]
    given, unless = (None, None) if form is None else (form.header, form.header_unless)
    has_header = given is None or (
        unless is not None and not any(search(unless, field, place) for field in first)
    )
    names = [field.strip() for field in first] if given is None or has_header else given[: len(first)]
    header = check_columns(names, place)
    records: list[tuple[str, Record]] = []
    for place, fields in rows[1:] if has_header else rows:
        if len(fields) != len(header):
            raise UserError(f"{place}: {len(fields)} fields; the header has {len(header)}: {', '.join(header)}")
        records.append((place, dict(zip(header, fields, strict=True))))
    return records


def check_columns(names: Sequence[str], place: str) -> list[str]:
    """Return the names of a table's columns, which must differ; one without a name is called by its number."""
    if len(names) > MOST_COLUMNS:
        raise too_many_columns(len(names), place)
    named = [name or f"column_{number}" for number, name in enumerate(names, start=1)]
    twice = next((name for name, times in Counter(named).items() if times > 1), None)
    if twice is not None:
        raise UserError(f"{place}: two columns are named {twice!r}")
    return named


def too_many_columns(number: int, place: str) -> UserError:
    """Build the error for pairs with more columns than can be meant."""
    return UserError(f"{place}: {number:,} columns; at most {MOST_COLUMNS:,} are read")


def _quoted_fields(lines: Sequence[str], name: str, delimiter: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the places and fields of the rows of a table with quotation marks as in CSV."""
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    number = 0
    try:
        for number, fields in enumerate(reader, start=1):
            if reader.line_num != number:
                raise _open_field(f"{name}:{number}")
            yield f"{name}:{number}", fields
    except csv.Error as error:
        place = f"{name}:{number + 1}"
        if reader.line_num > number + 1 or "unexpected end of data" in str(error):
            raise _open_field(place) from error
        raise UserError(
            f"{place}: not a table with {delimiter!r} between fields ({error}). {_WHAT_TO_DO}"
        ) from error


def _open_field(place: str) -> UserError:
    return UserError(
        f"{place}: a quotation mark begins a field that does not end on its line, and a row is one line. "
        f"{_WHAT_TO_DO}; a field that is quoted must have no line break"
    )


def _are_quoted(lines: Sequence[str], name: str, delimiter: str, form: TableForm) -> bool:
    """Tell whether quotation marks around fields are CSV's: by the form, the delimiter, or how the table uses them."""
    if form.quotes is not None:
        return form.quotes == "csv"
    if delimiter in _QUOTED or not any('"' in line for line in lines):
        return delimiter in _QUOTED
    against = _line_against_quoting(lines, delimiter, has_header=form.header is None)
    if against is None:
        return True
    marked = [number for number, line in enumerate(lines, 1) if any(map(_is_marked, line.split(delimiter)))]
    first = next(line for line in lines if line.strip())
    if form.header is None and all(map(_is_marked, first.split(delimiter))):
        raise UserError(
            f"{name}:{against}: the names of the columns stand in quotation marks, but this line is not quoted in the "
            "same way; say in the card `quotes: csv` or `quotes: text` (custom.quotes=...)"
        )
    if marked:
        log_line(
            f"{name}:{marked[0]}: a field in quotation marks is read with them, because not all fields of its column "
            "have them; `quotes: csv` in the card (custom.quotes=csv) takes them for CSV's"
        )
    return False


def _is_marked(field: str) -> bool:
    return len(field) > 1 and field[0] == field[-1] == '"'


def _line_against_quoting(lines: Sequence[str], delimiter: str, has_header: bool) -> int | None:
    """Return the first line that shows that a table does not quote its fields; None if it does quote them.

    It does if every quotation mark belongs to a quoted field, all rows have equally many fields, and either each column
    below the header is quoted throughout or not at all, or the quoted fields are those that need it: for a quotation
    mark or a delimiter in them, or, where some need it, for a comma (as Excel does).
    """
    field = rf'"(?:[^"]|"")*"|[^"{re.escape(delimiter)}]*'
    whole = re.compile(rf"(?:{field})(?:{re.escape(delimiter)}(?:{field}))*")
    each = re.compile(rf"(?:^|{re.escape(delimiter)})({field})")
    rows = {
        number: each.findall(line)
        for number, line in enumerate(lines, 1)
        if line.strip() and whole.fullmatch(line)
    }
    width = len(next(iter(rows.values()), ()))
    for number, line in enumerate(lines, start=1):
        if line.strip() and (number not in rows or len(rows[number]) != width):
            return number
    quoted = [text[1:-1] for fields in rows.values() for text in fields if _is_marked(text)]
    needed = [text for text in quoted if '""' in text or delimiter in text]
    if needed and all('""' in text or delimiter in text or "," in text for text in quoted):
        return None
    body = dict(list(rows.items())[has_header:])
    columns = {place for fields in body.values() for place, text in enumerate(fields) if _is_marked(text)}
    for number, fields in body.items():
        if any(fields[place] and not _is_marked(fields[place]) for place in columns):
            return number
    return None
