"""One optimizer step in plain PyTorch: forward and backward passes, clipping, AdamW; and the protocol of engines."""

import math
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import PreTrainedModel

from train.engine.cuda_graph import GraphedGradients
from train.engine.micro_batch import MicroBatch
from train.model.hidden import make_hidden_states
from train.model.loss import summed_loss
from train.model.precision import Precision
from train.optim import OptimizerSettings
from ucurve.errors import RunError

GENERATOR = "generator"  # of torch, the only one that training may draw from
_STEP, MOMENTS = "step", ("exp_avg", "exp_avg_sq")


class DivergedError(RunError):
    """A loss or gradient that is not finite; the weights are still those after the step before."""


@dataclass(frozen=True)
class StepResult:
    """The negative log-likelihood of all targets of a global batch in nats, and the gradient's norm before clipping."""

    loss_sum: float
    grad_norm: float


class Engine(Protocol):
    """What the trainer needs of an engine; every process calls every method."""

    model: PreTrainedModel  # float32 in every precision, and not compiled

    def place(self, windows: NDArray[np.int64]) -> torch.Tensor:
        """Copy this process's share of a batch, shape [sequences, length + 1], to the device, also during a step."""

    def step(self, share: torch.Tensor, learning_rate: float, number: int) -> StepResult:
        """Take optimizer step ``number`` on a share of ``place``; a ``DivergedError`` leaves the weights unchanged."""

    def state(self) -> dict[str, torch.Tensor]:
        """Return in rank 0 the full state, by names that all engines share; see ``plain_state``."""

    def load(self, state: dict[str, torch.Tensor]) -> None:
        """Load a state that ``state`` of any engine returned, with any number of processes."""


