"""Say what a month on eight GPUs holds: hours, disk and memory of the Zh-Pythia grid, from rates that were measured.

python -m measurements.speed.eight_gpus [--gpus 8] [--memory]

Training rates are those measured on one H100 and one H200 (docs/devices.md); a third of a training step in float32 is
what scoring a token takes at most, and a character is counted as a token, as ``ucurve cost`` does. Everything else is
counted: the runs, their steps, checkpoints and bytes by the plan of each run, and with ``--memory`` the largest models,
on a device that does not exist (some minutes).
"""

import argparse
import heapq
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

RATES = {"14m": 1_699_000, "70m": 1_030_000, "160m": 450_000, "410m": 190_000, "1.4b": 63_400}  # tokens a second
FLOAT32 = 0.75 * 67e12  # FLOPs a second of products in float32 without TF32, by the data sheet of an H100
CHARACTERS = 1_059_000  # of all sentences of ZhoBLiMP
SHAPES = {"1.4b": "24x2048x16", "2.8b": "32x2560x32", "6.9b": "32x4096x32"}  # layers, width and heads; Pythia's
BATCHES = ((256, 64), (8, 2048), (1, 2048))


@dataclass(frozen=True)
class Cost:
    """What one run of the grid takes."""

    model: str
    training: float  # hours on one device
    scoring: float
    disk: float  # bytes, of checkpoints and states to resume from
    kept: float  # bytes, when ``ucurve prune`` has left two checkpoints


def grid_costs() -> list[Cost]:
    """Return the costs of all runs of ``experiment=zh_pythia``."""
    from ucurve.launch.arguments import expand_grid
    from ucurve.training.grid.trunks import expect_grid

    return [_cost(run.plan) for run in expect_grid(expand_grid(["experiment=zh_pythia"]))]


def _cost(plan: Any) -> Cost:
    model, parameters = plan.settings.model.name, plan.parameters.total
    checkpoints = len(plan.checkpoint_steps)
    scoring = checkpoints * CHARACTERS * 2 * parameters / FLOAT32
    return Cost(
        model,
        plan.tokens / RATES[model] / 3600,
        scoring / 3600,
        plan.disk_bytes,
        4 * parameters * min(2, checkpoints),
    )


def makespan(hours: Iterable[float], devices: int) -> float:
    """Return the hours after which the last of some runs ends, if each device takes the next one when it is free."""
    free = [0.0] * devices
    for each in hours:
        heapq.heapreplace(free, free[0] + each)
    return max(free)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpus", type=int, default=8)
    parser.add_argument("--memory", action="store_true")
    arguments = parser.parse_args()
    costs = grid_costs()
    print("| model | runs | hours of training | of scoring, estimated | disk, GB | after `ucurve prune`, GB |")
    print("|---|---|---|---|---|---|")
    for model in RATES:
        _print_row(model, [cost for cost in costs if cost.model == model])
    _print_row("all", costs)
    hours = [cost.training for cost in costs]
    for order, each in {"in the order of the grid": hours, "longest first": sorted(hours, reverse=True)}.items():
        print(f"{arguments.gpus} devices, {order}: {makespan(each, arguments.gpus):.1f} hours of training")
    if arguments.memory:
        _print_memory()


def _print_row(name: str, costs: Sequence[Cost]) -> None:
    sums = [
        sum(values)
        for values in zip(*((c.training, c.scoring, c.disk / 1e9, c.kept / 1e9) for c in costs), strict=True)
    ]
    print(f"| {name} | {len(costs)} | " + " | ".join(f"{value:,.1f}" for value in sums) + " |")


def _print_memory() -> None:
    from tests.accelerator.fake_device import count

    print("| model | " + " | ".join(f"{sequences} x {length}" for sequences, length in BATCHES) + " |")
    print("|---|" + "---|" * len(BATCHES))
    for model, shape in SHAPES.items():
        peaks = [
            count("count_step.py", shape, "bfloat16", "plain", *batch)["steps"][2]["peak"] for batch in BATCHES
        ]
        print(f"| {model} | " + " | ".join(f"{peak / 1e9:.0f} GB" for peak in peaks) + " |", flush=True)


if __name__ == "__main__":
    main()
