"""The files in ``conf/``: which groups and choices a configuration has, and which keys with which defaults."""

import functools
import re
from collections import ChainMap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from omegaconf import OmegaConf

_HERE = Path(__file__).resolve().parent
# The first is that of a wheel, the second that of a checkout.
CONFIGURATION = next(folder for folder in (_HERE / "conf", _HERE.parent / "conf") if folder.is_dir())
AT_THE_TOP = "_global_"  # the package of a file whose keys have no group before them
NO_VALUE = "???"  # OmegaConf's mark for a key that must be given
_IN_PLACE = "_here_"  # the package of a file whose keys stand among those of the file that names it
_NO_KEYS = ("defaults", "hydra")  # they stand beside the keys of a file


def groups(name: str) -> dict[str, str]:
    """Return the groups of a configuration, each with what stands before its keys, as ``model.``."""
    return {
        group: "" if place == _IN_PLACE else f"{place}." for group, place, _ in chosen(f"{name}.yaml") if group
    }


def chosen(file: str) -> Iterator[tuple[str, str, str | None]]:
    """Yield each choice that a file makes, after its group (empty for that of the file) and the place of its keys.

    The choice is None where the file makes none of the group.
    """
    for entry in load(file).get("defaults", []):
        [(key, choice)] = entry.items() if isinstance(entry, dict) else [(f"@{_IN_PLACE}", entry)]
        group, _, place = key.partition("@")
        yield group, place or group, choice


def choices(group: str) -> list[str]:
    """Return the files of the choices of a group, as ``model/14m.yaml``."""
    return [f"{group}/{file.name}" for file in sorted((CONFIGURATION / group).glob("*.yaml"))]


@functools.cache
def load(file: str) -> dict[str, Any]:
    """Read a file below ``conf/``, as ``model/14m.yaml``."""
    return cast("dict[str, Any]", OmegaConf.to_container(OmegaConf.load(CONFIGURATION / file)))


def with_bases(file: str) -> list[str]:
    """Return a file, and those whose keys it takes over, the nearest first."""
    found = [file]
    for group, place, choice in reversed(list(chosen(file))):
        if place == _IN_PLACE and choice != "_self_":
            found += with_bases(f"{group or Path(file).parent}/{choice}.yaml")
    return found


def completed(file: str, given: Mapping[str, object]) -> dict[str, object]:
    """Return given values, and for all other keys those of a file below ``conf/``, but for those that must be given."""
    values = ChainMap(*map(load, with_bases(file)))
    usual = {key: value for key, value in values.items() if key not in _NO_KEYS and value != NO_VALUE}
    return merged(usual, given)


def merged(values: Mapping[str, object], given: Mapping[str, object]) -> dict[str, object]:
    """Put given values in the place of others, in mappings key by key."""
    both = dict(values)
    for key, value in given.items():
        before = values.get(key)
        both[key] = merged(before, value) if isinstance(before, Mapping) and isinstance(value, Mapping) else value
    return both


@functools.cache
def package(file: str) -> str | None:
    """Return where a file says that its keys belong; ``AT_THE_TOP`` is the place without a group."""
    header = re.match(r"# @package (\S+)", (CONFIGURATION / file).read_text(encoding="utf-8"))
    return header and header[1]


@functools.cache
def known_keys(name: str) -> dict[str, object]:
    """Return the defaults of all keys of a configuration and of its groups, as its files have them."""
    known = {**_keys(load(f"{name}.yaml")), **dict.fromkeys(groups(name))}
    for group, prefix in groups(name).items():
        for file in choices(group):
            for key, value in _keys(load(file), "" if package(file) == AT_THE_TOP else prefix).items():
                # Where several choices have a key, the first one gives the default.
                known.setdefault(key, value)
    return known


def _keys(values: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    """Return the keys below others as one level with dots, parts included."""
    keys: dict[str, object] = {}
    for key, value in values.items():
        if key not in _NO_KEYS:
            keys[f"{prefix}{key}"] = value
            keys |= _keys(value, f"{prefix}{key}.") if isinstance(value, dict) else {}
    return keys
