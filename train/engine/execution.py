"""Chooses the engine and the device of a run, and checks that the global batch divides over the processes."""

import importlib.util
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from train.config import RunSettings
from train.engine.deepspeed_config import build_config, read_override
from train.engine.processes import Processes, connect
from ucurve.errors import UserError

if TYPE_CHECKING:  # the checks of a configuration must not wait for torch
    import torch
    from transformers import PreTrainedModel

    from train.engine.engine import Engine


@dataclass(frozen=True)
class Execution:
    """How a run is computed here.

    Attributes:
        device: of this process; on a machine with several CUDA devices the one of its local rank.
    """

    kind: Literal["torch", "deepspeed"]
    device: "torch.device"
    processes: Processes

    def build_engine(self, settings: RunSettings, model: "PreTrainedModel") -> "Engine":
        """Build the engine that trains a model; the processes are connected where it needs that."""
        if self.kind == "torch":
            from train.engine.engine import TorchEngine

            return TorchEngine(model, settings.optimizer, settings.engine.micro_batch, self.device)
        from train.engine.deepspeed import DeepSpeedEngine

        sequences = settings.batch.sequences
        return DeepSpeedEngine(model, settings.optimizer, settings.engine, self.processes, sequences, self.device)


def check_processes(settings: RunSettings, processes: Processes) -> None:
    """Check the engine against the number of processes, as far as that is possible without torch.

    Raises:
        UserError: naming what does not fit, and what would.
    """
    read_override(settings.engine.config)
    several = processes.size > 1
    if settings.engine.kind == "torch" and several:
        raise UserError(f"engine=torch runs in one process, and {processes.size} were started; set engine=deepspeed")
    if (settings.engine.kind == "deepspeed" or several) and not _has_deepspeed():
        reason = f"{processes.size} processes need DeepSpeed" if several else "engine=deepspeed"
        raise UserError(f"{reason}: the package deepspeed is not installed; install ucurve with the extra [deepspeed]")
    if settings.batch.sequences % processes.size:
        raise UserError(
            f"batch.sequences={settings.batch.sequences} cannot be shared by {processes.size} processes; "
            f"take a multiple of {processes.size}, or another number of processes"
        )


def choose_execution(settings: RunSettings, processes: Processes) -> Execution:
    """Choose engine and device for settings that ``check_processes`` has passed, and connect the processes.

    Raises:
        UserError: when the engine cannot run on the device, naming what would fit.
    """
    import torch

    device = choose_device(settings.engine.device)
    if device.type == "cuda":
        device = torch.device("cuda", processes.local_rank)
        torch.cuda.set_device(device)
    else:
        os.environ["DS_ACCELERATOR"] = "cpu"  # transformers imports DeepSpeed, which else warns that it finds no other
    kind = settings.engine.kind
    if kind == "auto":
        wanted = processes.size > 1 or device.type != "cpu"
        kind = "deepspeed" if wanted and _has_deepspeed() else "torch"
    if kind == "deepspeed":
        build_config(settings.engine, 1, settings.optimizer.clip, bfloat16=device.type != "cpu")
        connect(processes, device.type)
    elif settings.engine.config:
        raise UserError("engine.config is DeepSpeed's, and engine=auto takes torch here; set engine=deepspeed")
    return Execution(kind, device, processes)


def choose_device(name: str) -> "torch.device":
    """Return the device that ``engine.device`` names.

    Raises:
        UserError: when ``cuda`` is asked for and there is none.
    """
    import torch

    if name == "cuda" and not torch.cuda.is_available():
        raise UserError("engine.device='cuda': no CUDA device is available here; allowed: auto, cpu")
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return torch.device(name)


def _has_deepspeed() -> bool:
    return importlib.util.find_spec("deepspeed") is not None
