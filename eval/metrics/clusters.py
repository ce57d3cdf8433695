"""Clusters of pairs: pairs of a template that differ in the same words, the same edit, are not independent draws.

A set of one good sentence and several bad ones is judged as a whole and counts once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pandas as pd

from ucurve.errors import unknown_name
from ucurve.eval.metrics.levels import Ids
from ucurve.eval.pairs import SET

PAIR, EDIT, PARADIGM = "pair", "edit", "paradigm"
_NAMED = (PAIR, EDIT, PARADIGM)
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Sets:
    """The sets of a table of pairs."""

    of: npt.NDArray[np.int64]  # int64[pairs], the number of each pair's set, from 0 on

    @property
    def first(self) -> Mask:
        """Mark the first pair of each set, bool[pairs]; sums over these count a set once."""
        mask = np.zeros(len(self.of), dtype=bool)
        mask[np.unique(self.of, return_index=True)[1]] = True
        return mask

    def whole(self, mask: Mask) -> Mask:
        """Mark the pairs of the sets whose pairs are all marked, bool[pairs]."""
        return np.asarray(np.bincount(self.of, ~mask)[self.of] == 0)

    def judge(self, right: Mask, ties: Mask) -> tuple[Mask, Mask]:
        """Return which pairs are of a set whose good sentence beats all bad ones, and which of a tied one."""
        all_right = self.whole(right)
        return all_right, self.whole(right | ties) & ~all_right


def sets_of(pairs: pd.DataFrame) -> Sets:
    """Find the sets of a table of pairs, within their paradigms; a pair without a set forms its own."""
    alone = np.arange(len(pairs))
    if SET not in pairs:
        return Sets(alone)
    of = pairs.groupby(["phenomenon", "paradigm", SET], sort=False).ngroup().to_numpy()  # -1 without a set
    numbers = np.where(pairs[SET].notna(), of, len(pairs) + alone)
    return Sets(np.unique(numbers, return_inverse=True)[1])


def pair_clusters(pairs: pd.DataFrame, cluster: str = EDIT, where: str = "") -> Ids:
    """Number the clusters of a pair table, int64[pairs]; a column that it does not have is a ``UserError``.

    ``edit`` puts the pairs of a paradigm together whose sentences differ in the same way, and with them the pairs of
    one set; ``pair`` none, a column such as ``paradigm`` those with the same value.
    """
    if cluster == PAIR:
        return np.arange(len(pairs))
    if cluster == EDIT:
        sets = sets_of(pairs).of
        edits = pd.factorize(pd.Series(list(map(edit, pairs["good"].tolist(), pairs["bad"].tolist()))))[0]
        paradigms = pd.factorize(pairs["paradigm"])[0]
        of_set = edits[np.unique(sets, return_index=True)[1]]  # that of its first pair
        return pd.factorize(paradigms * (1 + len(pairs)) + of_set[sets], sort=True)[0].astype(np.int64)
    if cluster not in pairs:
        raise unknown_name("cluster", cluster, {*_NAMED, *map(str, pairs.columns)}, where)
    return pd.factorize(pairs[cluster], use_na_sentinel=False)[0].astype(np.int64)


def names_a_column(cluster: str) -> bool:
    """Tell whether a way of clustering reads a column that not every pair table has."""
    return cluster not in _NAMED


@lru_cache(maxsize=100_000)  # all runs of a study have the same pairs
def edit(good: str, bad: str) -> tuple[str, str]:
    """Return what two sentences differ in between their common first and last words (characters without spaces)."""
    one, other, between = parts(good, bad)
    start = common_length(one, other)
    end = common_length(one[start:][::-1], other[start:][::-1])
    return between.join(one[start : len(one) - end]), between.join(other[start : len(other) - end])


def parts(good: str, bad: str) -> tuple[list[str], list[str], str]:
    """Cut two sentences into words, or characters where none has a space, and return what stands between them."""
    spaced = " " in good or " " in bad
    one, other = (good.split(), bad.split()) if spaced else (list(good), list(bad))
    return one, other, " " if spaced else ""


def common_length(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many words or characters two sentences begin with alike."""
    same = (mine == theirs for mine, theirs in zip(one, other, strict=False))
    return next((place for place, equal in enumerate(same) if not equal), min(len(one), len(other)))
