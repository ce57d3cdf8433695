"""The checks of a benchmark folder, made here or published: what ``generate.py check=DIR`` prints."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Final

import pandas as pd

from ucurve.eval.benchmarks.datacheck import data_report
from ucurve.eval.benchmarks.load import load_benchmark
from ucurve.eval.benchmarks.registry import find_in_folder
from ucurve.eval.edits import find_edits
from ucurve.generation.differences import Member, describe_differences
from ucurve.generation.lengths import LOPSIDED
from ucurve.generation.maker import MAKERS, CheckOf, import_part, makers
from ucurve.generation.variety import variety_of_pairs
from ucurve.templates.pair import Value
from ucurve.text_table import format_table
from ucurve.token_stream.run import RunTokens

_SHOWN = 3  # the row of a check shows so many paradigms


def check_folder(
    folder: Path,
    keys: Mapping[str, object] | None = None,
    run: Path | None = None,
    parses: Sequence[str] = (),
    corpus: Sequence[str] = (),
) -> str:
    """Check every pair in a folder and say what was found.

    ``keys``, of the source, name what it was made from; in the training text of ``run`` what differs is counted. With
    ``parses`` it is said how varied the good sentences are, and with ``corpus`` how frequent their words.
    """
    cards, root = find_in_folder(folder)
    keys, parts = keys or {}, []
    for card in cards:
        pairs = load_benchmark(card, root)
        module = _find_module(card.made.get("source", card.maker))
        # Only a folder that was made here says from which files.
        with_sources = getattr(module, "source_checks", None) if card.made else None
        checks = {**_checks_by(module), **(with_sources(card.made, keys) if with_sources else {})}
        rows = [_row(name, breaks, pairs) for name, breaks in checks.items()]
        # Some sources know the lemmas of their words.
        find_lemmas = getattr(_find_module(card.made.get("source")), "lemmas", None)
        members = [Member(*row) for row in pairs[["paradigm", "good", "bad"]].itertuples(index=False)]
        told = describe_differences(members, find_lemmas(keys) if find_lemmas else None)
        parts += [data_report(pairs).text(), format_table(rows), *(["\n".join(told)] if told else [])]
        parts += [describe_word_counts(run, pairs)] if run is not None else []
        parts += [variety_of_pairs(pairs, parses, corpus)] if parses else []
    return "\n\n".join(parts)


def find_broken(pairs: pd.DataFrame, maker: str | None) -> pd.DataFrame:
    """Say of each pair which checks it breaks, of its maker and of any pairs: bool[pairs, checks], with their names."""
    checks = _checks_by(_find_module(maker))
    return pd.DataFrame({name: breaks(pairs).to_numpy(dtype=bool) for name, breaks in checks.items()})


def _find_module(maker: object) -> ModuleType | None:
    """Return the module with the checks of a maker; None where there is none."""
    has_checks = maker in makers() and (MAKERS / str(maker) / "check.py").is_file()
    return import_part(str(maker), "check") if has_checks else None


def _checks_by(module: ModuleType | None) -> dict[str, CheckOf]:
    return {**_ALL, **(module.CHECKS if module else {})}


def _row(name: str, breaks: CheckOf | str, pairs: pd.DataFrame) -> dict[str, Value]:
    """Return what a check found, as a row of the table that is printed."""
    if isinstance(breaks, str):  # why the check was not made
        return {"check": name, "broken": None, "of": len(pairs), "where": breaks}
    found = pairs[breaks(pairs).to_numpy(dtype=bool)]
    counts = found["paradigm"].value_counts(sort=False)
    shown = [f"{paradigm}: {count}" for paradigm, count in list(counts.items())[:_SHOWN]]
    more = [f"{len(counts) - _SHOWN} more paradigms"] if len(counts) > _SHOWN else []
    first = [f"first pair {found['pair'].iloc[0]}"] if len(found) else []
    return {
        "check": name,
        "broken": len(found),
        "of": len(pairs),
        "where": ", ".join([*shown, *more, *first]) or None,
    }


def _bad_is_good(pairs: pd.DataFrame) -> pd.Series:
    good = pairs.groupby("paradigm")["good"].agg(set)
    return pd.Series(
        [bad in good[paradigm] for bad, paradigm in zip(pairs["bad"], pairs["paradigm"], strict=True)]
    )


_ALL: dict[str, CheckOf] = {
    "the two sentences differ": lambda pairs: pairs["good"] == pairs["bad"],
    "a good sentence stands once in its paradigm": lambda pairs: pairs[
        ["phenomenon", "paradigm", "good"]
    ].duplicated(),
    "a pair stands in one paradigm": lambda pairs: (
        pairs[["good", "bad"]].duplicated() & ~pairs[["phenomenon", "paradigm", "good", "bad"]].duplicated()
    ),
    "no bad sentence is a good one of its paradigm": _bad_is_good,
}


_KINDS: Final = {"word": "word", "bigram": "two words"}


def describe_word_counts(run: Path, pairs: pd.DataFrame) -> str:
    """Say for each paradigm how often the sentence is good whose differing words a run has read more often.

    Counted are the rarest word, and the rarest two words in a row, of those in which the sentences differ, in all that
    the run was trained on. A sentence without a word of its own, and equal counts, are half right.
    """
    found = find_edits(pairs).rarest(run, RunTokens.of(run).steps)
    right = {}
    for kind, shown in _KINDS.items():
        difference = found[f"log_frequency_{kind}_good"] - found[f"log_frequency_{kind}_bad"]
        # A sentence without a word of its own has no count, which is half right like a tie.
        right[shown] = difference.gt(0) + difference.fillna(0).eq(0) / 2
    by_paradigm = pd.DataFrame(right).groupby(pairs["paradigm"].to_numpy(), sort=False)
    shares = 100 * by_paradigm.mean()
    table = shares.round(1).rename(columns="more frequent {}, %".format).assign(pairs=by_paradigm.size())
    values = table.reset_index(names="paradigm").to_numpy(dtype=object)
    rows = [dict(zip(["paradigm", *table.columns], row, strict=True)) for row in values]
    told = int((shares > 100 * LOPSIDED).any(axis=1).sum())
    return (
        f"the sentence whose differing words stood more often in the text that {run.name} was trained on is the good "
        f"one in\n{format_table(rows)}\n"
        "(equally often, or never, counts half). "
        f"In {told} of {len(rows)} paradigms a count tells more than {LOPSIDED:.0%} of the pairs; being right in "
        "them is no proof of grammar."
    )
