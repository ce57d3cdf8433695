"""Whether people differ by more than chance: against Cochran's Q, and the level and the power of the test."""

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.contingency_tables import cochrans_q

from ucurve.validation.judging.people import compare_people


def table(right, given=None):
    """Answers from bool[items, people], where they were given."""
    places = np.argwhere(np.ones_like(right) if given is None else given)
    rows = [(f"i{item}", f"p{person}", "good" if right[item, person] else "bad") for item, person in places]
    return pd.DataFrame(rows, columns=["item", "annotator", "choice"])


def draw(chance, people, items, skill=0.0):
    """Answers of people to items of different difficulty, bool[items, people]; ``skill`` is added on the logit scale."""
    logits = chance.normal(2.2, 1.2, (items, 1)) + skill * np.ones(people)
    return chance.random((items, people)) < 1 / (1 + np.exp(-logits))


def test_where_all_answer_all_items_it_is_cochrans_q():
    right = draw(np.random.default_rng(3), 9, 30)
    found, known = compare_people(table(right)), cochrans_q(right.astype(int))
    assert (found.statistic, found.p, found.freedom) == pytest.approx((known.statistic, known.pvalue, 8))
    assert found.right.tolist() == pytest.approx(right.mean(axis=0).tolist())
    assert found.expected.tolist() == pytest.approx([right.mean()] * 9)


def test_people_without_a_common_item_are_not_compared():
    right = draw(np.random.default_rng(4), 8, 40)
    halves = np.zeros_like(right)
    halves[:20, :4] = halves[20:, 4:] = True
    both = compare_people(table(right, halves))
    parts = [cochrans_q(right[:20, :4].astype(int)), cochrans_q(right[20:, 4:].astype(int))]
    assert both.statistic == pytest.approx(sum(part.statistic for part in parts))
    assert both.freedom == 6


@pytest.mark.parametrize(("people", "items", "lists"), [(6, 20, 1), (12, 40, 1), (12, 60, 3)])
def test_people_who_do_not_differ_are_called_different_as_often_as_the_level_says(people, items, lists):
    chance = np.random.default_rng(people + lists)
    given = np.arange(items)[:, None] % lists == np.arange(people) % lists
    found = [compare_people(table(draw(chance, people, items), given)).p for _ in range(300)]
    assert 0.015 <= np.mean(np.array(found) < 0.05) <= 0.085


def test_somebody_who_guesses_is_found_and_named():
    right = draw(np.random.default_rng(5), 10, 40, skill=np.array([*[0.5] * 9, -2.5]))
    found = compare_people(table(right))
    assert found.p < 0.001
    assert found.farthest == "p9"
    assert found.sentence.startswith(
        "People differ by more than chance in how often they agree with the benchmark (chi-square "
    )
    assert (
        f"Farthest off is p9, in {right[:, 9].mean():.1%} of the answers; all together agree in {right.mean():.1%}"
        in found.sentence
    )


def test_nothing_is_said_where_no_item_has_answers_of_two_kinds():
    found = compare_people(table(np.ones((4, 3), dtype=bool)))
    assert found.freedom == 0
    assert np.isnan(found.p)
    assert found.sentence == "People cannot be compared: no item has answers of two kinds."
