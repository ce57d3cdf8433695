"""Rows of a dataclass as a table for a person, as CSV or as JSON."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

Format = Literal["text", "csv", "json"]
Row = Mapping[str, Any]


def written(rows: Sequence[Row], texts: Sequence[Row], form: Format) -> str:
    """Write rows in one of three forms.

    Args:
        rows: the values; all rows have the keys of the first.
        texts: the same rows as a person reads them, in the keys and order that a table of text shows.
        form: ``text``, ``csv`` or ``json``.
    """
    if form == "json":
        return json.dumps([dict(row) for row in rows], indent=2, ensure_ascii=False, allow_nan=False)
    return _csv(rows) if form == "csv" else _text(texts)


def _csv(rows: Sequence[Row]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().rstrip("\n")


def _text(rows: Sequence[Row]) -> str:
    heads = list(rows[0])
    cells = [heads, *[["-" if row[head] is None else str(row[head]) for head in heads] for row in rows]]
    widths = [max(len(line[column]) for line in cells) for column in range(len(heads))]
    lines = ["  ".join(f"{text:<{width}}" for text, width in zip(line, widths, strict=True)) for line in cells]
    return "\n".join(line.rstrip() for line in lines)
