"""What models do by category: accuracy with intervals and tests (TSE), tables and certainty (Swe-BLiMP, MultiBLiMP).

``delta_lp`` is ln P(good) - ln P(bad), summed over tokens (MultiBLiMP, section 6.3: Delta). ``delta_nll`` is
ln PPL(bad) - ln PPL(good), per token (Swe-BLiMP, section 6: Delta NLL). Both come from ``eval/statistics.csv``.
"""

import numpy as np
import pandas as pd
from matplotlib.cbook import boxplot_stats
from scipy.stats import pearsonr, spearmanr

from ucurve.eval.metrics.sampling import exact_interval
from ucurve.eval.metrics.significance import binomial_tests

SIGNIFICANCE = 0.05
CERTAINTIES = {"delta_lp": "nats per sentence", "delta_nll": "nats per token"}


def with_tests(table: pd.DataFrame) -> pd.DataFrame:
    """Add 95 % intervals (TSE, Figure 1) and one-sided tests against chance, uncorrected (section 5.1).

    ``exact_*`` are Clopper and Pearson's interval, with pairs as independent. ``ci_*``, ``p_above`` and ``p_below`` are
    over as many independent pairs as ``effective`` says, NaN where it is; without this column they are exact.
    """
    accuracy, n = (table[name].to_numpy(np.float64) for name in ("accuracy", "n"))
    # Pairs with the same edit tend to be right or wrong together, so an interval over pairs would be too narrow.
    effective = table["effective"].to_numpy(np.float64) if "effective" in table else n
    low, high = exact_interval(accuracy * effective, effective)
    exact_low, exact_high = exact_interval(accuracy * n, n)
    tests = binomial_tests(accuracy * effective, effective)
    _, above, below = (np.where(np.isnan(effective), np.nan, p) for p in tests)
    bounds = {"ci_low": low, "ci_high": high, "exact_low": exact_low, "exact_high": exact_high}
    return table.assign(**bounds, p_above=above, p_below=below)


def count_significant(tested: pd.DataFrame, by: str | list[str]) -> pd.DataFrame:
    """Count the accuracies (``tests``) and those significantly ``above`` and ``below`` chance."""
    marked = tested.assign(above=tested["p_above"] < SIGNIFICANCE, below=tested["p_below"] < SIGNIFICANCE)
    grouped = marked.groupby(by, sort=False, observed=True)
    return grouped.agg(tests=("p_above", "count"), above=("above", "sum"), below=("below", "sum")).reset_index()


def category_table(points: pd.DataFrame) -> pd.DataFrame:
    """Lay accuracies out by category and model (Swe-BLiMP, Table 2), with mean and sample sd of those not NaN."""
    wide = points.pivot_table(index="suite", columns="model", values="accuracy", observed=True)
    wide = wide.reindex(columns=points["model"].unique())
    rows = wide.assign(mean=wide.mean(axis=1), sd=wide.std(axis=1, ddof=1))
    rows = rows.sort_values("mean", ascending=False, kind="stable").reset_index(names="category")
    rows.columns.name = None
    return rows


def box_table(points: pd.DataFrame) -> pd.DataFrame:
    """Summarize ``delta_nll`` of each category by one box over the models (Swe-BLiMP, Figure 2), highest median first.

    Whiskers are the last values within 1.5 interquartile ranges of the box, ``outliers`` the names of the models beyond
    them, separated by semicolons.
    """
    known = points.dropna(subset="delta_nll")
    rows = [_box_statistics(str(suite), part) for suite, part in known.groupby("suite", sort=False)]
    columns = ["category", "models", "q1", "median", "q3", "whisker_low", "whisker_high", "outliers"]
    table = pd.DataFrame(rows, columns=columns)
    return table.sort_values("median", ascending=False, kind="stable", ignore_index=True)


def confidence_table(points: pd.DataFrame) -> pd.DataFrame:
    """Average certainty and accuracy over the models that have both, in each category (Swe-BLiMP, Figure 3)."""
    rows = points.dropna(subset=["delta_nll", "accuracy"]).rename(columns={"suite": "category"})
    grouped = rows.groupby("category", as_index=False, sort=False, observed=True)
    return grouped.agg(
        models=("accuracy", "count"), delta_nll=("delta_nll", "mean"), accuracy=("accuracy", "mean")
    )


def certainty_correlations(table: pd.DataFrame) -> tuple[float, float]:
    """Return Pearson's r and Spearman's rho over categories; NaN for fewer than three, or where one does not vary."""
    if len(table) < 3 or table["delta_nll"].nunique() < 2 or table["accuracy"].nunique() < 2:
        return float("nan"), float("nan")
    x, y = table["delta_nll"].to_numpy(np.float64), table["accuracy"].to_numpy(np.float64)
    return float(pearsonr(x, y).statistic), float(spearmanr(x, y).statistic)


def _box_statistics(suite: str, part: pd.DataFrame) -> dict[str, object]:
    """Return the row of a category (``box_table``)."""
    values = part["delta_nll"].to_numpy(np.float64)
    box = boxplot_stats(values, whis=1.5)[0]
    beyond = (values < box["whislo"]) | (values > box["whishi"])
    return {
        "category": suite,
        "models": len(part),
        "q1": box["q1"],
        "median": box["med"],
        "q3": box["q3"],
        "whisker_low": box["whislo"],
        "whisker_high": box["whishi"],
        "outliers": "; ".join(sorted(part["model"][beyond].astype(str))),
    }
