"""Reads the JSON files of a run folder; a broken one is an error that names the file and the line."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ucurve.errors import UserError

_KINDS = {str: "text", int: "a whole number", list: "a list", dict: "a mapping of names to values"}


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object.

    Raises:
        UserError: with file and line, when it is no JSON object in UTF-8.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise UserError(f"{path}:{error.lineno}: broken JSON: {error.msg}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8: {error.reason}") from error
    return _mapping(path, value)


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


def _mapping(path: Path, value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UserError(f"{path}:1: expected a mapping of names to values, found {type(value).__name__}")
    return value
