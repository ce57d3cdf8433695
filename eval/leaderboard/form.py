"""The forms of leaderboards: which benchmark is which task of theirs, and how they count; a YAML file for each."""

import functools
from pathlib import Path

from pydantic import ConfigDict, NonNegativeInt
from pydantic.dataclasses import dataclass

from ucurve.yaml_files import read_named

FOLDER = Path(__file__).parent


@dataclass(frozen=True, config=ConfigDict(extra="forbid"), kw_only=True)
class Task:
    """One task of a leaderboard."""

    benchmark: str  # the benchmark whose scores it is computed from
    metric: str  # the key of its number
    unknown_is_wrong: bool = False  # whether a pair with an unknown token in one of its sentences is wrong


@dataclass(frozen=True, config=ConfigDict(extra="forbid"), kw_only=True)
class Form:
    """What a leaderboard takes."""

    name: str  # also the name of its file
    title: str  # the leaderboard in words
    preset: str  # the preset with its scorers, linking function, rule for ties and aggregate
    start_rules: tuple[str, ...]  # allowed tokens before a sentence for causal models (`start_rule` of a key)
    decimals: NonNegativeInt  # of percentages
    tasks: dict[str, Task]  # what is written, by the leaderboard's own names, in its order
    not_scored: tuple[str, ...]  # tasks of the leaderboard that are not minimal pairs
    sources: tuple[str, ...]  # the published code or page of each choice


@functools.cache
def find_form(name: str) -> Form:
    """Return a form by name."""
    return read_named(FOLDER, name, Form, "form")
