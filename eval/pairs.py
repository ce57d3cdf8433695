"""The pair table: one row per minimal pair, the same for every benchmark.

Columns ``benchmark, language, paradigm, phenomenon, pair, good, bad`` (``PAIR_COLUMNS``), then every other column the
benchmark publishes, under its own name. ``pair`` is int64 and unique within the benchmark: the row number.
"""

import codecs
import hashlib
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ucurve.errors import UserError, did_you_mean

PAIR_COLUMNS = ("benchmark", "language", "paradigm", "phenomenon", "pair", "good", "bad")
RESERVED = ("all", "macro", "macro_phenomena")  # these names stand for aggregates in accuracy.csv
SET = "set"  # column of benchmarks with more than two candidates; the pairs of one set share its value
COUNTED = "counted"  # column of benchmarks that publish more pairs than their papers count
TOO_LONG = "too_long"  # in a table's attributes: how many pairs were left out as too long for the model
WORD = re.compile(r"\w+(?:-\w+)*|[^\w\s]")  # a word of a sentence (with hyphens: one) or a sign
UNNAMED = "unnamed"  # the phenomenon of pairs published without one
_LARGEST = 2**63  # of an int64
_EXACT = 2**53  # up to it, every integer is a float64
_DIGITS = 4300  # of an integer, as many as Python converts
_SHOWN = 60  # characters of a record in a message
SUBSET_MARK = "@"  # stands before what a subset is, in the names of benchmarks
Keys = tuple[str, str, str, str]  # what published records call paradigm, phenomenon and the two sentences
_KEYS: Keys = ("UID", "phenomenon", "sentence_good", "sentence_bad")


def parse_json_lines(content: bytes, name: str) -> list[tuple[str, dict[str, object]]]:
    """Parse JSON lines as ``(file:line, record)``; blank lines are skipped, and errors name file and line."""
    lines = enumerate(content.removeprefix(codecs.BOM_UTF8).split(b"\n"), start=1)
    placed = ((f"{name}:{number}", line) for number, line in lines if line and not line.isspace())
    return [(place, _parse_record(line, place)) for place, line in placed]


