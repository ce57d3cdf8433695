"""Whether a count of words would tell the good sentences, against counts that are given."""

from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from ucurve.eval import edits
from ucurve.generation import check
from ucurve.generation.check import describe_word_counts
from ucurve.token_stream.seen_text import SeenCounts

COUNTS = {"sings": 9, "sing": 2, "runs": 2, "run": 2, "dogs sing": 5, "dogs sings": 1}


@pytest.fixture
def described(monkeypatch):
    """A function that describes pairs of good, bad and paradigm, of a run that has the counts and 100 steps."""
    asked = []

    def read(run, step, wanted, spaced):
        asked.append((run, step, spaced))
        return SeenCounts(1000, {ngram: count for ngram, count in COUNTS.items() if ngram in wanted})

    monkeypatch.setattr(edits, "read_seen_counts", read)
    monkeypatch.setattr(check.RunTokens, "of", lambda run: SimpleNamespace(steps=100))

    def describe(*pairs):
        text = describe_word_counts(Path("runs/mine"), pd.DataFrame(pairs, columns=["good", "bad", "paradigm"]))
        assert asked == [(Path("runs/mine"), 100, True)]
        return text

    return describe


def test_the_more_frequent_of_the_words_that_differ_is_right_so_often(described):
    text = described(
        ("the dog sings", "the dog sing", "near"),  # 9 against 2
        ("the dogs sing", "the dogs sings", "near"),  # 2 against 9, but the two words 5 against 1
        ("the dog runs", "the dog run", "near"),  # as often
        ("a dog sings", "a dog", "short"),  # no word of its own
        ("a dog sings", "a dog sing", "short"),
    )
    rows = [line.split() for line in text.splitlines()[1:4]]
    assert rows[0][:3] == ["paradigm", "more", "frequent"]
    assert rows[1:] == [["near", "50.0", "66.7", "3"], ["short", "75.0", "50.0", "2"]]
    assert "In 2 of 2 paradigms a count tells more than 60% of the pairs" in text
    assert "that mine was trained on" in text
