"""Accuracies from stored scores: by paradigm, phenomenon and overall, by length split, with intervals.

A pair is right when the good sentence's value is higher than the bad one's (lower where lower is better). Equal values
are a tie, counted as one half (``ties_rule`` half), as wrong or as right. Pairs of two identical sentences count in
nothing.
"""

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import betaincinv

from eval.linking import Linking
from eval.pairs import identical

Array = npt.NDArray[np.float64]
Split = Literal["all", "equal", "good_longer", "bad_longer"]
TiesRule = Literal["half", "wrong", "right"]
TIES_CREDIT: dict[TiesRule, float] = {"half": 0.5, "wrong": 0.0, "right": 1.0}
TIE_TOLERANCE = 1e-6
CONFIDENCE = 0.95
COLUMNS = (
    "linking", "phenomenon", "paradigm", "split", "ties_rule", "n", "ties", "accuracy", "ci_low", "ci_high",
)  # fmt: skip


def accuracy_table(
    pairs: pd.DataFrame, scores: pd.DataFrame, linkings: Sequence[Linking], ties_rules: Sequence[TiesRule] = ("half",)
) -> pd.DataFrame:
    """Compute every accuracy row of one scored benchmark.

    Args:
        pairs: the pair table.
        scores: ``pair, lp_good, lp_bad, n_good, n_bad, unigram_good, unigram_bad``, one row per pair.
        linkings: linking functions; those that need unigrams are left out when there are none.
        ties_rules: what a tie counts; one set of rows for each.

    Returns:
        Columns ``COLUMNS``. For each linking function, split and ties rule: one row per paradigm; per phenomenon over
        its pairs (``paradigm=all``); over all pairs (``all``/``all``); the mean over paradigms (``macro``) and over
        phenomena (``macro_phenomena``). A row without a pair is left out. Accuracies are fractions.
    """
    ours = ["pair", "phenomenon", "paradigm", "good", "bad"]  # a published column may have the name of a score
    merged = pairs[ours].merge(scores, on="pair", validate="one_to_one")
    merged = merged[~identical(merged)]
    if not len(merged):
        return pd.DataFrame(columns=list(COLUMNS))
    if merged[["unigram_good", "unigram_bad"]].isna().to_numpy().any():
        linkings = [linking for linking in linkings if not linking.needs_unigrams]
    labels, paradigm_of, membership = _group(merged)
    masks = split_masks(merged["n_good"].to_numpy(), merged["n_bad"].to_numpy())
    conditions = pd.MultiIndex.from_product([[linking.name for linking in linkings], masks], names=["linking", "split"])
    if not len(conditions):
        return pd.DataFrame(columns=list(COLUMNS))
    decisions = [_decisions(merged, linking) for linking in linkings]
    counts = np.stack([_count(paradigm_of, *both, mask) for both in decisions for mask in masks.values()])
    tables = [_table(labels, conditions, counts, membership, rule) for rule in ties_rules]
    return pd.concat(tables, ignore_index=True)[list(COLUMNS)]


