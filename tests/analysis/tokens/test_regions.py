"""The parts of pairs against a search by hand, token by token."""

import numpy as np
import pandas as pd
import pytest

from ucurve.analysis.tokens.table import find_regions, sum_regions
from ucurve.eval.store.tokens import StoredSentences


def sentences_of(pairs):
    texts = [text for pair in pairs for text in pair]
    starts = np.cumsum([0, *map(len, texts)])
    tokens = np.array([ord(letter) for text in texts for letter in text])
    members = pd.DataFrame(
        {"pair": range(len(pairs)), "good": range(0, len(texts), 2), "bad": range(1, len(texts), 2)}
    )
    return StoredSentences(texts, tokens, starts, np.ones(len(tokens), dtype=bool), None, None, members)


def by_hand(good, bad):
    """The critical region of each member, as characters."""
    before = 0
    while before < min(len(good), len(bad)) and good[before] == bad[before]:
        before += 1
    after = 0
    while after < min(len(good), len(bad)) - before and good[-1 - after] == bad[-1 - after]:
        after += 1
    return good[before : len(good) - after], bad[before : len(bad) - after]


PAIRS = [
    ("the dog barks", "the dog bark"), ("abcde", "abXde"), ("abcde", "ade"), ("ade", "abcde"), ("aab", "ab"), ("ab", "abab"),
    ("abc", "xyz"), ("ab", "abcd"), ("abcdef", "abdcef"),
]  # fmt: skip


def test_regions_are_those_found_by_hand():
    draw = np.random.default_rng(0)
    pairs = PAIRS + [
        tuple("".join(draw.choice(list("ab"), size=draw.integers(1, 7))) for _ in range(2)) for _ in range(300)
    ]
    sentences = sentences_of(pairs)
    found = find_regions(sentences, sentences.members)
    whole = "".join(sentences.texts)
    for row, pair in enumerate(pairs):
        regions = [whole[found[side].critical[row] : found[side].after[row]] for side in ("good", "bad")]
        assert regions == list(by_hand(*pair)), pair
        starts = [found[side].start[row] for side in ("good", "bad")]
        assert [
            whole[start : found[side].end[row]] for start, side in zip(starts, ("good", "bad"), strict=True)
        ] == [*pair]


def test_parts_of_a_pair_by_hand():
    sentences = sentences_of([("abcde", "abXYde"), ("abc", "ab"), ("abd", "abcd")])
    bits = np.array([1, 2, 3, 4, 5, 1, 2, 10, 20, 6, 8, 1, 1, 7, 1, 1, 1, 2, 3, 1, 2, 9, 4], dtype=float)
    table = sum_regions(find_regions(sentences, sentences.members), bits)
    first, second, third = table.to_dict("records")
    assert first == {
        "critical_good": 3, "first_good": 3, "after_good": 9, "length_good": 1,
        "critical_bad": 30, "first_bad": 10, "after_bad": 14, "length_bad": 2,
        "margin": 32, "margin_before": 0, "margin_critical": 27, "margin_after": 5,
    }  # fmt: skip
    assert (second["critical_good"], second["first_good"], second["length_bad"], second["critical_bad"]) == (
        7,
        7,
        0,
        0,
    )
    assert np.isnan(second["first_bad"])  # it ends before the difference
    assert (second["margin"], second["margin_critical"]) == (-7, -7)
    assert (third["length_good"], third["critical_bad"]) == (0, 9)
    assert third["first_good"] == 3  # the token that stands where the other member goes on
    assert third["margin"] == pytest.approx(
        third["margin_critical"] + third["margin_after"] + third["margin_before"]
    )


def test_a_token_without_a_score_adds_nothing_and_is_no_first_token():
    sentences = sentences_of([("abc", "Xbc"), ("abc", "aXc")])
    bits = np.array([np.nan, 2, 3, np.nan, 5, 6, np.nan, 1, 1, np.nan, 4, 1])
    first, second = sum_regions(find_regions(sentences, sentences.members), bits).to_dict("records")
    assert np.isnan([first["first_good"], first["first_bad"]]).all()
    assert (first["critical_good"], first["margin"]) == (0, 6)
    assert (second["first_good"], second["first_bad"], second["margin"]) == (1, 4, 3)


def test_what_comes_before_counts_where_models_read_both_ways():
    sentences = sentences_of([("abc", "abX")])
    table = sum_regions(find_regions(sentences, sentences.members), np.array([1, 2, 3, 4, 5, 6], dtype=float))
    assert table[["margin_before", "margin_critical", "margin_after", "margin"]].iloc[0].tolist() == [6, 3, 0, 9]
