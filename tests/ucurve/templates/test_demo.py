import re
from collections import Counter, defaultdict
from itertools import islice
from pathlib import Path

import pytest

from tests.ucurve.templates.recognize import derives
from ucurve.templates import demo
from ucurve.templates.demo import PAIRS_PER_PARADIGM, SENTENCES, demo_pairs, training_text

PHENOMENA = {
    "anaphor", "argument_structure", "BA", "classifier", "control_raising", "ellipsis", "fci_licensing",
    "nominal_expression", "npi_licensing", "passive", "quantifiers", "question", "relativization", "topicalization",
    "verb_phrase",
}  # fmt: skip
GRAMMAR = Path(demo.__file__).parent / "demo_grammar"
HEADS = ("画册", "海报", "广告", "样品", "货车", "招牌", "箱子")


@pytest.fixture(scope="module")
def pairs():
    return demo_pairs()


@pytest.fixture(scope="module")
def text():
    return list(training_text())


def test_there_are_enough_paradigms_of_the_papers_phenomena(pairs):
    assert {row["phenomenon"] for row in pairs} == PHENOMENA | {"compound_classifier"}
    counts = Counter(row["UID"] for row in pairs)
    assert len(counts) == len(demo._grammar()[0]) >= 15
    assert set(counts.values()) == {PAIRS_PER_PARADIGM}
    assert list(pairs[0]) == ["UID", "phenomenon", "sentence_good", "sentence_bad", "pairID"]


def test_pairs_and_text_are_the_same_on_every_call(pairs):
    assert demo_pairs() == pairs
    assert list(islice(training_text(), 300)) == list(training_text(300))


def test_the_text_is_large_and_has_no_sentence_twice(text):
    assert len(text) == len(set(text)) == SENTENCES
    assert all(re.fullmatch(r"[\u4e00-\u9fff，]+[。？]", sentence) for sentence in text)


def test_no_sentence_of_the_benchmark_stands_in_the_text(pairs, text):
    held_out = {row[member] for row in pairs for member in ("sentence_good", "sentence_bad")}
    assert not held_out.intersection(text)
    tails = {sentence[start:] for sentence in text for start in range(1, len(sentence))}
    # A sentence ends in its only full stop, so it could stand in another only at the end.
    assert not held_out & tails


def test_the_text_has_every_character_of_the_benchmark(pairs, text):
    known = set("".join(text))
    assert set("".join(row["sentence_good"] + row["sentence_bad"] for row in pairs)) <= known


def test_no_pair_is_repeated_and_no_bad_sentence_is_good_elsewhere(pairs):
    assert len({(row["sentence_good"], row["sentence_bad"]) for row in pairs}) == len(pairs)
    assert not {row["sentence_good"] for row in pairs} & {row["sentence_bad"] for row in pairs}


def test_no_rule_that_makes_text_makes_a_bad_sentence(pairs):
    paradigms = [paradigm for part in demo._grammar() for paradigm in part]
    sample = [row["sentence_bad"] for row in pairs[::10]]
    assert len(sample) >= 300
    assert [bad for bad in sample if any(derives(paradigm, bad) for paradigm in paradigms)] == []


def test_lengths_are_balanced_and_every_length_split_is_filled(pairs):
    differences = [len(row["sentence_good"]) - len(row["sentence_bad"]) for row in pairs]
    longer, shorter = sum(value > 0 for value in differences), sum(value < 0 for value in differences)
    assert min(longer, shorter) >= 300
    assert abs(longer - shorter) <= 0.01 * len(pairs)


def test_single_words_do_not_tell_good_from_bad(pairs):
    """Whatever characters a model prefers, over pairs of equal length it is right about as often as wrong."""
    surplus = defaultdict(int)
    for row in pairs:
        difference = Counter(row["sentence_good"])
        difference.subtract(Counter(row["sentence_bad"]))
        if len(row["sentence_good"]) == len(row["sentence_bad"]):
            for character, count in difference.items():
                surplus[character] += count
    assert max(map(abs, surplus.values())) <= PAIRS_PER_PARADIGM


def test_the_wrong_classifier_of_a_compound_suits_the_noun_beside_it_and_no_direction_is_preferred(pairs):
    """What short noun phrases teach favors the bad member in every pair, and the classifiers themselves favor none."""
    vocabulary = [
        line.split("\t") for line in (GRAMMAR / "vocabulary.tsv").read_text(encoding="utf-8").splitlines()
    ]
    classifiers = {word: classifier for word, tag, _, _, _, _, classifier, *_ in vocabulary if tag == "NN"}
    edits = Counter()
    for row in pairs:
        if row["phenomenon"] != "compound_classifier":
            continue
        good, bad = row["sentence_good"], row["sentence_bad"]
        [place] = [place for place in range(len(good)) if good[place] != bad[place]]
        head = next(head for head in HEADS if head in good)
        beside = good[place + 1 : good.index(head)]
        assert (good[place], bad[place]) == (classifiers[head], classifiers[beside])
        edits[good[place], bad[place]] += 1
    assert len(edits) == 42, "every two of the seven classifiers, in both directions"
    assert sum(edits.values()) == 5 * PAIRS_PER_PARADIGM
    for classifier in {good for good, _ in edits}:
        as_good = sum(count for (good, _), count in edits.items() if good == classifier)
        as_bad = sum(count for (_, bad), count in edits.items() if bad == classifier)
        assert abs(as_good - as_bad) <= 40
