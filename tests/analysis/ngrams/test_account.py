import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from measurements.shapes.ngram_accounts import run
from measurements.shapes.simulated_curves import token_axis
from measurements.shapes.simulated_ngrams import FOLLOWERS, ORDERS, OTHERS, learn
from ucurve.analysis.ngrams.dips import LEAST_SHARE, Dip, account_of_dip, dip_places
from ucurve.analysis.shape.pooled import estimate_curve
from ucurve.analysis.shape.smoothing import smoothing_weights

TOKENS = token_axis(20, 3.2)
PAIRS = 24


def make_dip(loss, wrong, bottom=None, clusters=None) -> Dip:
    loss, wrong = np.asarray(loss, dtype=float), np.atleast_2d(np.asarray(wrong, dtype=float))
    n = len(loss)
    return Dip(
        loss, 1 - wrong[0] if bottom is None else bottom, wrong, np.zeros(n, dtype=np.int64),
        np.arange(n) if clusters is None else clusters,
    )  # fmt: skip


halves = arrays(np.float64, PAIRS, elements=st.sampled_from([0.0, 0.5, 1.0]))


@settings(max_examples=25, deadline=None)
@given(halves, halves, halves)
def test_losses_on_wrong_and_right_pairs_sum_to_the_fall(
    before: np.ndarray, after: np.ndarray, wrong: np.ndarray
) -> None:
    loss = before - after
    if abs(loss.sum()) < 0.1:
        return
    both = account_of_dip((1, 2), make_dip(loss, np.stack([wrong, 1 - wrong])))
    assert both["raw_share"].sum() == pytest.approx(1)
    assert (both["raw_share"] * loss.mean()).sum() == pytest.approx(before.mean() - after.mean())


@settings(max_examples=25, deadline=None)
@given(halves, arrays(np.bool_, PAIRS))
def test_the_share_is_what_equal_losses_would_leave_out(loss: np.ndarray, wrong: np.ndarray) -> None:
    if not loss.sum() or wrong.all() or not wrong.any():
        return
    table = account_of_dip((2,), make_dip(loss, wrong))
    # The fall if all pairs had lost what those do that it gets right.
    left_out = loss.mean() - loss[~wrong].mean()
    assert table["share"][0] == pytest.approx(left_out / loss.mean())


def test_the_losses_of_pairs_are_the_fall_of_the_smoothed_curve() -> None:
    learned = learn(FOLLOWERS[0], TOKENS, np.random.default_rng(1))
    curve = estimate_curve(TOKENS, learned.half_points, learned.paradigms)
    smooth = smoothing_weights(np.log10(TOKENS)) @ curve.mean
    start, bottom = dip_places(TOKENS, curve.mean, TOKENS[int(smooth[:12].argmax())], TOKENS[-1])
    rows = smoothing_weights(np.log10(TOKENS))[[start, bottom]] @ (learned.half_points.mean(axis=0) / 2)
    assert (rows[0] - rows[1]).mean() == pytest.approx(smooth[start] - smooth[bottom])
    assert smooth[bottom] == smooth[start:].min()


def test_p_is_the_share_of_all_flips_of_few_clusters() -> None:
    draw = np.random.default_rng(4)
    clusters = np.arange(40) // 5
    wrong, loss = draw.integers(0, 2, 40).astype(float), draw.standard_normal(40)
    table = account_of_dip((2,), make_dip(loss, wrong, clusters=clusters))
    sums = np.bincount(clusters, (loss - loss.mean()) * (wrong - wrong.mean()))
    flips = np.array([np.dot(signs, sums) for signs in itertools.product((1, -1), repeat=8)])
    assert table["p_loss"][0] == pytest.approx(np.mean(8 / 7 * flips >= sums.sum() - 1e-12), abs=0.03)


@pytest.mark.filterwarnings("error")
def test_an_order_that_is_wrong_on_all_pairs_or_tied_on_all_is_not_named() -> None:
    loss = np.tile([1.0, 0.0], 20)
    table = account_of_dip((1, 2, 3), make_dip(loss, np.stack([np.full(40, 0.5), np.ones(40), loss]), 1 - loss))
    assert table["named"].tolist() == [False, False, True]
    assert table["share"].tolist() == pytest.approx([0, np.nan, 1], nan_ok=True)
    assert table["p"].isna().tolist() == [True, True, False]


def test_of_orders_that_fit_alike_the_lowest_is_named() -> None:
    loss = np.tile([1.0, 0.0], 20)
    table = account_of_dip((1, 2, 3), make_dip(loss, np.stack([np.full(40, 0.5), loss, loss]), 1 - loss))
    assert table["accounts"].tolist() == [False, True, True]
    assert table["named"].tolist() == [False, True, False]


def test_errors_by_whole_paradigms_are_no_evidence() -> None:
    draw = np.random.default_rng(6)
    paradigms = np.arange(400) // 100
    loss = (paradigms < 2) * draw.integers(0, 2, 400).astype(float)  # two paradigms dip, on any of their pairs
    wrong = np.where(paradigms < 2, draw.random(400) < 0.9, draw.random(400) < 0.1).astype(float)
    dip = Dip(loss, (1 - loss), wrong[None], paradigms, np.arange(400))
    (row,) = account_of_dip((2,), dip).to_dict("records")
    assert row["share"] > LEAST_SHARE
    assert row["p"] > 0.05
    assert not row["accounts"]


def test_losses_of_a_millionth_do_not_count_although_their_signs_agree() -> None:
    wrong = np.tile([1.0, 0.0], 100)
    paradigms = np.arange(200) // 100
    wrong[paradigms == 0] = 1  # this paradigm dips, and the n-gram model is wrong on all of it
    draw = np.random.default_rng(7)
    loss = np.where(paradigms == 0, draw.integers(0, 2, 200), 1e-6 * wrong)
    dip = Dip(loss, 1 - wrong, wrong[None], paradigms, np.arange(200))
    (row,) = account_of_dip((2,), dip).to_dict("records")
    assert row["share"] > LEAST_SHARE
    assert row["p"] < 0.05
    assert row["fit"] < 1e-5
    assert not row["named"]


def test_few_learners_are_told_apart() -> None:
    follows, other = (run(learner, TOKENS, 8, 300, 3) for learner in (FOLLOWERS[0], OTHERS[0]))
    assert follows["2-gram"] == follows["dip found"] > 0.5
    assert other["none"] == 1
    assert other["dip found"] > 0.5


@pytest.mark.long
def test_the_followed_order_is_named_and_no_other_for_other_dips() -> None:
    for learner in FOLLOWERS:
        row = run(learner, TOKENS, 25, 1000, 3)
        assert row[f"{learner.truth}-gram"] >= 0.9, learner.name
    for learner in OTHERS:
        row = run(learner, TOKENS, 25, 300, 3)
        assert sum(row[f"{order}-gram"] for order in ORDERS) <= 0.08, learner.name
