import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from eval.unigram import log_unigrams, read_counts
from ucurve.errors import UserError


@given(arrays(np.int64, 12, elements=st.integers(0, 10**9)), st.sets(st.integers(0, 11), max_size=11))
def test_scorable_tokens_sum_to_one(counts, excluded):
    table = log_unigrams(counts, excluded)
    scorable = [token for token in range(12) if token not in excluded]
    assert np.exp(table[scorable]).sum() == pytest.approx(1)
    assert np.isfinite(table).all()


def test_by_hand():
    table = log_unigrams(np.array([100, 0, 3, 1]), {0})
    np.testing.assert_allclose(np.exp(table), [1 / 7, 1 / 7, 4 / 7, 2 / 7])


def test_read_counts(tmp_path):
    path = tmp_path / "unigram_counts.npy"
    assert read_counts(path, 4) is None
    np.save(path, np.array([1, 2, 3, 4], dtype=np.int32))
    assert read_counts(path, 4).tolist() == [1, 2, 3, 4]
    assert read_counts(path, 4).dtype == np.int64


def test_ids_beyond_the_counts_were_never_seen(tmp_path):
    np.save(tmp_path / "counts.npy", np.array([1, 2, 3, 4]))
    assert read_counts(tmp_path / "counts.npy", 4, 7).tolist() == [1, 2, 3, 4, 0, 0, 0]


@pytest.mark.parametrize(
    "counts", [np.ones(3, np.int64), np.ones(4), np.ones((2, 4), np.int64), np.array([1, 2, 3, -4])]
)
def test_wrong_counts(tmp_path, counts):
    np.save(tmp_path / "counts.npy", counts)
    with pytest.raises(UserError, match=r"counts\.npy: 4 counts are expected, one for each token id; this is"):
        read_counts(tmp_path / "counts.npy", 4)


def test_broken_file(tmp_path):
    (tmp_path / "counts.npy").write_bytes(b"not an array")
    with pytest.raises(UserError, match=r"counts\.npy: not an array of counts"):
        read_counts(tmp_path / "counts.npy", 4)


def test_pickles_are_refused(tmp_path):
    np.save(tmp_path / "counts.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(UserError, match=r"counts\.npy: not an array of counts"):
        read_counts(tmp_path / "counts.npy", 1)
