"""``train.py``: one run, or every cell of a grid that the command line or an experiment sets."""

import os
from collections.abc import Sequence
from pathlib import Path

from train.config import RunSettings
from train.grid import Cell, grid_cells
from train.plan import describe, make_plan
from train.text import expected_vocabulary
from ucurve.command import Composed
from ucurve.errors import RunError, UserError


def train_command(composed: Sequence[Composed]) -> None:
    """Do what the composed configurations ask for, or print the plans under ``dry_run``.

    In a grid a cell that fails does not stop the others; the summary names every cell.

    Raises:
        UserError: for a mistake in the configuration, before anything runs, or in the files that a lone run names.
        RunError: when a lone run cannot go on, or a cell of a grid failed.
    """
    cells = grid_cells(composed)
    if cells[0].settings.dry_run:
        print("\n\n".join(plan_text(cell.settings) for cell in cells))  # noqa: T201 - the plan is what was asked for
    elif len(cells) == 1:
        _train(cells[0].settings)
    else:
        _run_grid(cells)


def plan_text(settings: RunSettings) -> str:
    """Write the plan of one run for a person, building and fetching nothing."""
    vocabulary, source = expected_vocabulary(settings.tokenizer, settings.data, Path(settings.paths.tokenizers))
    return describe(make_plan(settings, vocabulary), source)


def _train(settings: RunSettings) -> None:
    from train.run import train_cell

    train_cell(settings)


def _run_grid(cells: Sequence[Cell]) -> None:
    from train.grid_run import GridRun, summary

    _refuse_several_processes(len(cells))
    run = GridRun(cells, _train)
    try:
        run.work()
    finally:
        print(summary(run.outcomes), flush=True)  # noqa: T201 - the summary is what was asked for
    failed = [outcome.cell for outcome in run.outcomes if outcome.status == "failed"]
    if failed:
        raise RunError(f"{len(failed)} of {len(cells)} runs failed: {', '.join(failed)}")


def _refuse_several_processes(cells: int) -> None:
    processes = int(os.environ.get("WORLD_SIZE", "1"))
    if processes > 1:
        raise UserError(
            f"a grid of {cells} runs under a launcher of {processes} processes: a launcher starts one run; "
            "'python -m launch.emit' writes the command of each"
        )
