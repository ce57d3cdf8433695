import time
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ucurve.token_stream.order import Batches, DataOrder


@given(st.integers(1, 3000), st.integers(0, 5))
def test_every_epoch_is_a_permutation(sequences, seed):
    order = DataOrder("ab12", seed, 8, sequences)
    for epoch in range(2):
        starts = order.starts(epoch * sequences, sequences)
        assert sorted(starts // 8) == list(range(sequences))


def test_epochs_and_seeds_and_data_have_orders_of_their_own():
    first = DataOrder("ab", 0, 8, 500)
    same = np.array_equal
    assert same(first.starts(0, 500), DataOrder("ab", 0, 8, 500).starts(0, 500))
    assert not same(first.starts(0, 500), first.starts(500, 500))
    assert not same(first.starts(0, 500), DataOrder("ab", 1, 8, 500).starts(0, 500))
    assert not same(first.starts(0, 500), DataOrder("cd", 0, 8, 500).starts(0, 500))


def test_order_is_mixed():
    starts = DataOrder("ab", 0, 1, 10_000).starts(0, 10_000)
    assert abs(np.corrcoef(starts, np.arange(10_000))[0, 1]) < 0.05
    assert abs(np.corrcoef(starts[1:], starts[:-1])[0, 1]) < 0.05


@given(st.integers(0, 40), st.integers(1, 16))
def test_a_batch_is_a_slice_of_one_sequence_of_positions(step, size):
    order = DataOrder("ab", 3, 4, 97)
    assert np.array_equal(
        Batches(None, order, size).starts_of_step(step + 1), order.starts(0, 800)[step * size : (step + 1) * size]
    )


def test_sequences_leave_room_for_the_last_target():
    for length, sequences in ((9, 2), (8, 1)):
        assert (
            Batches.over(SimpleNamespace(sha256="ab", length=length, joining=None), 0, 4, 1).order.sequences
            == sequences
        )


def test_a_late_position_costs_as_little_as_the_first():
    order = DataOrder("ab", 0, 64, 46_875_000)
    started = time.perf_counter()
    Batches(None, order, 256).starts_of_step(1_000_001)
    assert time.perf_counter() - started < 1


@pytest.mark.parametrize("sequences", [1, 2, 3])
def test_tiny_corpora(sequences):
    assert set(DataOrder("ab", 0, 1, sequences).starts(0, sequences)) == set(range(sequences))
