"""Accuracies from stored scores: by paradigm, phenomenon and overall, by length split, with intervals.

A pair is right when the good sentence's value is higher than the bad one's (lower where lower is better). Equal values
are a tie, counted as one half (``ties_rule`` half), as wrong or as right. Pairs of two identical sentences count in
nothing. Pairs that the benchmark's paper does not count are in the rows of the split ``published`` alone.
"""

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from ucurve.eval.linking import Linking, Number, Table
from ucurve.eval.metrics.clusters import sets_of
from ucurve.eval.metrics.levels import Array, levels_of
from ucurve.eval.metrics.sampling import (
    Clusters,
    clusters_of,
    effective_size,
    exact_interval,
    samples_by_level,
    spread_of,
)
from ucurve.eval.pairs import COUNTED, SET, counted, in_accuracies

Split = Literal["all", "equal", "good_longer", "bad_longer"]
PUBLISHED = "published"  # the split of all pairs with those that the paper does not count, where there are such
TiesRule = Literal["half", "wrong", "right"]
TIES_CREDIT: dict[TiesRule, float] = {"half": 0.5, "wrong": 0.0, "right": 1.0}
TIE_TOLERANCE = 1e-6
# Of the pairs of an unequal split, so many may go against length where length is said to decide alone.
_LENGTH_ALONE = 0.02
COLUMNS = (
    "linking", "phenomenon", "paradigm", "split", "ties_rule", "n", "ties", "accuracy", "ci_low", "ci_high",
    "exact_low", "exact_high", "clusters",
)  # fmt: skip


def accuracy_table(
    pairs: pd.DataFrame,
    scores: pd.DataFrame,
    linkings: Sequence[Linking],
    ties_rules: Sequence[TiesRule] = ("half",),
) -> pd.DataFrame:
    """Compute every accuracy of one scored benchmark, as fractions: a table of ``COLUMNS``.

    ``ci_*`` is an interval over ``clusters`` of pairs with the same edit, NaN where these are fewer than 4; ``exact_*``
    takes pairs as independent.

    A linking function that reads a missing column or NaN is left out. For each other one, each split and rule for ties,
    there are rows of ``Levels``; one without pairs is left out. If some pairs do not count, the rows of the split
    ``published`` are over all pairs. A set of several bad sentences counts once, in a split if all its pairs are.
    """
    tables = [_rows_of(items(pairs, scores), list(get_args(Split)), linkings, ties_rules)]
    if not counted(pairs).all():
        tables.append(_rows_of(items(pairs.drop(columns=COUNTED), scores), [PUBLISHED], linkings, ties_rules))
    filled = [table for table in tables if len(table)]
    return pd.concat(filled, ignore_index=True) if filled else pd.DataFrame(columns=list(COLUMNS))


def _rows_of(
    merged: pd.DataFrame, splits: Sequence[str], linkings: Sequence[Linking], ties_rules: Sequence[TiesRule]
) -> pd.DataFrame:
    """Return the rows of some splits: each linking function that can be computed, under each rule for ties."""
    linkings = [linking for linking in linkings if not linking.missing(merged)]
    if not len(merged) or not linkings:
        return pd.DataFrame(columns=list(COLUMNS))
    sets, clusters = sets_of(merged), clusters_of(merged, levels_of(merged))
    lengths = split_masks(merged["n_good"].to_numpy(), merged["n_bad"].to_numpy())
    every = {**lengths, PUBLISHED: lengths["all"]}
    masks = {split: sets.whole(every[split]) & sets.first for split in splits}
    conditions = pd.MultiIndex.from_product(
        [[linking.name for linking in linkings], masks], names=["linking", "split"]
    )
    judged = [sets.judge(*decisions(merged, linking)) for linking in linkings]
    counts = np.array(
        [[clusters.sums(part & mask) for part in both] for both in judged for mask in masks.values()]
    )
    size = np.tile([clusters.sums(mask) for mask in masks.values()], (len(linkings), 1))
    tables = [_accuracy_rows(clusters, conditions, counts, size, rule) for rule in ties_rules]
    return pd.concat(tables, ignore_index=True)[list(COLUMNS)]


def items(pairs: pd.DataFrame, scores: pd.DataFrame) -> pd.DataFrame:
    """Join scores to their pairs, without pairs of identical sentences and pairs that do not count."""
    ours = ["pair", "phenomenon", "paradigm", "good", "bad"]  # a published column may have the name of a score
    ours += [SET] if SET in pairs else []
    kept = pairs.loc[in_accuracies(pairs), ours]
    return kept.merge(scores, on="pair", validate="one_to_one")


