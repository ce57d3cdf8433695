"""Steps of a published suite that have the same weights, or a part of them, as branches do that were uploaded twice."""

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

from ucurve.gather import gather

Name = TypeVar("Name", bound=Hashable)
_MOST = 6  # names that are written out


def find_equal(weights: Mapping[Name, str]) -> list[list[Name]]:
    """Return the groups of names, of two at least, that have the same hash, in the order of the mapping."""
    return [group for group in group_names(weights) if len(group) > 1]


def group_names(values: Mapping[Name, Hashable]) -> list[list[Name]]:
    """Group names by their values."""
    return list(gather((value, name) for name, value in values.items()).values())


def find_shared_parts(parts: Mapping[Name, Mapping[str, str]]) -> list[list[Name]]:
    """Return the groups of names that share a file of their weights and not all of them, by the hash of each file.

    A file that is the same in all of three or more, such as frozen embeddings, makes no group.
    """
    holders = gather((sha256, name) for name, hashes in parts.items() for sha256 in set(hashes.values()))
    groups = [
        group
        for group in holders.values()
        if len({tuple(sorted(parts[name].values())) for name in group}) > 1
        and not (len(group) == len(parts) and len(parts) > 2)
    ]
    return [list(group) for group in dict.fromkeys(map(tuple, groups))]


def describe_equal(groups: Sequence[Sequence[Name]]) -> str:
    """Write groups on one line: ``86 (step1, step2, ..., step9)``."""
    return "; ".join(f"{len(group)} ({shorten([str(name) for name in group])})" for group in groups)


def shorten(names: Sequence[str]) -> str:
    """Write names on one line; of many, the first ones and the last."""
    if len(names) <= _MOST:
        return ", ".join(names)
    return ", ".join([*names[: _MOST - 1], "...", names[-1]])
