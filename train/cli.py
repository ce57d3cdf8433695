"""The commands ``train.py`` (one run or every cell of a grid) and ``tokenizers/build.py`` (one tokenizer)."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

from train.config import RunRequest
from train.corpus.corpus import Corpus, CorpusSettings, pin_corpus
from train.corpus.file_hashes import recall_hashes
from train.data.store import build_token_store, find_stream_size, save_unigram_counts
from train.grid.cells import Cell, grid_cells
from train.grid.costs import format_costs, list_costs
from train.plan import Plan, describe_plan, make_plan
from train.run.budget import expect_budget
from train.run.prepare import pin_sources
from train.tokenizer.build import (
    TokenizerSettings,
    build_tokenizer,
    check_tokenizer,
    expected_vocabulary,
    find_tokenizer,
    pin_tokenizer,
)
from train.tokenizer.folder import read_statistics
from ucurve.config import Composed, check
from ucurve.errors import RunError, UserError
from ucurve.text_table import format_table
from ucurve.token_stream.store import StreamSize


def train_command(composed: Sequence[Composed]) -> None:
    """Train the composed runs, or print their plans under ``dry_run``.

    In a grid a cell that fails does not stop the others; the summary lists every cell.

    Raises:
        UserError: for a mistake in the configuration, before anything runs, or in the files that a single run names.
        RunError: when a single run cannot continue, or a cell of a grid failed.
    """
    cells = grid_cells(composed)
    if cells[0].settings.dry_run:
        for data in dict.fromkeys(cell.settings.data for cell in cells):
            Corpus(data).say_notes()
        texts = [plan_text(cell.settings) for cell in cells]
        if len(cells) > 1:
            costs = format_table(format_costs(list_costs([plan_run(cell.settings) for cell in cells])))
            texts.append(f"{costs}\nhours: 'python -m launch.cost' with the same arguments measures them here")
        print("\n\n".join(texts))  # noqa: T201 - the plan is what was asked for
    elif len(cells) == 1:
        _train(cells[0].settings)
    else:
        _run_grid(cells)


def plan_text(settings: RunRequest) -> str:
    """Return the plan of one run as text, building and fetching nothing."""
    plan, vocabulary_note, tokens_note = _plan_with_notes(settings)
    return describe_plan(plan, vocabulary_note, _find_stream_size(settings), tokens_note)


def plan_run(settings: RunRequest) -> Plan:
    """Plan a run with the size that its vocabulary and its budget have, or are expected to have."""
    return _plan_with_notes(settings)[0]


def _plan_with_notes(settings: RunRequest) -> tuple[Plan, str, str]:
    recall_hashes(Path(settings.paths.cache))
    pinned = pin_sources(settings, online=False)
    vocabulary, source = expected_vocabulary(pinned.tokenizer, pinned.data, Path(settings.paths.tokenizers))
    settled, note = expect_budget(pinned, _find_stream_size(pinned))
    return make_plan(settled, vocabulary), source, note


def _find_stream_size(settings: RunRequest) -> StreamSize | None:
    pinned = pin_sources(settings, online=False)
    tokenizer = find_tokenizer(pinned.tokenizer, pinned.data, Path(settings.paths.tokenizers))
    return None if tokenizer is None else find_stream_size(Corpus(pinned.data), tokenizer, Path(settings.paths.cache))


def _train(settings: RunRequest) -> None:
    from train.run.run import train_cell

    train_cell(settings)


def _run_grid(cells: Sequence[Cell]) -> None:
    from train.grid.worker import GridRun, format_outcomes

    _check_one_process(len(cells))
    for cell in cells:
        if cell.settings.data.kind == "hub":  # where the hub is out of reach, one message comes before anything is made
            pin_sources(cell.settings)
    run = GridRun(cells, _train)
    try:
        run.work()
    finally:
        print(format_outcomes(run.outcomes), flush=True)  # noqa: T201 - the summary is what was asked for
    failed = [outcome.cell for outcome in run.outcomes if outcome.status == "failed"]
    if failed:
        raise RunError(f"{len(failed)} of {len(cells)} runs failed: {', '.join(failed)}")


def _check_one_process(cells: int) -> None:
    processes = int(os.environ.get("WORLD_SIZE", "1"))
    if processes > 1:
        raise UserError(
            f"a grid of {cells} runs under a launcher of {processes} processes: a launcher starts one run. "
            f"'python -m launch.workers gpus={processes}' with the same arguments runs the grid with one worker a "
            "device; 'python -m launch.emit' writes the command of each run"
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
    Corpus(settings.data).say_notes()
    check_tokenizer(settings.tokenizer)
    recall_hashes(Path(settings.paths.cache))
    data = pin_corpus(settings.data)
    folder = build_tokenizer(pin_tokenizer(settings.tokenizer), data, Path(settings.paths.tokenizers))
    store = build_token_store(Corpus(data), folder, Path(settings.paths.cache))
    save_unigram_counts(store, folder)
    counts = read_statistics(folder)["tokens"]
    print(  # noqa: T201 - what was asked for
        f"{folder}\n"
        f"{'tokenizer':<16}{'all':>10}{'single-char':>14}{'multi-char':>14}\n"
        f"{settings.tokenizer.name:<16}{counts['all']:>10,}{counts['single_character']:>14,}"
        f"{counts['multi_character']:>14,}"
    )
