"""How sure models are: Delta of MultiBLiMP, Delta NLL of Swe-BLiMP, a box over models per category, against accuracy.

``delta_lp`` is ln P(good) - ln P(bad), summed over tokens (MultiBLiMP, section 6.3: Delta). ``delta_nll`` is
ln PPL(bad) - ln PPL(good), per token (Swe-BLiMP, section 6: Delta NLL). Both come from ``eval/statistics.csv``.
"""

import numpy as np
import pandas as pd
from matplotlib.cbook import boxplot_stats
from scipy.stats import pearsonr, spearmanr

CERTAINTIES = {"delta_lp": "nats per sentence", "delta_nll": "nats per token"}


def box_table(points: pd.DataFrame, value: str = "delta_nll") -> pd.DataFrame:
    """Summarise each category by one box over the models (Swe-BLiMP, Figure 2).

    Args:
        points: columns ``suite``, ``model`` and ``value``, one row per category and model; NaN is left out.

    Returns:
        One row per category, highest median first: ``category``, ``models``, ``q1``, ``median``, ``q3``,
        ``whisker_low`` and ``whisker_high`` (the last values within 1.5 interquartile ranges of the box), ``outliers``
        (names of the models beyond them, separated by semicolons).
    """
    rows = [
        _box_statistics(str(suite), part, value)
        for suite, part in points.dropna(subset=value).groupby("suite", sort=False)
    ]
    columns = ["category", "models", "q1", "median", "q3", "whisker_low", "whisker_high", "outliers"]
    table = pd.DataFrame(rows, columns=columns)
    return table.sort_values("median", ascending=False, kind="stable", ignore_index=True)


def confidence_table(points: pd.DataFrame, value: str = "delta_nll") -> pd.DataFrame:
    """Average certainty and accuracy over the models in each category (Swe-BLiMP, Figure 3).

    Args:
        points: columns ``suite``, ``model``, ``accuracy`` and ``value``; only rows that have both count.

    Returns:
        ``category``, ``models``, ``value`` under its own name, and ``accuracy``.
    """
    rows = points.dropna(subset=[value, "accuracy"])
    grouped = rows.groupby("suite", as_index=False, sort=False, observed=True)
    table = grouped.agg(models=("accuracy", "count"), accuracy=("accuracy", "mean"), **{value: (value, "mean")})
    return table.rename(columns={"suite": "category"})[["category", "models", value, "accuracy"]]


def agreement(table: pd.DataFrame, value: str = "delta_nll") -> tuple[float, float]:
    """Correlate certainty and accuracy over categories.

    Returns:
        Pearson's r and Spearman's rho; NaN for fewer than three categories or where one of them does not vary.
    """
    if len(table) < 3 or table[value].nunique() < 2 or table["accuracy"].nunique() < 2:
        return float("nan"), float("nan")
    x, y = table[value].to_numpy(dtype=np.float64), table["accuracy"].to_numpy(dtype=np.float64)
    return float(pearsonr(x, y).statistic), float(spearmanr(x, y).statistic)


def _box_statistics(suite: str, part: pd.DataFrame, value: str) -> dict[str, object]:
    values = part[value].to_numpy(dtype=np.float64)
    box = boxplot_stats(values, whis=1.5)[0]
    beyond = (values < box["whislo"]) | (values > box["whishi"])
    return {
        "category": suite, "models": len(part), "q1": box["q1"], "median": box["med"], "q3": box["q3"],
        "whisker_low": box["whislo"], "whisker_high": box["whishi"],
        "outliers": "; ".join(sorted(part["model"][beyond].astype(str))),
    }  # fmt: skip
