"""Comparisons of models on the same pairs: McNemar's test, best against second best, counts of first places."""

import re
from collections.abc import Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.data.frames import stack
from eval.metrics.significance import mcnemar

Array = npt.NDArray[np.float64]
BEST_LEVEL = 0.1  # MultiBLiMP, footnote 3
PAIR_LEVEL = 0.05  # MultiBLiMP, section 7.2
_TIED = 1e-9


def better_counts(credit: Array) -> Array:
    """Count for credits [pairs, models] of 0, 0.5 or 1 the pairs on which model i (row) gets more than j (column)."""
    right, tied, wrong = ((credit == value).astype(np.float64) for value in (1.0, 0.5, 0.0))
    counts: Array = right.T @ (tied + wrong) + tied.T @ wrong
    return counts


def mcnemar_table(credit: pd.DataFrame, by: pd.Series) -> pd.DataFrame:
    """Compare every two models by McNemar's exact test in each group of pairs ``by`` (MultiBLiMP, section 7.2).

    ``credit`` has one row per pair and one column per model: 1 right, 0 wrong, 0.5 a tie counted half. A model with NaN
    on a pair is left out of that pair's group. ``first_better`` and ``second_better`` count pairs; ``p`` is two-sided
    and uncorrected.
    """
    parts = (_compare_in_group(str(name), part) for name, part in credit.groupby(by.to_numpy(), sort=False))
    columns = ["group", "first", "second", "n", "accuracy_first", "accuracy_second", "first_better", "second_better"]
    table = stack(parts, columns)
    p = mcnemar(*(table[name].to_numpy(dtype=np.float64) for name in ("first_better", "second_better")))
    return table.assign(p=p)


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
        groups=("p", "count"), first_better=("first_better", "sum"), second_better=("second_better", "sum")
    )


def with_model_first(compared: pd.DataFrame, base: str) -> pd.DataFrame:
    """Keep the rows about a model; where it is the second, swap ``first`` and ``second`` in all columns."""
    swap = {"first": "second", "second": "first"}
    names = [re.sub("first|second", lambda found: swap[found[0]], name) for name in compared.columns]
    other = compared[compared["second"] == base].set_axis(names, axis=1)[list(compared.columns)]
    return pd.concat([compared[compared["first"] == base], other], ignore_index=True)


def best_by_group(credit: pd.DataFrame, by: pd.Series) -> pd.DataFrame:
    """Test in every group of ``mcnemar_table`` the best model against the second best (MultiBLiMP, appendix B.2).

    A group that one model alone was scored on has no row. Among equally accurate models the first column comes first;
    then p is 1 unless there are ties.
    """
    rows = [_best_against_second(str(name), part) for name, part in credit.groupby(by.to_numpy(), sort=False)]
    columns = ["group", "n", "model", "accuracy", "second", "accuracy_second", "model_better", "second_better", "p"]
    return pd.DataFrame([row for row in rows if row], columns=columns)


def count_best(best: pd.DataFrame, models: Sequence[str]) -> pd.Series:
    """Count the groups in which each model is significantly, and on more pairs, the best (MultiBLiMP, Table 3)."""
    significant = (best["p"] < BEST_LEVEL) & (best["model_better"] > best["second_better"])
    counts = best.loc[significant, "model"].value_counts()
    return counts.reindex(list(models), fill_value=0).astype(int)


def leads_or_ties(accuracies: pd.DataFrame) -> pd.Series:
    """Count the rows in which each column has the highest accuracy, alone or with others (Swe-BLiMP, section 6)."""
    leading = accuracies.ge(accuracies.max(axis=1) - _TIED, axis=0) & accuracies.notna()
    return leading.sum().astype(int)


def _compare_in_group(name: str, part: pd.DataFrame) -> pd.DataFrame:
    scored = part.loc[:, part.notna().all()]
    values = scored.to_numpy(dtype=np.float64)
    better, accuracy, models = better_counts(values), values.mean(axis=0), list(scored.columns)
    places = list(combinations(range(len(models)), 2))
    one, other = (np.array([place[side] for place in places], dtype=np.int64) for side in (0, 1))
    return pd.DataFrame({
        "group": name, "first": [models[place] for place in one], "second": [models[place] for place in other],
        "n": len(part), "accuracy_first": accuracy[one], "accuracy_second": accuracy[other],
        "first_better": better[one, other].astype(np.int64), "second_better": better[other, one].astype(np.int64),
    })  # fmt: skip


def _best_against_second(name: str, part: pd.DataFrame) -> dict[str, object]:
    scored = part.loc[:, part.notna().all()]
    if scored.shape[1] < 2:
        return {}
    ranked = scored.mean().sort_values(ascending=False, kind="stable").iloc[:2]
    one, other = ranked.index
    better = better_counts(scored[[one, other]].to_numpy(dtype=np.float64))
    ours, theirs = better[0, 1], better[1, 0]
    p = mcnemar(np.array([ours]), np.array([theirs]))
    return {
        "group": name, "n": len(part), "model": one, "accuracy": ranked.iloc[0], "second": other,
        "accuracy_second": ranked.iloc[1], "model_better": int(ours), "second_better": int(theirs), "p": float(p[0]),
    }  # fmt: skip
