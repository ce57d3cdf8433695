"""Training with DeepSpeed: several processes, ZeRO 0 to 2. The only file that imports deepspeed."""

import logging
import os
import warnings
import weakref
from types import ModuleType

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import ValidationError
from transformers import PreTrainedModel

from ucurve.errors import UserError
from ucurve.training.config import EngineSettings
from ucurve.training.engine.deepspeed_config import build_config
from ucurve.training.engine.engine import (
    Flags,
    LossModule,
    StepResult,
    check_finite,
    copy_to_device,
    count_targets,
    no_flags,
    read_result,
    reduce_loss,
    split_inputs,
)
from ucurve.training.engine.micro_batch import MicroBatch
from ucurve.training.engine.optimizers import (
    GENERATOR,
    MOMENTS,
    make_optimizers,
    plain_state,
    reserved_bytes,
    restore_plain,
    set_rate,
)
from ucurve.training.engine.processes import Processes
from ucurve.training.optim import OptimizerSettings


class DeepSpeedEngine:
    """An ``Engine`` on one or several processes under DeepSpeed, for which everything is float32.

    Products in bfloat16 are computed inside the model, as in ``TorchEngine``, so that both engines compute the same in
    every precision.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        optimizer: OptimizerSettings,
        engine: EngineSettings,
        processes: Processes,
        device: torch.device,
        compiled: bool = False,
        seed: int = 0,
    ) -> None:
        self._seed = seed  # of dropout
        self._processes = processes
        self._micro_batch = MicroBatch(engine.micro_batch, device, processes)
        # DeepSpeed averages gradients over the processes; here they are parts of a sum.
        self._scale = processes.size
        self._clip = optimizer.clip
        # There is one optimizer, because ``check_processes`` refuses Muon under DeepSpeed.
        [self._optimizer] = make_optimizers(model, optimizer)
        config = build_config(engine, optimizer.clip)
        self._plain = engine.zero_stage == 0
        if self._plain:
            config["gradient_clipping"] = 0.0  # DeepSpeed forgets the norm in this case
        self._module = LossModule(model.train(), engine.precision, compiled)
        library = import_deepspeed(device.type)
        try:
            self._engine = library.initialize(model=self._module, optimizer=self._optimizer, config=config)[0]
        except ValidationError as error:
            raise UserError(f"engine.config={engine.config}: DeepSpeed does not take it: {error}") from error
        # Without it the hooks of ZeRO keep weights and moments in memory, in a grid those of every run so far.
        weakref.finalize(self, self._engine.destroy).atexit = False
        self.model: PreTrainedModel = model
        self.device = device

    def place(self, windows: NDArray[np.int64]) -> torch.Tensor:
        """Copy sequences to the device; see ``Engine.place``."""
        return copy_to_device(windows, self.device)

    def step(self, share: torch.Tensor, learning_rate: float, number: int, flags: Flags = no_flags) -> StepResult:
        """Take one optimizer step on this process's share; a ``DivergedError`` is raised in all processes."""
        if self._micro_batch.probing(share):
            self._micro_batch.probe(share, self._module.try_out, reserved_bytes(self.model, [self._optimizer]))
        keys = self._module.keys_of(share, number, self._seed, self._processes)
        try:
            reduced = reduce_loss(self._processes, self._accumulate(share, keys), flags())
        except torch.OutOfMemoryError as error:
            raise self._micro_batch.too_large(share, str(error)) from error
        set_rate([self._optimizer], learning_rate)
        if self._plain:
            # Under ZeRO 0 each process has whole gradients, which are clipped here as in ``TorchEngine``.
            result = read_result(
                reduced, torch.nn.utils.clip_grad_norm_(self.model.parameters(), self._clip), number
            )
            self._engine.step()
            return result
        loss_sum, of_separators, *found = reduced.tolist()
        check_finite(loss_sum, "the loss", number)
        self._engine.step()  # leaves the weights as they are where the norm is not finite
        norm = float(self._engine.get_global_grad_norm())
        check_finite(norm, "the norm of the gradient", number)
        return StepResult(loss_sum, of_separators, norm, tuple(flag > 0 for flag in found))

    def state(self) -> dict[str, torch.Tensor]:
        """Return the full state, gathered from all partitions; see ``Engine.state``."""
        if self._plain:
            return plain_state(self.model, [self._optimizer]) if self._processes.is_rank0 else {}
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
        return state | {GENERATOR: torch.get_rng_state()} if self._processes.is_rank0 else {}

    def load(self, state: dict[str, torch.Tensor]) -> None:
        """Load a state, each process its partitions; see ``Engine.load``."""
        if self._plain:
            restore_plain(self.model, [self._optimizer], state)
        else:
            self._load_partitions(state)
            torch.set_rng_state(state[GENERATOR])

    def _accumulate(self, share: torch.Tensor, keys: torch.Tensor | None) -> torch.Tensor:
        """Add up gradients over the micro batches of this process; the last one sums them over the processes."""
        targets = count_targets(self._processes, share)
        # float64[2]: all targets, and the tokens between documents
        total = torch.zeros(2, dtype=torch.float64, device=self.device)
        micro_batches = split_inputs(self._micro_batch, share, keys)
        for left, inputs in zip(reversed(range(len(micro_batches))), micro_batches, strict=True):
            # DeepSpeed's ``step`` acts only after a micro batch that is marked as the last one.
            self._engine.set_gradient_accumulation_boundary(left == 0)
            loss, of_separators = self._engine(*inputs)
            # The loss is divided by all targets already; DeepSpeed would divide it by the micro batches again.
            self._engine.backward(loss * (self._scale / targets), scale_wrt_gas=False)
            total += torch.stack((loss.detach(), of_separators))
        return total

    def _partitions(self) -> list[torch.Tensor]:
        """Return this process's part of each parameter group: one flat float32 tensor."""
        return [group["params"][0] for group in self._optimizer.param_groups]

    def _load_partitions(self, state: dict[str, torch.Tensor]) -> None:
        """Load weights and moments into this process's partitions of ZeRO 1 and 2."""
        from deepspeed.utils import safe_set_full_fp32_param, safe_set_full_optimizer_state

        taken = next((value for name, value in state.items() if name.startswith("optimizer/step/")), None)
        if taken is not None:  # the entries that the optimizer would create in its first step
            for partition in self._partitions():
                moments = {key: torch.zeros_like(partition) for key in MOMENTS}
                self._optimizer.state[partition] = moments | {"step": taken.to(self.device, copy=True)}
            self._link_moments()
        for name, parameter in self.model.named_parameters():
            weight = state[f"weights/{name}"].to(self.device)
            parameter.data.copy_(weight)
            # ZeRO steps flat copies of the weights, which have to be loaded besides the model's own.
            safe_set_full_fp32_param(parameter, weight)
            for key in MOMENTS if taken is not None else ():
                safe_set_full_optimizer_state(parameter, state[f"optimizer/{key}/{name}"].to(self.device), key)

    def _link_moments(self) -> None:
        """Link the moments; DeepSpeed itself does it after the first step of the first group, which is too early."""
        self._engine.optimizer._hp_optimizer_states_linked = False
        self._engine.optimizer._lazy_init_hp_params_optimizer_state()


def import_deepspeed(device: str) -> ModuleType:
    """Import DeepSpeed for a device, quietly and without building anything for the CPU."""
    if device == "cpu":
        os.environ["DS_ACCELERATOR"] = "cpu"
    # DeepSpeed uses names that warn.
    warnings.filterwarnings("ignore", category=FutureWarning, module="torch.distributed")
    logging.getLogger("DeepSpeed").setLevel(logging.ERROR)
    import deepspeed

    # DeepSpeed sets the level of its logger while it is imported.
    logging.getLogger("DeepSpeed").setLevel(logging.ERROR)
    if device == "cpu":
        deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False  # gloo does; this would need a compiler
    library: ModuleType = deepspeed
    return library