def decisions(scores: Table, linking: Linking) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Decide every pair of a score table by a linking function: which are right, and which are ties."""
    good, bad = linking.compared_values(scores, "good"), linking.compared_values(scores, "bad")
    return decide(bad, good) if linking.lower_is_better else decide(good, bad)


def pair_credits(scores: pd.DataFrame, linking: Linking, rule: TiesRule) -> Array:
    """Return the credit of every pair, float64[pairs]: 1 when right, 0 when wrong, and the rule's share for a tie."""
    right, ties = decisions(scores, linking)
    return right + TIES_CREDIT[rule] * ties


def decide(good: Array, bad: Array) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Return which pairs are right, and which are ties, given linked values of both sentences, float64[pairs].

    Two values are tied when they differ by at most 1e-6 of the larger magnitude, or of 1 where that is larger.
    """
    difference = np.asarray(good - bad)
    # No tie is farther apart than the largest magnitude allows; the few pairs within that are looked at one by one.
    most = TIE_TOLERANCE * np.maximum(_largest_magnitude(good), _largest_magnitude(bad))
    right = difference > most
    ties = ~right & (difference >= -most) if np.isfinite(most) else np.ones(difference.shape, dtype=bool)
    near = np.unravel_index(np.flatnonzero(ties), ties.shape)  # much faster than nonzero of two dimensions
    if len(near[0]):
        good_near, bad_near = (np.broadcast_to(side, difference.shape)[near] for side in (good, bad))
        magnitude = np.maximum(1.0, np.maximum(np.abs(good_near), np.abs(bad_near)))
        ties[near] = np.abs(good_near - bad_near) <= TIE_TOLERANCE * magnitude
        right[near] = (good_near > bad_near) & ~ties[near]
    return right, ties


def _largest_magnitude(values: Array) -> float:
    """Return the largest absolute value, at least 1; NaN where one is NaN."""
    return float(np.maximum(np.max(values, initial=1.0), -np.min(values, initial=-1.0)))


def split_masks(n_good: npt.NDArray[np.int64], n_bad: npt.NDArray[np.int64]) -> dict[str, npt.NDArray[np.bool_]]:
    """Split pairs by scored tokens (ZhoBLiMP, section 4.2); the last three splits partition the first."""
    masks = (np.ones(len(n_good), dtype=bool), n_good == n_bad, n_good > n_bad, n_good < n_bad)
    return {str(split): mask for split, mask in zip(get_args(Split), masks, strict=True)}


def delta_acc(good_longer: Number, bad_longer: Number, equal: Number) -> Number:
    """Length bias: mean absolute distance of the unequal splits' accuracies to the equal one's (ZhoBLiMP, 4.2)."""
    bias: Number = (abs(good_longer - equal) + abs(bad_longer - equal)) / 2
    return bias


def winner_by_length(good_longer: float, bad_longer: float) -> Literal["shorter", "longer"] | None:
    """Return which member wins where length alone decides nearly every pair of both unequal splits; else None."""
    if good_longer <= _LENGTH_ALONE and bad_longer >= 1 - _LENGTH_ALONE:
        return "shorter"
    return "longer" if good_longer >= 1 - _LENGTH_ALONE and bad_longer <= _LENGTH_ALONE else None


def _accuracy_rows(
    clusters: Clusters, conditions: pd.MultiIndex, counts: Array, size: Array, rule: TiesRule
) -> pd.DataFrame:
    """Lay out one ties rule, from right and tied pairs, float64[conditions, 2, clusters], and the ``size`` of each."""
    levels, credit = clusters.levels, counts[:, 0] + TIES_CREDIT[rule] * counts[:, 1]
    right, n = samples_by_level(levels, clusters.by_paradigm(credit), clusters.by_paradigm(size))
    accuracy, spread = right / np.where(n > 0, n, 1), spread_of(clusters, credit, size)
    effective = effective_size(spread, accuracy, n)
    values = (accuracy, *exact_interval(accuracy * effective, effective), *exact_interval(right, n))
    whole = (clusters.by_paradigm(size), clusters.by_paradigm(counts[:, 1]))
    table = pd.concat([levels.labels] * len(conditions), ignore_index=True)
    table[["linking", "split"]] = conditions.repeat(len(levels.labels)).to_frame().to_numpy()
    table[["n", "ties"]] = np.column_stack([levels.totals(sums).ravel() for sums in whole]).astype(np.int64)
    table["clusters"] = spread.clusters.ravel().astype(np.int64)
    table[["accuracy", "ci_low", "ci_high", "exact_low", "exact_high"]] = np.column_stack([
        part.ravel() for part in values
    ])  # fmt: skip
    return table[table["n"] > 0].assign(ties_rule=rule)
