"""Reads the tables a user gives about models, languages, pairs and phenomena: csv files with a header.

Every reader raises a ``UserError`` with file and line when the file cannot be read, a column is missing, a key is
empty, unknown or occurs twice, or a cell does not hold what its column is for.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from ucurve.errors import UserError, unknown_name
from ucurve.eval.pairs import full_name
from ucurve.fields import format_names
from ucurve.storage.tabular import Rows, read_number, read_rows

PHENOMENON = "phenomenon"
RESPONSE = "delta_lp"
LANGUAGE, SENTENCE = "language", "sentence"
NO_FACTORS = (PHENOMENON, RESPONSE, LANGUAGE, SENTENCE)  # columns of the table that are none

_NUMBER, _POSITIVE = "a number is expected, or nothing", "a number above 0 is expected, or nothing"
_TRUTH = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False, "": False}


@dataclass(frozen=True, eq=False)
class UserTables:
    """The tables that a user gave; None for those that were not given."""

    models: pd.DataFrame | None = None
    languages: pd.DataFrame | None = None
    factors: pd.DataFrame | None = None
    matches: pd.DataFrame | None = None


def read_models(path: Path, known: Iterable[str]) -> pd.DataFrame:
    """Read each model's ``line`` (without one it is in no line) and ``parameters``, NaN where the cell is empty."""
    rows = _read_unique(path, "models", ("model", "line", "parameters"), keys=("model",))
    names = set(known)
    for line, row in rows:
        if row["model"] not in names:
            raise unknown_name("model", row["model"], names, f"{path}:{line}")
    return pd.DataFrame(
        {
            "model": [row["model"] for _, row in rows],
            "line": [row["line"] or None for _, row in rows],
            "parameters": _read_cells(path, rows, "parameters", _positive_number, _POSITIVE),
        }
    )


def read_languages(path: Path, scored: Iterable[str] | None = None) -> pd.DataFrame:
    """Read names, frequencies and sets of languages, of which one at least must be among those that were ``scored``.

    The file has the column ``language`` (ISO 639-3, as in ``multiblimp/nld``) and any of ``name`` (else the code),
    ``frequency`` (a number above 0, such as sentences in Common Crawl; else NaN) and further columns, each the set of
    languages in which it holds ``yes``, ``true`` or ``1``, and not ``no``, ``false``, ``0`` or nothing.
    """
    rows = _read_unique(path, "languages", ("language",))
    rows = [(line, {"frequency": "", **row}) for line, row in rows]  # the column may be absent
    table = pd.DataFrame(
        {
            "language": [row["language"] for _, row in rows],
            "name": [row.get("name") or row["language"] for _, row in rows],
            "frequency": _read_cells(path, rows, "frequency", _positive_number, _POSITIVE),
        }
    )
    check_some_match("languages", path, "languages", table["language"], scored)
    sets = [name for name in rows[0][1] if name not in table]
    found = {name: _read_cells(path, rows, name, _truth, "a set of languages takes yes or no") for name in sets}
    return table.assign(**found)


def read_factors(path: Path, scored: Iterable[str] | None = None) -> pd.DataFrame:
    """Read numbers about pairs, to be factors of the linear model.

    One pair at least must be among those that were ``scored``, each written as ``blimp 7``.

    The file has ``benchmark``, ``pair`` (its number in ``pairs.parquet``) and one column of numbers for each factor;
    ``yes`` and ``true`` count 1, ``no`` and ``false`` 0; an empty cell is missing.
    """
    rows = _read_unique(path, "factors", ("benchmark", "pair"))
    factors = [name for name in rows[0][1] if name not in ("benchmark", "pair")]
    table = pd.DataFrame(
        {
            "benchmark": [row["benchmark"] for _, row in rows],
            "pair": np.array(
                _read_cells(path, rows, "pair", _whole_number, "a whole number is expected"), dtype=np.int64
            ),
        }
    )
    if not factors:
        raise UserError(f"factors: {path}:1: no column beside benchmark and pair; give one for each factor")
    check_some_match(
        "factors", path, "benchmarks and pairs", table["benchmark"] + " " + table["pair"].astype(str), scored
    )
    if taken := [name for name in factors if name in NO_FACTORS]:
        raise UserError(
            f"factors: {path}:1: a factor cannot be called {taken[0]!r}, the model has a column of that name; rename it"
        )
    return table.assign(**{name: _read_cells(path, rows, name, _factor, _NUMBER) for name in factors})


