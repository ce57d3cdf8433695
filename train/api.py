"""Training from Python, for notebooks: ``ucurve.train`` is a function of this module."""

import json
import multiprocessing
from pathlib import Path

from ucurve.arguments import MULTIRUN, read_arguments, with_lists
from ucurve.config import compose_cells, sweep
from ucurve.errors import UserError
from ucurve.training.cli import train_command
from ucurve.training.grid.cells import grid_cells


def train(*arguments: str, **settings: object) -> list[Path]:
    """Train a run, or with ``-m`` every run of a grid, as ``ucurve train`` does, and return the run folders.

    A run that is finished already is left as it is.

    Args:
        *arguments: those of the command line, such as ``"batch.length=32"``; ``ucurve train --help`` lists the keys.
        **settings: the same for keys without a dot, such as ``model="tiny"`` and ``benchmarks=["demo"]``.

    Raises:
        UserError: with the message of the command, when something is missing, unknown or does not fit; where a
            program does not call this below ``if __name__ == "__main__":``.
        RunError: when a run cannot go on.

    Examples:
        >>> runs = ucurve.train("schedule.count=14", model="tiny", tokens="800K", data="demo")
        >>> ucurve.open(runs)
    """
    # A process that tokenizes imports the program first. If that trains, it waits for the cache that waits for it. The
    # attribute is the one by which multiprocessing itself refuses to start processes then.
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise UserError(
            'ucurve.train starts processes that import this program; call it below `if __name__ == "__main__":`'
        )
    written = {
        key: value if isinstance(value, str | Path) else json.dumps(value) for key, value in settings.items()
    }
    given = [*arguments, *(f"{key}={value}" for key, value in written.items())]
    words = read_arguments([argument for argument in given if argument not in MULTIRUN])
    cells = sweep("train", words) if set(arguments) & {*MULTIRUN} else [with_lists("train", words)]
    composed = compose_cells("train", cells)
    train_command(composed)
    return [cell.settings.folder for cell in grid_cells(composed)]
