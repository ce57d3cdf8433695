"""Accuracy against the complexity of the phrase between subject and predicate (TSE, section 5.3, Figure 3)."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import pandas as pd

# What stands between, simplest first (sections 3.2 and 3.3), by the name of a suite; one list for each predicate type.
TSE_LEVELS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "tse/hin": {
        "perfective after ne": ("S_ne_O_V", "S_ne_PossPRN_O_V", "S_ne_PossPRN_PossN_O_V"),
        "habitual without ne": ("S_O_V", "S_PossPRN_O_V", "S_PossPRN_PossN_O_V"),
    },
    "tse/swa": {
        "verbal predicate": ("N_of_Poss_V", "N_of_Poss_D_V", "N_of_Poss_D_A_V", "N_of_Poss_D_A_V1_V2"),
        "adjectival predicate": (
            "N_of_Poss_ni_A", "N_of_Poss_D_ni_A", "N_of_Poss_D_AP_ni_AN", "N_of_Poss_D_AP_V_ni_AN",
        ),
    },
}  # fmt: skip

STANDARD_ERRORS = 1.959963984540054  # of the paper's bars, either way


def levels_table(series: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """Write lists of suites as a table: ``predicate``, ``level`` (1 is the simplest) and ``suite``."""
    rows = [(name, level, suite) for name, suites in series.items() for level, suite in enumerate(suites, start=1)]
    return pd.DataFrame(rows, columns=["predicate", "level", "suite"])


def complexity_table(points: pd.DataFrame, levels: pd.DataFrame) -> pd.DataFrame:
    """Average the versions of each family at each level.

    Args:
        points: columns ``family``, ``model``, ``suite`` and ``accuracy`` (fraction); a model without a family stands
            for itself.
        levels: from ``levels_table``; suites without accuracies leave gaps.

    Returns:
        ``predicate``, ``level``, ``suite``, ``family``, ``models``, ``accuracy`` (mean over the versions), ``low`` and
        ``high``: 1.96 standard errors of that mean either way, as in the paper's figure; NaN for one version. That is
        the normal law's and not Student's: with 2, 3 and 4 versions such bars hold the mean in 70, 81 and 86 % of
        cases.
    """
    rows = points.assign(family=points["family"].fillna(points["model"])).merge(levels, on="suite")
    keys = ["predicate", "level", "suite", "family"]
    table = rows.groupby(keys, as_index=False, sort=False, observed=True).agg(
        models=("accuracy", "count"), accuracy=("accuracy", "mean"), error=("accuracy", "sem")
    )
    half = STANDARD_ERRORS * table.pop("error")
    table = table.assign(low=table["accuracy"] - half, high=table["accuracy"] + half)
    return table.sort_values(["predicate", "family", "level"], kind="stable", ignore_index=True)


def mean_change(points: pd.DataFrame, before: str, after: str, pairs: int = 1000) -> float:
    """Average over models the change in correct selections from one suite to another (TSE, section 5.3).

    Args:
        points: columns ``model``, ``suite`` and ``accuracy`` (fraction).
        before: a suite.
        after: another suite; only models with both count.
        pairs: of a suite.

    Returns:
        The mean change, in pairs out of ``pairs``; NaN where no model has both.
    """
    wide = points.pivot_table(index="model", columns="suite", values="accuracy", observed=True)
    if not {before, after} <= set(wide.columns):
        return float("nan")
    return float(np.nanmean((wide[after] - wide[before]).to_numpy(dtype=np.float64)) * pairs)


def steps_of_complexity(points: pd.DataFrame, levels: pd.DataFrame) -> pd.DataFrame:
    """Tabulate the mean change in correct selections per 1,000 pairs from each level to the next.

    Returns:
        ``predicate``, ``before``, ``after`` (suites) and ``change``; a step whose suites were not both scored is left
        out.
    """
    rows = []
    for predicate, part in levels.groupby("predicate", sort=False):
        suites = [suite for suite in part.sort_values("level")["suite"] if suite in set(points["suite"])]
        rows += [(predicate, first, second, mean_change(points, first, second)) for first, second in pairwise(suites)]
    return pd.DataFrame(rows, columns=["predicate", "before", "after", "change"]).dropna(subset="change")
