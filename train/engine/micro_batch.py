"""How many sequences go through the model at once: a number, or as many as the device's memory holds."""

from collections.abc import Callable
from typing import Literal, Protocol, TypeVar

import torch

from ucurve.errors import RunError
from ucurve.progress import log_line
from ucurve.training.engine.processes import Processes

ON_PROCESSOR = 32  # sequences; 2,048 tokens of 64, whose activations stay near the cache
_PROBED_STEPS = 2  # the optimizer creates its moments in the first, so that the second needs more memory
_USED_SHARE = 0.9  # of what is free; the rest is lost between tensors, or taken by logits of the compiled loss
Result = TypeVar("Result")


class DeviceMemory(Protocol):
    """The memory of a device, in bytes."""

    def free(self) -> int:
        """Return how much new tensors can take."""

    def peak_of(self, work: Callable[[], None]) -> int:
        """Do the work and return how much it needs at once, beside what is there before it."""


class CudaMemory:
    """What PyTorch's allocator has of a CUDA device or can get."""

    def __init__(self, device: torch.device) -> None:
        self._device = device

    def free(self) -> int:
        """Return how much new tensors can take; see ``DeviceMemory.free``."""
        # PyTorch keeps the memory of freed tensors, which the driver counts as used.
        unused = torch.cuda.memory_reserved(self._device) - torch.cuda.memory_allocated(self._device)
        return int(_USED_SHARE * (torch.cuda.mem_get_info(self._device)[0] + unused))

    def peak_of(self, work: Callable[[], None]) -> int:
        """Do the work and return how much it needs; see ``DeviceMemory.peak_of``."""
        torch.cuda.reset_peak_memory_stats(self._device)
        before = torch.cuda.memory_allocated(self._device)
        try:
            work()
            return torch.cuda.max_memory_allocated(self._device) - before
        finally:
            torch.cuda.reset_peak_memory_stats(self._device)  # what is measured of steps does not count this work


def device_memory(device: torch.device) -> DeviceMemory | None:
    """Return the memory of a device; None where it is not known."""
    return CudaMemory(device) if device.type == "cuda" else None


class MicroBatch:
    """The micro batches of a process; on an accelerator ``auto`` is its whole share, or the part of it that fits."""

    def __init__(self, setting: int | Literal["auto"], device: torch.device, processes: Processes) -> None:
        self.is_auto = setting == "auto"
        self._processes = processes
        self._memory = device_memory(device)
        self._probed, self._length = 0, 0
        self._size = None if setting == "auto" else setting
        if self.is_auto and device.type == "cpu":
            self._size = ON_PROCESSOR

    def split(self, share: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Split a process's share of the batch, shape [sequences, length + 1], into micro batches."""
        parts: tuple[torch.Tensor, ...] = share.split(self._sequences(share))
        return parts

    def probing(self, share: torch.Tensor) -> bool:
        """Whether the size for sequences of this length is to be found; without ``probe`` a step is done again."""
        if self.is_auto and self._memory is not None and share.shape[-1] != self._length:
            self._length, self._probed, self._size = share.shape[-1], 0, None
        known = self._memory is not None or self._processes.size > 1
        return self.is_auto and known and self._probed < _PROBED_STEPS

    def probe(self, share: torch.Tensor, try_out: Callable[[torch.Tensor], None], reserved: int) -> None:
        """Find in the first steps the size that fits into the memory of all processes; no other size is compiled.

        Args:
            share: this process's part of a batch.
            try_out: computes the gradients of some of its sequences without compiling.
            reserved: bytes that a step needs beside that.
        """
        if self._probed == 0 and self._memory is not None:
            # All processes take the size of the one that has least memory.
            size = min(self._processes.gather(self._estimate(self._memory, share, try_out, reserved)))
            if size < len(share):
                # Of 10 sequences of which 8 fit, 5 and 5 are computed, so that the passes have one shape.
                self._size = -(-len(share) // -(-len(share) // size))
                log_line(
                    f"micro batches of {self._size} sequences, of {len(share)}, fit into the device's memory"
                )
        self._probed += 1
        # A probe exchanges nothing: in a step, a process without memory would leave the others waiting for gradients.
        while self._processes.any_rank(self._peak(share[: self._sequences(share)], try_out) is None)[0]:
            self.halve(share, "a trial needed more")

    def _estimate(
        self, memory: DeviceMemory, share: torch.Tensor, try_out: Callable[[torch.Tensor], None], reserved: int
    ) -> int:
        """Estimate how many sequences fit, from the memory that ever more of them take, as far as these fit surely.

        The memory grows linearly, except that it grows faster as long as all logits are computed at once; so the line
        through the last two sizes is not too low.
        """
        free = memory.free() - reserved
        size, peak, slope = 1, self._peak(share[:1], try_out), 0
        while peak is not None and size < len(share):
            larger = min(2 * size, len(share))
            if slope and peak + slope * (larger - size) > free:
                break
            before, peak = peak, self._peak(share[:larger], try_out)
            if peak is not None:
                slope = max(0, peak - before) // (larger - size)
                size = larger
        if peak is None or not slope:
            return size
        return min(len(share), max(1, size + (free - peak) // slope))

    def _peak(self, ids: torch.Tensor, try_out: Callable[[torch.Tensor], None]) -> int | None:
        """Return the memory that trying sequences out needs, 0 if it is not known; None where it does not suffice."""
        try:
            if self._memory is not None:
                return self._memory.peak_of(lambda: try_out(ids))
            try_out(ids)
        except torch.OutOfMemoryError:
            return None
        return 0

    def repeat_until_it_fits(
        self, work: Callable[[], Result], undo: Callable[[], None], share: torch.Tensor
    ) -> Result:
        """Do the work on a share; undo it and try again with smaller micro batches where the memory is too small.

        Several processes, which would have to try again together, end with an error.
        """
        while True:
            try:
                return work()
            except torch.OutOfMemoryError as error:
                if self._processes.size > 1:
                    raise self.too_large(share, str(error)) from error
                failure = str(error)
            undo()  # outside of the handler, whose error keeps the tensors of the attempt
            self.halve(share, failure)

    def halve(self, share: torch.Tensor, failure: str) -> None:
        """Take half as many sequences at once from now on.

        Raises:
            RunError: when that is not possible.
        """
        size = self._sequences(share)
        if not self.is_auto or size == 1:
            raise self.too_large(share, failure)
        self._size = -(-size // 2)
        # The blocks of the larger size are given back, so that smaller ones find room.
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        log_line(
            f"micro batches of {size} sequences do not fit into the device's memory; going on with {self._size}"
        )

    def too_large(self, share: torch.Tensor, failure: str) -> RunError:
        """Return the error of a device whose memory does not suffice."""
        size = self._sequences(share)
        advice = "set a smaller engine.micro_batch" if size > 1 else "a smaller model is needed"
        return RunError(
            f"micro batches of {size} sequences do not fit into the device's memory; {advice}: {failure}"
        )

    def _sequences(self, share: torch.Tensor) -> int:
        return len(share) if self._size is None else min(self._size, len(share))
