"""What a grid costs, hours included: ``python -m launch.cost`` with the arguments of the grid.

The hours are those of one process with plain PyTorch on this machine, from a few micro batches of random tokens for
each distinct model; scoring and checkpoints come on top. Nothing is written.
"""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic import ConfigDict
from pydantic.dataclasses import dataclass as checked

from launch.arguments import expand_grid, own_settings
from launch.tables import Format, Row, written
from train.cli import plan_run
from train.model.architectures import ARCHITECTURES
from train.plan import Plan
from ucurve.cli import run
from ucurve.progress import say

_ROUNDS = 3
Probe = Callable[[Plan], "Pace"]


@checked(frozen=True, config=ConfigDict(extra="forbid"))
class CostSettings:
    """How to write the table: ``text``, ``csv`` or ``json``."""

    format: Format


@dataclass(frozen=True)
class Pace:
    """Seconds of an optimizer step of one micro batch, and of each further micro batch."""

    first: float
    further: float

    def hours(self, plan: Plan) -> float:
        """Return how long all steps of a run take."""
        sequences, micro_batch = plan.settings.batch.sequences, plan.settings.engine.micro_batch
        return plan.steps * (self.first + (sequences / min(micro_batch, sequences) - 1) * self.further) / 3600


def cost_command(arguments: Sequence[str]) -> None:
    """Print the table.

    Raises:
        UserError: when the arguments are not well formed.
    """
    settings, grid = own_settings(CostSettings, "cost", arguments)
    rows = cost_rows([plan_run(cell.settings) for cell in expand_grid(grid)], probe)
    print(written(rows, [_for_a_person(row) for row in rows], settings.format))  # noqa: T201


def cost_rows(plans: Sequence[Plan], pace_of: Probe) -> list[dict[str, Any]]:
    """Return a row for each run and one of totals.

    Args:
        pace_of: measures a model; called once for runs that differ in tokens, data or seeds alone.

    Returns:
        cell, parameters, FLOPs (6ND), disk in bytes, hours.
    """
    paces: dict[Any, Pace] = {}
    rows: list[dict[str, Any]] = []
    for plan in plans:
        settings = plan.settings
        model = (settings.model.shape, plan.vocabulary, settings.batch, settings.engine)
        paces[model] = paces.get(model) or pace_of(plan)
        rows.append(
            {
                "cell": settings.run_name,
                "parameters": plan.parameters.total,
                "flops": plan.flops(plan.tokens),
                "disk_bytes": plan.disk_bytes,
                "hours": paces[model].hours(plan),
            }
        )
    totals = {key: sum(row[key] for row in rows) for key in rows[0] if key != "cell"}
    return [*rows, {"cell": "total", **totals}]


def probe(plan: Plan) -> Pace:
    """Time steps of one and of two micro batches of random tokens, in this process."""
    from train.engine.engine import TorchEngine
    from train.engine.execution import choose_device

    settings = plan.settings
    say(f"timing {settings.model.name} with a vocabulary of {plan.vocabulary:,}")
    shape = settings.model.shape
    model = ARCHITECTURES[shape.architecture].build_model(shape, plan.vocabulary, settings.batch.length, 0, seed=0)
    device = choose_device(settings.engine.device)
    engine = TorchEngine(model, settings.optimizer, settings.engine.micro_batch, device)
    micro_batch = min(settings.engine.micro_batch, settings.batch.sequences)
    tokens = np.random.default_rng(0).integers(0, plan.vocabulary, (2 * micro_batch, settings.batch.length + 1))

    def seconds(sequences: int) -> float:
        started = time.perf_counter()
        engine.step(tokens[:sequences], 1e-6, 1)
        return time.perf_counter() - started

    seconds(micro_batch)  # the first step also allocates
    one, two = zip(*[(seconds(micro_batch), seconds(2 * micro_batch)) for _ in range(_ROUNDS)], strict=True)
    first = statistics.median(one)
    return Pace(first, max(statistics.median(two) - first, 0.0))


def _for_a_person(row: Row) -> dict[str, str]:
    return {
        "cell": row["cell"],
        "parameters": f"{row['parameters']:,}",
        "FLOPs": f"{row['flops']:.3e}",
        "disk": f"{row['disk_bytes'] / 1e9:.2f} GB",
        "hours": f"{row['hours']:.2f}",
    }


if __name__ == "__main__":
    run("cost")
