"""Numbers printed in the papers, as test data: each file names its table and section in its first line."""

from pathlib import Path

import pandas as pd

_DATA = Path(__file__).parent / "data"


def printed(name: str) -> pd.DataFrame:
    """Read a table of ``data/``; the first line says where it is printed."""
    return pd.read_csv(_DATA / f"{name}.csv", skiprows=1)


def tse_figure1() -> pd.DataFrame:
    """One row per model and suite: ``model, line, parameters, suite, accuracy, low, high``, NaN where illegible."""
    table = printed("tse_figure1").melt(["model", "line", "parameters"], var_name="suite", value_name="cell")
    cells = table.pop("cell").astype(str).str.split(expand=True).astype(float)
    return table.assign(accuracy=cells[0], low=cells[1], high=cells[2])
