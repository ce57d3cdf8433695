"""The card of a pair: what differs in its sentences, their lengths, what a run had read of it, and what checks say."""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

import pandas as pd
from markupsafe import Markup

from ucurve.analysis.data.groups import Pairs
from ucurve.analysis.report.html import isolate
from ucurve.eval.benchmarks.registry import card_of
from ucurve.eval.metrics.clusters import edit
from ucurve.eval.pairs import full_name
from ucurve.eval.store.reported import read_reported
from ucurve.generation.check import find_broken
from ucurve.generation.differences import in_several_places

Facts = tuple[tuple[str, str], ...]  # what is said of a pair: names, each with a text

_RAREST = 3  # words of a sentence whose counts are told


def pair_facts(pairs: Pairs, row: int, maker: str | None = None, seen: pd.DataFrame | None = None) -> Facts:
    """Say what is to be known of the pair in a row of a table.

    ``maker`` is who made the benchmark (``maker_of``), and ``seen`` what ``SeenPair.before`` gives of this pair at some
    step; without it, nothing is said of the training text.
    """
    good, bad = pairs.table["good"].iloc[row], pairs.table["bad"].iloc[row]
    counts = [] if seen is None else [("Read by then", "; ".join(_tell_seen(seen, " " in good or " " in bad)))]
    broken = _broken(pairs, maker)
    names = list(broken.columns[broken.iloc[row]])
    said = (
        f"broken, of {broken.shape[1]}: {'; '.join(names)}"
        if names
        else f"none of the {broken.shape[1]} is broken"
    )
    sides = zip(edit(good, bad), ("good", "bad"), strict=True)
    told = ", ".join(f"{f'“{words}”' if words else 'nothing'} ({side})" for words, side in sides)
    differs = f"{told}, in more than one place" if in_several_places(good, bad) else told
    # Words are counted too where there are spaces.
    units = {"character": len(bad) - len(good)}
    if " " in good or " " in bad:
        units = {"word": len(bad.split()) - len(good.split()), **units}
    by_unit = [
        f"{abs(more)} {unit}{'s' if abs(more) > 1 else ''} {'more' if more > 0 else 'fewer'}"
        for unit, more in units.items()
        if more
    ]
    lengths = f"{' and '.join(by_unit)} in the bad sentence" if by_unit else "both sentences are equally long"
    return ("Differs", differs), *counts, ("Length", lengths), ("Checks", said)


def card_html(facts: Iterable[tuple[str, str]]) -> Markup:
    """Write facts as HTML, for the report and for the pages of the workbench."""
    rows = (Markup("<dt>{}</dt><dd>{}</dd>").format(name, isolate(text)) for name, text in facts)
    return Markup('<dl class="pair-card">{}</dl>').format(Markup("").join(rows))


def maker_of(run: Path, benchmark: str) -> str | None:
    """Return whose checks the pairs of a benchmark should pass that a run was scored on; None for nobody's."""
    return read_reported(run, benchmark).maker or card_of(full_name(benchmark)).made_by


@lru_cache(maxsize=8)  # the pairs of a benchmark are shown one after the other
def _broken(pairs: Pairs, maker: str | None) -> pd.DataFrame:
    return find_broken(pairs.table, maker)


def _tell_seen(seen: pd.DataFrame, spaced: bool) -> Iterator[str]:
    """Say how often what differs was read, or where that is long the rarest of the words that only one sentence has."""
    alone = seen.drop_duplicates("ngram", keep=False)
    for member, rows in seen.groupby("member", sort=False):
        whole = rows[rows["ngram"] == " ".join(rows.loc[rows["words"] == 1, "ngram"])]
        own = alone[alone["member"] == member]
        # An edit longer than the n-grams that were counted has no count of its own.
        shown = whole if len(whole) else own[own["words"] == own["words"].min()].nsmallest(_RAREST, "count")
        words = shown["ngram"] if spaced else shown["ngram"].str.replace(" ", "")
        told = [
            f"“{text}” { {0: 'never', 1: 'once'}.get(times, f'{times:,} times') }"
            for text, times in zip(words, shown["count"].tolist(), strict=True)
        ]
        yield f"{', '.join(told)} ({member})"
