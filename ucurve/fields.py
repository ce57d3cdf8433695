"""Types of settings that several commands share, such as counts as people write them (``10M``, ``1.5B``, ``3e9``)."""

import math
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Annotated, Protocol

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field

from ucurve.errors import UserError

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "B": 10**9, "G": 10**9, "T": 10**12}
_LARGEST = 10**18  # an int64 holds it
_SECONDS = (("days", 86_400.0), ("hours", 3_600.0), ("minutes", 60.0), ("seconds", 1.0))
_WORDS = "w"  # after a count that is one of words
_COUNT = re.compile(r"(?P<number>\d[\d_]*(\.\d+)?([eE]\+?\d{1,3})?)(?P<unit>[KkMBGT]?)")


def parse_count(value: object) -> int:
    """Read a count: a whole number from 1, or text such as ``10M``, ``0.5B``, ``3e9`` (units K, M, B or G, T).

    Raises:
        ValueError: for anything else, naming what is allowed.
    """
    match = None if isinstance(value, bool) else _COUNT.fullmatch(str(value).strip())
    if match is None:
        raise ValueError(f"{value!r} is not a count; allowed: 10M, 1.5B, 3e9, 1000000")
    # With floats, some decimal numbers of millions would not be whole.
    number = Decimal(match["number"].replace("_", "")) * _UNITS[match["unit"].upper()]
    if not 1 <= number <= _LARGEST or number != int(number):
        raise ValueError(f"{value!r} is not a whole number from 1 to 1e18; allowed: 10M, 1.5B, 3e9, 1000000")
    return int(number)


def parse_words(value: object) -> int | None:
    """Read a positive count of words, such as ``102Mw``; None for any other text."""
    text = str(value).strip()
    if not text.lower().endswith(_WORDS):
        return None
    try:
        return parse_count(text[: -len(_WORDS)])
    except ValueError:
        return None


def format_count(count: int) -> str:
    """Write a count the shortest way that reads back exactly: 10000000 as ``10M``, 1500 as ``1.5K``."""
    for unit in ("T", "B", "M", "K"):
        scaled = Decimal(count) / _UNITS[unit]
        if scaled >= 1 and scaled == scaled.quantize(Decimal("0.1")):
            return f"{scaled.normalize():f}{unit}"
    return str(count)


def format_words(words: int) -> str:
    """Write a count of words the shortest way that reads back exactly: 102000000 as ``102Mw``."""
    return format_count(words) + _WORDS


class _Named(Protocol):
    @property
    def name(self) -> str: ...


def named(find: Callable[[str], _Named]) -> AfterValidator:
    """Check a name by a search for it; pydantic reports the error with its place."""

    def check(name: str) -> str:
        try:
            return find(name).name
        except UserError as error:
            raise ValueError(str(error)) from error

    return AfterValidator(check)


def format_seconds(seconds: float) -> str:
    """Write a time in the largest unit of which it has at least two, as ``3 hours`` or ``90 minutes``."""
    name, unit = next(((name, unit) for name, unit in _SECONDS if seconds >= 2 * unit), _SECONDS[-1])
    count = max(1, math.ceil(seconds / unit))
    return f"{count:,} {name.removesuffix('s') if count == 1 else name}"


def format_names(names: Sequence[str], most: int = 3) -> str:
    """Write the first of some names, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def as_tuple(value: object) -> object:
    """Return a tuple of one text for a text."""
    return (value,) if isinstance(value, str) else value


def _check_seed(value: object) -> object:
    if isinstance(value, str) and not value.isdecimal():
        raise ValueError(f"got {value!r}; a whole number from 0 is expected, several make a grid: -m seed=0,1,2")
    return value


Texts = Annotated[tuple[str, ...], BeforeValidator(as_tuple)]
STRICT = ConfigDict(extra="forbid", allow_inf_nan=False)
Share = Annotated[float, Field(ge=0, le=1)]
Decay = Annotated[float, Field(ge=0, lt=1)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]*[A-Za-z0-9_-][A-Za-z0-9_.-]*$", coerce_numbers_to_str=True)]
Folder = Annotated[str, Field(min_length=1)]
Seed = Annotated[int, BeforeValidator(_check_seed), Field(ge=0, lt=2**63)]
