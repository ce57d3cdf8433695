"""The makers there are: each a folder beside this file with a module ``make``, and ``check`` where it has checks."""

import importlib
from pathlib import Path
from types import ModuleType

from ucurve.errors import unknown_name

MAKERS = Path(__file__).parent


def makers() -> list[str]:
    """Return the names of all makers, sorted."""
    return sorted(file.parent.name for file in MAKERS.glob("*/make.py"))


def import_part(maker: str, part: str) -> ModuleType:
    """Import a module of a maker.

    Raises:
        UserError: when there is no such maker.
    """
    if maker not in makers():
        raise unknown_name("maker", maker, makers())
    return importlib.import_module(f"generation.{maker}.{part}")
