"""The source ``sweblimp``: Swedish pairs of the 25 paradigms of Swe-BLiMP, made from patterns over lists of words.

Source: Sjons, Heinat and Kurfali, The Swedish Benchmark of Linguistic Minimal Pairs, sections 3 and 4.
"""

from functools import partial
from pathlib import Path
from typing import Final

from pydantic.dataclasses import dataclass

from ucurve.fields import STRICT
from ucurve.generation.maker import Drawn, Made
from ucurve.generation.sweblimp.pattern import PATTERNS, read_patterns
from ucurve.generation.sweblimp.words import compare, list_files, read_lexicon, read_lists

PAIRS: Final = 100
_CARD: Final[dict[str, object]] = {
    "language": "swe",
    "citation": "patterns after Sjons, Heinat and Kurfali, The Swedish Benchmark of Linguistic Minimal Pairs",
    "license": "Apache-2.0, as the word lists of the project",
    "masked_scorer": "pll_l2r",
    "linking": "ppl",
    "aggregate": "macro",
    "quirks": [
        "A paradigm is a phenomenon of its own, as in the published file; the column category has the paper's groups.",
        "No person has judged these pairs.",
    ],
}


@dataclass(frozen=True, config=STRICT, kw_only=True)
class Settings:
    """What pairs are made from; conf/source/sweblimp.yaml describes every key."""

    lists: Path | None
    treebanks: tuple[Path, ...]


def make(settings: Settings, seed: int) -> Made:
    """Read lists and patterns; the pairs are drawn one by one."""
    del seed
    files = list_files(settings.lists)
    lists = read_lists(files)
    tables = {"lexicon": compare(lists, read_lexicon(settings.treebanks))} if settings.treebanks else {}
    paradigms = [
        Drawn(name=pattern.name, phenomenon=pattern.name, draw=partial(pattern.candidate, lists))
        for pattern in read_patterns()
    ]
    return Made(
        paradigms=paradigms,
        card=_CARD,
        inputs=[PATTERNS, *files.values(), *settings.treebanks],
        across=True,
        default_pairs=PAIRS,
        tables=tables,
    )