def parse_json(text: str) -> object:
    """Parse JSON that may hold anything; a ``RecursionError`` for thousands of nested brackets.

    A key twice in one object, an integer of too many digits and half of a surrogate pair are a ``ValueError`` too.
    """
    values = json.loads(text, object_pairs_hook=_object, parse_int=_integer)
    if "\\u" in text:
        try:
            json.dumps(values, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            half = ascii(error.object[error.start])
            raise ValueError(f"{half} is half a character, a lone surrogate, and no text") from error
    return values


def _object(items: list[tuple[str, object]]) -> dict[str, object]:
    """Make an object of JSON; Python's reader would keep the last value of a key that occurs twice."""
    held = dict(items)
    if len(held) < len(items):
        twice = next(key for key, times in Counter(key for key, _ in items).items() if times > 1)
        raise ValueError(f"the key {twice!r} occurs twice in one object, {str(items)[1:_SHOWN]}...")
    return held


def _integer(digits: str) -> int:
    """Read an integer of JSON that has no more digits than Python converts."""
    if len(digits) > _DIGITS:
        raise ValueError(
            f"an integer of {len(digits):,} digits, {digits[:_SHOWN]}...; at most {_DIGITS:,} are read"
        )
    return int(digits)


def _parse_record(line: bytes, place: str) -> dict[str, object]:
    """Parse one line of JSON lines; an error says what is wrong with it."""
    try:
        record = parse_json(line.decode())
    except UnicodeDecodeError as error:
        raise UserError(f"{place}: not UTF-8 ({error.reason} at byte {error.start})") from error
    except json.JSONDecodeError as error:
        raise UserError(f"{place}: not JSON ({error.msg} at character {error.pos + 1})") from error
    except RecursionError as error:  # thousands of brackets in one another
        raise UserError(f"{place}: not JSON ({error})") from error
    except ValueError as error:
        raise UserError(f"{place}: {error}") from error
    if not isinstance(record, dict):
        raise UserError(f"{place}: a JSON object is expected, with one pair; this is a {type(record).__name__}")
    return record


def pair_table(
    records: Iterable[tuple[str, Mapping[str, object]]], benchmark: str, language: str, keys: Keys = _KEYS
) -> pd.DataFrame:
    """Build and check the pair table of one benchmark from records with their places (``file:line``).

    A published column with a name that this table uses is kept as ``published_<name>``; one of mixed types is kept as
    JSON text.
    """
    rows = [_row(record, place, keys) for place, record in records]
    if not rows:
        raise UserError(f"benchmark {benchmark!r} has no pairs")
    columns = dict.fromkeys(name for row in rows for name in row)
    table = pd.DataFrame({name: _storable([row.get(name) for row in rows]) for name in columns})
    table.insert(0, "benchmark", benchmark)
    table.insert(1, "language", language)
    table.insert(4, "pair", range(len(table)))
    return table.astype({"pair": "int64"})


def _row(record: Mapping[str, object], place: str, keys: Keys) -> dict[str, object]:
    """Make a row of the pair table, but for what all pairs of a benchmark share."""
    paradigm, phenomenon, good, bad = [_text(record, key, place) for key in keys]
    paradigm_key, phenomenon_key, good_key, bad_key = keys
    for key, value in ((paradigm_key, paradigm), (good_key, good), (bad_key, bad)):
        if not value or value.isspace():
            raise UserError(f"{place}: {key!r} is empty")
    for key, value in ((paradigm_key, paradigm), (phenomenon_key, phenomenon)):
        if value.strip() in RESERVED:
            raise UserError(f"{place}: {key!r} is {value!r}, a name kept for aggregates ({', '.join(RESERVED)})")
    ours = {"paradigm": paradigm, "phenomenon": phenomenon.strip() or UNNAMED, "good": good, "bad": bad}
    return ours | mark_published({key: value for key, value in record.items() if key not in keys}, PAIR_COLUMNS)


def mark_published(record: dict[str, object], names: Collection[str]) -> dict[str, object]:
    """Rename the columns of a published record that have some names of ours to ``published_<name>``."""
    if record.keys().isdisjoint(names):
        return record
    return {f"published_{key}" if key in names else key: value for key, value in record.items()}


def named(record: dict[str, object], paradigm: str, phenomenon: str) -> dict[str, object]:
    """Give a record our paradigm and phenomenon; a published value of that name becomes ``published_<name>``."""
    ours = {"paradigm": paradigm, "phenomenon": phenomenon}
    return mark_published(record, [key for key, value in ours.items() if record.get(key, value) != value]) | ours


def lacks(place: str, name: str, held: Iterable[str], what: str = "key") -> UserError:
    """Build the error for a record or a table that has no key or column of a name."""
    names = list(held)
    return UserError(
        f"{place}: no {what} {name!r}; the {what}s are {', '.join(names)}.{did_you_mean(name, names)}"
    )


def _text(record: Mapping[str, object], key: str, place: str) -> str:
    """Return the value of a key that must be there and be text."""
    if key not in record:
        raise lacks(place, key, record)
    value = record[key]
    if not isinstance(value, str):
        raise UserError(f"{place}: {key!r} must be text, not {value!r}")
    return value


def _storable(values: list[object]) -> pd.Series:
    """Make a column that is stored and read back unchanged."""
    present = [value for value in values if value is not None]
    kind = _kind(present)
    if kind is None:
        return pd.Series([None if value is None else json.dumps(value, ensure_ascii=False) for value in values])
    if len(present) < len(values):  # numpy's integers and truth values have none that is missing
        kind = {"int64": "Int64", "bool": "boolean"}.get(kind, kind)
    return pd.Series(values) if kind == "text" else pd.Series(values, dtype=kind)


def _kind(present: list[object]) -> str | None:
    """Name the type that holds all values exactly: text, bool, int64 or float64; None if there is none."""
    kinds = {type(value) for value in present}
    if kinds <= {str}:
        return "text"
    if kinds == {bool}:
        return "bool"
    if kinds == {int} and all(-_LARGEST <= value < _LARGEST for value in present if isinstance(value, int)):
        return "int64"
    if float in kinds <= {int, float} and all(
        abs(value) <= _EXACT for value in present if isinstance(value, int)
    ):
        return "float64"
    return None


@dataclass(frozen=True)
class Subset:
    """Some pairs of each paradigm."""

    size: int  # most pairs of a paradigm
    first: bool = False  # take the first ones as published instead of drawing

    @property
    def asked(self) -> int | str:
        """How a user writes it: ``100``, or ``first:100``."""
        return f"first:{self.size}" if self.first else self.size

    def name(self, benchmark: str) -> str:
        """Return the name of a benchmark's subset: ``NAME@100``, or ``NAME@first100``."""
        return f"{benchmark}{SUBSET_MARK}{'first' if self.first else ''}{self.size}"


def parse_subset(asked: object) -> Subset:
    """Read which pairs of each paradigm are asked for: ``100``, ``first:100`` or ``{"first": 100}``."""
    if isinstance(asked, Subset):
        return asked
    text = f"first:{asked['first']}" if isinstance(asked, Mapping) and list(asked) == ["first"] else str(asked)
    found = re.fullmatch(r"(first:)?0*([1-9][0-9]*)", text)
    if found is None:
        raise ValueError(
            f"got {asked!r}; give the number of pairs of each paradigm, as 100, or first:100 for its first"
        )
    return Subset(int(found[2]), first=found[1] is not None)


def split_name(benchmark: str) -> tuple[str, str, str]:
    """Split the name of a benchmark into family, language and subset, of which the last two may be empty.

    ``tse/hin@6`` gives ``tse``, ``hin`` and ``@6``; ``blimp`` has no languages of its own and is its own family.
    """
    full, mark, subset = benchmark.partition(SUBSET_MARK)
    family, _, language = full.partition("/")
    return family, language, mark + subset


def full_name(benchmark: str) -> str:
    """Remove the mark of a subset: ``blimp@20`` and ``blimp@first20`` give ``blimp``."""
    return benchmark.removesuffix(split_name(benchmark)[2])


def score_arguments(benchmark: str) -> str:
    """Return the arguments of ``score.py`` for a benchmark: of ``demo@first5`` ``benchmarks=demo subset=first:5``."""
    full, mark, subset = benchmark.partition(SUBSET_MARK)
    return f"benchmarks={full} subset={subset.replace('first', 'first:')}" if mark else f"benchmarks={full}"


def subset_pairs(pairs: pd.DataFrame, per_paradigm: int, seed: int = 0, *, first: bool = False) -> pd.DataFrame:
    """Keep at most ``per_paradigm`` pairs of each paradigm: drawn without replacement, or its first ones.

    The draw of a paradigm does not depend on the others, and a smaller draw is part of a larger one.
    """
    if per_paradigm < 1:
        raise UserError(f"subset: got {per_paradigm}; give the number of pairs of each paradigm, at least 1")
    places, kept = pd.Series(np.arange(len(pairs))), []
    for (phenomenon, paradigm), rows in places.groupby(
        [pairs[name].to_numpy() for name in ("phenomenon", "paradigm")]
    ):
        # Not Python's hash, which differs from one process to the next.
        digest = hashlib.sha256(f"{seed}/{phenomenon}/{paradigm}".encode()).digest()
        drawn = np.random.default_rng(int.from_bytes(digest)).permutation(len(rows))
        order = np.arange(len(rows)) if first else drawn
        kept.append(rows.to_numpy()[order[:per_paradigm]])
    return pairs.iloc[np.sort(np.concatenate(kept))].reset_index(drop=True)


def identical(pairs: pd.DataFrame) -> "pd.Series[bool]":
    """Say of each pair whether its two sentences are the same text; such pairs count in no accuracy."""
    return pairs["good"] == pairs["bad"]


def in_accuracies(pairs: pd.DataFrame) -> "pd.Series[bool]":
    """Say of each pair whether accuracies are over it: its sentences differ, and it counts."""
    return ~identical(pairs) & counted(pairs)


def counted(pairs: pd.DataFrame) -> "pd.Series[bool]":
    """Say of each pair whether the benchmark's paper counts it; without the column, all count."""
    if COUNTED not in pairs:
        return pd.Series(True, index=pairs.index)
    return pairs[COUNTED].astype(bool)


def data_hash(pairs: pd.DataFrame) -> str:
    """Return the hex SHA-256 of a pair table: of its column names and every value."""
    digest = hashlib.sha256()
    for name in pairs.columns:
        column = pairs[name].astype(object)
        # As JSON writes it, whether it is None, NaN or pandas' NA.
        if pairs[name].isna().any():
            column = column.where(column.notna(), None)
        values = json.dumps(column.tolist(), ensure_ascii=False)
        digest.update(f"{name}\n{values}\n".encode())
    return digest.hexdigest()


def parse_region(text: str, region: object, place: str) -> tuple[int, int]:
    """Read a region of a sentence, ``from:to`` in characters, the last not included."""
    found = re.fullmatch(r"(\d+):(\d+)", region) if isinstance(region, str) else None
    first, end = (int(number) for number in found.groups()) if found else (0, 0)
    if not 0 <= first < end <= len(text):
        raise UserError(
            f"{place}: the region {region!r} of {text!r} must be FROM:TO, characters with 0 <= FROM < TO <= {len(text)}"
        )
    return first, end
