"""Steps of a published suite that have the same weights, as branches do that were uploaded twice."""

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

Name = TypeVar("Name", bound=Hashable)
_MOST = 6  # names that are written out


def find_equal(weights: Mapping[Name, str]) -> list[list[Name]]:
    """Return the groups of names, of two at least, that have the same hash, in the order of the mapping."""
    groups: dict[str, list[Name]] = {}
    for name, sha256 in weights.items():
        groups.setdefault(sha256, []).append(name)
    return [group for group in groups.values() if len(group) > 1]


def describe_equal(groups: Sequence[Sequence[Name]]) -> str:
    """Write groups on one line; of a long group, the first names and the last: ``86 (step1, step2, ..., step9)``."""
    return "; ".join(f"{len(group)} ({shorten([str(name) for name in group])})" for group in groups)


def shorten(names: Sequence[str]) -> str:
    """Write names on one line; of many, the first ones and the last."""
    if len(names) <= _MOST:
        return ", ".join(names)
    return ", ".join([*names[: _MOST - 1], "...", names[-1]])
