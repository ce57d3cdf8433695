"""The makers: each a folder with the name of its source, with a module ``make``, and ``check`` if it has checks."""

import importlib
from pathlib import Path
from types import ModuleType

from ucurve.errors import unknown_name

MAKERS = Path(__file__).parent


def makers() -> list[str]:
    """Return the names of all makers, sorted."""
    return sorted(file.parent.name for file in MAKERS.glob("*/make.py"))


def import_part(source: str, part: str) -> ModuleType:
    """Import a module of the maker of a source."""
    if source not in makers():
        raise unknown_name("source", source, makers())
    return importlib.import_module(f"generation.{source}.{part}")
