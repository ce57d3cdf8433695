import itertools
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ucurve.errors import UserError
from ucurve.training.checkpoint_schedule import (
    ScheduleSettings,
    babylm_steps,
    checkpoint_steps,
    linear_steps,
    listed_steps,
    log_steps,
    names_by_words,
    pythia_steps,
)


@given(st.integers(1, 200_000), st.data())
def test_log_steps_are_exactly_count_distinct_with_first_and_last(total, data):
    count = data.draw(st.integers(2, min(total + 1, 300)))
    steps = log_steps(count, total)
    assert len(steps) == count
    assert list(steps) == sorted(set(steps))
    assert steps[0] == 0
    assert steps[-1] == total


def test_log_steps_of_the_paper():
    steps = log_steps(47, 183_105)
    assert len(steps) == 47
    assert steps[:8] == (0, 1, 2, 3, 4, 5, 6, 8)
    late = [after / before for before, after in itertools.pairwise(steps[20:])]
    assert max(late) - min(late) < 0.02, "evenly spaced on a log axis"


def test_log_steps_literal():
    assert log_steps(12, 30) == (0, 1, 2, 3, 4, 5, 7, 9, 12, 16, 22, 30)
    assert log_steps(2, 5) == (0, 5)
    assert log_steps(6, 5) == (0, 1, 2, 3, 4, 5)


@given(st.integers(1, 100_000), st.data())
def test_linear_steps_are_exactly_count_and_even(total, data):
    count = data.draw(st.integers(2, min(total + 1, 100)))
    steps = linear_steps(count, total)
    assert len(set(steps)) == count
    assert (steps[0], steps[-1]) == (0, total)
    gaps = [after - before for before, after in itertools.pairwise(steps)]
    assert max(gaps) - min(gaps) <= 1


def test_pythia_steps():
    assert pythia_steps(3500) == (0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000, 2000, 3000, 3500)
    assert len(pythia_steps(143_000)) == 154
    assert pythia_steps(3) == (0, 1, 2, 3)


def test_babylm_steps_are_the_first_to_have_seen_the_count():
    assert babylm_steps(25, 1_000_000) == (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 25)
    steps = babylm_steps(100_000, 16_384)
    assert steps[1] * 16_384 >= 1_000_000 > (steps[1] - 1) * 16_384
    assert steps[-1] == 100_000
    seen = Fraction(16_384 * 100_000_000, 149_999_999)  # words in a step, at one and a half tokens a word
    steps = babylm_steps(9155, seen)
    assert names_by_words(steps, seen) == [f"chck_{count}M" for count in (*range(11), *range(20, 101, 10))]
    assert all((step - 1) * seen < count * 10**6 <= step * seen for count, step in enumerate(steps[1:10], 1))
    with pytest.raises(UserError, match=r"step 50 has seen 546,133 words, which is no whole million of its own"):
        names_by_words([0, 50], seen)
    with pytest.raises(UserError, match=r"step 1 has seen 10,923 words, which is no whole million of its own"):
        names_by_words([0, 1], seen)


def test_listed_steps():
    assert listed_steps([1, 10], 20) == (0, 1, 10, 20)
    assert checkpoint_steps(ScheduleSettings("list", None, (5,)), 9, 64) == (0, 5, 9)


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([], r"schedule\.steps is empty"),
        ([5, 5], r"5 follows 5; the steps must ascend"),
        ([9, 3], r"3 follows 9"),
        ([30], r"30 is outside the run; allowed: 0 to 20"),
        ([-1], r"-1 is outside the run"),
    ],
)
def test_listed_steps_refuses(steps, message):
    with pytest.raises(UserError, match=message):
        listed_steps(steps, 20)


@pytest.mark.parametrize("kind", ["log", "linear"])
def test_a_count_that_does_not_fit_is_refused(kind):
    with pytest.raises(UserError, match=r"schedule\.count=47 does not fit a run of 10 steps; allowed: 2 to 11"):
        checkpoint_steps(ScheduleSettings(kind, 47, ()), 10, 64)
    with pytest.raises(UserError, match=r"schedule\.count: no value given; schedule=" + kind):
        checkpoint_steps(ScheduleSettings(kind, None, ()), 10, 64)
