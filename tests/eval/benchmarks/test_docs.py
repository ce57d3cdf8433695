"""docs/benchmarks.md is what the cards make, and its worked example works."""

import re
from pathlib import Path

from ucurve.config import check, compose
from ucurve.eval.benchmarks.card import CARD_KEYS
from ucurve.eval.benchmarks.listing import list_benchmarks, make_page
from ucurve.eval.benchmarks.load import load_benchmark
from ucurve.eval.benchmarks.registry import published_cards
from ucurve.eval.run import execute
from ucurve.eval.settings import ScoreCommand

PAGE = Path(__file__).resolve().parents[3] / "docs" / "benchmarks.md"


def test_page_is_made_from_the_cards():
    written = PAGE.read_text(encoding="utf-8")
    assert written == make_page(), "write it again: python -m eval.benchmarks.listing > docs/benchmarks.md"


def test_page_describes_every_key_of_a_card():
    keys = make_page().partition("### The keys of a card")[2].partition("###")[0]
    assert [key for key in CARD_KEYS if f"`{key}`" not in keys] == []


def test_page_has_what_each_card_says():
    page = make_page()
    for card in published_cards().values():
        section = page.partition(f"### `{card.name}{'/ISO' if card.languages else ''}`\n")[2].partition("\n### ")[
            0
        ]
        assert all(text in section for text in (card.citation, card.protocol, *card.quirks, *card.languages)), (
            card.name
        )


def test_list_has_a_line_for_each_card_with_numbers_and_source():
    header, *lines = [re.split(r"  +", line) for line in list_benchmarks().splitlines()]
    assert header == ["benchmark", "language", "pairs", "paradigms", "phenomena", "linking", "license", "source"]
    rows = {line[0]: line[1:] for line in lines}
    assert list(rows) == list(published_cards())
    assert rows["blimp"] == ["eng", "67,000", "67", "12", "lp", "CC-BY-4.0", "nyu-mll/blimp"]
    assert rows["tse"] == ["3 languages", "6,000 to 8,000", "6 to 8", "2 to 3", "lp", "not stated", "files"]
    assert rows["bl2mp"] == ["eus", "-", "-", "-", "lp", "CC-BY-NC-SA-4.0", "orai-nlp/bl2mp"]
    assert rows["swe-blimp"][1] == "2,600, 2,500 count"
    assert rows["demo"][-1] == "generated"


def test_the_worked_example_is_a_card_of_at_most_ten_lines(tmp_path):
    example = PAGE.read_text(encoding="utf-8").partition("## A benchmark of your own")[2]
    card, table = (re.search(rf"```{form}\n(.*?)```", example, re.DOTALL).group(1) for form in ("yaml", "csv"))
    assert len(card.splitlines()) <= 10
    (tmp_path / "card.yaml").write_text(card, encoding="utf-8")
    (tmp_path / "pairs.csv").write_text(table, encoding="utf-8")
    pairs = load_benchmark(str(tmp_path / "card.yaml"))
    assert set(pairs["benchmark"]) == {"mine"}
    assert pairs["paradigm"].tolist() == ["classifier", "classifier", "aspect", "aspect"]
    assert pairs["good"].tolist()[0] == "他买了一条裙子。"
    assert pairs["bad"].tolist()[3] == "他们没有唱了歌。"


def test_list_is_printed_without_a_model_or_a_benchmark(capsys):
    execute(check(ScoreCommand, compose("score", ["list=true"])))
    assert capsys.readouterr().out.startswith(f"{list_benchmarks()}\nnext: ")
