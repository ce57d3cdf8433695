"""Values gathered under their keys, such as runs under their lines."""

from collections.abc import Hashable, Iterable
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


def gather(pairs: Iterable[tuple[Key, Value]]) -> dict[Key, list[Value]]:
    """Gather values by their keys, such as runs by their lines; keys and values stay in the order in which they come.

    The first of a pair is the key. Unlike ``itertools.groupby`` this needs no sorted pairs.
    """
    found: dict[Key, list[Value]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return found
