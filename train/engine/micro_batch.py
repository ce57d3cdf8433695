"""How many sequences go through the model at once: a number, or as many as the device's memory holds."""

from collections.abc import Callable
from typing import Literal, TypeVar

import torch

from ucurve.errors import RunError
from ucurve.progress import log_line

ON_PROCESSOR = 32  # sequences; 2,048 tokens of 64, whose activations stay near the cache
Result = TypeVar("Result")


class MicroBatch:
    """The micro batches of a process; on an accelerator ``auto`` is its whole share, halved until it fits."""

    def __init__(self, setting: int | Literal["auto"], device: torch.device) -> None:
        self.is_auto = setting == "auto"
        self._size = None if setting == "auto" else setting
        if self.is_auto and device.type == "cpu":
            self._size = ON_PROCESSOR

    def split(self, share: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Split a process's share of the batch, shape [sequences, length + 1], into micro batches."""
        parts: tuple[torch.Tensor, ...] = share.split(self._sequences(share))
        return parts

    def repeat_until_it_fits(self, work: Callable[[], Result], undo: Callable[[], None], share: torch.Tensor) -> Result:
        """Do the work on a share; undo it and try again with smaller micro batches where the memory is too small."""
        while True:
            try:
                return work()
            except torch.OutOfMemoryError as error:
                failure = str(error)
            undo()  # outside of the handler, whose error keeps the tensors of the attempt
            self.halve(share, failure)

    def halve(self, share: torch.Tensor, failure: str) -> None:
        """Take half as many sequences at once from now on."""
        size = self._sequences(share)
        if not self.is_auto or size == 1:
            raise self.too_large(share, failure)
        self._size = -(-size // 2)
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        log_line(f"micro batches of {size} sequences do not fit into the device's memory; going on with {self._size}")

    def too_large(self, share: torch.Tensor, failure: str) -> RunError:
        """Return the error of a device whose memory does not suffice."""
        size = self._sequences(share)
        advice = "set a smaller engine.micro_batch" if size > 1 else "a smaller model is needed"
        return RunError(f"micro batches of {size} sequences do not fit into the device's memory; {advice}: {failure}")

    def _sequences(self, share: torch.Tensor) -> int:
        return len(share) if self._size is None else min(self._size, len(share))
