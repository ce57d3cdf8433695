"""What the cards say, as a table for the terminal and as the page docs/benchmarks.md.

``python -m eval.benchmarks.listing > docs/benchmarks.md`` writes the page.
"""

import sys

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from ucurve.eval.benchmarks.card import DEMO, Benchmark, Expected
from ucurve.eval.benchmarks.registry import published_cards
from ucurve.text_table import format_table

_TEMPLATES = Environment(
    loader=PackageLoader("ucurve.eval.benchmarks"),
    autoescape=select_autoescape(),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)
_COUNTS = ("pairs", "paradigms", "phenomena")
_OVERALL = {"all": "over all pairs", "macro": "mean over paradigms", "macro_phenomena": "mean over phenomena"}
_TIES = {"half": "counts one half", "wrong": "counts as wrong", "right": "counts as right"}


def list_benchmarks() -> str:
    """Return a line for each benchmark that has a card: language, size, linking function, license and source."""
    return format_table(
        [
            {
                "benchmark": card.name,
                "language": language(card),
                **{count: numbers(card, count) or None for count in _COUNTS},
                "linking": card.linking,
                "license": card.license,
                "source": source(card),
            }
            for card in published_cards().values()
        ]
    )


def make_page() -> str:
    """Return the text of docs/benchmarks.md."""
    page = _TEMPLATES.get_template("benchmarks.md")
    words = {
        "language": language,
        "numbers": numbers,
        "members": members,
        "location": location,
        "excluded": excluded,
    }
    return page.render(cards=list(published_cards().values()), overall=_OVERALL, ties=_TIES, **words)


def language(card: Benchmark) -> str:
    """Return the language of a card, or how many a family has."""
    return card.language or f"{len(card.languages)} languages"


def numbers(card: Benchmark, count: str) -> str:
    """Return an expected number, of a family the least and the greatest; empty if none is known."""
    known = [value for member in card.members.values() if (value := getattr(member.expected, count)) is not None]
    if not known:
        return ""
    if not card.languages:
        return f"{known[0]:,}{_counting(card.expected) if count == 'pairs' else ''}"
    least, greatest = min(known), max(known)
    return f"{least:,}" if least == greatest else f"{least:,} to {greatest:,}"


def members(card: Benchmark) -> list[str]:
    """Return the languages of a family, each with the numbers that it has of its own."""
    listed = []
    for code, own in sorted(card.languages.items()):
        known = ", ".join(f"{value:,} {count}" for count in _COUNTS if (value := getattr(own, count)) is not None)
        listed.append(f"`{code}` ({known}{_counting(own)})" if known else f"`{code}`")
    return listed


def _counting(own: Expected) -> str:
    return "" if own.counted is None else f", {own.counted:,} count"


def source(card: Benchmark) -> str:
    """Return where the pairs come from: a data set of the hub, files, or the program itself."""
    if card.hub is not None:
        return card.hub.name
    return "generated" if card.name == DEMO else "files"


def location(card: Benchmark) -> str:
    """Return the patterns of the files below ``benchmark_root``."""
    folder = card.folder or card.family
    return " or ".join(f"`{folder}/{pattern}`" for pattern in card.files)


def excluded(card: Benchmark) -> str:
    """Return which pairs do not count, in words; empty when all count."""
    lines = [
        [
            f"{column} is {' or '.join(f'`{pattern}`' for pattern in patterns)}"
            for column, patterns in line.items()
        ]
        for line in card.not_counted
    ]
    return ", and those whose ".join(map(" and ".join, lines))


if __name__ == "__main__":
    sys.stdout.write(make_page())