class TorchEngine:
    """One process, plain PyTorch."""

    def __init__(
        self,
        model: PreTrainedModel,
        optimizer: OptimizerSettings,
        micro_batch: int | Literal["auto"],
        device: torch.device,
        precision: Precision = "float32",
        compiled: bool = False,
    ) -> None:
        self.device = device
        self.model: PreTrainedModel = model.train()
        torch.nn.Module.to(self.model, device)
        self._micro_batch = MicroBatch(micro_batch, device)
        self._hidden_states = make_hidden_states(precision, compiled)
        self._fused = compiled and device.type != "cpu"
        self._clip = optimizer.clip
        self._optimizer = make_optimizer(model, optimizer)
        graphed = compiled and device.type == "cuda"
        self._gradients = (
            GraphedGradients(self._clipped_gradients, list(model.parameters()), device)
            if graphed
            else self._clipped_gradients
        )

    def place(self, windows: NDArray[np.int64]) -> torch.Tensor:
        """Copy a batch to the device; see ``Engine.place``."""
        return copy_to_device(windows, self.device)

    def step(self, share: torch.Tensor, learning_rate: float, number: int) -> StepResult:
        """Take one optimizer step; see ``Engine.step``."""
        total, norm = self._micro_batch.repeat_until_it_fits(
            lambda: self._gradients(share), self._optimizer.zero_grad, share
        )
        result = read_result(total, norm, number)
        for group in self._optimizer.param_groups:
            group["lr"] = learning_rate
        self._optimizer.step()
        self._optimizer.zero_grad()
        return result

    def _clipped_gradients(self, share: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        total = self.accumulate(share)
        return total, torch.nn.utils.clip_grad_norm_(self.model.parameters(), self._clip)

    def accumulate(self, share: torch.Tensor) -> torch.Tensor:
        """Add the gradient of the mean loss per token to ``.grad``; return the summed loss in nats, float64."""
        targets = share[:, 1:].numel()
        total = torch.zeros((), dtype=torch.float64, device=self.device)
        for ids in self._micro_batch.split(share):
            loss = summed_loss(self.model, ids[:, :-1], ids[:, 1:], self._hidden_states, self._fused)
            (loss / targets).backward()  # by all targets: the sum does not depend on how the batch is cut
            total += loss.detach()
        return total

    def state(self) -> dict[str, torch.Tensor]:
        """Return the full state; see ``Engine.state``."""
        return plain_state(self.model, self._optimizer)

    def load(self, state: dict[str, torch.Tensor]) -> None:
        """Load a state; see ``Engine.load``."""
        restore_plain(self.model, self._optimizer, state)


def copy_to_device(windows: NDArray[np.int64], device: torch.device) -> torch.Tensor:
    """Copy windows to a device, on CUDA without waiting for it: the copy is queued behind the work it has."""
    ids = torch.from_numpy(windows)
    if device.type != "cuda":
        return ids.to(device)
    with torch.cuda.device(device):  # the current device is one of each thread
        return ids.pin_memory().to(device, non_blocking=True)


def read_result(loss_sum: torch.Tensor, norm: torch.Tensor, number: int) -> StepResult:
    """Read loss and gradient norm from the device: the only time in a step that the processor waits for it."""
    loss, grad_norm = torch.stack((loss_sum, norm.double())).tolist()
    check_finite(loss, "the loss", number)
    check_finite(grad_norm, "the norm of the gradient", number)
    return StepResult(loss, grad_norm)


def make_optimizer(model: torch.nn.Module, settings: OptimizerSettings) -> torch.optim.AdamW:
    """Return AdamW over a model's parameters."""
    return torch.optim.AdamW(
        parameter_groups(model, settings.weight_decay),
        lr=settings.learning_rate,
        betas=settings.betas,
        eps=settings.eps,
        fused=True,
    )


def plain_state(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, torch.Tensor]:
    """Return the weights of a model, the moments of an optimizer over its own parameters, and torch's generator."""
    names: dict[torch.Tensor, str] = {parameter: name for name, parameter in model.named_parameters()}
    state = {f"weights/{name}": parameter.detach() for parameter, name in names.items()}
    for parameter, moments in optimizer.state.items():
        state |= {f"optimizer/{key}/{names[parameter]}": value for key, value in moments.items()}
    return state | {GENERATOR: torch.get_rng_state()}


def restore_plain(model: torch.nn.Module, optimizer: torch.optim.Optimizer, state: dict[str, torch.Tensor]) -> None:
    """Load a state that ``plain_state`` returned."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(state[f"weights/{name}"])
            for key in (_STEP, *MOMENTS):
                moment = state.get(f"optimizer/{key}/{name}")
                if moment is not None:
                    optimizer.state[parameter][key] = moment.to(parameter.device)
    torch.set_rng_state(state[GENERATOR])


def check_state_complete(state: dict[str, torch.Tensor], model: torch.nn.Module, step: int) -> None:
    """Check that a resume state has every weight and every moment; training without one would not be the same run."""
    names = [name for name, _ in model.named_parameters()]
    wanted = {GENERATOR, *(f"weights/{name}" for name in names)}
    if step > 0 or any(name.startswith("optimizer/") for name in state):
        wanted |= {f"optimizer/{key}/{name}" for name in names for key in (_STEP, *MOMENTS)}
    missing = sorted(wanted - set(state))
    if missing:
        raise RunError(
            f"the state after step {step} lacks {len(missing)} of {len(wanted)} parts, as {missing[0]}; "
            "continuing from it would reset the optimizer"
        )


def parameter_groups(model: torch.nn.Module, weight_decay: float) -> list[dict[str, object]]:
    """Split parameters into matrices, which decay, and the rest: biases, layer norms and what a model marks so."""
    decaying, rest = list[torch.nn.Parameter](), list[torch.nn.Parameter]()
    for parameter in model.parameters():
        decays = parameter.ndim >= 2 and not getattr(parameter, "_no_weight_decay", False)  # see ``LibraryModel``
        (decaying if decays else rest).append(parameter)
    return [{"params": decaying, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]


def check_finite(value: float, what: str, step: int) -> None:
    """Raise ``DivergedError`` for a value that is not finite, before it can reach the weights."""
    if not math.isfinite(value):
        raise DivergedError(f"{what} is {value} at step {step}; the state after step {step - 1} is kept in resume/")
