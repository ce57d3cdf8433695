"""One thread that writes beside the training, and the copy in host memory of what it writes."""

import copy
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:  # settings are checked before torch is imported
    import torch
    from transformers import PreTrainedModel


class BackgroundWriter:
    """Does one piece of work at a time in a thread, or at once if it is not ``enabled``; the end waits for it."""

    def __init__(self, enabled: bool) -> None:
        self._threads = ThreadPoolExecutor(1, "writer") if enabled else None
        self._work: Future[None] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._threads is not None:
            self._threads.shutdown()

    def start(self, work: Callable[[], None]) -> None:
        """Start a piece of work. ``wait`` was called since the one before was started."""
        assert self._work is None, "what failed before must be known before more is written"
        if self._threads is not None:
            self._work = self._threads.submit(work)
        else:
            work()

    def wait(self) -> None:
        """Wait for the work that was started, and raise its error."""
        work, self._work = self._work, None
        if work is not None:
            work.result()

    @property
    def idle(self) -> bool:
        """Whether no work goes on."""
        return self._work is None or self._work.done()


class HostCopy:
    """The weights and the optimizer's state of one moment, which stay as they are, pinned, while training goes on."""

    def __init__(self, model: "PreTrainedModel") -> None:
        import torch

        held = {one: _pinned(torch.empty_like(one, device="cpu")) for one in model.parameters()}
        memo = {id(one): torch.nn.Parameter(values, one.requires_grad) for one, values in held.items()}
        self.model: PreTrainedModel = copy.deepcopy(model, memo)
        torch.nn.Module.to(self.model, "cpu")
        self._held = {f"weights/{name}": parameter.data for name, parameter in self.model.named_parameters()}

    def take_weights(self, model: "PreTrainedModel") -> "PreTrainedModel":
        """Copy the weights of a model of the same kind; return the copy."""
        self.take_state({f"weights/{name}": parameter.data for name, parameter in model.named_parameters()})
        return self.model

    def take_state(self, state: "Mapping[str, torch.Tensor]") -> "dict[str, torch.Tensor]":
        """Copy a state of an engine (``Engine.state``); return the copies by the same names."""
        import torch

        for name, value in state.items():
            if name not in self._held:
                self._held[name] = _pinned(torch.empty_like(value, device="cpu"))
            self._held[name].copy_(value, non_blocking=True)
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        return {name: self._held[name] for name in state}


def _pinned(tensor: "torch.Tensor") -> "torch.Tensor":
    import torch

    return tensor.pin_memory() if torch.cuda.is_available() else tensor