def read_matches(path: Path, known: Iterable[tuple[str, str]]) -> pd.DataFrame:
    """Read which phenomena of several benchmarks are about the same thing: ``match``, ``benchmark``, ``phenomenon``.

    ``known`` has benchmark and phenomenon of all that was scored; lines about other benchmarks are passed over, but
    one at least must be about one of these.
    """
    rows = _read_unique(path, "matches", ("match", "benchmark", "phenomenon"))
    scored = set(known)
    benchmarks = {benchmark for benchmark, _ in scored}
    for line, row in rows:
        benchmark, phenomenon = row["benchmark"], row["phenomenon"]
        if benchmark in benchmarks and (benchmark, phenomenon) not in scored:
            there = [name for other, name in scored if other == benchmark]
            raise unknown_name(f"phenomenon of {benchmark}", phenomenon, there, f"{path}:{line}")
    check_some_match("matches", path, "benchmarks", [row["benchmark"] for _, row in rows], sorted(benchmarks))
    return pd.DataFrame([row for _, row in rows])[["match", "benchmark", "phenomenon"]]


def read_human(path: Path) -> pd.DataFrame:
    """Read how many answers of people agree with each paradigm (``UID``): ``paradigm``, ``correct``, ``total``."""
    rows = _read_unique(path, "human", ("UID", "correct", "total"), keys=("UID",))
    counts = {name: _read_cells(path, rows, name, _number, _NUMBER) for name in ("correct", "total")}
    table = pd.DataFrame({"paradigm": [row["UID"] for _, row in rows], **counts})
    right = table["correct"].between(0, table["total"]) & (table["total"] >= 1)
    for place in table.index[~right]:
        name, correct, total = table.loc[place]
        given = f"{path}:{rows[place][0]}: {name}: {correct:g} correct of {total:g}"
        raise UserError(f"{given} is not a count of answers; allowed: 0 to the total")
    return table


def factors_of(factors: pd.DataFrame, benchmark: str) -> pd.DataFrame:
    """Return the lines of ``read_factors`` about a benchmark; a subset has the numbers of pairs of the whole."""
    own = factors["benchmark"] == benchmark
    return factors[own if own.any() else factors["benchmark"] == full_name(benchmark)].drop(columns="benchmark")


def check_some_match(
    setting: str, path: Path, kinds: str, values: Iterable[str], there: Iterable[str] | None
) -> None:
    """Refuse a table of which no line is about the study, whose values of these kinds are ``there``; None: any."""
    given, known = list(dict.fromkeys(values)), list(dict.fromkeys(there or ()))
    if there is not None and set(given).isdisjoint(known):
        raise UserError(
            f"{setting}={path}: none of its lines is about what was scored: they have the {kinds} "
            f"{format_names(given)}, and the study has {format_names(known) or 'none'}"
        )


def _read_unique(path: Path, setting: str, required: Sequence[str], keys: Sequence[str] = ()) -> Rows:
    """Read rows with the required columns; no two may have equal keys, by default all of these columns."""
    rows = [
        (line, {name: cell.strip() for name, cell in row.items()})
        for line, row in read_rows(path, setting, required)
    ]
    seen: dict[tuple[str, ...], int] = {}
    for line, row in rows:
        key = tuple(row[name] for name in keys or required)
        for name in keys or required:
            if not row[name]:
                raise UserError(f"{path}:{line}: {name!r} is empty")
        if key in seen:
            raise UserError(f"{path}:{line}: {', '.join(key)} stands in line {seen[key]} already")
        seen[key] = line
    return rows


def _read_cells(
    path: Path, rows: Rows, name: str, read: Callable[[str], float | None], expected: str
) -> list[float]:
    """Read a column by a function that returns None for a text that is none of what is expected."""
    values = []
    for line, row in rows:
        if (value := read(row[name])) is None:
            raise UserError(f"{path}:{line}: {name!r} is {row[name]!r}; {expected}")
        values.append(value)
    return values


def _number(text: str) -> float | None:
    return read_number(text) if text else math.nan


def _positive_number(text: str) -> float | None:
    number = _number(text)
    return None if number is not None and number <= 0 else number


def _whole_number(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None


def _truth(text: str) -> bool | None:
    return _TRUTH.get(text.lower())


def _factor(text: str) -> float | None:
    # In a set of languages nothing means no; here it is a missing number, and 0 and 1 are themselves.
    truth = None if text in ("", "0", "1") else _truth(text)
    return _number(text) if truth is None else float(truth)
