"""A user's own pairs without a card, ``benchmarks=pairs.csv`` or ``custom``: few keys on the command line say how."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import ConfigDict, field_validator
from pydantic.dataclasses import dataclass

from ucurve.errors import UserError
from ucurve.eval.benchmarks.card import Benchmark, check_name
from ucurve.eval.benchmarks.files.source_file import KNOWN_SUFFIXES, form_of
from ucurve.eval.benchmarks.files.tables import Quotes
from ucurve.eval.benchmarks.pairing.columns import Columns
from ucurve.eval.benchmarks.registry import CUSTOM, benchmark_names, find_card, suggest_path


@dataclass(frozen=True, config=ConfigDict(extra="forbid"), kw_only=True)
class CustomColumns:
    """The names of columns in the user's files."""

    good: str
    bad: str
    paradigm: str | None  # None takes the column `paradigm` if there is one, else the stem of the file
    phenomenon: str | None  # None takes the column `phenomenon` if there is one, else "unnamed"
    condition: str | None  # text that both sentences start with, for the scorer `conditional`
    # `start:end` in characters, or a text that the sentence holds once, for the scorer `region`.
    region_good: str | None
    region_bad: str | None


@dataclass(frozen=True, config=ConfigDict(extra="forbid"), kw_only=True)
class CustomBenchmark:
    """The user's settings of their own pairs."""

    # A file of a known form, plain or compressed, or a folder of such files, read by form and then by path.
    path: Path | None
    name: str  # in the pair table and the output; that of a file given as a benchmark is the file's own
    language: str  # ISO 639-3 code; "und" where it does not matter
    quotes: Quotes | None  # as in a card
    columns: CustomColumns

    @field_validator("name")
    @classmethod
    def _own_name(cls, name: str) -> str:
        if name != CUSTOM and name in benchmark_names():
            raise ValueError(f"{name!r} is the name of a published benchmark")
        return check_name(name)


def is_pairs(name: str) -> bool:
    """Tell a file of the user's pairs, which need not be there, from the name of a benchmark."""
    return form_of(Path(name)) is not None


def own_cards(names: Sequence[str], settings: CustomBenchmark) -> dict[str, Benchmark]:
    """Return the cards of the user's pairs by what ``benchmarks=`` calls them: ``custom``, or the path of a file."""
    cards = {
        path: replace(custom_card(replace(settings, path=Path(path))), name=stored_name(path, settings))
        for path in filter(is_pairs, names)
    }
    cards |= {CUSTOM: custom_card(settings)} if CUSTOM in names else {}
    if len({card.name for card in cards.values()}) < len(cards):
        raise UserError(
            f"benchmarks: two of {', '.join(cards)} have one name; rename a file, or score them one by one"
        )
    return cards


def stored_name(benchmark: str, settings: CustomBenchmark) -> str:
    """Return the name below which scores on one of ``benchmarks=`` are stored; a subset's has a mark after it.

    Raises:
        UserError: when there is no such benchmark, or no such card.
    """
    if benchmark == CUSTOM or (is_pairs(benchmark) and settings.name != CUSTOM):
        return settings.name
    if is_pairs(benchmark):
        # What a folder below eval/ cannot be called is replaced.
        return re.sub(r"[^\w-]", "_", Path(benchmark).name.partition(".")[0]) or CUSTOM
    return find_card(benchmark).name


def custom_card(settings: CustomBenchmark) -> Benchmark:
    """Return the card of the user's pairs."""
    if settings.path is None:
        raise UserError("benchmark 'custom': give custom.path=FILE_OR_FOLDER with the pairs")
    path = settings.path
    if not path.exists():
        raise UserError(f"benchmarks: no file or folder {path}.{suggest_path(path)}")
    columns: Columns = {name: column for name, column in vars(settings.columns).items() if column is not None}
    if columns["good"] == columns["bad"]:
        raise UserError(f"custom.columns: good and bad are both {columns['good']!r}")
    card = Benchmark(
        name=settings.name,
        language=settings.language,
        files=(str(path.absolute()),),
        columns=columns,
        quotes=settings.quotes,
        place=path,
        where="custom.columns",
    )
    if not card.matching(None):
        raise UserError(
            f"benchmarks: {path}: allowed are files that end in {', '.join(KNOWN_SUFFIXES)}, also with .gz or .zst, "
            "archives of such (.zip, .tar.gz), or a folder of such"
        )
    return card
