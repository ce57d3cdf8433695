import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests.settings import unigram_settings
from ucurve.errors import UserError
from ucurve.eval.models.unigram import (
    log_unigrams,
    published_probabilities,
    read_counts,
    smooth,
    unseen,
)


def log_probabilities(settings, vocabulary, excluded, tokenizer_sha256):
    """Read a published table and smooth it, as scoring does."""
    return smooth(published_probabilities(settings, vocabulary, tokenizer_sha256), excluded, settings.path)


@given(arrays(np.int64, 12, elements=st.integers(0, 10**9)), st.sets(st.integers(0, 11), max_size=11))
def test_scorable_tokens_sum_to_one(counts, excluded):
    table = log_unigrams(counts, excluded)
    scorable = [token for token in range(12) if token not in excluded]
    assert np.exp(table[scorable]).sum() == pytest.approx(1)
    assert np.isfinite(table).all()


def test_by_hand():
    table = log_unigrams(np.array([100, 0, 3, 1]), {0})
    np.testing.assert_allclose(np.exp(table), [1 / 7, 1 / 7, 4 / 7, 2 / 7])
    half = log_unigrams(np.array([100, 0, 3, 1]), {0}, add_k=0.5)
    np.testing.assert_allclose(np.exp(half), np.array([0.5, 0.5, 3.5, 1.5]) / 5.5)


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


def test_broken_files_and_pickles_are_refused(tmp_path):
    path = tmp_path / "counts.npy"
    for write in (
        lambda: path.write_bytes(b"not an array"),
        lambda: np.save(path, np.array([{"a": 1}], dtype=object), allow_pickle=True),
    ):
        write()
        with pytest.raises(UserError, match=r"counts\.npy: not an array of counts"):
            read_counts(path, 1)


HASH, OTHER = "a" * 64, "b" * 64
PUBLISHED = {"3": 0.1, "1": 0.3, "0": 0.6}  # of four tokens, in no order; token 2 was never seen
# ZhoBLiMP's tables: vocabulary (Table 4), tokens that the authors' code gives a constant, start token
REAL = {"char": (12_142, 3, 2), "word": (20_276, 2, 2), "chinese-llama": (49_953, 2006, 1)}


@pytest.fixture
def published(tmp_path):
    def write(table, **more):
        path = tmp_path / "unigrams.json"
        path.write_text(table if isinstance(table, str) else json.dumps(table))
        return unigram_settings(path=path, **more)

    return write


def test_a_published_table_by_hand(published):
    table = log_probabilities(published(PUBLISHED), 4, {0}, HASH)
    np.testing.assert_allclose(np.exp(table), np.array([0.05, 0.3, 0.05, 0.1]) / 0.45)
    assert published_probabilities(published(PUBLISHED), 4, HASH).tolist() == [0.6, 0.3, 0.0, 0.1]


@given(
    arrays(np.float64, 12, elements=st.floats(1e-12, 1) | st.just(0.0)).filter(lambda table: table[:2].any()),
    st.sets(st.integers(2, 11)),
)
def test_published_tables_sum_to_one_over_scorable_tokens(probabilities, excluded):
    table = smooth(probabilities, excluded, Path("table.json"))
    scorable = np.array([token not in excluded for token in range(12)])
    assert np.exp(table[scorable]).sum() == pytest.approx(1)
    assert np.isfinite(table).all()
    seen = scorable & (probabilities > 0)
    shift = table[seen] - np.log(probabilities[seen])
    np.testing.assert_allclose(shift, shift[0], rtol=0, atol=1e-12)
    assert (table[~seen] < table[seen].min()).all()


@pytest.mark.parametrize("name", REAL)
def test_the_published_tables_of_zhoblimp(shared, name):
    vocabulary, constant, start = REAL[name]
    settings = unigram_settings(path=shared / "benchmarks" / "zhoblimp-unigram" / f"{name}.json")
    probabilities = published_probabilities(settings, vocabulary, HASH)
    assert (probabilities == 0).sum() == constant
    table = log_probabilities(settings, vocabulary, {start}, HASH)
    assert np.exp(np.delete(table, start)).sum() == pytest.approx(1)
    seen = (probabilities > 0) & (np.arange(vocabulary) != start)
    assert table[~seen].max() < table[seen].min()
    assert probabilities[seen].min() < 1 / 3e9  # the constant of the published code
    if name == "chinese-llama":  # half of all probability is that of the start token
        assert np.exp(table[29871]) == pytest.approx(probabilities[29871] / 0.49974, rel=1e-4)
    with pytest.raises(UserError, match=f"its largest id is {vocabulary - 1}, and the tokenizer's is 8191"):
        log_probabilities(settings, 8192, {start}, HASH)


def test_another_tokenizer_is_refused(published):
    assert len(log_probabilities(published(PUBLISHED, tokenizer_sha256=HASH), 4, {0}, HASH)) == 4
    with pytest.raises(UserError, match=rf"unigrams: .*json is for the tokenizer {HASH} .*model's is {OTHER}"):
        log_probabilities(published(PUBLISHED, tokenizer_sha256=HASH), 4, {0}, OTHER)


@pytest.mark.parametrize("vocabulary", [3, 5])
def test_another_vocabulary_is_refused(published, vocabulary):
    message = rf"not keyed by the ids .*largest id is 3, and the tokenizer's is {vocabulary - 1}"
    with pytest.raises(UserError, match=message):
        log_probabilities(published(PUBLISHED), vocabulary, {0}, HASH)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("{", r"json:1: not JSON"),
        ("[1]", "an object from token id to probability is expected, not a list"),
        ({}, "its largest id is None"),
        ({"的": 0.5, "3": 0.5}, "the key '的' is not a token id"),
        ({"-1": 0.5, "3": 0.5}, "the key '-1' is not a token id"),
        ({"1.0": 0.5, "3": 0.5}, r"the key '1\.0' is not a token id"),
        ({"01": 0.5, "3": 0.5}, "the key '01' is not a token id"),
        ({"1": -0.5, "3": 0.5}, r"token 1 has -0\.5; a probability from 0 to 1"),
        ({"1": 1.5, "3": 0.5}, r"token 1 has 1\.5; a probability"),
        ('{"1": NaN, "3": 0.5}', "token 1 has nan; a probability"),
        ({"1": "0.5", "3": 0.5}, r"token 1 has '0\.5'; a probability"),
        ({"1": True, "3": 0.0}, "token 1 has True; a probability"),
        ({"1": 0.3, "3": 0.5}, r"the probabilities sum to 0\.8; they must sum to 1"),
        ({"0": 1.0, "3": 0.0}, "no token that a sentence can hold has a probability above 0"),
    ],
)
def test_broken_published_tables(published, table, message):
    with pytest.raises(UserError, match=message):
        log_probabilities(published(table), 4, {0}, HASH)


def test_a_published_table_that_is_not_there(tmp_path):
    with pytest.raises(UserError, match=r"unigrams: cannot read .*none\.json \(No such file"):
        log_probabilities(unigram_settings(path=tmp_path / "none.json"), 4, {0}, HASH)


def test_a_hash_that_is_none():
    with pytest.raises(UserError, match="tokenizer_sha256"):
        unigram_settings(path="x.json", tokenizer_sha256="1234")


def test_unseen_tokens_are_counted():
    tokens = np.array([1, 2, 2, 0, 3, 1])
    assert unseen(np.array([5, 0, 0, 2]), tokens) == (4, 2)
    assert unseen(np.array([0.5, 0.1, 0.4, 0.0]), tokens) == (1, 1)
    assert unseen(np.array([1, 1, 1, 1]), tokens) == (0, 0)
