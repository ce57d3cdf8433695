"""What the card of a pair says, by hand, and how it is written."""

import pandas as pd
import pytest

from ucurve.analysis.data.groups import Pairs
from ucurve.analysis.items.card import card_html, pair_facts
from ucurve.analysis.items.seen_before import list_edited


def pairs_of(*sentences: tuple[str, str]) -> Pairs:
    rows = [{"phenomenon": "p", "paradigm": "q", "good": good, "bad": bad} for good, bad in sentences]
    return Pairs(pd.DataFrame(rows).assign(pair=range(len(rows))))


def facts_of(good: str, bad: str, counts: dict[str, int] | None = None) -> dict[str, str]:
    spaced = " " in good
    seen = None
    if counts is not None:
        ngrams = list_edited(good, bad, spaced)
        seen = ngrams.assign(count=ngrams["ngram"].map(counts).fillna(0).astype(int))
    return dict(pair_facts(pairs_of((good, bad)), 0, None, seen))


@pytest.mark.parametrize(
    ("good", "bad", "differs", "length"),
    [
        ("the cat walks home", "the cat walk home", "“walks” (good), “walk” (bad)", "1 character fewer in the bad sentence"),
        ("he saw it", "he saw not it", "nothing (good), “not” (bad)", "1 word more and 4 characters more in the bad sentence"),
        ("the cat walks", "a cat walk", "“the cat walks” (good), “a cat walk” (bad), in more than one place", "3 characters fewer in the bad sentence"),
        ("a bb", "bb a", "“a bb” (good), “bb a” (bad)", "both sentences are equally long"),
        ("我没买书", "我已经买书", "“没” (good), “已经” (bad)", "1 character more in the bad sentence"),
    ],
)  # fmt: skip
def test_what_differs_and_the_lengths(good: str, bad: str, differs: str, length: str) -> None:
    facts = facts_of(good, bad)
    assert (facts["Differs"], facts["Length"]) == (differs, length)
    assert "Read by then" not in facts


def test_counts_are_of_all_that_differs_or_else_of_the_rarest_words() -> None:
    assert facts_of("the cat walks", "the cat walk", {"walks": 1200, "cat walks": 3})["Read by then"] == (
        "“walks” 1,200 times (good); “walk” never (bad)"
    )
    assert facts_of("我没买书", "我已经买书", {"没": 1, "已": 9, "经": 8, "已 经": 7})["Read by then"] == (
        "“没” once (good); “已经” 7 times (bad)"
    )
    long, counts = "a b c d e", {"a": 9, "b": 5, "c": 4, "d": 3, "e": 8}
    assert facts_of(long, "x f g h i y", counts)["Read by then"].startswith(
        "“d” 3 times, “c” 4 times, “b” 5 times (good)"
    )
    # a sentence that only lacks a word has no words of its own, but neighbors that the other one does not have
    assert facts_of("he saw it", "he saw not it", {"saw it": 6, "not": 2})["Read by then"] == (
        "“saw it” 6 times (good); “not” 2 times (bad)"
    )


def test_checks_are_those_of_the_whole_table_and_of_the_maker() -> None:
    pairs = pairs_of(("он спит", "он спят"), ("он спят", "он ест"), ("он ест", "он совсем ест"))
    first, second, third = (dict(pair_facts(pairs, row))["Checks"] for row in range(3))
    assert first == "broken, of 4: no bad sentence is a good one of its paradigm"
    assert second == first
    assert third == "none of the 4 is broken"
    words = pairs.table.assign(source_word="он", target_word="он")
    by_maker = [dict(pair_facts(Pairs(words), row, "rublimp"))["Checks"] for row in range(3)]
    assert by_maker[2] == "broken, of 7: the sentences have as many words"


def test_texts_never_become_markup_and_keep_their_direction() -> None:
    html = card_html([("Differs", "<b>“x”</b> & سلام (good)")])
    assert html == (
        '<dl class="pair-card"><dt>Differs</dt><dd>&lt;b&gt;“x”&lt;/b&gt; &amp; <bdi>سلام</bdi> (good)</dd></dl>'
    )
