"""Reads the JSON files of a run folder; a broken one is an error that names the file and the line."""

import json
from pathlib import Path
from typing import Any

from ucurve.errors import UserError


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


def _mapping(path: Path, value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UserError(f"{path}:1: expected a mapping of names to values, found {type(value).__name__}")
    return value
