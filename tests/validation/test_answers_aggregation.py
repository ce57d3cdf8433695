"""Labels from votes, against crowd-kit and by hand."""

import numpy as np
import pandas as pd
import pytest
from crowdkit.aggregation import DawidSkene, MajorityVote, Wawa
from hypothesis import given, settings
from hypothesis import strategies as st

from ucurve.validation.judging.aggregation import (
    code_votes,
    converged_dawid_skene,
    dawid_skene,
    vote_shares,
    wawa,
    worker_skills,
)


def answers(rows):
    return pd.DataFrame(rows, columns=["item", "annotator", "choice"])


def random_answers(seed, items=60, people=7, skip=0.3):
    """People of different reliability, who leave some items out."""
    random = np.random.default_rng(seed)
    right = random.uniform(0.55, 0.95, people)
    truth = random.random(items) < 0.8
    rows = [
        (f"i{item}", f"p{person}", ("bad", "good")[int(truth[item] == (random.random() < right[person]))])
        if random.random() > 0.05
        else (f"i{item}", f"p{person}", "none")
        for item in range(items)
        for person in range(people)
        if random.random() > skip
    ]
    return answers(rows)


def without_ties(table):
    """Leave out items of which two labels have the most votes: crowd-kit takes either, by the order of the answers."""
    counts = table.groupby(["item", "choice"]).size().unstack(fill_value=0)
    single = counts.eq(counts.max(axis=1), axis=0).sum(axis=1) == 1
    return table[table["item"].map(single)]


def as_crowdkit(table):
    return table.rename(columns={"item": "task", "annotator": "worker", "choice": "label"})


def compare_with_crowdkit(table):
    votes, theirs = code_votes(table), as_crowdkit(table)
    skills = Wawa().fit(theirs).skills_
    np.testing.assert_allclose(worker_skills(votes), skills[list(votes.people)], atol=1e-12)
    for ours, expected in (
        (vote_shares(votes), MajorityVote().fit(theirs)),
        (wawa(votes), MajorityVote().fit(theirs, skills=skills)),  # Wawa.predict fails with scikit-learn of today
        (dawid_skene(votes), DawidSkene().fit(theirs)),
    ):
        named = votes.table(ours)
        probabilities = expected.probas_.loc[named.index, named.columns]
        np.testing.assert_allclose(named.to_numpy(), probabilities.to_numpy(), atol=1e-6)
        assert (named.idxmax(axis=1) == expected.labels_[named.index]).all()


@pytest.mark.filterwarnings("ignore")  # crowd-kit's, about pandas
@pytest.mark.parametrize("seed", range(3))
def test_labels_probabilities_and_skills_equal_crowdkits(seed):
    compare_with_crowdkit(without_ties(random_answers(seed)))


def test_a_tie_is_no_vote_for_the_benchmark_in_the_skills():
    votes = code_votes(answers([("1", "a", "good"), ("1", "b", "bad")]))
    assert dict(zip(votes.people, worker_skills(votes), strict=True)) == {"a": 0.0, "b": 1.0}


def test_a_vote_of_a_reliable_person_weighs_more():
    table = answers([(f"i{n}", person, "good") for n in range(8) for person in "abc"])
    wrong = answers([(f"i{n}", "d", "bad") for n in range(8)])
    last = answers([("last", "a", "good"), ("last", "d", "bad")])
    votes = code_votes(pd.concat([table, wrong, last]))
    assert votes.table(wawa(votes)).loc["last"].to_dict() == pytest.approx(
        {"bad": 1 / 9 / (1 / 9 + 8 / 9), "good": 8 / 9}
    )
    assert votes.table(vote_shares(votes)).loc["last", "good"] == 0.5


def test_an_item_that_only_people_without_skill_judged_has_the_plain_shares():
    votes = code_votes(answers([("1", "a", "good"), ("1", "b", "good"), ("1", "c", "bad"), ("2", "c", "bad")]))
    assert votes.table(wawa(votes)).loc["2", "bad"] == 1
    alone = code_votes(answers([("1", "a", "good"), ("1", "b", "bad"), ("2", "a", "good"), ("2", "b", "bad")]))
    assert np.isfinite(wawa(alone)).all()


def test_the_em_that_converges_finds_the_truth_that_reliable_people_tell():
    random = np.random.default_rng(1)
    truth = random.random(200) < 0.5
    right = (0.95, 0.9, 0.9, 0.52, 0.52, 0.52)
    rows = [
        (f"{item:03}", f"p{person}", "good" if truth[item] == (random.random() < share) else "bad")
        for item in range(200)
        for person, share in enumerate(right)
    ]
    votes = code_votes(answers(rows))
    good = converged_dawid_skene(votes)[:, votes.labels.index("good")] > 0.5
    majority = vote_shares(votes)[:, votes.labels.index("good")] > 0.5
    assert (good == truth).mean() > 0.93
    assert (good == truth).mean() > (majority == truth).mean()


@settings(max_examples=15, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(0, 5))
def test_the_order_of_answers_and_the_names_of_people_change_nothing(random, seed):
    table = random_answers(seed, items=12, people=4)
    people = sorted(table["annotator"].unique())
    renamed = table.assign(
        annotator=table["annotator"].map(dict(zip(people, random.sample(people, 4), strict=True)))
    )
    shuffled = renamed.sample(frac=1, random_state=random.randint(0, 1000))
    for estimate in (vote_shares, wawa, dawid_skene):
        np.testing.assert_allclose(estimate(code_votes(table)), estimate(code_votes(shuffled)), atol=1e-9)
