"""Commands that send a grid to Slurm by Hydra's submitit launcher (extra ``slurm``); its parent process stays alive."""

import shlex
from collections.abc import Sequence

from ucurve.config import compose, sweep
from ucurve.launch.slurm import SlurmSettings, train_script
from ucurve.training.grid.cells import block_axes, format_value, own_grid


def submitit_commands(python: str, settings: SlurmSettings, grid: Sequence[str]) -> str:
    """Return the commands of a grid that is well formed, one for each product of axes."""
    options = _options(settings)
    blocks = own_grid(compose("train", sweep("train", grid)[0])) or [{}]
    lines = []
    for block, left in zip(blocks, block_axes(blocks, grid), strict=True):
        axes = [f"{key}={','.join(map(format_value, values))}" for key, values in left.items()]
        own = [*grid, *axes, "grid=[]"] if block else list(grid)
        lines.append(f"{python} {train_script('python')} -m {shlex.join([*options, *own])}\n")
    return "".join(lines)


def _options(settings: SlurmSettings) -> list[str]:
    asked = {
        "partition": settings.partition,
        "account": settings.account,
        "gpus_per_node": settings.gpus,
        "cpus_per_task": settings.cores(1),
        "array_parallelism": settings.at_once,
    }
    return [
        "hydra/launcher=submitit_slurm",
        "hydra.sweep.dir=runs/.submitit",  # on a file system that the nodes see
        f"hydra.launcher.name={settings.name}",
        f"hydra.launcher.timeout_min={_minutes(settings.time)}",
        f"hydra.launcher.signal_delay_s={settings.warning}",
        *[f"hydra.launcher.{key}={value}" for key, value in asked.items() if value],
    ]


def _minutes(time: str) -> int:
    """Turn ``D-HH:MM:SS`` into minutes, not fewer than one."""
    days, _, clock = time.rpartition("-")
    hours, minutes, _ = (int(part) for part in clock.split(":"))
    return max(1, (int(days or 0) * 24 + hours) * 60 + minutes)
