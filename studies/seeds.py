"""Rows of tables that average all runs of a tokenizer."""

import pandas as pd


def of_all_runs(table: pd.DataFrame) -> pd.DataFrame:
    """Keep the rows that average all runs of their tokenizer, so that neighbors differ in training and not in runs."""
    return table[table["runs"] == table.groupby("tokenizer")["runs"].transform("max")].reset_index(drop=True)
