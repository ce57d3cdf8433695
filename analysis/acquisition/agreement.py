"""Whether models agree on the order in which they learn phenomena."""

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from ucurve.analysis.data.runs import Run

AGREEMENT_COLUMNS = ("between", "first", "second", "differs_in", "phenomena", "reached_by_both", "tau", "p")
FEWEST_PHENOMENA = 4  # of which an order can be told; two have one of two orders by chance
# Seeds of the initialization and of the data order are not distinguished here; run.json gives both.


def order_agreement(order: pd.DataFrame, between: str, differs: Callable[[str, str], str]) -> pd.DataFrame:
    """Compare every two orders by Kendall's tau-b, with its two-sided p.

    Both are NaN of fewer than four phenomena that have a rank in both, and without two different ranks.
    """
    ranks = order.pivot_table(index="phenomenon", columns="name", values="rank", sort=False)
    onsets = order.pivot(index="phenomenon", columns="name", values="onset")
    rows = []
    for first, second in combinations(ranks.columns, 2):
        shared = ranks[[first, second]].dropna()
        both = int(onsets.loc[shared.index, [first, second]].notna().all(axis=1).sum())
        tau, p = _tau(shared[first].to_numpy(), shared[second].to_numpy())
        rows.append((between, first, second, differs(first, second), len(shared), both, tau, p))
    return pd.DataFrame(rows, columns=list(AGREEMENT_COLUMNS))


def mean_agreement(pairs: pd.DataFrame) -> pd.DataFrame:
    """Average the agreement by what the two differ in; ``range`` has the smallest and the largest of several pairs."""
    known = pairs[pairs["tau"].notna()]
    return known.groupby(["between", "differs_in"], sort=False, as_index=False).agg(
        pairs=("tau", "count"), tau=("tau", "mean"), range=("tau", _format_range)
    )


def differences(runs: Sequence[Run], *, by_line: bool) -> Callable[[str, str], str]:
    """Return a function that names what two runs or lines differ in: ``size and tokenizer``, ``seed``, ..."""
    of_name, design = {run.line if by_line else run.label: run for run in runs}, runs[0].design

    def differs(first: str, second: str) -> str:
        one, other = of_name[first], of_name[second]
        if one.line == other.line:
            return "seed"
        differ = [name for name in design.varying if design.level(one.label, name) != design.level(other.label, name)]
        return " and ".join(differ) or "other settings"

    return differs


def _format_range(taus: pd.Series) -> str:
    return f"{taus.min():.2f} to {taus.max():.2f}" if len(taus) > 1 else ""


def _tau(first: np.ndarray, second: np.ndarray) -> tuple[float, float]:
    from scipy.stats import kendalltau

    if len(first) < FEWEST_PHENOMENA or np.ptp(first) == 0 or np.ptp(second) == 0:
        return np.nan, np.nan
    result = kendalltau(first, second, variant="b")
    return float(result.statistic), float(result.pvalue)
