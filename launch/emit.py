"""Writes what starts a grid elsewhere: ``ucurve emit format=slurm-array out=grid.sbatch <grid>``."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import ConfigDict, PositiveInt, model_validator
from pydantic.dataclasses import dataclass

from ucurve.cli import run
from ucurve.config import compose, sweep
from ucurve.launch import slurm
from ucurve.launch.arguments import expand_grid, split_arguments
from ucurve.launch.slurm import SlurmSettings, train_script
from ucurve.progress import log_line
from ucurve.storage.files import write_text
from ucurve.training.grid.cells import block_axes, format_value, own_grid
from ucurve.training.run.budget import say_budget_warnings


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class EmitSettings:
    """What to write."""

    # ``slurm-array``, ``commands`` (a line for each run) or ``submitit`` (for Hydra's launcher of that name)
    format: Literal["slurm-array", "commands", "submitit"]
    out: str | None  # the file to write; None prints
    python: slurm.Word
    # What starts the processes of one run; ``workers`` starts a worker for each, and these share the grid.
    launcher: Literal["auto", "python", "torchrun", "deepspeed", "workers"]
    nodes: PositiveInt  # of a run; with ``workers``, jobs of one node each
    processes: PositiveInt
    slurm: SlurmSettings

    @model_validator(mode="after")
    def _launcher_fits(self) -> "EmitSettings":
        several = self.nodes * self.processes > 1
        if self.launcher == "python" and several:
            raise ValueError(f"launcher=python starts one process, not {self.nodes} x {self.processes}")
        if self.launcher == "workers" and self.format != "slurm-array":
            raise ValueError(
                f"launcher=workers fills nodes of Slurm (format=slurm-array), not format={self.format}; without Slurm: "
                "ucurve workers gpus=N"
            )
        if self.format == "submitit" and several:
            raise ValueError("format=submitit starts one process for each run; use format=slurm-array")
        if self.format == "commands" and self.nodes > 1:
            raise ValueError("format=commands is for one node; use format=slurm-array")
        if self.slurm.gpus > self.processes:
            raise ValueError(
                f"slurm.gpus={self.slurm.gpus}: a process uses one GPU, and processes={self.processes} would leave "
                f"{self.slurm.gpus - self.processes} of them idle; slurm.gpus={self.processes} is enough for each run, "
                f"or processes={self.slurm.gpus} trains each on all of them"
            )
        return self


def emit_command(arguments: Sequence[str]) -> None:
    """Write or print the launch file of a grid."""
    settings, grid = split_arguments(EmitSettings, "emit", arguments)
    cells = expand_grid(grid)
    say_budget_warnings(cell.settings for cell in cells)
    runs = [list(cell.overrides) for cell in cells]  # each job has its arguments
    if settings.launcher == "workers":  # every job does what is left of the whole grid
        device = "gpus" if settings.slurm.gpus else "workers"
        runs = [[f"{device}={settings.processes}", *grid]] * settings.nodes
    text = _format_launch_file(settings, grid, runs)
    if settings.out is None:
        print(text, end="")  # noqa: T201 - the file is what was asked for
        return
    write_text(Path(settings.out), text)
    if settings.format == "slurm-array":
        Path(settings.slurm.logs).mkdir(parents=True, exist_ok=True)  # Slurm makes no folder for its logs
        submissions = settings.slurm.submissions(shlex.quote(settings.out), len(runs))
        log_line(f"{settings.out} is written; submit it with: {'; '.join(submissions)}")


def _format_launch_file(settings: EmitSettings, grid: Sequence[str], runs: Sequence[Sequence[str]]) -> str:
    """Return the text of the file: ``grid`` are the arguments of the whole grid, ``runs`` those of each job."""
    if settings.format == "submitit":
        return submitit_commands(settings.python, settings.slurm, grid)
    automatic = "torchrun" if settings.nodes * settings.processes > 1 else "python"
    launcher = automatic if settings.launcher == "auto" else settings.launcher
    nodes = 1 if launcher == "workers" else settings.nodes
    start = slurm.Start(settings.python, launcher, nodes, settings.processes)
    if settings.format == "commands":
        return "".join(f"{start.alone()} {shlex.join(run)}\n" for run in runs)
    return slurm.array_script(settings.slurm, start, runs, shlex.quote(settings.out or "FILE"))


if __name__ == "__main__":
    run("emit")


def submitit_commands(python: str, settings: SlurmSettings, grid: Sequence[str]) -> str:
    """Return the commands of a grid that is well formed, one for each product of axes."""
    days, _, clock = settings.time.rpartition("-")
    hours, minutes, _ = map(int, clock.split(":"))
    asked = {
        "partition": settings.partition,
        "account": settings.account,
        "gpus_per_node": settings.gpus,
        "cpus_per_task": settings.cores(1),
        "array_parallelism": settings.at_once,
    }
    options = [
        "hydra/launcher=submitit_slurm",
        "hydra.sweep.dir=runs/.submitit",  # on a file system that the nodes see
        f"hydra.launcher.name={settings.name}",
        f"hydra.launcher.timeout_min={max(1, (int(days or 0) * 24 + hours) * 60 + minutes)}",
        f"hydra.launcher.signal_delay_s={settings.warning}",
        *[f"hydra.launcher.{key}={value}" for key, value in asked.items() if value],
    ]
    blocks = own_grid(compose("train", sweep("train", grid)[0])) or [{}]
    lines = []
    for block, left in zip(blocks, block_axes(blocks, grid), strict=True):
        axes = [f"{key}={','.join(map(format_value, values))}" for key, values in left.items()]
        own = [*grid, *axes, "grid=[]"] if block else list(grid)
        lines.append(f"{python} {train_script('python')} -m {shlex.join([*options, *own])}\n")
    return "".join(lines)
