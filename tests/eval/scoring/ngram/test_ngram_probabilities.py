"""Counts and probabilities of n-grams against a plain implementation of the paper's formula."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.eval.scoring.ngram.plain import Plain
from ucurve.eval.scoring.ngrams import ORDERS, GrowingSet, NgramCounts, list_ngrams, log_probabilities
from ucurve.eval.scoring.text.sentences import Sentences

SEPARATOR = 0  # stands before every document, and no sentence is made of it


def sentences_of(lists):
    lengths = [len(one) for one in lists]
    tokens = np.array([token for one in lists for token in one], dtype=np.int64)
    starts, none = np.concatenate([[0], np.cumsum(lengths)]), np.zeros(0, dtype=np.int64)
    spans = np.zeros((len(lists), 2), dtype=np.int64)
    return Sentences([""] * len(lists), tokens, starts, none, none, np.ones(len(tokens), dtype=bool), spans)


def count(blocks, benchmarks, start, vocabulary, excluded):
    scorable = np.ones(vocabulary, dtype=bool)
    scorable[list(excluded)] = False
    inventory = list_ngrams(benchmarks, start, vocabulary)
    counts = NgramCounts(inventory, scorable)
    for block in blocks:
        counts.add(np.asarray(block))
    return inventory, counts


def all_scores(counted, sentences, excluded, add_k=1.0):
    inventory, counts = counted
    ngrams = inventory.sentences[sentences]
    return {
        order: log_probabilities(counts, ngrams, sentences.tokens, order, excluded, add_k).tolist()
        for order in ORDERS
    }


TOKENS = st.integers(0, 5)  # few, so that long contexts come back; the separator among them
LISTS = st.lists(st.lists(TOKENS, min_size=1, max_size=9), min_size=1, max_size=5)


@settings(deadline=None, max_examples=60)
@given(
    sequences=st.lists(st.lists(TOKENS, min_size=13, max_size=13), min_size=1, max_size=12),
    cut=st.integers(0, 12),
    lists=LISTS,
    more=LISTS,
    start=st.sampled_from([SEPARATOR, None]),
    add_k=st.sampled_from([1.0, 0.25]),
)
def test_every_order_is_that_of_the_plain_formula(sequences, cut, lists, more, start, add_k):
    plain = Plain(sequences, 7, {SEPARATOR}, add_k)
    benchmarks = [sentences_of(lists), sentences_of(more)]
    blocks = [block for block in (sequences[:cut], sequences[cut:]) if block]
    counted = count(blocks, benchmarks, start, 7, {SEPARATOR})
    for sentences, read in zip(benchmarks, (lists, more), strict=True):
        found = all_scores(counted, sentences, {SEPARATOR}, add_k)
        for order in ORDERS:
            wanted = [score for one in read for score in plain.score(one, start, order)]
            assert found[order] == pytest.approx(wanted, abs=1e-9), order


@settings(deadline=None, max_examples=20)
@given(context=st.lists(st.integers(1, 5), max_size=6), seed=st.integers(0, 99))
def test_after_any_context_the_probabilities_sum_to_one(context, seed):
    sequences = np.random.default_rng(seed).integers(0, 6, (20, 9))
    sentences = sentences_of([[*context, token] for token in range(1, 8)])
    found = all_scores(count([sequences], [sentences], SEPARATOR, 8, {SEPARATOR}), sentences, {SEPARATOR})
    for order in ORDERS:
        last = np.array(found[order])[sentences.starts[1:] - 1]
        assert np.exp(last).sum() == pytest.approx(1, abs=1e-12)


def test_before_the_first_step_every_token_is_as_probable():
    sentences = sentences_of([[1, 2, 3], [4, 1]])
    found = all_scores(count([], [sentences], SEPARATOR, 9, {SEPARATOR}), sentences, {SEPARATOR})
    assert all(scores == pytest.approx([-np.log(8)] * 5, abs=1e-12) for scores in found.values())


def test_numbers_by_hand():
    # 1 is followed by 2 twice and by 3 once; what ends one sequence is not before what begins the next
    sentences = sentences_of([[1, 2]])
    counted = count([[[1, 2, 4], [1, 2, 1], [4, 1, 3]]], [sentences], None, 5, set())
    found = all_scores(counted, sentences, set())
    single = (2 + 1) / (6 + 5)  # of the six tokens that have one before them, two are 2
    assert found[1][1] == pytest.approx(np.log(single))
    assert found[2][1] == pytest.approx(np.log((2 + 2 * single) / (3 + 2)))
    assert found[5] == found[2]  # no longer context stands in the sentence


def test_memory_is_that_of_the_contexts_and_what_follows_them():
    sequences = np.random.default_rng(0).integers(0, 1000, (400, 65))
    sentences = sentences_of([[1, 2, 3]])
    inventory, counts = count([sequences], [sentences], SEPARATOR, 1000, {SEPARATOR})
    contexts = [int(one.sum()) for one in inventory.continued]
    assert contexts == [3, 2, 1, 0, 0]
    after = {int(token): set() for token in (SEPARATOR, 1, 2)}
    for row in sequences.tolist():
        for before, token in pairwise(row):
            if before in after and token != SEPARATOR:
                after[before].add(token)
    assert counts.followers[0] == sum(map(len, after.values()))
    assert sum(counts.followers[1:]) <= 3 * 1000


@settings(deadline=None, max_examples=50)
@given(st.lists(st.lists(st.integers(0, 60), max_size=30), max_size=12))
def test_a_growing_set_gives_back_what_is_new(batches):
    growing, plain = GrowingSet(), set()
    for batch in batches:
        new = growing.add(np.array(batch, dtype=np.int64))
        assert new.tolist() == sorted(set(batch) - plain)
        plain |= set(batch)
        assert len(growing) == len(plain)
