"""The lists of words that ship with the project."""

from functools import cache
from importlib.resources import files
from typing import Any

import yaml


@cache
def read_list(name: str) -> dict[str, Any]:
    """Return the content of ``lists/NAME.yaml``."""
    text = (files("ucurve.generation.rublimp") / "lists" / f"{name}.yaml").read_text(encoding="utf-8")
    content: dict[str, Any] = yaml.safe_load(text)
    return content
