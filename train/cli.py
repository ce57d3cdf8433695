"""What ``train.py`` and ``tokenizers/build.py`` do: one run, every cell of a grid, or one tokenizer."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

from train.config import RunSettings
from train.corpus.corpus import Corpus, CorpusSettings
from train.data.store import build_token_store, save_unigram_counts
from train.grid.cells import Cell, grid_cells
from train.plan import Plan, describe_plan, make_plan
from train.tokenizer.build import TokenizerSettings, build_tokenizer, check_tokenizer, expected_vocabulary
from train.tokenizer.folder import read_statistics
from ucurve.config import Composed, check
from ucurve.errors import RunError, UserError


def train_command(composed: Sequence[Composed]) -> None:
    """Do what the composed configurations ask for, or print the plans under ``dry_run``.

    In a grid a cell that fails does not stop the others; the summary names every cell.

    Raises:
        UserError: for a mistake in the configuration, before anything runs, or in the files that a lone run names.
        RunError: when a lone run cannot go on, or a cell of a grid failed.
    """
    cells = grid_cells(composed)
    if cells[0].settings.dry_run:
        plans = [plan_text(cell.settings) for cell in cells]
        costs = [cost_table(cells)] if len(cells) > 1 else []
        print("\n\n".join([*plans, *costs]))  # noqa: T201 - the plan is what was asked for
    elif len(cells) == 1:
        _train(cells[0].settings)
    else:
        _run_grid(cells)


def plan_text(settings: RunSettings) -> str:
    """Write the plan of one run for a person, building and fetching nothing."""
    return describe_plan(*_plan_and_source(settings))


def cost_table(cells: Sequence[Cell]) -> str:
    """Write what a grid costs: a line for each cell, then the totals. FLOPs are 6ND, disk is checkpoints and states."""
    plans = [plan_run(cell.settings) for cell in cells]
    flops = [plan.flops(plan.steps * plan.settings.batch.tokens) for plan in plans]
    rows = [
        (cell.name, plan.parameters.total, cost, plan.disk_bytes)
        for cell, plan, cost in zip(cells, plans, flops, strict=True)
    ]
    rows.append(("total", sum(row[1] for row in rows), sum(flops), sum(row[3] for row in rows)))
    width = max(len(row[0]) for row in rows)
    head = f"{'cell':<{width}}  {'parameters':>15}  {'FLOPs':>9}  {'disk':>11}"
    lines = [f"{name:<{width}}  {count:>15,}  {cost:>9.3e}  {disk / 1e9:>8.2f} GB" for name, count, cost, disk in rows]
    return "\n".join([head, *lines, "hours: 'python -m launch.cost' with the same arguments measures them here"])


def plan_run(settings: RunSettings) -> Plan:
    """Return the plan of a run with the vocabulary its tokenizer has or is expected to have."""
    return _plan_and_source(settings)[0]


def _plan_and_source(settings: RunSettings) -> tuple[Plan, str]:
    vocabulary, source = expected_vocabulary(settings.tokenizer, settings.data, Path(settings.paths.tokenizers))
    return make_plan(settings, vocabulary), source


def _train(settings: RunSettings) -> None:
    from train.run.run import train_cell

    train_cell(settings)


def _run_grid(cells: Sequence[Cell]) -> None:
    from train.grid.worker import GridRun, summary

    _check_one_process(len(cells))
    run = GridRun(cells, _train)
    try:
        run.work()
    finally:
        print(summary(run.outcomes), flush=True)  # noqa: T201 - the summary is what was asked for
    failed = [outcome.cell for outcome in run.outcomes if outcome.status == "failed"]
    if failed:
        raise RunError(f"{len(failed)} of {len(cells)} runs failed: {', '.join(failed)}")


def _check_one_process(cells: int) -> None:
    processes = int(os.environ.get("WORLD_SIZE", "1"))
    if processes > 1:
        raise UserError(
            f"a grid of {cells} runs under a launcher of {processes} processes: a launcher starts one run; "
            "'python -m launch.emit' writes the command of each"
        )


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class BuildPaths:
    """Folders written to: tokenized corpora and built tokenizers."""

    cache: str
    tokenizers: str


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class BuildSettings:
    """One tokenizer on one corpus."""

    tokenizer: TokenizerSettings
    data: CorpusSettings
    paths: BuildPaths


def build_command(values: dict[str, Any]) -> None:
    """Build the tokenizer a composed configuration asks for, with the counts of its training tokens beside it.

    Raises:
        UserError: for a mistake in the configuration or in the files it names.
    """
    settings = check(BuildSettings, values)
    Corpus(settings.data).require_files()
    check_tokenizer(settings.tokenizer, settings.data)
    folder = build_tokenizer(settings.tokenizer, settings.data, Path(settings.paths.tokenizers))
    store = build_token_store(Corpus(settings.data), folder, Path(settings.paths.cache))
    save_unigram_counts(store, folder)
    counts = read_statistics(folder)["tokens"]
    print(  # noqa: T201 - what was asked for
        f"{folder}\n"
        f"{'tokenizer':<16}{'all':>10}{'single-char':>14}{'multi-char':>14}\n"
        f"{settings.tokenizer.name:<16}{counts['all']:>10,}{counts['single_character']:>14,}"
        f"{counts['multi_character']:>14,}"
    )
