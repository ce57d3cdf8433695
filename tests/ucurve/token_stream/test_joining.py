"""In which order the sequences of several streams follow each other, by definitions that share no code with it."""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ucurve.token_stream.joining import Mixture, Stages, describe_joining, read_joining
from ucurve.token_stream.order import make_order

WEIGHTS = st.lists(st.integers(1, 40).map(lambda number: number / 10), min_size=2, max_size=6)
LENGTH = 8


def numbers(first, count):
    return np.arange(first, first + count, dtype=np.uint64)


def stream(name, length):
    return SimpleNamespace(sha256=name, length=length, joining=None)


def joined(joining, *streams):
    return SimpleNamespace(joining=joining, parts=streams, length=sum(one.length for one in streams))


@given(WEIGHTS, st.integers(1, 2000))
def test_shares_are_the_weights_to_within_a_sequence_or_two(weights, sequences):
    counts = Mixture(tuple(weights)).count(sequences, LENGTH)
    total = sum(Fraction(str(weight)) for weight in weights)
    assert sum(counts) == sequences
    for count, weight in zip(counts, weights, strict=True):
        assert abs(count - sequences * Fraction(str(weight)) / total) < 1.5


@given(WEIGHTS, st.integers(0, 500), st.integers(1, 300))
def test_any_piece_of_a_mixture_is_found_alone_and_numbers_run_on(weights, first, count):
    mixture = Mixture(tuple(weights))
    owners, places = mixture.locate(numbers(0, first + count), LENGTH)
    for whole, piece in zip((owners, places), mixture.locate(numbers(first, count), LENGTH), strict=True):
        assert np.array_equal(whole[first:], piece)
    for part, share in enumerate(mixture.count(first + count, LENGTH)):
        assert places[owners == part].tolist() == list(range(share))


def test_the_part_that_is_furthest_behind_is_next():
    owners, _ = Mixture((0.5, 0.3, 0.2)).locate(numbers(0, 12), LENGTH)
    assert owners.tolist() == [0, 1, 2, 0, 0, 1, 0, 2, 1, 0, 0, 1]


@pytest.mark.parametrize("weights", [(7, 3), (0.7, 0.3), (1.4, 0.6), (70, 30)])
def test_weights_are_relative_and_exact(weights):
    assert Mixture(weights).shares == (7, 3)


def test_weights_of_many_digits_are_refused():
    message = "repeat only after 10,000,000 sequences, allowed are 100,000; give fewer digits"
    with pytest.raises(ValueError, match=message):
        _ = Mixture((0.3333333, 0.6666667)).shares


def test_stages_follow_each_other_in_whole_sequences():
    stages = Stages((80, 35))
    owners, places = stages.locate(numbers(0, 20), LENGTH)
    assert owners.tolist() == [0] * 10 + [1] * 4 + [2] * 6
    assert places.tolist() == [*range(10), *range(4), *range(6)]
    assert [stages.count(sequences, LENGTH) for sequences in (0, 7, 12, 20)] == [
        (0, 0, 0),
        (7, 0, 0),
        (10, 2, 0),
        (10, 4, 6),
    ]


@pytest.mark.parametrize("joining", [Mixture((0.7, 0.3)), Mixture((2, 1, 1)), Stages((80,)), Stages((80, 35))])
def test_a_rule_is_what_its_description_says(joining):
    described = {key: list(values) for key, values in describe_joining(joining).items()}
    assert read_joining(described) == joining


def test_each_part_has_the_order_and_the_epochs_that_it_has_alone():
    streams = [stream("aa", 801), stream("bb", 161)]
    order = make_order(joined(Mixture((3, 1)), *streams), 5, LENGTH)
    starts, epochs = order.starts(0, 400), order.epochs_at(numbers(0, 400))
    first = starts < 801
    assert first.sum() == 300
    for chosen, one, offset in ((first, streams[0], 0), (~first, streams[1], 801)):
        alone = make_order(one, 5, LENGTH)
        assert np.array_equal(starts[chosen] - offset, alone.starts(0, chosen.sum()))
        assert np.array_equal(epochs[chosen], np.arange(chosen.sum()) // alone.sequences)


def test_a_stage_may_be_a_mixture():
    a, b, c = stream("aa", 801), stream("bb", 161), stream("cc", 401)
    order = make_order(joined(Stages((320,)), c, joined(Mixture((1, 1)), a, b)), 0, LENGTH)
    starts = order.starts(0, 60)
    assert np.array_equal(starts[:40], make_order(c, 0, LENGTH).starts(0, 40))
    assert np.array_equal(starts[40:], make_order(joined(Mixture((1, 1)), a, b), 0, LENGTH).starts(0, 20) + 401)
