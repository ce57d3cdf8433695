"""One label for each item from the votes of several people: majority, WAWA and Dawid-Skene.

All three give what crowd-kit gives (Ustalov et al. 2024). They follow it in the details that a result depends on: how
the EM starts, the floor of its probabilities and when it stops.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
import pandas as pd

from ucurve.eval.metrics.levels import Array

_FLOOR = 1e-10  # crowd-kit lets no probability be lower
_ROUNDS = 100  # crowd-kit stops the EM after so many
_TOLERANCE = 1e-5  # of crowd-kit's bound per vote, between two rounds
_CONVERGED = 1e-9  # of every probability, between two rounds
_MOST_ROUNDS = 1000  # of an EM that does not settle before


@dataclass(frozen=True)
class Votes:
    """Votes as places in sorted lists of names; each of the three arrays is int64[votes]."""

    item: np.ndarray
    person: np.ndarray
    label: np.ndarray
    items: tuple[str, ...]
    people: tuple[str, ...]
    labels: tuple[str, ...]

    def table(self, probabilities: Array) -> pd.DataFrame:
        """Name the rows and columns of float64[items, labels]."""
        return pd.DataFrame(probabilities, index=pd.Index(self.items, name="item"), columns=list(self.labels))


def code_votes(answers: pd.DataFrame) -> Votes:
    """Turn answers (``item``, ``annotator``, ``choice``) into codes; the order of the rows changes nothing."""
    ordered = answers.sort_values(["item", "annotator"])
    codes, names = {}, {}
    for column in ("item", "annotator", "choice"):
        found, codes[column] = np.unique(ordered[column].to_numpy(dtype=str), return_inverse=True)
        names[column] = tuple(map(str, found))
    return Votes(
        codes["item"], codes["annotator"], codes["choice"], names["item"], names["annotator"], names["choice"]
    )


def vote_shares(votes: Votes, skills: Array | None = None) -> Array:
    """Return each label's share of an item's votes, float64[items, labels], weighted by float64[people]."""
    weights = np.ones(len(votes.item)) if skills is None else skills[votes.person]
    sums = np.zeros((len(votes.items), len(votes.labels)))  # float64[items, labels]
    np.add.at(sums, (votes.item, votes.label), weights)
    return np.asarray(sums / sums.sum(axis=1, keepdims=True), dtype=np.float64)


def worker_skills(votes: Votes) -> Array:
    """Return the share of each person's votes that equal the majority's label, float64[people] (Ning et al. 2018)."""
    # Of labels with equally many votes the first by alphabet wins, which is ``bad``: no tie speaks for the benchmark.
    majority = vote_shares(votes).argmax(axis=1)
    agrees = votes.label == majority[votes.item]
    return np.bincount(votes.person, agrees) / np.bincount(votes.person)


def wawa(votes: Votes) -> Array:
    """Return each label's share of an item's votes, weighted by the skills of who voted, float64[items, labels]."""
    skills = worker_skills(votes)
    if not (np.bincount(votes.item, skills[votes.person], len(votes.items)) > 0).all():
        return vote_shares(votes)  # an item that only people without any skill judged
    return vote_shares(votes, skills)


def dawid_skene(votes: Votes) -> Array:
    """Estimate the probability of each item's labels, float64[items, labels], by EM (Dawid and Skene 1979).

    Each person has a matrix of how often they give a label to items of every true label; the matrices and the frequency
    of the labels are estimated together with the items' labels. It stops where crowd-kit does, which RuBLiMP used; that
    may be well before the estimates settle (``converged_dawid_skene``), as the quantity that crowd-kit watches is not
    the one that the EM raises.
    """
    bound = -np.inf
    posterior = vote_shares(votes)
    for posterior, prior, errors in islice(_rounds(votes), _ROUNDS):
        # The bound per vote that crowd-kit watches counts an item's prior once for each of its votes.
        joint = np.log(errors[votes.person, votes.label]) + np.log(np.maximum(prior, _FLOOR))
        floored = np.maximum(posterior, _FLOOR)
        total = (posterior[votes.item] * joint).sum() - (floored * np.log(floored)).sum()
        before, bound = bound, float(total / len(votes.item))
        if bound - before < _TOLERANCE:
            break
    return posterior


def converged_dawid_skene(votes: Votes) -> Array:
    """Estimate the same as ``dawid_skene``, and stop only when no probability changes any more."""
    before = vote_shares(votes)
    for posterior, _, _ in islice(_rounds(votes), _MOST_ROUNDS):
        change = np.abs(posterior - before).max()
        before = posterior
        if change < _CONVERGED:
            break
    return before


def _rounds(votes: Votes) -> Iterator[tuple[Array, Array, Array]]:
    """Yield what each round of the EM estimates: the items' labels, their frequency, the matrices of people."""
    posterior = vote_shares(votes)
    prior, errors = posterior.mean(axis=0), _error_matrices(votes, posterior)
    while True:
        logs = np.tile(np.log(np.maximum(prior, _FLOOR)), (len(votes.items), 1))  # float64[items, labels]
        np.add.at(logs, votes.item, np.log(errors[votes.person, votes.label]))
        # The largest becomes 1, so that not all of them can become 0.
        scaled = np.exp(logs - logs.max(axis=1, keepdims=True))
        posterior = np.asarray(scaled / scaled.sum(axis=1, keepdims=True), dtype=np.float64)
        prior, errors = posterior.mean(axis=0), _error_matrices(votes, posterior)
        yield posterior, prior, errors


def _error_matrices(votes: Votes, posterior: Array) -> Array:
    """Return P(label given | true label) of each person, float64[people, given, true]; 0 for labels never given."""
    sums = np.zeros((len(votes.people), len(votes.labels), len(votes.labels)))
    np.add.at(sums, (votes.person, votes.label), posterior[votes.item])
    given = np.zeros(sums.shape[:2], dtype=bool)
    given[votes.person, votes.label] = True
    sums = np.where(given[:, :, None], np.maximum(sums, _FLOOR), 0.0)
    return np.asarray(sums / sums.sum(axis=1, keepdims=True), dtype=np.float64)
