"""Measures what a grid costs, hours included: ``ucurve cost`` with the arguments of the grid.

The hours are those of one process on this machine, from a few steps on random tokens for each distinct model; the
writing of checkpoints is not included. The hours of scoring are estimated.
"""

import statistics
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

from ucurve.cli import run
from ucurve.eval.run import load_benchmarks
from ucurve.eval.sweep.load import SweepCache
from ucurve.launch.arguments import Format, expand_grid, format_rows, split_arguments
from ucurve.progress import log_line
from ucurve.training.evaluation import EvalSettings
from ucurve.training.grid.cells import Row, format_costs, list_costs
from ucurve.training.grid.trunks import expect_grid
from ucurve.training.model.design import NOT_PREDICTED
from ucurve.training.plan import Plan
from ucurve.training.run.budget import say_budget_warnings

_ROUNDS = 3  # the median of so many is taken


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class CostSettings:
    """How to write the table: ``text``, ``csv`` or ``json``."""

    format: Format


def cost_command(arguments: Sequence[str]) -> None:
    """Print the table."""
    settings, grid = split_arguments(CostSettings, "cost", arguments)
    cells = expand_grid(grid)
    say_budget_warnings(cell.settings for cell in cells)
    rows = measure_costs([run.plan for run in expect_grid(cells)], measure_step)
    print(format_rows(rows, format_costs(rows), settings.format))  # noqa: T201


def measure_costs(plans: Sequence[Plan], measure: Callable[[Plan], float]) -> list[Row]:
    """Return the rows of ``list_costs`` with hours, from the seconds of a step that ``measure`` gives of a model."""
    measured: dict[Hashable, float] = {}
    counts: dict[str, int] = {}  # by the settings of scoring, some of which cannot be hashed

    def seconds(plan: Plan) -> float:
        settings = plan.settings
        step = (
            *(settings.model.design, plan.vocabulary, settings.batch, settings.engine),
            *(settings.objective, settings.optimizer.kind),
        )
        if step not in measured:
            measured[step] = measure(plan)
        return measured[step]

    def hours(plan: Plan) -> dict[str, float]:
        settings = plan.settings
        scored = repr(settings.eval)
        if scored not in counts:
            counts[scored] = count_characters(settings.eval)
        engine = replace(settings.engine, precision="float32")  # in which everything is scored
        scoring = seconds(replace(plan, settings=replace(settings, engine=engine))) if counts[scored] else 0.0
        scoring_hours = estimate_scoring_hours(plan, scoring, counts[scored])
        return {"hours": plan.own_steps * seconds(plan) / 3600, "scoring_hours": scoring_hours}

    return list_costs(plans, hours)


def estimate_scoring_hours(plan: Plan, seconds: float, characters: int) -> float:
    """Estimate the hours that scoring a run's checkpoints takes, from the ``seconds`` of a training step in float32.

    Every one of the ``characters``, which are scored at each checkpoint, counts as a token. A forward pass has a third
    of the FLOPs of a training step, 2ND of 6ND. Sentences that begin alike share work, and a tokenizer may have fewer
    tokens than characters, so that the estimate is rather too high.
    """
    checkpoints = len(plan.checkpoint_steps) if plan.settings.eval.when != "never" else 0
    return checkpoints * characters * seconds / plan.settings.batch.tokens / 3 / 3600


def measure_step(plan: Plan) -> float:
    """Time optimizer steps on random tokens in this process, with the engine that ``train.py`` would take here.

    A processor takes minutes for the global batch of a large model. There one and two micro batches are timed, and the
    others of the batch take as long as the second.
    """
    from ucurve.training.engine.execution import choose_execution
    from ucurve.training.engine.micro_batch import ON_PROCESSOR
    from ucurve.training.engine.processes import Processes
    from ucurve.training.run.trainer import build_model

    settings = plan.settings
    execution = choose_execution(settings, Processes())
    log_line(
        f"timing {settings.model.name} with a vocabulary of {plan.vocabulary:,}: {execution.kind} on {execution.device}"
    )
    sequences = settings.batch.sequences
    engine = execution.build_engine(settings, build_model(settings, plan.vocabulary, 0))
    tokens = random_batch(plan)

    def seconds(count: int) -> float:
        started = time.perf_counter()
        engine.step(engine.place(tokens[:count]), 1e-6, 1)
        return time.perf_counter() - started

    micro_batch = settings.engine.micro_batch
    part = min(ON_PROCESSOR if micro_batch == "auto" else micro_batch, sequences)
    # A processor takes minutes for a large batch: two micro batches are timed, and the others take as long as one.
    if execution.kind != "torch" or execution.device.type != "cpu" or 2 * part > sequences:
        part = sequences
    seconds(part)  # the first step also allocates, and compiles
    if part == sequences:
        return float(statistics.median(seconds(sequences) for _ in range(_ROUNDS)))
    one, two = zip(*[(seconds(part), seconds(2 * part)) for _ in range(_ROUNDS)], strict=True)
    first = statistics.median(one)
    return float(first + (sequences / part - 1) * max(statistics.median(two) - first, 0.0))


def random_batch(plan: Plan) -> NDArray[np.int64]:
    """Return random tokens as an engine takes them; of masked ones as many are predicted as in the run's mean step."""
    settings, random = plan.settings, np.random.default_rng(0)
    tokens = random.integers(0, plan.vocabulary, (settings.batch.sequences, settings.batch.length + 1))
    if not settings.has_masks:
        return tokens
    inputs, following = tokens[:, :-1], tokens[:, 1:]
    rate = replace(settings.objective, kind="mntp").mean_rate(plan.steps, plan.steps)  # where there are masks
    targets = np.where(random.random(inputs.shape) < rate, inputs, NOT_PREDICTED)
    # A hybrid run predicts the next token in some sequences; the others have no last target.
    if settings.objective.predicts_next:
        targets[:, -1] = NOT_PREDICTED
        have_masks = settings.objective.have_masks(np.arange(len(tokens)))
        targets = np.where(have_masks[:, None], targets, following)
    return np.stack([inputs, targets], axis=1)


def count_characters(settings: EvalSettings) -> int:
    """Count the characters of all sentences that are scored at a checkpoint."""
    if settings.when == "never" or not settings.benchmarks:
        return 0
    tables = load_benchmarks(settings, SweepCache())
    return sum(int(table[column].str.len().sum()) for table in tables for column in ("good", "bad"))


if __name__ == "__main__":
    run("cost")
