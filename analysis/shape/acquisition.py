"""Order of acquisition: which phenomena are learned first, and whether models agree on it."""

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from analysis.data.runs import Run

AGREEMENT_COLUMNS = ("between", "first", "second", "differs_in", "phenomena", "reached_by_both", "tau", "p")
# Seeds of the initialization and of the data order are not distinguished here; run.json gives both.
_SETTINGS: tuple[tuple[str, Callable[[Run], object]], ...] = (
    ("size", lambda run: run.model),
    ("budget", lambda run: run.facts and run.facts.tokens_budget),
    ("tokenizer", lambda run: run.facts and run.facts.tokenizer),
    ("data", lambda run: run.facts and run.facts.data),
)


def acquisition_order(onsets: pd.DataFrame) -> pd.DataFrame:
    """Rank the phenomena of each line or run by their onset.

    Args:
        onsets: ``name`` (of the line or run), ``phenomenon`` and ``onset`` (tokens, NaN when not reached), one row per
            name and phenomenon.

    Returns:
        The rows with ``rank``, from 1; phenomena at equal onsets share the mean of their ranks, and so do those that
        were never reached, which come last. Ordered by name as they come in, then by rank.
    """
    late = onsets["onset"].fillna(np.inf)
    ranks = late.groupby(onsets["name"], sort=False).rank(method="average")
    place = pd.factorize(onsets["name"])[0]
    ranked = onsets.assign(rank=ranks, place=place).sort_values(["place", "rank", "phenomenon"], ignore_index=True)
    return ranked.drop(columns="place")


def agreement(order: pd.DataFrame, between: str, differs: Callable[[str, str], str]) -> pd.DataFrame:
    """Compare the orders of every two lines or runs by Kendall's tau-b, which takes account of ties.

    Returns:
        Columns ``AGREEMENT_COLUMNS``, one row per two names: ``phenomena`` that both have, how many both reached, tau
        and its two-sided p. NaN where there are fewer than two phenomena or one order has ties only.
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
    """Average the agreement by what the two differ in.

    Returns:
        ``between``, ``differs_in``, ``pairs`` (how many have a tau), ``tau`` (mean), ``tau_low`` and ``tau_high`` (the
        smallest and largest).
    """
    known = pairs[pairs["tau"].notna()]
    return known.groupby(["between", "differs_in"], sort=False, as_index=False).agg(
        pairs=("tau", "count"), tau=("tau", "mean"), tau_low=("tau", "min"), tau_high=("tau", "max")
    )


def differences(runs: Sequence[Run], *, by_group: bool) -> Callable[[str, str], str]:
    """Return what says in which settings two runs, or two lines of runs, differ.

    Returns:
        A function of two names that returns e.g. ``size``, ``size and tokenizer``; ``seed`` for two runs of one line,
        ``other settings`` where the record shows no difference.
    """
    of_name = {run.group if by_group else run.label: run for run in runs}

    def differs(first: str, second: str) -> str:
        one, other = of_name[first], of_name[second]
        if one.group == other.group:
            return "seed"
        return " and ".join(name for name, of in _SETTINGS if of(one) != of(other)) or "other settings"

    return differs


def _tau(first: np.ndarray, second: np.ndarray) -> tuple[float, float]:
    from scipy.stats import kendalltau

    if len(first) < 2 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return np.nan, np.nan
    result = kendalltau(first, second, variant="b")
    return float(result.statistic), float(result.pvalue)
