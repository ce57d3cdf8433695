"""Agreement among people, against statsmodels and against examples that are worked out in the literature."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from statsmodels.stats.inter_rater import fleiss_kappa as reference_kappa

from ucurve.validation.judging.agreement import fleiss_kappa, interval_alpha, krippendorff_alpha, raw_agreement

# Fleiss 1971, as Wikipedia's article on the coefficient has it: 14 raters, 10 subjects, 5 categories.
FLEISS = np.array([
    [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
], dtype=float)  # fmt: skip

# Krippendorff 2011, section C: four observers, twelve units, five values, with gaps.
N = math.nan
OBSERVERS = np.array([
    [1, 2, 3, 3, 2, 1, 4, 1, 2, N, N, N],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, N, 3],
    [N, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, N],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, N],
]).T  # fmt: skip


def counts_of(numbers):
    values = np.unique(numbers[~np.isnan(numbers)])
    return (numbers[:, :, None] == values).sum(axis=1).astype(float)


def test_kappa_of_fleiss_example():
    assert raw_agreement(FLEISS) == pytest.approx(0.378, abs=5e-4)
    assert fleiss_kappa(FLEISS) == pytest.approx(0.210, abs=5e-4)


def test_alpha_of_krippendorffs_examples():
    # section A: two observers, ten units, nominal: .095; section C: nominal .743, interval .849
    meg = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0]
    owen = [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
    assert krippendorff_alpha(counts_of(np.array([meg, owen], dtype=float).T)) == pytest.approx(0.095, abs=5e-4)
    assert krippendorff_alpha(counts_of(OBSERVERS)) == pytest.approx(0.743, abs=5e-4)
    assert interval_alpha(OBSERVERS) == pytest.approx(0.849, abs=5e-4)


@settings(max_examples=40, deadline=None)
@given(arrays(np.int64, st.tuples(st.integers(2, 8), st.just(5)), elements=st.integers(0, 2)))
def test_kappa_equals_statsmodels(labels):
    counts = np.stack([(labels == value).sum(axis=1) for value in range(3)], axis=1).astype(float)
    if len(np.unique(labels)) == 1:
        assert math.isnan(fleiss_kappa(counts))
    else:
        assert fleiss_kappa(counts) == pytest.approx(reference_kappa(counts))


@given(st.lists(st.integers(0, 2), min_size=2, max_size=9), st.integers(2, 6))
def test_whoever_all_agree_have_alpha_and_kappa_one(labels, people):
    counts = np.eye(3)[labels] * people
    assert raw_agreement(counts) == 1
    for measure in (krippendorff_alpha, fleiss_kappa):
        if len(set(labels)) == 1:
            assert math.isnan(measure(counts))  # nothing varies, so there is nothing to agree about
        else:
            assert measure(counts) == pytest.approx(1)


def test_an_item_that_one_person_answered_says_nothing():
    counts = np.array([[2.0, 0], [0, 2], [1, 0]])
    assert raw_agreement(counts) == krippendorff_alpha(counts) == fleiss_kappa(counts) == 1
    assert all(math.isnan(measure(counts[2:])) for measure in (raw_agreement, krippendorff_alpha, fleiss_kappa))
