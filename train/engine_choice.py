"""Which engine a run uses here, and whether its batch can be cut as that needs."""

import importlib.util
import os

import torch
from transformers import GPTNeoXForCausalLM

from train.config import RunSettings
from train.deepspeed_config import build_config
from train.engine import Engine, TorchEngine, choose_device
from train.processes import Processes, connect
from ucurve.errors import UserError


def check_engine(settings: RunSettings, processes: Processes) -> None:
    """Check, before anything is written, that the engine can run here.

    Raises:
        UserError: naming what does not fit, and what would.
    """
    device = choose_device(settings.engine.device).type
    if device == "cpu":
        os.environ["DS_ACCELERATOR"] = "cpu"  # transformers imports DeepSpeed, which else warns that it finds no other
    if engine_kind(settings, processes) == "deepspeed":
        build_config(settings.engine, 1, settings.optimizer.clip, bfloat16=device != "cpu")
    elif settings.engine.config:
        raise UserError("engine.config is DeepSpeed's, and engine=auto takes torch here; set engine=deepspeed")
    if settings.batch.sequences % processes.size:
        raise UserError(
            f"batch.sequences={settings.batch.sequences} cannot be shared by {processes.size} processes; "
            f"take a multiple of {processes.size}, or another number of processes"
        )


def engine_kind(settings: RunSettings, processes: Processes) -> str:
    """Return ``torch`` or ``deepspeed``.

    Raises:
        UserError: when the engine asked for cannot run in so many processes, or is not installed.
    """
    kind, several = settings.engine.kind, processes.size > 1
    installed = importlib.util.find_spec("deepspeed") is not None
    if kind == "torch" and several:
        raise UserError(f"engine=torch runs in one process, and {processes.size} were started; set engine=deepspeed")
    if kind == "torch":
        return "torch"
    wanted = kind == "deepspeed" or several or choose_device(settings.engine.device).type != "cpu"
    if wanted and installed:
        return "deepspeed"
    if kind == "deepspeed" or several:
        reason = f"{processes.size} processes need DeepSpeed" if several else "engine=deepspeed"
        raise UserError(f"{reason}: the package deepspeed is not installed; install ucurve with the extra [deepspeed]")
    return "torch"


def make_engine(settings: RunSettings, processes: Processes, model: GPTNeoXForCausalLM) -> Engine:
    """Return the engine, with the processes connected where it needs that."""
    if engine_kind(settings, processes) == "torch":
        return TorchEngine(model, settings.optimizer, settings.engine)
    from train.deepspeed_engine import DeepSpeedEngine

    device = process_device(settings, processes)
    connect(processes, device.type)
    return DeepSpeedEngine(model, settings.optimizer, settings.engine, processes, settings.batch.sequences, device)


def process_device(settings: RunSettings, processes: Processes) -> torch.device:
    """Return this process's own device: on a machine with several, the one of its local rank."""
    device = choose_device(settings.engine.device)
    if device.type == "cuda":
        device = torch.device("cuda", processes.local_rank)
        torch.cuda.set_device(device)
    return device
