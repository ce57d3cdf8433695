"""Writes and reads ``config.yaml`` of a run folder; paths that do not determine the outcome have ``~`` for the home."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import yaml

from ucurve.config import plain
from ucurve.errors import UserError
from ucurve.storage.run_folder import CONFIGURATION
from ucurve.training.config import RunRequest, RunSettings, read_settings
from ucurve.training.identity import PARTLY_IDENTITY, Configuration, config_sha256, pick_identity
from ucurve.yaml_files import read_yaml

_HOME = "~/"
# These groups and keys hold paths and are no part of the identity.
_LOCAL = (
    "paths",
    "benchmark_root",
    "eval",
    "start",
)


def configuration_text(settings: RunSettings) -> str:
    """Return what ``config.yaml`` of a run holds."""
    # A run folder may be moved to another machine, where the home folder has another name.
    home = f"{Path.home()}/"

    def hide(path: str) -> str:
        return _HOME + path.removeprefix(home) if path.startswith(home) else path

    return yaml.safe_dump(_with_paths(plain(asdict(settings)), hide), sort_keys=False, allow_unicode=True)


def load_settings(run: Path) -> RunSettings:
    """Read the settings back from a run folder.

    Raises:
        UserError: when ``config.yaml`` is missing or is not a configuration of a run.
    """
    values = read_configuration(run)
    try:
        return read_settings(values)
    except UserError as error:
        raise UserError(f"{run / CONFIGURATION}: {error}") from error


def stored_config_sha256(run: Path) -> str:
    """Hash the part of ``config.yaml`` that determines the outcome, as the file holds it.

    Raises:
        UserError: when the file is not a configuration of a run.
    """
    return config_sha256(pick_identity(read_configuration(run)))


def read_configuration(run: Path) -> Configuration:
    """Read ``config.yaml`` without checking its values; ``~`` in paths is the home folder of whoever reads it.

    Raises:
        UserError: when the file cannot be read or is not a configuration of a run.
    """
    path = run / CONFIGURATION
    try:
        values = read_yaml(path, Configuration)
    except UserError as error:
        raise UserError(f"{path}: no readable configuration ({error})") from error
    missing = [group for group in PARTLY_IDENTITY if not isinstance(values.get(group), dict)]
    for key in () if missing else ("interventions", "parts"):
        steps = values["data"].get(key) or []
        if not isinstance(steps, list) or not all(isinstance(step, dict) for step in steps):
            missing.append(f"data.{key}")
    if missing:
        raise UserError(f"{path}: holds no configuration of a run: it lacks {', '.join(missing)}")
    home = f"{Path.home()}/"
    return _with_paths(values, lambda path: home + path.removeprefix(_HOME) if path.startswith(_HOME) else path)


def recall_settings(request: RunRequest) -> RunSettings | None:
    """Return the settings of a run, those of a budget in words from its folder; None where it does not say them.

    Raises:
        UserError: when ``config.yaml`` is broken, or the tokens are less than one global batch.
    """
    if isinstance(request, RunSettings):
        return request
    # A run that has not begun has no record of its tokens yet.
    if not (request.folder / CONFIGURATION).exists():
        return None
    before = read_configuration(request.folder)
    # A run of another number of words has another number of tokens.
    tokens = before.get("tokens")
    return (
        request.with_tokens(tokens) if isinstance(tokens, int) and before.get("words") == request.words else None
    )


def _with_paths(values: Configuration, change: Callable[[str], str]) -> Configuration:
    """Change the texts that may be paths of this machine and are no part of the identity."""
    local = {key: _each_text(values[key], change) for key in _LOCAL if key in values}
    return values | local | {"data": _in_corpus(values["data"], change)}


def _in_corpus(data: object, change: Callable[[str], str]) -> object:
    """Change the paths of a corpus: its own, and those of files that interventions read."""
    if isinstance(data, list):
        return [_in_corpus(item, change) for item in data]
    if not isinstance(data, dict):
        return data
    return {
        key: _each_text(value, change) if key in ("path", "file") else _in_corpus(value, change)
        for key, value in data.items()
    }


def _each_text(value: object, change: Callable[[str], str]) -> object:
    if isinstance(value, dict):
        return {key: _each_text(item, change) for key, item in value.items()}
    if isinstance(value, list):
        return [_each_text(item, change) for item in value]
    return change(value) if isinstance(value, str) else value
