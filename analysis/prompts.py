"""Perplexity against prompts (Swe-BLiMP, section 6, Table 3)."""

import pandas as pd

PROMPTS = ("grammaticality", "acceptability")
AVERAGE = "Average"


def prompt_differences(points: pd.DataFrame) -> pd.DataFrame:
    """Subtract each model's accuracy by perplexity from its accuracies by prompts.

    Args:
        points: columns ``model``, ``perplexity``, ``grammaticality``, ``acceptability`` (accuracies in any unit, NaN
            where a model was not asked).

    Returns:
        ``model``, ``perplexity``, ``delta_grammaticality`` and ``delta_acceptability``, positive where prompting is
        better, most accurate by perplexity first; then the row ``Average`` over the models.
    """
    table = points[["model", "perplexity"]].copy()
    for name in PROMPTS:
        table[f"delta_{name}"] = points[name] - points["perplexity"]
    ranked = table.sort_values("perplexity", ascending=False, kind="stable")
    return add_average(ranked)


def add_average(differences: pd.DataFrame) -> pd.DataFrame:
    """Add a row of the means over the models."""
    means = differences.drop(columns="model").mean().to_frame().T.assign(model=AVERAGE)
    return pd.concat([differences, means[list(differences.columns)]], ignore_index=True)
