"""``train.py``: one run, or every cell of the grid that an experiment sets."""

from pathlib import Path
from typing import Any

from train.config import RunSettings, read_settings
from train.grid import cells
from train.plan import describe, make_plan
from train.text import expected_vocabulary
from ucurve.command import compose, task_overrides
from ucurve.errors import UserError


def train_command(values: dict[str, Any]) -> None:
    """Run what one composed configuration asks for, or print the plan under ``dry_run``.

    Raises:
        UserError: for a mistake in the configuration or the files it names.
        RunError: when a run cannot go on.
    """
    for settings in grid_settings(values):
        if settings.dry_run:
            print(plan_text(settings), end="\n\n")  # noqa: T201 - the plan is what was asked for
        else:
            from train.run import train_cell

            train_cell(settings)


def grid_settings(values: dict[str, Any]) -> list[RunSettings]:
    """Return the settings of every run that a composed configuration asks for: one, or the cells of its grid.

    Raises:
        UserError: when a cell is not well formed, or two cells have one name.
    """
    blocks = values.get("grid") or []
    if not blocks:
        return [read_settings(values)]
    overrides = task_overrides()
    grid = [read_settings(compose("train", [*overrides, *cell, "grid=[]"])) for cell in cells(blocks, overrides)]
    _refuse_twins([settings.run_name for settings in grid])
    return grid


def plan_text(settings: RunSettings) -> str:
    """Write the plan of one run for a person, building and fetching nothing."""
    vocabulary, source = expected_vocabulary(settings.tokenizer, settings.data, Path(settings.paths.tokenizers))
    return describe(make_plan(settings, vocabulary), source)


def _refuse_twins(names: list[str]) -> None:
    twins = sorted({name for name in names if names.count(name) > 1})
    if twins:
        raise UserError(
            f"two cells of the grid have one name: {', '.join(twins)}; an axis that is not in the name "
            "needs name= to tell its runs apart"
        )
