"""The source ``folder``: the pairs of a benchmark that is there already, to be filtered or sampled."""

from pathlib import Path

from pydantic.dataclasses import dataclass

from ucurve.errors import UserError
from ucurve.eval.benchmarks.load import load_benchmark
from ucurve.eval.benchmarks.registry import find_in_folder
from ucurve.eval.pairs import PAIR_COLUMNS
from ucurve.fields import STRICT
from ucurve.generation.maker import Listed, Made
from ucurve.templates.pair import Pair


@dataclass(frozen=True, config=STRICT, kw_only=True)
class Settings:
    """Which pairs; conf/source/folder.yaml describes the key."""

    benchmark: Path


def make(settings: Settings, seed: int) -> Made:
    """List the pairs of a benchmark of one language by paradigm, with all their columns."""
    del seed
    cards, root = find_in_folder(settings.benchmark)
    if len(cards) > 1:
        names = ", ".join(card.name for card in cards)
        raise UserError(f"benchmark: {settings.benchmark} has several languages ({names}); give a folder of one")
    [card] = cards
    pairs = load_benchmark(card, root).reset_index(drop=True)  # candidates are found by these numbers
    columns = pairs.drop(columns=list(PAIR_COLUMNS))
    # JSON has no missing value but null.
    known = columns.astype(object).where(columns.notna(), None).to_dict("records")
    members = zip(pairs["good"], pairs["bad"], known, strict=True)
    candidates = [
        Pair(good, bad, {str(name): value for name, value in row.items()}) for good, bad, row in members
    ]
    paradigms = [
        Listed(name=str(paradigm), phenomenon=str(phenomenon), candidates=[candidates[at] for at in rows.index])
        for (phenomenon, paradigm), rows in pairs.groupby(["phenomenon", "paradigm"], sort=False)
    ]
    said = {name: getattr(card, name) for name in ("language", "citation", "license", "scorer", "linking")}
    given = {name: value for name, value in {**said, "maker": card.made_by}.items() if value is not None}
    return Made(paradigms=paradigms, card=given, inputs=card.matching(root))
