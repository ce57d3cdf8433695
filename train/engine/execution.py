"""Chooses the engine and the device of a run, and checks that the global batch divides over the processes."""

import importlib.util
import os
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ucurve.errors import UserError
from ucurve.training.config import EngineSettings, RunRequest
from ucurve.training.engine.deepspeed_config import read_override
from ucurve.training.engine.processes import Processes, connect
from ucurve.training.model.precision import describe_precision

if TYPE_CHECKING:  # the checks of a configuration must not wait for torch
    import torch
    from transformers import PreTrainedModel

    from ucurve.training.engine.engine import Engine


@dataclass(frozen=True)
class Execution:
    """How a run is computed here."""

    kind: Literal["torch", "deepspeed"]
    device: "torch.device"  # of this process; with several processes the one of its local rank
    processes: Processes
    compiled: bool = False

    def describe(self, settings: RunRequest) -> str:
        """Describe in one line how a run is computed."""
        where = f"{self.kind} on {self.device}" + (
            f" and {self.processes.size - 1} more processes" * (self.processes.size > 1)
        )
        return f"{where}{', compiled' * self.compiled}; {describe_precision(settings.engine.precision)}"

    def build_engine(self, settings: RunRequest, model: "PreTrainedModel") -> "Engine":
        """Build the engine that trains a model; the processes are connected where it needs that."""
        engine, optimizer = settings.engine, settings.optimizer
        if self.kind == "torch":
            from ucurve.training.engine.engine import TorchEngine

            return TorchEngine(
                model,
                optimizer,
                engine.micro_batch,
                self.device,
                engine.precision,
                self.compiled,
                self.processes,
                engine.reduction,
                settings.seeds.init,
            )
        from ucurve.training.engine.deepspeed import DeepSpeedEngine

        return DeepSpeedEngine(
            model, optimizer, engine, self.processes, self.device, self.compiled, settings.seeds.init
        )


def check_processes(settings: RunRequest, processes: Processes) -> None:
    """Check the engine against the number of processes, as far as that is possible without torch.

    Raises:
        UserError: naming what does not fit, and what would.
    """
    read_override(settings.engine.config)
    several = processes.size > 1
    by_deepspeed = choose_kind(settings.engine, processes) == "deepspeed"
    if by_deepspeed and settings.optimizer.kind == "muon":
        raise UserError(
            "optimizer=muon: DeepSpeed may cut matrices, which Muon needs whole; set engine=torch, which trains on "
            "several processes too"
        )
    if by_deepspeed and importlib.util.find_spec("deepspeed") is None:
        given = "engine=deepspeed"
        if settings.engine.kind == "auto":
            given = (
                "engine.config" if settings.engine.config else f"engine.zero_stage={settings.engine.zero_stage}"
            )
        raise UserError(
            f"{given}: the package deepspeed is not installed; ucurve brings it on Linux. Set engine=torch, which "
            "trains on several processes too, or type: pip install deepspeed"
        )
    if several and ":" in settings.engine.device:
        raise UserError(
            f"engine.device={settings.engine.device} names one device, and {processes.size} processes were started, "
            "each of which takes the device of its rank; set engine.device=cuda"
        )
    if (
        several
        and settings.eval.scores_here
        and (":" in settings.eval.device or settings.eval.device == "spread")
    ):
        raise UserError(
            f"eval.device={settings.eval.device}: {processes.size} processes were started, each of which scores on the "
            "device of its rank; set eval.device=auto, or eval.when=later"
        )
    if settings.batch.sequences % processes.size:
        raise UserError(
            f"batch.sequences={settings.batch.sequences} cannot be shared by {processes.size} processes; "
            f"take a multiple of {processes.size}, or another number of processes"
        )


def choose_execution(settings: RunRequest, processes: Processes) -> Execution:
    """Choose engine and device for settings that ``check_processes`` has passed, and connect the processes.

    Raises:
        UserError: when the engine cannot run on the device, naming what would fit.
    """
    import torch

    if settings.optimizer.kind == "muon" and not hasattr(torch.optim, "Muon"):
        raise UserError(
            f"optimizer=muon needs torch 2.9 or later, and torch {torch.__version__} is installed; allowed here: adamw"
        )
    device = choose_device(settings.engine.device)
    if device.type == "cuda":
        device = torch.device("cuda", processes.local_rank if device.index is None else device.index)
        # NCCL works on the current device of a process, which has to be another one in each.
        torch.cuda.set_device(device)
        if settings.engine.precision == "bfloat16" and not torch.cuda.is_bf16_supported(
            including_emulation=False
        ):
            raise UserError(
                f"engine.precision=bfloat16: {torch.cuda.get_device_name(device)} does not compute in it. A run that "
                "was started in bfloat16 goes on on a device that does, or with engine.device=cpu, slowly"
            )
    else:
        os.environ["DS_ACCELERATOR"] = (
            "cpu"  # transformers imports DeepSpeed, which else warns that it finds no other
        )
    compiled = choose_compile(settings.engine.compile, device)
    kind = choose_kind(settings.engine, processes)
    if kind == "deepspeed" or processes.size > 1:
        connect(processes, str(device))
    elif settings.engine.config:
        raise UserError("engine.config is DeepSpeed's, and engine=auto takes torch here; set engine=deepspeed")
    return Execution(kind, device, processes, compiled)


def choose_kind(engine: EngineSettings, processes: Processes) -> Literal["torch", "deepspeed"]:
    """Return the engine of a run; ``auto`` is DeepSpeed where several processes are to divide more than the batch."""
    if engine.kind != "auto":
        return engine.kind
    return "deepspeed" if processes.size > 1 and (engine.zero_stage or engine.config) else "torch"


def choose_device(name: str) -> "torch.device":
    """Return the device that ``engine.device`` names.

    Raises:
        UserError: when a CUDA device is asked for that is not there.
    """
    import torch

    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    device = torch.device(name)
    if device.type == "cuda" and not torch.cuda.is_available():
        raise UserError(f"engine.device={name!r}: no CUDA device is available here; allowed: auto, cpu")
    # A processor, of which there is one, counts as number 0.
    if (device.index or 0) >= max(1, torch.cuda.device_count()):
        there = ", ".join(f"cuda:{number}" for number in range(torch.cuda.device_count()))
        raise UserError(f"engine.device={name!r}: no such CUDA device; there are {there}")
    return device


def choose_compile(setting: bool | Literal["auto"], device: "torch.device") -> bool:
    """Tell whether the model is compiled: on demand, or by default on CUDA where it is possible.

    Raises:
        UserError: when it is demanded and there is no compiler.
    """
    # The compiler of torch writes C++ code and has it built by one of these.
    compilers = [os.environ.get("CXX"), "c++", "g++", "clang++"]
    possible = any(name and shutil.which(name) for name in compilers)
    if device.type == "cuda":
        possible = possible and importlib.util.find_spec("triton") is not None
    if setting is True and not possible:
        needed = "a C++ compiler" + (" and the package triton are" if device.type == "cuda" else " is")
        raise UserError(f"engine.compile=true: {needed} needed, and not found here; set engine.compile=false")
    return possible and (setting is True or (setting == "auto" and device.type == "cuda"))
