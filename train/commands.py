"""``train.py``: one run, or every cell of the grid that an experiment sets."""

from pathlib import Path
from typing import Any

from train.config import RunSettings, read_settings
from train.grid import cells
from train.plan import describe, make_plan
from train.text import expected_vocabulary
from ucurve.command import compose, task_overrides
from ucurve.errors import RunError, UcurveError, UserError
from ucurve.progress import say


def train_command(values: dict[str, Any]) -> None:
    """Run what one composed configuration asks for, or print the plan under ``dry_run``.

    A run of a grid that fails does not stop the others.

    Raises:
        UserError: for a mistake in the configuration or the files it names.
        RunError: when a run cannot go on.
    """
    grid = grid_settings(values)
    if grid[0].dry_run:
        print("\n\n".join(map(plan_text, grid)))  # noqa: T201 - the plan is what was asked for
        return
    failed = [settings.run_name for settings in grid if not _train_one_of(settings, grid)]
    if failed:
        raise RunError(f"{len(failed)} of {len(grid)} runs failed: {', '.join(failed)}")


def _train_one_of(settings: RunSettings, grid: list[RunSettings]) -> bool:
    from train.run import train_cell

    try:
        train_cell(settings)
    except UcurveError as error:
        if len(grid) == 1:
            raise
        say(f"{settings.run_name}: {error}")
        return False
    return True


def grid_settings(values: dict[str, Any]) -> list[RunSettings]:
    """Return the settings of every run that a composed configuration asks for: one, or the cells of its grid.

    Raises:
        UserError: when a cell is not well formed, or two cells have one name.
    """
    blocks = values.get("grid") or []
    if not blocks:
        return [read_settings(values)]
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        raise UserError(f"grid: got {blocks!r}; a list of axes is expected, as [{{seed: [0, 1]}}]")
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
