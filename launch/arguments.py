"""The arguments of the commands of ``launch``, own keys beside those of ``train.py``, and the format of tables."""

import json
from collections.abc import Mapping, Sequence
from typing import Literal, TypeVar

from ucurve.arguments import MULTIRUN
from ucurve.config import check, compose, compose_cells, sweep
from ucurve.config_files import load
from ucurve.text_table import format_table
from ucurve.training.grid.cells import Cell, grid_cells

Format = Literal["text", "csv", "json"]
Settings = TypeVar("Settings")


def split_arguments(kind: type[Settings], name: str, arguments: Sequence[str]) -> tuple[Settings, list[str]]:
    """Read a command's own keys, those of ``conf/<name>.yaml``, and return them with the arguments that are left."""
    keys = load(f"{name}.yaml")
    own = [argument for argument in arguments if argument.partition("=")[0].split(".")[0].lstrip("+~") in keys]
    left = [argument for argument in arguments if argument not in own and argument not in MULTIRUN]
    return check(kind, compose(name, own)), left


def expand_grid(arguments: Sequence[str]) -> list[Cell]:
    """Return the cells that ``python train.py -m`` would run with these arguments."""
    return grid_cells(compose_cells("train", sweep("train", arguments)))


def format_rows(rows: Sequence[Mapping[str, object]], texts: Sequence[Mapping[str, object]], form: Format) -> str:
    """Return rows, which all have the same keys, as a table."""
    if form == "json":
        return json.dumps(list(rows), indent=2, ensure_ascii=False, allow_nan=False)
    if form == "text":
        return format_table(texts)
    import pandas as pd

    return pd.DataFrame(rows, dtype=object).to_csv(index=False, lineterminator="\n").rstrip("\n")
