"""docs/benchmarks.md says what the cards say."""

from pathlib import Path

import pytest

from eval.benchmarks.registry import REGISTRY

DOCS = (Path(__file__).resolve().parents[3] / "docs" / "benchmarks.md").read_text(encoding="utf-8")
FAMILIES = {card.family: card for card in REGISTRY.values() if card.name != "custom"}


@pytest.mark.parametrize("family", FAMILIES)
def test_page_has_the_card(family):
    card = FAMILIES[family]
    section = DOCS.partition("## Cards")[2]
    assert all(text in section for text in (card.citation, card.form, card.protocol, *card.quirks))
    row = next(line for line in DOCS.splitlines() if line.startswith(f"| `{family}"))
    assert all(
        cell in row for cell in (card.license, card.linking, card.scorer, card.masked_scorer, card.source or "no")
    )


@pytest.mark.parametrize("name", [name for name, card in REGISTRY.items() if card.pairs is not None])
def test_page_has_the_counts(name):
    card = REGISTRY[name]
    row = next(line for line in DOCS.splitlines() if line.startswith(f"| `{name}`"))
    assert f"| {card.pairs:,} | {card.paradigms} | {card.phenomena} |" in row
