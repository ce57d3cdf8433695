import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ucurve.errors import UserError
from ucurve.eval.scoring.mink import MIN_K, min_k

LOGS = st.floats(-50, 0)
SENTENCES = st.lists(st.lists(LOGS, min_size=1, max_size=12), min_size=1, max_size=8)
PERCENT = st.floats(0.5, 100)


def flat(sentences):
    starts = np.concatenate([[0], np.cumsum([len(sentence) for sentence in sentences])]).astype(np.int64)
    return np.array([value for sentence in sentences for value in sentence], dtype=np.float64), starts


def of(sentences, percent):
    values, starts = flat(sentences)
    return min_k(values, starts, np.ones(len(values), dtype=bool), percent)


def test_by_hand():
    sentences = [[-1.0, -5.0, -2.0, -4.0, -3.0], [-7.0, -1.0, -9.0]]
    np.testing.assert_allclose(of(sentences, 60), [(-5 - 4 - 3) / 3, -9])  # floor(3) and floor(1.8) tokens
    np.testing.assert_allclose(of(sentences, 40), [(-5 - 4) / 2, -9])
    np.testing.assert_allclose(of(sentences, 100), [-3, -17 / 3])


def test_fewer_than_one_token_is_the_least_probable_one():
    assert of([[-1.0, -2.0]], 30).tolist() == [-2.0]  # floor(0.6) = 0
    assert of([[-4.0]], 1).tolist() == [-4.0]


def test_only_scored_tokens_count_in_values_and_in_n():
    values, starts = flat([[-9.0, -1.0, -2.0], [-3.0, -8.0]])
    scored = np.array([False, True, True, True, False])
    np.testing.assert_allclose(min_k(values, starts, scored, 50), [-2, -3])
    values[~scored] = np.nan
    np.testing.assert_allclose(min_k(values, starts, scored, 50), [-2, -3])


def test_what_is_no_number_is_never_left_out():
    values, starts = flat([[-1.0, np.nan, -2.0, -3.0], [-1.0, -3.0]])
    result = min_k(values, starts, np.ones(6, dtype=bool), 30)
    assert np.isnan(result).tolist() == [True, False]
    assert np.isnan(min_k(values, starts, np.array([False] * 4 + [True] * 2), 30)).tolist() == [True, False]


@given(SENTENCES, PERCENT)
def test_equals_sorting_each_sentence(sentences, percent):
    counts = [max(1, int(np.floor(len(sentence) * percent / 100))) for sentence in sentences]
    plain = [np.mean(sorted(sentence)[:count]) for sentence, count in zip(sentences, counts, strict=True)]
    np.testing.assert_allclose(of(sentences, percent), plain, rtol=1e-12, atol=1e-12)


@given(SENTENCES)
def test_all_tokens_give_the_mean(sentences):
    np.testing.assert_allclose(of(sentences, 100), [np.mean(sentence) for sentence in sentences], atol=1e-12)


@given(SENTENCES, PERCENT, PERCENT)
def test_never_falls_with_k(sentences, one, other):
    low, high = sorted((one, other))
    assert (of(sentences, low) <= of(sentences, high) + 1e-12).all()


@pytest.mark.parametrize("percent", MIN_K)
def test_counts_as_the_published_code(percent):
    """It truncates n times a ratio; floor(n K / 100) is the same number for every length that occurs."""
    lengths = np.arange(1, 500)
    np.testing.assert_array_equal(np.floor(lengths * percent / 100), (lengths * (percent / 100)).astype(int))


@pytest.mark.parametrize("percent", [0, -1, 100.5, float("nan")])
def test_what_is_no_percentage(percent):
    with pytest.raises(UserError, match="over 0 and up to 100"):
        of([[-1.0]], percent)
