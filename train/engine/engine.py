"""One optimizer step in plain PyTorch, on one or several processes; and the protocol of engines."""

import contextlib
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from transformers import PreTrainedModel

from ucurve.errors import RunError
from ucurve.huggingface.products import use_fast_products
from ucurve.storage.facts import Precision
from ucurve.training.engine.cuda_graph import GraphedGradients
from ucurve.training.engine.micro_batch import MicroBatch
from ucurve.training.engine.optimizers import (
    forget_gradients,
    make_optimizers,
    plain_state,
    reserved_bytes,
    restore_plain,
    take_step,
)
from ucurve.training.engine.processes import Processes
from ucurve.training.model.design import NOT_PREDICTED
from ucurve.training.model.dropout import sequence_keys
from ucurve.training.model.hidden import make_hidden_states
from ucurve.training.model.loss import summed_loss
from ucurve.training.model.refusals import dropout_shares
from ucurve.training.model.view import changes_shapes
from ucurve.training.optim import OptimizerSettings

Flags = Callable[[], tuple[bool, ...]]  # what this process has to say during a step, as that a signal has come


def no_flags() -> tuple[bool, ...]:
    """Say nothing."""
    return ()


class DivergedError(RunError):
    """A loss or gradient that is not finite; the weights are still those after the step before."""


@dataclass(frozen=True)
class StepResult:
    """The loss of a global batch in nats, summed over all targets, and the gradient's norm before clipping.

    ``separator_loss`` is the part of the loss that is of the tokens between documents; 0 for masked models. Of each
    flag that the step was given, ``flags`` has whether it was set in any process.
    """

    loss_sum: float
    separator_loss: float
    grad_norm: float
    flags: tuple[bool, ...] = ()


class Engine(Protocol):
    """What the trainer needs of an engine; every process calls every method.

    A batch has the shape [sequences, length + 1], of which each token is the target of the one before it, or
    [sequences, 2, length]: inputs, and targets that are ``NOT_PREDICTED`` where there is none.
    """

    model: PreTrainedModel  # float32 in every precision, and not compiled

    def place(self, windows: NDArray[np.int64]) -> torch.Tensor:
        """Copy sequences of a batch, those of this process, to the device, also during a step."""

    def step(self, share: torch.Tensor, learning_rate: float, number: int, flags: Flags = no_flags) -> StepResult:
        """Take optimizer step ``number`` on a share of ``place``; a ``DivergedError`` leaves the weights unchanged.

        The flags are read once the gradients are computed, and reduced over the processes together with the loss.
        """

    def state(self) -> dict[str, torch.Tensor]:
        """Return in rank 0 the full state, by names that all engines share; see ``plain_state``."""

    def load(self, state: dict[str, torch.Tensor]) -> None:
        """Load a state that ``state`` of any engine returned, with any number of processes."""


