"""Slopes of accuracy on the number of parameters, family by suite (TSE, section 5.2, Figure 2, Table 1)."""

import numpy as np
import pandas as pd

AVERAGE = "average"
_PER = 1e9  # parameters


def slope_table(points: pd.DataFrame) -> pd.DataFrame:
    """Fit a line through the accuracies of each family's models on each suite, by least squares.

    Args:
        points: columns ``family``, ``suite``, ``parameters`` (above 0) and ``accuracy`` (fraction), one row per model
            and suite. A missing accuracy or family leaves its row out.

    Returns:
        ``family``, ``suite``, ``models`` (points of the line) and ``slope``, in percentage points per 10^9 parameters
        (TSE, Table 1), in the order of the points. A family whose models have fewer than two sizes has no line and no
        row.
    """
    rows = points.dropna(subset=["family", "suite", "parameters", "accuracy"])
    groups = rows.groupby(["family", "suite"], sort=False, observed=True)
    lines = [
        {"family": family, "suite": suite, "models": len(part), "slope": _slope(part)}
        for (family, suite), part in groups
        if part["parameters"].nunique() > 1
    ]
    return pd.DataFrame(lines, columns=["family", "suite", "models", "slope"])


def slopes_by_suite(slopes: pd.DataFrame) -> pd.DataFrame:
    """Lay slopes out as TSE's Table 1 does.

    Args:
        slopes: from ``slope_table``.

    Returns:
        One row per suite: ``suite``, a column for each family, and ``average``, the mean over the families that have a
        slope there.
    """
    suites, families = slopes["suite"].unique(), slopes["family"].unique()
    wide = slopes.pivot_table(index="suite", columns="family", values="slope", observed=True)
    wide = wide.reindex(index=suites, columns=families)
    table = wide.assign(**{AVERAGE: wide.mean(axis=1)}).reset_index()
    table.columns.name = None
    return table


def _slope(part: pd.DataFrame) -> float:
    x = part["parameters"].to_numpy(dtype=np.float64) / _PER
    y = part["accuracy"].to_numpy(dtype=np.float64) * 100
    centred = x - x.mean()
    return float(centred @ (y - y.mean()) / (centred @ centred))
