"""What a curve does, in a sentence, and the order in which curves are shown: those that turn first."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import pandas as pd

from ucurve.analysis.data.groups import Ids
from ucurve.analysis.plotting.style import rounded_count

SHOWN = 0.05  # a fall or rise of fewer points than these is called staying


@dataclass(frozen=True)
class Course:
    """The course of one curve, all accuracies as fractions."""

    line: str
    first: float
    last: float
    fall_from: float  # the highest accuracy before the deepest point of the largest dip
    low: float  # the accuracy there
    tokens: float
    step: int  # -1 for a model without checkpoints, which is level
    back_to: float  # the highest one after it

    @property
    def depth(self) -> float:
        """By how much it falls and comes back."""
        return min(self.fall_from, self.back_to) - self.low

    @property
    def sentence(self) -> str:
        """What it does, in words."""
        if self.step < 0:
            return f"is at {_percent(self.last)} %"
        if self.depth >= SHOWN:
            tokens = rounded_count(self.tokens, 2)
            fall = f"falls from {_percent(self.fall_from)} to {_percent(self.low)} % at {tokens} tokens"
            return f"{fall} and comes back to {_percent(self.back_to)} %"
        if abs(self.last - self.first) < SHOWN:
            return f"stays near {_percent(self.last)} %"
        verb = "rises" if self.last > self.first else "falls"
        return f"{verb} from {_percent(self.first)} to {_percent(self.last)} %"


def courses(table: pd.DataFrame) -> dict[str, list[Course]]:
    """Describe the curves of each ``value`` from rows with ``line``, ``value``, ``step``, ``tokens`` and ``accuracy``.

    The accuracy before training has no part in a dip: it says what the lengths of sentences decide.
    """
    found: dict[str, list[Course]] = {}
    rows = table[table["accuracy"].notna()].sort_values("tokens", kind="stable").reset_index(drop=True)
    every, tokens = (rows[name].to_numpy(dtype=np.float64) for name in ("accuracy", "tokens"))
    places_of = rows.groupby(["value", "line"], sort=False).indices
    for (value, line), places in cast(dict[tuple[str, str], Ids], places_of).items():
        trained = places[tokens[places] > 0] if (tokens[places] > 0).any() else places
        points = every[trained]
        before, after = np.maximum.accumulate(points), np.maximum.accumulate(points[::-1])[::-1]
        at = int((np.minimum(before, after) - points).argmax())
        found.setdefault(value, []).append(Course(
            line, every[places[0]], every[places[-1]], before[at], points[at], tokens[trained[at]],
            int(rows["step"].iloc[trained[at]]), after[at],
        ))  # fmt: skip
    return found


def dips(lines: Iterable[Course]) -> bool:
    """Return whether one of the curves falls and comes back."""
    return any(one.depth >= SHOWN for one in lines)


def deepest(lines: Iterable[Course]) -> Course:
    """Return the curve with the largest dip."""
    return max(lines, key=lambda one: one.depth)


def say(lines: Sequence[Course]) -> str:
    """Say what the curves of one panel do: that of the line with the deepest dip, and where all of them end."""
    one = deepest(lines)
    if len(lines) == 1:
        return one.sentence
    if dips(lines):
        number = sum(other.depth >= SHOWN for other in lines)
        return f"{number} of {len(lines)} lines dip; {one.line} {one.sentence}"
    ends = [other.last for other in lines]
    return f"{len(lines)} lines end between {_percent(min(ends))} and {_percent(max(ends))} %"


def order(found: Mapping[str, Sequence[Course]], turned: Iterable[str] = ()) -> list[str]:
    """Order values: those with a curve that the test calls U-shaped, then dips, deepest first, then by the end."""
    certified = set(turned)

    def key(value: str) -> tuple[int, float]:
        depth = max(one.depth for one in found[value])
        if value in certified:
            return 0, -depth
        return (1, -depth) if depth >= SHOWN else (2, -float(np.mean([one.last for one in found[value]])))

    return sorted(found, key=key)


def _percent(value: float) -> str:
    return f"{100 * value:.0f}"
