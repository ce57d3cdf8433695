"""Tables of text for people."""

from collections.abc import Mapping, Sequence


def format_table(rows: Sequence[Mapping[str, object]]) -> str:
    """Return rows as columns of text under the keys of the first; None is shown as ``-``."""
    lines = [list(rows[0]), *(["-" if value is None else str(value) for value in row.values()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)