def decide(good: Array, bad: Array) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Compare linked values of good and bad sentences, float64[pairs] each.

    Two values are tied when they differ by at most 1e-6 of the larger magnitude, or of 1 where that is larger.

    Returns:
        Which pairs are right, and which are ties.
    """
    magnitude = np.maximum(1.0, np.maximum(np.abs(good), np.abs(bad)))
    ties = np.abs(good - bad) <= TIE_TOLERANCE * magnitude
    return (good > bad) & ~ties, ties


def split_masks(n_good: npt.NDArray[np.int64], n_bad: npt.NDArray[np.int64]) -> dict[Split, npt.NDArray[np.bool_]]:
    """Split pairs by scored tokens (ZhoBLiMP, section 4.2); the last three splits partition the first."""
    masks = (np.ones(len(n_good), dtype=bool), n_good == n_bad, n_good > n_bad, n_good < n_bad)
    return dict(zip(get_args(Split), masks, strict=True))


def delta_acc(good_longer: float, bad_longer: float, equal: float) -> float:
    """Length bias: mean absolute distance of the unequal splits' accuracies to the equal one's (ZhoBLiMP, 4.2)."""
    return (abs(good_longer - equal) + abs(bad_longer - equal)) / 2


def exact_interval(right: Array, n: Array) -> tuple[Array, Array]:
    """Clopper-Pearson interval at 95 % for ``right`` out of ``n``.

    Half credits for ties make ``right`` fractional; the beta quantiles extend to it.

    Returns:
        Lower and upper bounds in [0, 1], of the shape of the arguments.
    """
    tail = (1 - CONFIDENCE) / 2
    wrong = n - right
    low = np.where(right > 0, betaincinv(np.where(right > 0, right, 1), wrong + 1, tail), 0.0)
    high = np.where(wrong > 0, betaincinv(right + 1, np.where(wrong > 0, wrong, 1), 1 - tail), 1.0)
    return low, high


def stratified_mean(right: Array, n: Array) -> tuple[Array, Array, Array]:
    """Mean over strata of their accuracies, with an interval for that same mean.

    The exact interval is taken at the effective sample size (Korn and Graubard 1998): the n of a simple sample whose
    variance equals that of the stratified mean. Half a right and half a wrong item are added to each stratum for the
    variance alone, so that strata at 0 or 1 do not pretend to certainty. One stratum gives the plain exact interval.

    Args:
        right: credits by stratum, float64[..., strata].
        n: pairs by stratum, of the same shape; strata without pairs do not count.

    Returns:
        Mean, lower and upper bound, float64[...]; 0 to 1 around a mean of 0 when no stratum counts.
    """
    some = n > 0
    strata = np.maximum(some.sum(axis=-1), 1)
    size = np.maximum(n, 1)
    mean = (right / size).sum(axis=-1, where=some) / strata
    smoothed = (right + 0.5) / (n + 1)
    center = smoothed.sum(axis=-1, where=some) / strata
    variance = (smoothed * (1 - smoothed) / size).sum(axis=-1, where=some) / strata**2
    effective = np.divide(center * (1 - center), variance, out=np.zeros_like(variance), where=variance > 0)
    return mean, *exact_interval(mean * effective, effective)


def _decisions(merged: pd.DataFrame, linking: Linking) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    good, bad = (_compared(merged, linking, side) for side in ("good", "bad"))
    return decide(bad, good) if linking.lower_is_better else decide(good, bad)


def _compared(merged: pd.DataFrame, linking: Linking, side: str) -> Array:
    return linking.compared(*(merged[f"{name}_{side}"].to_numpy(dtype=np.float64) for name in ("lp", "n", "unigram")))


def _group(merged: pd.DataFrame) -> tuple[pd.DataFrame, npt.NDArray[np.int64], Array]:
    """Name every row of a condition, give the paradigm of every pair, and of which phenomenon a paradigm is."""
    grouped = merged.groupby(["phenomenon", "paradigm"], sort=True)
    paradigms = grouped.size().index.to_frame(index=False)
    codes, phenomena = pd.factorize(paradigms["phenomenon"])
    pooled = pd.DataFrame({"phenomenon": phenomena, "paradigm": "all"})
    overall = pd.DataFrame({"phenomenon": "all", "paradigm": ["all", "macro", "macro_phenomena"]})
    labels = pd.concat([paradigms, pooled, overall], ignore_index=True)
    paradigm_of: npt.NDArray[np.int64] = np.asarray(grouped.ngroup(), dtype=np.int64)
    return labels, paradigm_of, np.eye(len(phenomena))[codes]


def _count(
    paradigm_of: npt.NDArray[np.int64],
    wins: npt.NDArray[np.bool_],
    ties: npt.NDArray[np.bool_],
    mask: npt.NDArray[np.bool_],
) -> Array:
    """Count right pairs, ties and pairs of one split by paradigm, float64[3, paradigms]."""
    size = int(paradigm_of.max()) + 1
    return np.stack([np.bincount(paradigm_of, part & mask, minlength=size) for part in (wins, ties, mask)])


def _table(
    labels: pd.DataFrame, conditions: pd.MultiIndex, counts: Array, membership: Array, rule: TiesRule
) -> pd.DataFrame:
    """Lay out the rows of one ties rule; ``counts`` is float64[conditions, 3, paradigms]."""
    strata = [counts, counts @ membership]
    pooled = np.concatenate([*strata, counts.sum(axis=-1, keepdims=True)], axis=-1)
    means = [stratified_mean(_right(part, rule), part[:, 2]) for part in strata]
    right, n = _right(pooled, rule), pooled[:, 2]
    exact = (right / np.maximum(n, 1), *exact_interval(right, n))
    totals = np.concatenate([pooled, pooled[..., -1:], pooled[..., -1:]], axis=-1)
    values = [np.column_stack([part, *(mean[place] for mean in means)]) for place, part in enumerate(exact)]
    table = pd.concat([labels] * len(conditions), ignore_index=True)
    table[["linking", "split"]] = conditions.repeat(len(labels)).to_frame().to_numpy()
    table["n"], table["ties"] = (totals[:, part].ravel().astype(np.int64) for part in (2, 1))
    table["accuracy"], table["ci_low"], table["ci_high"] = (part.ravel() for part in values)
    return table[table["n"] > 0].assign(ties_rule=rule)


def _right(counts: Array, rule: TiesRule) -> Array:
    return counts[:, 0] + TIES_CREDIT[rule] * counts[:, 1]
