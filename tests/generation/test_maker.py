import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ucurve.generation.maker import Chooser, Drawn, Listed
from ucurve.generation.order import shuffled, stratified, weighted
from ucurve.templates.pair import DRAWS_PER_PAIR, DrawFailed, Pair


def as_given(candidates, rng):
    del rng
    return list(candidates)


def listed(*pairs, name="p", **more):
    return Listed(name=name, phenomenon="f", candidates=[Pair(*pair) for pair in pairs], **more)


def drawn(draw, name="p"):
    return Drawn(name=name, phenomenon="f", draw=draw)


def goods(outcome):
    return [pair.good for pair in outcome.pairs]


def test_all_that_is_looked_at_is_kept_or_has_a_reason():
    pairs = [("a", "b"), ("a", "c"), ("d", "d"), ("e", "f"), ("g", "h")]
    outcome = Chooser(2, 0).choose(listed(*pairs, order=as_given, dropped={"no verb": 3}))
    assert goods(outcome) == ["a", "e"]
    assert outcome.reasons == {"no verb": 3, "duplicate": 1, "equal": 1, "more than asked for": 1}
    assert outcome.candidates == len(outcome.pairs) + sum(outcome.reasons.values()) == 8


@given(
    st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("abcd"))),
    st.none() | st.integers(1, 5),
    st.integers(),
)
def test_nothing_is_equal_or_twice_and_all_is_counted(pairs, wanted, seed):
    outcome = Chooser(wanted, seed).choose(listed(*pairs))
    assert all(pair.good != pair.bad for pair in outcome.pairs)
    assert len(set(goods(outcome))) == len(outcome.pairs)
    different = len({good for good, bad in pairs if good != bad})
    assert len(outcome.pairs) == (different if wanted is None else min(wanted, different))
    assert outcome.candidates == len(pairs) == len(outcome.pairs) + sum(outcome.reasons.values())
    again = Chooser(wanted, seed).choose(listed(*pairs))
    assert again.pairs == outcome.pairs


def test_draws_end_when_there_are_enough_or_too_many():
    def draw(rng):
        if rng.random() < 0.5:
            raise DrawFailed("coin")
        return Pair(str(rng.randrange(10)), "x")

    enough = Chooser(5, 0).choose(drawn(draw))
    assert len(enough.pairs) == 5
    assert enough.reasons["coin"] > 0
    given_up = Chooser(11, 0).choose(drawn(draw))
    assert sorted(goods(given_up)) == [str(digit) for digit in range(10)]
    assert given_up.candidates == 11 * DRAWS_PER_PAIR
    assert sum(given_up.reasons.values()) == 11 * DRAWS_PER_PAIR - 10


def test_a_pair_stands_in_one_paradigm_only_where_that_is_asked_for():
    first, second = listed(("a", "b"), name="one"), listed(("a", "b"), ("a", "c"), name="two", order=as_given)
    chooser = Chooser(None, 0, across=True)
    chooser.choose(first)
    assert [(pair.good, pair.bad) for pair in chooser.choose(second).pairs] == [("a", "c")]
    chooser = Chooser(None, 0)
    chooser.choose(first)
    assert [(pair.good, pair.bad) for pair in chooser.choose(second).pairs] == [("a", "b")]


@pytest.mark.parametrize("order", [shuffled, stratified(["x"]), weighted(lambda found: [1.0] * len(found))])
def test_orders_keep_every_candidate(order):
    found = [Pair(str(number), "", {"x": number % 3}) for number in range(30)]
    ordered = order(found, random.Random(0))
    assert ordered != found
    assert sorted(ordered, key=lambda pair: int(pair.good)) == found


def test_first_by_weight_is_drawn_in_proportion():
    found = [Pair(name, "") for name in "abc"]
    order = weighted(lambda candidates: [{"a": 1, "b": 2, "c": 5}[pair.good] for pair in candidates])
    first = Counter(order(found, random.Random(seed))[0].good for seed in range(4000))
    assert first["a"] / 4000 == pytest.approx(1 / 8, abs=0.02)
    assert first["b"] / 4000 == pytest.approx(2 / 8, abs=0.02)


def test_every_beginning_holds_each_stratum_in_proportion():
    found = [Pair(str(number), "", {"x": "rare" if number < 20 else "common"}) for number in range(100)]
    ordered = stratified(["x"])(found, random.Random(3))
    for size in (10, 35, 60, 95):
        rare = sum(pair.columns["x"] == "rare" for pair in ordered[:size])
        assert abs(rare - size / 5) <= 2
