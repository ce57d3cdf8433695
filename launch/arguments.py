"""The arguments of the commands of ``launch``: keys of their own, and the arguments of ``train.py`` for a grid."""

from collections.abc import Sequence
from typing import TypeVar

from train.grid.cells import Cell, grid_cells
from ucurve.config import Composed, check, compose, sweep

_MULTIRUN = ("-m", "--multirun")
Settings = TypeVar("Settings")


def own_settings(kind: type[Settings], name: str, arguments: Sequence[str]) -> tuple[Settings, list[str]]:
    """Read a command's own keys, those of ``conf/<name>.yaml``, and return them with the arguments that are left.

    Raises:
        UserError: when one of its own has a value that is not allowed.
    """
    keys = set(compose(name, []))
    own = [argument for argument in arguments if argument.partition("=")[0].split(".")[0].lstrip("+~") in keys]
    left = [argument for argument in arguments if argument not in own and argument not in _MULTIRUN]
    return check(kind, compose(name, own)), left


def expand_grid(arguments: Sequence[str]) -> list[Cell]:
    """Return the cells that ``python train.py -m`` would run with these arguments.

    Raises:
        UserError: when they are not well formed.
    """
    return grid_cells([Composed(compose("train", cell), tuple(cell)) for cell in sweep("train", arguments)])
