"""One score computed by several processes: each takes every n-th batch, and all numbers are put together.

The batches are those of one process, so that every byte of the score is the same.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

Batch = TypeVar("Batch")
Value = TypeVar("Value")


class ProcessGroup(Protocol):
    """The processes that score together, seen from one of them."""

    @property
    def rank(self) -> int:
        """The number of this process; 0 reads and writes files, the others only compute."""

    @property
    def size(self) -> int:
        """How many processes there are."""

    def gather(self, value: Value, error: BaseException | None = None) -> list[Value]:
        """Return the values of all processes, which call it at one point; an error of one is raised in all."""

    def broadcast(self, value: Value) -> Value:
        """Return the value of rank 0 in every process; all call it at the same point."""

    def check(self) -> None:
        """Raise what is to end the work of this process, such as a signal."""


@contextmanager
def agreeing(group: ProcessGroup | None) -> Iterator[None]:
    """Let all processes continue only if none of them had an error inside; else the error of one is raised in all."""
    error = None
    try:
        if group is not None:
            group.check()
        yield
    except BaseException as raised:
        if group is None:
            raise
        error = raised
    if group is not None:
        group.gather(None, error)


@contextmanager
def sharing(group: ProcessGroup) -> Iterator[None]:
    """Let this process compute its share of what is scored inside; an error in one process is raised in all."""
    import torch

    share = _Share(group)
    before = _current.set(share)
    try:
        yield
    except torch.OutOfMemoryError:
        share.fail(None)
        raise
    except BaseException as error:
        share.fail(error)
        raise
    finally:
        _current.reset(before)


@contextmanager
def alone() -> Iterator[None]:
    """Let every process compute everything inside by itself."""
    before = _current.set(None)
    try:
        yield
    finally:
        _current.reset(before)


def own_batches(batches: Sequence[Batch]) -> Sequence[Batch]:
    """Return the batches that this process computes: all, unless several processes share them.

    ``merge`` or ``gather_shares`` ends what is shared so; a score may have several such parts, one after the other.
    """
    share = _current.get()
    if share is None:
        return batches
    share.given = False
    return batches[share.group.rank :: share.group.size]


def agreed(value: bool) -> bool:
    """Tell whether all processes that share a score give True; all call this at the same point."""
    share = _current.get()
    return value if share is None else all(share.gather(value))


def gather_shares(own: Value) -> list[Value]:
    """Return what each process has computed of a score, at the end of its share. Errors of one are raised in all."""
    share = _current.get()
    if share is None:
        return [own]
    share.given = True
    return share.gather(own)


def merge(scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Combine the scores of all processes; each has NaN where others computed. Errors of one are raised in all."""
    merged = scores.copy()
    own = np.flatnonzero(~np.isnan(scores))
    for places, found in gather_shares((own, scores[own])):
        merged[places] = found
    return merged


class _Share:
    def __init__(self, group: ProcessGroup) -> None:
        self.group = group
        self.given = False  # whether the other processes have the numbers or an error of this one

    def fail(self, error: BaseException | None) -> None:
        """Tell the others of an error, None for full memory, unless this process has given its numbers already."""
        if not self.given:
            self.given = True
            self.group.gather(None, error)

    def gather(self, value: Value) -> list[Value]:
        """Return the values of all processes, by rank; torch.OutOfMemoryError where the memory of one is full."""
        import torch

        try:
            parts = self.group.gather(value)
        except BaseException:
            self.given = True  # the others know that this process ends
            raise
        if any(part is None for part in parts):
            self.given = True
            raise torch.OutOfMemoryError("the memory of another process is full")
        return parts


_current: ContextVar[_Share | None] = ContextVar("share", default=None)
