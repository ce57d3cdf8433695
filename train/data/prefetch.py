"""Prepares the batch of the next step in a thread while the device computes this one."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from ucurve.token_stream.order import Share

if TYPE_CHECKING:  # the order of the data is known without torch
    import torch

    Batch = tuple[NDArray[np.int64], torch.Tensor]


class Batches(Protocol):
    """What gives the global batch of a step."""

    def of_step(self, step: int, share: Share | None = None) -> NDArray[np.int64]:
        """Return the batch of 1-based ``step``, or the sequences that ``share`` takes of it."""


class Prefetcher:
    """Hands out the batches of a run, the next one being prepared meanwhile; its errors are raised by ``of_step``.

    What a batch holds depends on its step alone, so that preparing it early changes nothing.
    """

    def __init__(
        self,
        batches: Batches,
        place: Callable[[NDArray[np.int64]], "torch.Tensor"],
        last: int,
        share: Share | None = None,
        reads_all: bool = True,
    ) -> None:
        self._batches, self._place, self._last = batches, place, last
        self._share, self._reads_all = share or (lambda sequences: sequences), reads_all
        self._ahead: tuple[int, Future[Batch]] | None = None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="batches")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        # A batch that nobody will ask for is not begun.
        self._thread.shutdown(cancel_futures=True)

    def of_step(self, step: int) -> "Batch":
        """Return the batch of 1-based ``step``, as an ``Engine`` takes it, and this process's share, placed.

        Unless it ``reads_all``, the batch is the share too, and no other tokens are read.
        """
        found = self._ahead[1] if self._ahead is not None and self._ahead[0] == step else self._begin(step)
        batch = found.result()
        self._ahead = (step + 1, self._begin(step + 1)) if step < self._last else None
        return batch

    def _begin(self, step: int) -> "Future[Batch]":
        return self._thread.submit(self._prepare, step)

    def _prepare(self, step: int) -> "Batch":
        if self._reads_all:
            windows = self._batches.of_step(step)
            return windows, self._place(self._share(windows))
        own = self._batches.of_step(step, self._share)
        return own, self._place(own)
