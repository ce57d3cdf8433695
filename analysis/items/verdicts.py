"""What happens to pairs from checkpoint to checkpoint, read from their verdicts.

A tie is not right. Nothing is known of a pair before the first checkpoint: it counts as not right then, so that a pair
that is right at the first checkpoint is learned there; but its verdict there is no flip, which needs two verdicts.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ucurve.analysis.data.groups import Ids, Mask

WRONG, TIE, RIGHT = 0, 1, 2
VERDICT_NAMES = {WRONG: "wrong", TIE: "tied", RIGHT: "right"}
NEVER = -1  # in place of a checkpoint, where there is no such event

Verdicts = npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Events:
    """What happens to pairs at each checkpoint, bool[steps, pairs]."""

    became_right: Mask  # right here, and not at the checkpoint before
    became_not_right: Mask  # right at the checkpoint before, and not here
    flipped: Mask  # another verdict than at the checkpoint before; a tie is a verdict of its own
    learned: Mask  # right from here on to the last checkpoint, and not at the one before: right for good
    forgotten: Mask  # right at the checkpoint before, and not here or at any later one: lost for good


def verdicts_of(right: Mask, ties: Mask) -> Verdicts:
    """Return the verdicts on pairs from which of them are right and which are ties."""
    return (RIGHT * right + TIE * ties).astype(np.uint8)


def find_events(verdicts: Verdicts) -> Events:
    """Find the events of pairs from uint8[steps, pairs] with at least one step."""
    right = verdicts == RIGHT
    before = np.zeros_like(right)
    before[1:] = right[:-1]
    flipped = np.zeros_like(right)
    flipped[1:] = verdicts[1:] != verdicts[:-1]
    stays_right = np.logical_and.accumulate(right[::-1], axis=0)[::-1]
    stays_not_right = np.logical_and.accumulate(~right[::-1], axis=0)[::-1]
    return Events(
        became_right=right & ~before,
        became_not_right=before & ~right,
        flipped=flipped,
        learned=stays_right & ~before,
        forgotten=before & stays_not_right,
    )


def first_place(events: Mask) -> Ids:
    """Return the place of the first checkpoint at which each pair has an event, int64[pairs], or ``NEVER``."""
    return np.where(events.any(axis=0), events.argmax(axis=0), NEVER).astype(np.int64)
