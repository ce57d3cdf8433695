"""The source ``folder``: the pairs of a benchmark that is there already, to be filtered or sampled."""

from pathlib import Path

from pydantic.dataclasses import dataclass

from eval.benchmarks.card import Benchmark
from eval.benchmarks.load import load_benchmark
from eval.benchmarks.registry import CARDS, expand_benchmarks, is_card
from eval.generation.candidate import Candidate
from eval.generation.maker import Listed, Made
from eval.pairs import PAIR_COLUMNS
from ucurve.errors import UserError, missing_folder
from ucurve.fields import STRICT


@dataclass(frozen=True, config=STRICT, kw_only=True)
class Settings:
    """Which pairs.

    Attributes:
        benchmark: a folder with a card, or the files of a published benchmark in a folder of its name.
    """

    benchmark: Path


def find_benchmarks(folder: Path) -> tuple[tuple[Benchmark, ...], Path | None]:
    """Return the benchmarks in a folder, one for each language, and the ``benchmark_root`` to load them from.

    Raises:
        UserError: when there is no such folder, or it has neither a card nor the name of a published benchmark.
    """
    if not folder.is_dir():
        raise missing_folder("benchmark", folder)
    if is_card(str(folder)):
        return expand_benchmarks([str(folder)]), None
    if (CARDS / f"{folder.name}.yaml").is_file():
        return expand_benchmarks([folder.name], folder.parent), folder.parent
    raise UserError(
        f"{folder}: holds no card.yaml, and {folder.name!r} is not the name of a published benchmark "
        "(python score.py list=true)"
    )


def make(settings: Settings, seed: int) -> Made:
    """List the pairs of a benchmark of one language by paradigm, with all their columns.

    Raises:
        UserError: when it cannot be read or has several languages.
    """
    del seed
    cards, root = find_benchmarks(settings.benchmark)
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
                Candidate(good, bad, dict(zip(others, values, strict=True)))
                for good, bad, *values in zip(
                    rows["good"], rows["bad"], *(rows[name].astype(object) for name in others), strict=True
                )
            ],
        )
        for (phenomenon, paradigm), rows in pairs.groupby(["phenomenon", "paradigm"], sort=False)
    ]
    given = {name: getattr(card, name) for name in ("language", "citation", "license", "scorer", "linking")}
    return Made(paradigms=paradigms, card=given, inputs=card.matching(root))
