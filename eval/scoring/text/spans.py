"""What part of a sentence is scored: all of it, the target after a condition, or a region given by characters."""

from typing import Literal

import pandas as pd

from ucurve.errors import UserError
from ucurve.eval.pairs import parse_region

Part = Literal["whole", "target", "region"]
CONDITION = "condition"
_OF_EACH: dict[Part, str] = {"target": "condition_", "region": "region_"}  # and good or bad


def find_spans(pairs: pd.DataFrame, side: str, part: Part) -> dict[str, list[int]]:
    """Return the span of characters that counts in each good or each bad sentence, as ``first`` and ``end``.

    A target begins behind the column ``condition``, or ``condition_good`` and ``condition_bad``; ``region_good`` and
    ``region_bad`` are ``from:to`` in characters, the last not included.
    """
    texts = pairs[side].tolist()
    if part == "whole":
        return {"first": [0] * len(texts), "end": [len(text) for text in texts]}
    column = f"{_OF_EACH[part]}{side}"
    if part == "target" and column not in pairs:
        column = CONDITION
    if column not in pairs:
        key = f"columns: {{{column}: {column}}} in the card, or custom.columns.{column}={column}"
        remedy = f". The file has a column of that name; {key} takes it for that"
        raise UserError(
            f"benchmark {pairs['benchmark'].iloc[0]}: the pairs have no column {column!r}, which this way to score "
            f"needs; the columns are {', '.join(map(str, pairs.columns))}"
            f"{remedy if f'published_{column}' in pairs else ''}"
        )
    given = list(pairs[column])
    find = _target if part == "target" else parse_region
    spans = [
        find(text, value, describe_pair(pairs, row))
        for row, (text, value) in enumerate(zip(texts, given, strict=True))
    ]
    return {"first": [first for first, _ in spans], "end": [end for _, end in spans]}


def describe_pair(pairs: pd.DataFrame, row: int) -> str:
    """Name benchmark, paradigm and pair of a row of a pair table."""
    pair = pairs.iloc[row]
    return f"benchmark {pair['benchmark']}, paradigm {pair['paradigm']}, pair {pair['pair']}"


def _target(text: str, condition: object, place: str) -> tuple[int, int]:
    """Return the characters behind a condition, from and to, with the white space between."""
    if not isinstance(condition, str) or not text.startswith(condition) or not text[len(condition) :].strip():
        raise UserError(f"{place}: {text!r} must begin with its condition {condition!r} and go on after it")
    return len(condition), len(text)
