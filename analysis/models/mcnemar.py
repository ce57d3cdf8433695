"""Comparisons of models on the same pairs: McNemar's test, best against second best, counts of first places."""

import re
from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pandas as pd

from ucurve.analysis.data.frames import stack
from ucurve.eval.metrics.levels import Ids
from ucurve.eval.metrics.sampling import FEWEST_CLUSTERS
from ucurve.eval.metrics.significance import cluster_mcnemar, mcnemar
from ucurve.fields import format_names

Array = npt.NDArray[np.float64]
BEST_LEVEL = 0.1  # MultiBLiMP, footnote 3
PAIR_LEVEL = 0.05  # MultiBLiMP, section 7.2
OVER_EDITS = (  # for the notes of tables
    "Tests are over different edits, the words in which the two sentences of a pair differ; with fewer than "
    f"{FEWEST_CLUSTERS} of them there is no test."
)
_TIED = 1e-9  # what rounding leaves between equal accuracies
_COMPARED = (
    "group", "first", "second", "n", "clusters", "accuracy_first", "accuracy_second", "first_better", "second_better",
)  # fmt: skip
_OF_BEST = {"first": "model", "accuracy_first": "accuracy", "first_better": "model_better"}
_BEST = (
    "group", "n", "clusters", "model", "accuracy", "second", "accuracy_second", "model_better", "second_better",
)  # fmt: skip


def better_counts(credit: Array) -> Array:
    """Count for credits [pairs, models] of 0, 0.5 or 1 the pairs on which model i (row) gets more than j (column).

    The credits are float64 without NaN; the counts are float64[models, models].
    """
    right, tied, wrong = ((credit == value).astype(np.float64) for value in (1.0, 0.5, 0.0))
    counts: Array = right.T @ (tied + wrong) + tied.T @ wrong
    return counts


def squared_differences(credit: Array, clusters: Ids) -> Array:
    """Sum over clusters the squared difference of the pairs that either model gets more credit for, [models, models].

    ``credit`` is float64[pairs, models], ``clusters`` int64[pairs].
    """
    order = np.argsort(clusters, kind="stable")
    first = np.flatnonzero(np.diff(clusters[order], prepend=-1))
    ordered = credit[order]
    # One model at a time is compared with all others, because a table of all comparisons would be too large for memory.
    rows = [np.add.reduceat(np.sign(one[:, None] - ordered), first, axis=0) for one in ordered.T]
    # So shaped for no model too: each may lack some pair of a group.
    return np.array([(sums**2).sum(axis=0) for sums in rows]).reshape(2 * credit.shape[1:])


def mcnemar_table(credit: pd.DataFrame, by: pd.Series, clusters: Ids | None = None) -> pd.DataFrame:
    """Compare every two models by McNemar's test in each group of pairs ``by`` (MultiBLiMP, section 7.2).

    ``credit`` has one row per pair and one column per model: 1 right, 0 wrong, 0.5 a tie counted half. A model with NaN
    on a pair is left out of that pair's group. ``first_better`` and ``second_better`` count pairs. ``p`` is that of
    ``cluster_mcnemar`` (without ``clusters`` each pair is one), ``p_exact`` takes pairs as independent; both are
    two-sided and uncorrected.
    """
    of = np.arange(len(credit)) if clusters is None else clusters
    groups = credit.reset_index(drop=True).groupby(by.to_numpy(), sort=False)
    parts = (_compare_in_group(str(name), part, of[part.index]) for name, part in groups)
    return _with_tests(parts)


def count_better(compared: pd.DataFrame) -> pd.DataFrame:
    """Count the groups in which one of two models is significantly better (MultiBLiMP, section 7.2).

    The test compares the numbers of pairs on which either model gets more credit; with ties counted half, accuracy may
    differ.
    """
    significant = compared["p"] < PAIR_LEVEL
    marked = compared.assign(
        first_better=significant & (compared["first_better"] > compared["second_better"]),
        second_better=significant & (compared["first_better"] < compared["second_better"]),
    )
    grouped = marked.groupby(["first", "second"], as_index=False, sort=False)
    return grouped.agg(
        groups=("p", "size"), first_better=("first_better", "sum"), second_better=("second_better", "sum")
    )


