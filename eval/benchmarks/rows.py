"""Rows of files that only one benchmark has: functions that a card names, as ``ucurve.eval.benchmarks.rows:FUNCTION``.

A function gets the rows of all files as they were read and returns rows that the other keys of the card can describe.
"""

import itertools
import re
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from inspect import isfunction

from ucurve.errors import UserError
from ucurve.eval.benchmarks.files.readers import Row
from ucurve.eval.benchmarks.files.tables import Record, written
from ucurve.eval.benchmarks.pairing.columns import BAD, GOOD

ChangeRows = Callable[[list[Row]], list[Row]]
_EXAMPLE = "ucurve.eval.benchmarks.rows:bad_line_first"
_HAND_MADE = 10  # rows at the head of each block


def find_rows(name: str) -> ChangeRows:
    """Return the function that ``rows`` of a card names; a ``ValueError`` for any code outside of this package."""
    module, _, function = name.partition(":")
    if not re.fullmatch(r"ucurve\.eval\.benchmarks(\.\w+)+", module):
        raise ValueError(
            f"{name!r}: ucurve.eval.benchmarks.MODULE:FUNCTION is expected, as {_EXAMPLE}; no other code is run"
        )
    try:
        held = vars(import_module(module))
    except ImportError as error:
        raise ValueError(f"{name!r}: there is no module {module}") from error
    kind = {"rows": list[Row], "return": list[Row]}
    public = {key: value for key, value in held.items() if isfunction(value) and value.__annotations__ == kind}
    if function not in public:
        raise ValueError(f"{name!r}: {module} has no such function; it has {', '.join(public) or 'none of rows'}")
    return public[function]


def bad_line_first(rows: list[Row]) -> list[Row]:
    """Text files of two lines a pair, the ungrammatical one first; the header of the card names the line ``text``."""
    pairs = []
    for _, of_file in itertools.groupby(rows, lambda row: row.place.rpartition(":")[0]):
        lines = list(of_file)
        if len(lines) % 2:
            raise UserError(
                f"{lines[-1].place}: a line without its partner; two lines, bad and good, make a pair"
            )
        for bad, good in zip(lines[::2], lines[1::2], strict=True):
            sentences: Record = {
                GOOD: written(good.value("text")).strip(),
                BAD: written(bad.value("text")).strip(),
            }
            pairs.append(bad._replace(record=sentences))
    return pairs


def same_condition(rows: list[Row]) -> list[Row]:
    """Arrays ``[[condition, condition], [target, target]]``, whose two conditions must be one text."""
    for row in rows:
        first, second = row.record.get("0.0"), row.record.get("0.1")
        if first != second:
            raise UserError(f"{row.place}: the same text is expected in 0.0, 0.1, not {first!r}, {second!r}")
    return rows


def number_pair_ids(rows: list[Row]) -> list[Row]:
    """JSON lines some of which write ``pair_ID`` as text."""
    for row in rows:
        value = row.record.get("pair_ID")
        if isinstance(value, str) and value.isdigit():
            row.record["pair_ID"] = int(value)
    return rows


def phenomena_in_blocks(rows: list[Row]) -> list[Row]:
    """Mark the blocks that rows of one ``phenomenon`` make: ``block`` is ``last`` or ``earlier``, and ``handmade``."""
    blocks = [
        (key, list(block)) for key, block in itertools.groupby(rows, lambda row: written(row.value("phenomenon")))
    ]
    left = Counter(key for key, _ in blocks)
    for key, block in blocks:
        left[key] -= 1
        for place, row in enumerate(block):
            row.record.update(block="earlier" if left[key] else "last", handmade=place < _HAND_MADE)
    return rows
