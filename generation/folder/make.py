"""The source ``folder``: the pairs of a benchmark that is there already, to be filtered or sampled."""

from pathlib import Path

from pydantic.dataclasses import dataclass

from eval.benchmarks.load import load_benchmark
from eval.benchmarks.registry import find_in_folder
from eval.pairs import PAIR_COLUMNS
from eval.templates.pair import Pair
from generation.maker import Listed, Made
from ucurve.errors import UserError
from ucurve.fields import STRICT


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
    pairs = load_benchmark(card, root)
    others = [name for name in pairs.columns if name not in PAIR_COLUMNS]
    paradigms = [
        Listed(
            name=str(paradigm),
            phenomenon=str(phenomenon),
            candidates=[
                Pair(good, bad, dict(zip(others, values, strict=True)))
                for good, bad, *values in zip(
                    rows["good"], rows["bad"], *(rows[name].astype(object) for name in others), strict=True
                )
            ],
        )
        for (phenomenon, paradigm), rows in pairs.groupby(["phenomenon", "paradigm"], sort=False)
    ]
    said = {name: getattr(card, name) for name in ("language", "citation", "license", "scorer", "linking")}
    given = {name: value for name, value in said.items() if value is not None}
    return Made(paradigms=paradigms, card=given, inputs=card.matching(root))
