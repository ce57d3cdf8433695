"""The checks of a benchmark folder, made here or published: what ``generate.py check=DIR`` prints."""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from eval.benchmarks.card import Benchmark
from eval.benchmarks.datacheck import data_report
from eval.benchmarks.load import load_benchmark
from eval.benchmarks.registry import find_in_folder
from eval.templates.pair import Value
from generation.maker import MAKERS, CheckOf, import_part, makers
from ucurve.text_table import format_table

_SHOWN = 3


def check_folder(folder: Path, keys: Mapping[str, object] | None = None) -> str:
    """Check every pair in a benchmark folder and return what was found, as text.

    ``keys`` are the settings of the source, for checks that read what a folder was made from.
    """
    cards, root = find_in_folder(folder)
    parts = []
    for card in cards:
        pairs = load_benchmark(card, root)
        rows = check_pairs(pairs, maker_of(card)) + _check_with_sources(pairs, card, keys or {})
        parts.append(f"{data_report(pairs).text()}\n{format_table(rows)}")
    return "\n\n".join(parts)


def maker_of(card: Benchmark) -> str | None:
    """Return the maker whose checks a benchmark must pass; None where only those of all pairs apply."""
    name = card.made.get("source", card.maker)
    return name if name in makers() and (MAKERS / name / "check.py").is_file() else None


def check_pairs(pairs: pd.DataFrame, maker: str | None) -> list[dict[str, Value]]:
    """Apply the checks of all pairs and those of a maker to a pair table.

    Returns:
        A row for each check: ``check, broken`` (the number of pairs), ``of`` (all pairs), ``where`` (the first).
    """
    own: Mapping[str, CheckOf] = {} if maker is None else import_part(maker, "check").CHECKS
    return [_row(name, breaks(pairs), pairs) for name, breaks in (_ALL | dict(own)).items()]


def _check_with_sources(pairs: pd.DataFrame, card: Benchmark, keys: Mapping[str, object]) -> list[dict[str, Value]]:
    """Apply the checks of a made folder that read the files it was made from; rows as those of ``check_pairs``."""
    maker = maker_of(card)
    checks_of = getattr(import_part(maker, "check"), "source_checks", None) if maker and card.made else None
    checks: Mapping[str, CheckOf | str] = checks_of(card.made, keys) if checks_of is not None else {}
    return [
        {"check": name, "broken": None, "of": len(pairs), "where": breaks}
        if isinstance(breaks, str)
        else _row(name, breaks(pairs), pairs)
        for name, breaks in checks.items()
    ]


def _row(name: str, broken: pd.Series, pairs: pd.DataFrame) -> dict[str, Value]:
    found = pairs[broken.to_numpy(dtype=bool)]
    counts = found["paradigm"].value_counts(sort=False)
    shown = [f"{paradigm}: {count}" for paradigm, count in list(counts.items())[:_SHOWN]]
    more = [f"{len(counts) - _SHOWN} more paradigms"] if len(counts) > _SHOWN else []
    first = [f"first pair {found['pair'].iloc[0]}"] if len(found) else []
    return {"check": name, "broken": len(found), "of": len(pairs), "where": ", ".join([*shown, *more, *first]) or None}


def _elsewhere(pairs: pd.DataFrame) -> pd.Series:
    return pairs[["good", "bad"]].duplicated() & ~pairs[["phenomenon", "paradigm", "good", "bad"]].duplicated()


def _bad_is_good(pairs: pd.DataFrame) -> pd.Series:
    good = pairs.groupby("paradigm")["good"].agg(set)
    return pd.Series([bad in good[paradigm] for bad, paradigm in zip(pairs["bad"], pairs["paradigm"], strict=True)])


_ALL: dict[str, CheckOf] = {
    "the two sentences differ": lambda pairs: pairs["good"] == pairs["bad"],
    "a good sentence stands once in its paradigm": lambda pairs: pairs[["phenomenon", "paradigm", "good"]].duplicated(),
    "a pair stands in one paradigm": _elsewhere,
    "no bad sentence is a good one of its paradigm": _bad_is_good,
}
