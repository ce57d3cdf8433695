"""Checks what the JSON files of a run folder hold."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ucurve.errors import UserError

_KINDS = {str: "text", int: "a whole number", list: "a list", dict: "a mapping of names to values"}


def check_types(path: Path, values: Mapping[str, Any], types: Mapping[str, type], within: str = "") -> None:
    """Check the values that are there; one that is not given or null is right, and so is a key not in ``types``.

    Args:
        path: the file they were read from.
        values: by key.
        types: the type of the value of each key.
        within: what stands before the key in the message.

    Raises:
        UserError: with file and key, when a value is of another type.
    """
    for key, kind in types.items():
        value = values.get(key)
        if value is not None and type(value) is not kind:  # for isinstance, true and false are whole numbers
            raise UserError(f"{path}: {within}{key} holds {value!r}, which is not {_KINDS[kind]}")