class LossModule(nn.Module):
    """A model with its loss, because DistributedDataParallel and DeepSpeed hook into the calls of a module.

    It is compiled if ``compiled``, except where ``plain`` is set, for passes of other sizes than those of the steps.
    """

    def __init__(self, model: PreTrainedModel, precision: Precision, compiled: bool) -> None:
        super().__init__()
        use_fast_products()
        self.model = model
        self.plain = False
        self.drops = bool(dropout_shares(model.config.to_dict()))
        self.compiled = compiled and not changes_shapes(model)
        self._plain_states = make_hidden_states(precision)
        self._hidden_states = make_hidden_states(precision, self.compiled)

    def forward(
        self, inputs: torch.Tensor, targets: torch.Tensor, keys: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the summed loss of a batch, in nats, and the part of it that is of the tokens between documents.

        A model with dropout drops units by the ``keys`` of the sequences; without keys it drops any.
        """
        if self.drops and keys is None:
            # A pass that only tries out the memory belongs to no step, and any keys do.
            keys = inputs.new_zeros(len(inputs))
        if self.plain:
            return summed_loss(self.model, inputs, targets, self._plain_states, keys=keys)
        fused = self.compiled and inputs.device.type != "cpu"
        return summed_loss(self.model, inputs, targets, self._hidden_states, fused, keys)

    def keys_of(self, share: torch.Tensor, number: int, seed: int, processes: Processes) -> torch.Tensor | None:
        """Return the keys of this process's share of the batch of step ``number``; None without dropout."""
        if not self.drops:
            return None
        return sequence_keys(seed, number, processes.rank * len(share), len(share)).to(share.device)

    def try_out(self, ids: torch.Tensor) -> None:
        """Compute gradients and forget them."""
        self.plain = True
        try:
            torch.autograd.grad(self(*split_batch(ids))[0], list(self.model.parameters()))
        finally:
            self.plain = False


class TorchEngine:
    """Plain PyTorch on one process, and DistributedDataParallel on several."""

    def __init__(
        self,
        model: PreTrainedModel,
        optimizer: OptimizerSettings,
        micro_batch: int | Literal["auto"],
        device: torch.device,
        precision: Precision = "float32",
        compiled: bool = False,
        processes: Processes | None = None,
        reduction: Precision = "float32",
        seed: int = 0,
    ) -> None:
        self._seed = seed  # of dropout
        self.device = device
        self.model: PreTrainedModel = model.train()
        torch.nn.Module.to(self.model, device)
        self._processes = processes or Processes()
        self._module = LossModule(model, precision, compiled)
        self._several = None if self._processes.size == 1 else distribute(self._module, device, reduction)
        self._loss = self._several or self._module
        self._clip = optimizer.clip
        self._optimizers = make_optimizers(model, optimizer)
        self._micro_batch = MicroBatch(micro_batch, device, self._processes)
        alone = device.type == "cuda" and self._several is None
        # Dropout needs other keys in each step, which a recorded graph would not take.
        graphed = self._module.compiled and alone and not self._module.drops
        self._gradients = (
            GraphedGradients(self._clipped_gradients, list(model.parameters()), device)
            if graphed
            else self._clipped_gradients
        )

    def place(self, windows: NDArray[np.int64]) -> torch.Tensor:
        """Copy sequences to the device; see ``Engine.place``."""
        return copy_to_device(windows, self.device)

    def step(self, share: torch.Tensor, learning_rate: float, number: int, flags: Flags = no_flags) -> StepResult:
        """Take one optimizer step; see ``Engine.step``."""
        if self._micro_batch.probing(share):
            self._micro_batch.probe(share, self._module.try_out, reserved_bytes(self.model, self._optimizers))
        keys = self._module.keys_of(share, number, self._seed, self._processes)
        gradients = self._gradients if share.ndim == 2 else self._clipped_gradients  # no graph of changing shapes
        if keys is not None:
            gradients = partial(self._clipped_gradients, keys=keys)
        total, norm = self._micro_batch.repeat_until_it_fits(
            lambda: gradients(share), lambda: forget_gradients(self._optimizers), share
        )
        result = read_result(reduce_loss(self._processes, total, flags()), norm, number)
        take_step(self._optimizers, learning_rate)
        return result

    def _clipped_gradients(
        self, share: torch.Tensor, keys: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        total = self.accumulate(share, keys)
        return total, torch.nn.utils.clip_grad_norm_(self.model.parameters(), self._clip)

    def accumulate(self, share: torch.Tensor, keys: torch.Tensor | None = None) -> torch.Tensor:
        """Add the gradient of the mean loss per target to ``.grad``; return both sums of the share, float64.

        They are those of ``LossModule.forward``, which says what the keys are. With several processes it is the
        gradient of the global batch, whose parts are sent during the last backward pass.
        """
        # Gradients are averaged over the processes, so each process divides by its part of the targets.
        targets = count_targets(self._processes, share) / self._processes.size
        total = torch.zeros(2, dtype=torch.float64, device=self.device)  # float64[2]
        # Gradients are exchanged once in a step, during the backward pass of the last micro batch.
        *others, last = split_inputs(self._micro_batch, share, keys)
        with contextlib.nullcontext() if self._several is None else self._several.no_sync():
            for inputs in others:
                total += self._add_gradients(inputs, targets)
        return total + self._add_gradients(last, targets)

    def _add_gradients(self, inputs: tuple[torch.Tensor, ...], targets: float | torch.Tensor) -> torch.Tensor:
        loss, of_separators = self._loss(*inputs)
        (loss / targets).backward()  # by all targets: the sum does not depend on how the batch is cut
        return torch.stack((loss.detach(), of_separators))

    def state(self) -> dict[str, torch.Tensor]:
        """Return the full state; see ``Engine.state``."""
        return plain_state(self.model, self._optimizers) if self._processes.is_rank0 else {}

    def load(self, state: dict[str, torch.Tensor]) -> None:
        """Load a state; see ``Engine.load``."""
        restore_plain(self.model, self._optimizers, state)


def split_batch(ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return inputs and targets of a batch, see ``Engine``; both have shape [sequences, length]."""
    return (ids[:, :-1], ids[:, 1:]) if ids.ndim == 2 else (ids[:, 0], ids[:, 1])


def split_inputs(
    micro_batch: MicroBatch, share: torch.Tensor, keys: torch.Tensor | None
) -> list[tuple[torch.Tensor, ...]]:
    """Return the inputs of ``LossModule`` for each micro batch of a share, whose sequences may have keys."""
    parts = map(split_batch, micro_batch.split(share))
    if keys is None:
        return list(parts)
    return [(*part, own) for part, own in zip(parts, micro_batch.split(keys), strict=True)]


def count_targets(processes: Processes, share: torch.Tensor) -> int | torch.Tensor:
    """Return how many targets the global batch has; on the device where sequences have different numbers of them."""
    if share.ndim == 2:
        # All processes have as many sequences, and of one length.
        return share[:, 1:].numel() * processes.size
    count = (share[:, 1] != NOT_PREDICTED).sum()
    if processes.size > 1:
        dist.all_reduce(count)
    # A batch may mask no token at all; its loss is then 0, and not 0 / 0.
    return count.clamp(min=1)


def copy_to_device(windows: NDArray[np.int64], device: torch.device) -> torch.Tensor:
    """Copy windows to a device, on CUDA without waiting for it: the copy is queued behind the work it has."""
    ids = torch.from_numpy(windows)
    if device.type != "cuda":
        return ids.to(device)
    with torch.cuda.device(device):  # the current device is one of each thread
        # Only a copy from pinned memory runs beside the work of the device.
        return ids.pin_memory().to(device, non_blocking=True)


def distribute(loss: LossModule, device: torch.device, reduction: Precision) -> DistributedDataParallel:
    """Return the module whose backward pass averages gradients over the processes, bucket by bucket as they come.

    ``reduction`` is the type in which they are sent and added up.
    """
    devices = None if device.type == "cpu" else [device]
    with warnings.catch_warnings():
        # The newer name of broadcast_buffers is not in every version.
        warnings.simplefilter("ignore", FutureWarning)
        # The buffers, which are the frequencies of the rotary positions, are the same in all processes.
        distributed = DistributedDataParallel(
            loss, devices, broadcast_buffers=False, gradient_as_bucket_view=True
        )
    if reduction == "bfloat16":
        distributed.register_comm_hook(None, _average_in_bfloat16)
    # The first backward pass decides what is sent together. If it were that of a step, a run that goes on would add up
    # gradients of three processes and more in another order than one that was never stopped.
    ids = torch.zeros((1, 2), dtype=torch.int64, device=device)
    loss.plain = True
    distributed(ids, ids)[0].backward()
    loss.zero_grad()
    loss.plain = False
    return distributed


def _average_in_bfloat16(
    _: None,
    bucket: dist.GradBucket,  # type: ignore[name-defined]
) -> torch.futures.Future[torch.Tensor]:
    # torch's own hook does the same on CUDA and refuses processors.
    narrow = bucket.buffer().bfloat16().div_(dist.get_world_size())
    work = dist.all_reduce(narrow, async_op=True)
    assert work is not None, "it is asynchronous"
    done: torch.futures.Future[torch.Tensor] = work.get_future().then(
        lambda future: bucket.buffer().copy_(future.value()[0])
    )
    return done


def reduce_loss(processes: Processes, sums: torch.Tensor, flags: tuple[bool, ...] = ()) -> torch.Tensor:
    """Return both sums of the loss over all processes, float64, followed by how many of them have set each flag."""
    values = torch.zeros(2 + len(flags), dtype=torch.float64, device=sums.device)  # all of them need one exchange
    values[:2] = sums
    for place in (2 + number for number, flag in enumerate(flags) if flag):
        values[place].fill_(1.0)  # copied to the device, it would make the processor wait
    if processes.size > 1:
        dist.all_reduce(values)
    return values


def read_result(reduced: torch.Tensor, norm: torch.Tensor, number: int) -> StepResult:
    """Read ``reduce_loss`` and the norm from the device: the only time in a step that the processor waits for it.

    Raises:
        DivergedError: when one of them is not finite.
    """
    grad_norm, loss, of_separators, *flags = torch.cat((norm.double()[None], reduced)).tolist()
    check_finite(loss, "the loss", number)
    check_finite(grad_norm, "the norm of the gradient", number)
    return StepResult(loss, of_separators, grad_norm, tuple(flag > 0 for flag in flags))


def check_finite(value: float, what: str, step: int) -> None:
    """Raise ``DivergedError`` for a value that is not finite, before it can reach the weights."""
    if not math.isfinite(value):
        raise DivergedError(
            f"{what} is {value} at step {step}; the state after step {step - 1} is kept in resume/"
        )