def with_model_first(compared: pd.DataFrame, base: str) -> pd.DataFrame:
    """Keep the rows about a model; where it is the second, swap ``first`` and ``second`` in all columns."""
    swap = {"first": "second", "second": "first"}
    names = [re.sub("first|second", lambda found: swap[found[0]], name) for name in compared.columns]
    other = compared[compared["second"] == base].set_axis(names, axis=1)[list(compared.columns)]
    return pd.concat([compared[compared["first"] == base], other], ignore_index=True)


def best_by_group(credit: pd.DataFrame, by: pd.Series, clusters: Ids | None = None) -> pd.DataFrame:
    """Test in every group of ``mcnemar_table`` the best model against the second best (MultiBLiMP, appendix B.2).

    A group that one model alone was scored on has no row. Among equally accurate models the first column comes first;
    then p is 1 unless there are ties.
    """
    of = np.arange(len(credit)) if clusters is None else clusters
    parts = []
    for name, part in credit.reset_index(drop=True).groupby(by.to_numpy(), sort=False):
        means = part.loc[:, part.notna().all()].mean()
        best = means.sort_values(ascending=False, kind="stable").index[:2]
        if len(best) > 1:
            parts.append(_compare_in_group(str(name), part[best], of[part.index]))
    table = _with_tests(parts).rename(columns=_OF_BEST)
    return table[[*_BEST, "p", "p_exact"]]


def count_best(best: pd.DataFrame, models: Sequence[str]) -> pd.Series:
    """Count the groups in which each model is significantly, and on more pairs, the best (MultiBLiMP, Table 3)."""
    significant = (best["p"] < BEST_LEVEL) & (best["model_better"] > best["second_better"])
    counts = best.loc[significant, "model"].value_counts()
    return counts.reindex(list(models), fill_value=0).astype(int)


def leads_or_ties(accuracies: pd.DataFrame) -> pd.Series:
    """Count the rows in which each column has the highest accuracy, alone or with others (Swe-BLiMP, section 6)."""
    return _is_leading(accuracies).sum().astype(int)


def name_leaders(accuracies: pd.DataFrame) -> pd.Series:
    """Name the columns that have the highest accuracy of each row, as several may: some of them, or that all have."""
    names = np.array(accuracies.columns.astype(str))
    tied = [names[row] for row in _is_leading(accuracies).to_numpy()]
    every = f"all {len(names)}"
    told = [every if len(row) == len(names) > 1 else format_names([*row]) for row in tied]
    return pd.Series(told, index=accuracies.index)


def _is_leading(accuracies: pd.DataFrame) -> pd.DataFrame:
    return accuracies.ge(accuracies.max(axis=1) - _TIED, axis=0) & accuracies.notna()


def _with_tests(parts: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Put the tables of groups together, with the tests of their two counts in place of ``squares``."""
    table = stack(parts, [*_COMPARED, "squares"])
    names = ("first_better", "second_better", "squares", "clusters")
    counts = [table[name].to_numpy(np.float64) for name in names]
    return table.drop(columns="squares").assign(p=cluster_mcnemar(*counts), p_exact=mcnemar(counts[0], counts[1]))


def _compare_in_group(name: str, part: pd.DataFrame, clusters: Ids) -> pd.DataFrame:
    """Count for every two models that were scored on all pairs of a group, a row each, without tests."""
    scored = part.loc[:, part.notna().all()]
    values = scored.to_numpy(np.float64)
    better, accuracy, models = better_counts(values), values.mean(axis=0), list(scored.columns)
    squares = squared_differences(values, clusters)
    places = list(combinations(range(len(models)), 2))
    one, other = (np.array([place[side] for place in places], dtype=np.int64) for side in (0, 1))
    return pd.DataFrame(
        {
            "group": name,
            "first": [models[place] for place in one],
            "second": [models[place] for place in other],
            "n": len(part),
            "clusters": len(np.unique(clusters)),
            "accuracy_first": accuracy[one],
            "accuracy_second": accuracy[other],
            "first_better": better[one, other].astype(np.int64),
            "second_better": better[other, one].astype(np.int64),
            "squares": squares[one, other],
        }
    )
