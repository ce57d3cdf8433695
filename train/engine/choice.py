"""Which engine a run uses here, and whether its batch can be cut as that needs."""

import importlib.util
import os
from typing import TYPE_CHECKING

from train.config import RunSettings
from train.engine.deepspeed_config import build_config, read_override
from train.engine.processes import Processes, connect
from ucurve.errors import UserError

if TYPE_CHECKING:  # the checks of a configuration must not wait for torch
    import torch
    from transformers import GPTNeoXForCausalLM

    from train.engine.engine import Engine


def check_processes(settings: RunSettings, processes: Processes) -> None:
    """Check what the configuration and the number of processes alone say of the engine, without torch.

    Raises:
        UserError: naming what does not fit, and what would.
    """
    read_override(settings.engine.config)
    if settings.engine.kind == "torch" and processes.size > 1:
        raise UserError(f"engine=torch runs in one process, and {processes.size} were started; set engine=deepspeed")
    _require_deepspeed(settings, processes)
    if settings.batch.sequences % processes.size:
        raise UserError(
            f"batch.sequences={settings.batch.sequences} cannot be shared by {processes.size} processes; "
            f"take a multiple of {processes.size}, or another number of processes"
        )


def _require_deepspeed(settings: RunSettings, processes: Processes) -> None:
    several = processes.size > 1
    if (settings.engine.kind == "deepspeed" or several) and not _has_deepspeed():
        reason = f"{processes.size} processes need DeepSpeed" if several else "engine=deepspeed"
        raise UserError(f"{reason}: the package deepspeed is not installed; install ucurve with the extra [deepspeed]")


def _has_deepspeed() -> bool:
    return importlib.util.find_spec("deepspeed") is not None


def check_device(settings: RunSettings, processes: Processes) -> None:
    """Check, before anything is written, that the engine can run on the device; only torch knows what is there.

    Raises:
        UserError: naming what does not fit, and what would.
    """
    from train.engine.engine import choose_device

    device = choose_device(settings.engine.device).type
    if device == "cpu":
        os.environ["DS_ACCELERATOR"] = "cpu"  # transformers imports DeepSpeed, which else warns that it finds no other
    if engine_kind(settings, processes) == "deepspeed":
        build_config(settings.engine, 1, settings.optimizer.clip, bfloat16=device != "cpu")
    elif settings.engine.config:
        raise UserError("engine.config is DeepSpeed's, and engine=auto takes torch here; set engine=deepspeed")


def engine_kind(settings: RunSettings, processes: Processes) -> str:
    """Return ``torch`` or ``deepspeed``, for settings that ``check_processes`` has passed."""
    from train.engine.engine import choose_device

    if settings.engine.kind != "auto":
        return settings.engine.kind
    wanted = processes.size > 1 or choose_device(settings.engine.device).type != "cpu"
    return "deepspeed" if wanted and _has_deepspeed() else "torch"


def make_engine(settings: RunSettings, processes: Processes, model: "GPTNeoXForCausalLM") -> "Engine":
    """Return the engine, with the processes connected where it needs that."""
    from train.engine.engine import TorchEngine

    if engine_kind(settings, processes) == "torch":
        return TorchEngine(model, settings.optimizer, settings.engine)
    from train.engine.deepspeed import DeepSpeedEngine

    device = process_device(settings, processes)
    connect(processes, device.type)
    return DeepSpeedEngine(model, settings.optimizer, settings.engine, processes, settings.batch.sequences, device)


def process_device(settings: RunSettings, processes: Processes) -> "torch.device":
    """Return this process's own device: on a machine with several, the one of its local rank."""
    import torch

    from train.engine.engine import choose_device

    device = choose_device(settings.engine.device)
    if device.type == "cuda":
        device = torch.device("cuda", processes.local_rank)
        torch.cuda.set_device(device)
    return device
