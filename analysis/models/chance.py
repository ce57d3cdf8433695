"""Accuracies with exact binomial intervals and tests against chance, model by suite (TSE, section 5.1, Figure 1)."""

import numpy as np
import pandas as pd

from eval.metrics.accuracy import exact_interval
from eval.metrics.significance import binomial_tests

SIGNIFICANCE = 0.05


def with_tests(table: pd.DataFrame) -> pd.DataFrame:
    """Add to accuracies what the pairs they stand on can tell.

    Args:
        table: columns ``n`` (pairs) and ``accuracy`` (fraction), among others.

    Returns:
        The table with ``ci_low`` and ``ci_high``, the exact 95 % interval of Clopper and Pearson (TSE, Figure 1), and
        ``p_above`` and ``p_below`` of the one-sided exact binomial tests against chance, uncorrected (section 5.1).
    """
    n = table["n"].to_numpy(dtype=np.float64)
    right = table["accuracy"].to_numpy(dtype=np.float64) * n
    low, high = exact_interval(right, n)
    _, above, below = binomial_tests(right, n)
    return table.assign(ci_low=low, ci_high=high, p_above=above, p_below=below)


def count_significant(tested: pd.DataFrame, by: str | list[str], level: float = SIGNIFICANCE) -> pd.DataFrame:
    """Count the accuracies significantly above and below chance.

    Args:
        level: a test with a smaller p is significant; there is no correction for many tests, as in TSE.

    Returns:
        ``by``, ``tests`` (how many), ``above`` and ``below``.
    """
    marked = tested.assign(above=tested["p_above"] < level, below=tested["p_below"] < level)
    grouped = marked.groupby(by, sort=False, observed=True)
    return grouped.agg(tests=("p_above", "count"), above=("above", "sum"), below=("below", "sum")).reset_index()
