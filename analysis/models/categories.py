"""Category by model tables, and one phenomenon across benchmarks (Swe-BLiMP, RuBLiMP)."""

from dataclasses import dataclass

import pandas as pd


@dataclass(frozen=True, eq=False)
class CategoryTable:
    """Accuracies by category and model with their means (Swe-BLiMP, Table 2).

    Attributes:
        rows: one row per category, highest mean first: ``category``, a column for each model, ``mean`` and ``sd`` over
            the models, the sample standard deviation.
        means: mean over the categories of each model, by model.
        overall: mean over the models of ``means``.
        overall_sd: population standard deviation over the models of ``means``. The paper takes the sample one in its
            rows and this one in its last cell.
    """

    rows: pd.DataFrame
    means: pd.Series
    overall: float
    overall_sd: float


def category_table(points: pd.DataFrame) -> CategoryTable:
    """Lay accuracies out by category and model (Swe-BLiMP, Table 2).

    Args:
        points: columns ``model``, ``suite`` and ``accuracy``, one row per model and category, in any unit; what is
            missing stays NaN and out of the means.

    Returns:
        The table, in the unit of the accuracies; models in the order in which they come.
    """
    wide = points.pivot_table(index="suite", columns="model", values="accuracy", observed=True)
    wide = wide.reindex(columns=points["model"].unique())
    rows = wide.assign(mean=wide.mean(axis=1), sd=wide.std(axis=1, ddof=1))
    rows = rows.sort_values("mean", ascending=False, kind="stable").reset_index(names="category")
    rows.columns.name = None
    means = wide.mean()
    return CategoryTable(rows, means, float(means.mean()), float(means.std(ddof=0)))


def benchmark_table(points: pd.DataFrame) -> pd.DataFrame:
    """Lay the overall accuracies of models out by benchmark (RuBLiMP, Table 11).

    Args:
        points: columns ``model``, ``benchmark`` and ``accuracy``.

    Returns:
        One row per model: ``model``, a column for each benchmark, and ``mean`` over the benchmarks: NaN for a model
        that was not scored on all of them, as its mean would not compare.
    """
    wide = points.pivot_table(index="model", columns="benchmark", values="accuracy", sort=False, observed=True)
    table = wide.assign(mean=wide.mean(axis=1, skipna=False)).reset_index()
    table.columns.name = None
    return table


def matched_phenomena(points: pd.DataFrame, matches: pd.DataFrame) -> pd.DataFrame:
    """Set phenomena of several benchmarks that are about the same thing beside each other (RuBLiMP, Table 12).

    Args:
        points: columns ``model``, ``benchmark``, ``phenomenon``, ``n`` (pairs) and ``accuracy``.
        matches: columns ``match`` (what they have in common), ``benchmark`` and ``phenomenon``.

    Returns:
        ``match``, ``model``, ``benchmark``, ``n`` and ``accuracy``, the mean over the pairs of the phenomena matched.
    """
    rows = points.merge(matches, on=["benchmark", "phenomenon"])
    rows = rows.assign(right=rows["accuracy"] * rows["n"])
    keys = ["match", "model", "benchmark"]
    table = rows.groupby(keys, as_index=False, sort=False, observed=True)[["n", "right"]].sum()
    return table.assign(accuracy=table["right"] / table["n"]).drop(columns="right")


def largest_gaps(matched: pd.DataFrame) -> pd.DataFrame:
    """Tabulate how far the benchmarks of a match are apart for each model (RuBLiMP, appendix G.2).

    Returns:
        ``match``, ``model``, ``benchmarks`` (how many) and ``gap``: highest minus lowest accuracy.
    """
    grouped = matched.groupby(["match", "model"], sort=False, observed=True)["accuracy"]
    table = grouped.agg(["count", "max", "min"]).reset_index().rename(columns={"count": "benchmarks"})
    return table.assign(gap=table["max"] - table["min"]).drop(columns=["max", "min"])
