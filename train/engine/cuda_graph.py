"""The launches of a step recorded once as a CUDA graph: a small model's kernels take less time than launching them."""

from collections.abc import Callable

import torch

from ucurve.progress import log_line

Gradients = Callable[[torch.Tensor], tuple[torch.Tensor, torch.Tensor]]

_FIRST_STEPS = 3  # not recorded: they compile, choose kernels and show how much memory a step takes
_MEMORY_SHARE = 1 / 8  # of the device's memory, at most; the graph keeps what it needs, so that scoring has less


class GraphedGradients:
    """Computes the gradients of a share of the batch, from the fourth step on by replaying a CUDA graph.

    The operations and their results are those of ``compute``, which returns loss and gradient norm and leaves the
    gradients in ``parameters``. Models whose steps take much memory, and which are large enough to keep a device busy,
    are computed without a graph.
    """

    def __init__(self, compute: Gradients, parameters: list[torch.nn.Parameter], device: torch.device) -> None:
        self._compute, self._parameters, self._device = compute, parameters, device
        self._shape, self._steps = torch.Size(), 0
        self._recorded: _Recorded | None = None

    def __call__(self, share: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the loss and the norm of the gradient of a share; where its shape changes, all begins again."""
        # A graph replays fixed shapes, and the length of the sequences may change within a run.
        if share.shape != self._shape:
            self._shape, self._steps, self._recorded = share.shape, 0, None
        self._steps += 1
        if self._steps == _FIRST_STEPS + 1:
            total = torch.cuda.get_device_properties(self._device).total_memory
            needed = torch.cuda.max_memory_allocated(self._device) - torch.cuda.memory_allocated(self._device)
            if needed < _MEMORY_SHARE * total:
                self._record(share)
        return self._compute(share) if self._recorded is None else self._recorded.replay(share)

    def _record(self, share: torch.Tensor) -> None:
        """Record the operations of a step; where that fails, the steps go on without a graph."""
        try:
            self._recorded = _Recorded(self._compute, self._parameters, share)
        except RuntimeError as error:  # also of too little memory
            log_line(f"steps are not recorded as a CUDA graph, and small models are slower without one: {error}")
            # Operations are not computed while they are recorded, so these gradients hold no values.
            for parameter in self._parameters:
                parameter.grad = None


class _Recorded:
    def __init__(self, compute: Gradients, parameters: list[torch.nn.Parameter], share: torch.Tensor) -> None:
        self._share, self._parameters = share.clone(), parameters
        self._graph = torch.cuda.CUDAGraph()
        torch.cuda.empty_cache()  # the graph has a pool of its own
        # By thread, because the next batch is copied to the device in another one.
        with torch.cuda.graph(self._graph, capture_error_mode="thread_local"):
            self._result = compute(self._share)
        self._gradients = [parameter.grad for parameter in parameters]

    def replay(self, share: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Compute the gradients of a share by the recorded operations."""
        # The graph reads and writes the memory that it was recorded with.
        self._share.copy_(share)
        self._graph.replay()
        # The optimizer has set ``grad`` to None; the graph still writes into the same tensors.
        for parameter, gradient in zip(self._parameters, self._gradients, strict=True):
            parameter.grad = gradient
        return self._result
