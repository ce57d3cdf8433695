"""Training with DeepSpeed: several processes, ZeRO 0 to 2. The only file that imports deepspeed."""

import logging
import os
import warnings
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import ValidationError
from torch import nn
from transformers import PreTrainedModel

from train.config import EngineSettings
from train.engine.deepspeed_config import build_config
from train.engine.engine import (
    MOMENTS,
    StepResult,
    check_finite,
    make_optimizer,
    plain_state,
    restore_generator,
    restore_plain,
    with_generator,
)
from train.engine.processes import Processes
from train.model.loss import summed_loss
from train.optim import OptimizerSettings
from ucurve.errors import UserError


class _LossModule(nn.Module):
    """The model with its loss, because DeepSpeed hooks into the calls of a module."""

    def __init__(self, model: PreTrainedModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, inputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return summed_loss(self.model, inputs, targets)


class DeepSpeedEngine:
    """An ``Engine`` on one or several processes under DeepSpeed.

    On the CPU weights are float32. On an accelerator they are bfloat16 beside float32 weights, which the optimizer
    changes and checkpoints hold.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        optimizer: OptimizerSettings,
        engine: EngineSettings,
        processes: Processes,
        sequences: int,
        device: torch.device,
    ) -> None:
        self._processes, self._share, self._micro_batch = processes, sequences // processes.size, engine.micro_batch
        micro_batches = -(-self._share // engine.micro_batch)
        self._scale = processes.size  # DeepSpeed averages gradients over the processes; here they are parts of a sum
        self._clip = optimizer.clip
        self._optimizer = make_optimizer(model, optimizer)
        config = build_config(engine, micro_batches, optimizer.clip, bfloat16=device.type != "cpu")
        self._plain = config["zero_optimization"]["stage"] == 0
        if self._plain:
            config["gradient_clipping"] = 0.0  # DeepSpeed forgets the norm in this case
        self._engine = _initialize(_LossModule(model.train()), self._optimizer, config, device, engine.config)
        self.model: PreTrainedModel = model
        self.device = device

    def step(self, windows: NDArray[np.int64], learning_rate: float, number: int) -> StepResult:
        """Take one optimizer step on this process's share of the batch; see ``Engine.step``.

        Raises:
            DivergedError: in every process, when the loss or the gradient is not finite.
        """
        loss_sum = self._sum(self._accumulate(windows))
        check_finite(loss_sum, "the loss", number)
        for group in self._optimizer.param_groups:
            group["lr"] = learning_rate
        norm = self._step_unpartitioned(number) if self._plain else self._step_partitioned(number)
        return StepResult(loss_sum, norm)

    def state(self) -> dict[str, torch.Tensor]:
        """Return the full state, gathered from all partitions; see ``Engine.state``."""
        if self._plain:
            return with_generator(plain_state(self.model, self._optimizer)) if self._processes.is_rank0 else {}
        from deepspeed.utils import safe_get_full_fp32_param, safe_get_full_optimizer_state

        state: dict[str, torch.Tensor] = {}
        taken = self._optimizer.state.get(self._partitions()[0], {}).get("step")
        if taken is not None:
            self._link_moments()
        for name, parameter in self.model.named_parameters():
            parts = {f"weights/{name}": safe_get_full_fp32_param(parameter)}
            if taken is not None:
                parts[f"optimizer/step/{name}"] = taken.clone()  # safetensors refuses one tensor under many names
                for key in MOMENTS:
                    parts[f"optimizer/{key}/{name}"] = safe_get_full_optimizer_state(parameter, key)
            if self._processes.is_rank0:
                state |= {key: value.detach().cpu() for key, value in parts.items()}
        return with_generator(state) if self._processes.is_rank0 else {}

    def load(self, state: dict[str, torch.Tensor]) -> None:
        """Load a state, each process its partitions; see ``Engine.load``."""
        if self._plain:
            restore_plain(self.model, self._optimizer, state)
        else:
            self._load_partitions(state)
        restore_generator(state)

    def export(self) -> PreTrainedModel:
        """Return a model with the float32 weights; see ``Engine.export``."""
        if next(self.model.parameters()).dtype == torch.float32:
            return self.model
        from deepspeed.utils import safe_get_full_fp32_param

        weights = {name: safe_get_full_fp32_param(parameter) for name, parameter in self.model.named_parameters()}
        if not self._processes.is_rank0:
            return self.model
        whole: PreTrainedModel = type(self.model)(self.model.config).float()
        whole.load_state_dict(weights)
        return whole

    def _accumulate(self, windows: NDArray[np.int64]) -> float:
        """Add up gradients over the micro batches of this process; the last one sums them over the processes."""
        targets = windows.shape[0] * (windows.shape[1] - 1)
        first = self._processes.rank * self._share
        mine = torch.from_numpy(windows[first : first + self._share])
        total = 0.0
        for number, part in enumerate(mine.split(self._micro_batch)):
            if number:
                self._engine.step()  # counts the micro batch before; no optimizer step until the last
            ids = part.to(self.device)
            loss = self._engine(ids[:, :-1], ids[:, 1:])
            self._engine.backward(loss * (self._scale / targets), scale_wrt_gas=False)
            total += loss.item()
        return total

    def _step_unpartitioned(self, number: int) -> float:
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), self._clip).item()
        check_finite(norm, "the norm of the gradient", number)
        self._engine.step()
        return norm

    def _step_partitioned(self, number: int) -> float:
        self._engine.step()  # leaves the weights as they are where the norm is not finite
        norm = float(self._engine.get_global_grad_norm())
        check_finite(norm, "the norm of the gradient", number)
        return norm

    def _sum(self, value: float) -> float:
        if self._processes.size == 1:
            return value
        total = torch.tensor(value, dtype=torch.float64, device=self.device)
        torch.distributed.all_reduce(total)
        return total.item()

    def _partitions(self) -> list[torch.Tensor]:
        """Return this process's part of each parameter group: one flat float32 tensor."""
        return [group["params"][0] for group in self._optimizer.param_groups]

    def _load_partitions(self, state: dict[str, torch.Tensor]) -> None:
        from deepspeed.utils import safe_set_full_fp32_param, safe_set_full_optimizer_state

        taken = next((value for name, value in state.items() if name.startswith("optimizer/step/")), None)
        if taken is not None:
            self._create_moments(taken)
        for name, parameter in self.model.named_parameters():
            weight = state[f"weights/{name}"].to(self.device)
            parameter.data.copy_(weight)
            safe_set_full_fp32_param(parameter, weight)
            for key in MOMENTS if taken is not None else ():
                safe_set_full_optimizer_state(parameter, state[f"optimizer/{key}/{name}"].to(self.device), key)

    def _create_moments(self, taken: torch.Tensor) -> None:
        """Create the entries that the optimizer would create in its first step."""
        for partition in self._partitions():
            moments = {key: torch.zeros_like(partition) for key in MOMENTS}
            self._optimizer.state[partition] = moments | {"step": taken.to(self.device, copy=True)}
        self._link_moments()

    def _link_moments(self) -> None:
        """Link the moments; DeepSpeed itself does it after the first step of the first group, which is too early."""
        self._engine.optimizer._hp_optimizer_states_linked = False
        self._engine.optimizer._lazy_init_hp_params_optimizer_state()


def _initialize(
    module: nn.Module, optimizer: torch.optim.Optimizer, config: dict[str, Any], device: torch.device, file: str | None
) -> Any:
    deepspeed = import_deepspeed(device.type)
    buffers = {name: buffer.clone() for name, buffer in module.named_buffers()}
    try:
        engine = deepspeed.initialize(model=module, optimizer=optimizer, config=config)[0]
    except ValidationError as error:
        raise UserError(f"engine.config={file}: DeepSpeed does not take it: {error}") from error
    for name, buffer in module.named_buffers():  # rotary frequencies that were cast to bfloat16 are other positions
        buffer.data = buffers[name].to(buffer.device)
    return engine


def import_deepspeed(device: str) -> Any:
    """Import DeepSpeed for a device, quietly and without building anything for the CPU."""
    if device == "cpu":
        os.environ["DS_ACCELERATOR"] = "cpu"
    warnings.filterwarnings("ignore", category=FutureWarning, module="torch.distributed")  # of names DeepSpeed uses
    logging.getLogger("DeepSpeed").setLevel(logging.ERROR)
    import deepspeed

    logging.getLogger("DeepSpeed").setLevel(logging.ERROR)
    if device == "cpu":
        deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False  # gloo does; this would need a compiler
    return deepspeed
