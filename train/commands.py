"""``train.py``: one run, or every cell of the grid that an experiment sets."""

from typing import Any

from train.config import read_settings
from train.grid import cells
from train.run import train_cell
from ucurve.command import compose, task_overrides
from ucurve.errors import UserError


def train_command(values: dict[str, Any]) -> None:
    """Run what one composed configuration asks for.

    Raises:
        UserError: for a mistake in the configuration or the files it names.
    """
    blocks = values.get("grid") or []
    if not blocks:
        train_cell(read_settings(values))
        return
    overrides = task_overrides()
    grid = [read_settings(compose("train", [*overrides, *cell, "grid=[]"])) for cell in cells(blocks, overrides)]
    _refuse_twins([settings.run_name for settings in grid])
    for settings in grid:
        train_cell(settings)


def _refuse_twins(names: list[str]) -> None:
    twins = sorted({name for name in names if names.count(name) > 1})
    if twins:
        raise UserError(
            f"two cells of the grid have one name: {', '.join(twins)}; an axis that is not in the name "
            "needs name= to tell its runs apart"
        )
