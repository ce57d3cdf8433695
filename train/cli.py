"""The commands ``train.py`` (one run or every cell of a grid) and ``tokenizers/build.py`` (one tokenizer)."""

import itertools
import os
import shlex
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

from ucurve.config import Composed, check
from ucurve.errors import RunError, UserError
from ucurve.invocation import command
from ucurve.progress import log_line
from ucurve.text_table import format_table
from ucurve.training.corpus.corpus import Corpus, pin_corpus
from ucurve.training.corpus.files import recall_hashes
from ucurve.training.corpus.settings import CorpusSettings
from ucurve.training.data.store import build_token_store, save_unigram_counts
from ucurve.training.evaluation import log_what_is_not_scored
from ucurve.training.grid.cells import Cell, check_cells, format_costs, grid_cells, list_costs, longest_first
from ucurve.training.grid.trunks import expect_grid, with_trunks
from ucurve.training.grid.worker import GridRun, format_outcomes
from ucurve.training.run.budget import say_budget_warnings
from ucurve.training.run.run import train_run
from ucurve.training.run_folder.checks import check_same_configuration
from ucurve.training.tokenizer.build import (
    TokenizerSettings,
    build_tokenizer,
    check_tokenizer,
    pin_tokenizer,
    say_script,
)
from ucurve.training.tokenizer.folder import read_statistics


def train_command(composed: Sequence[Composed]) -> None:
    """Train the composed runs, or print their plans under ``dry_run``; a failed cell does not stop the others.

    Raises:
        UserError: for a mistake in the configuration, before anything runs, or in the files that a single run names.
        RunError: when a single run cannot continue, or a cell of a grid failed.
    """
    runs = [cell.settings for cell in train_cells(composed)]
    # Under a launcher every process comes here, and rank 0 alone prints.
    if runs[0].dry_run or os.environ.get("RANK", "0") != "0":
        return
    found = str(runs[0].folder) if len(runs) == 1 else f"{runs[0].paths.runs}/*"
    # A run is there to be analyzed, for which it has to be scored.
    if all(one.eval.scores_here for one in runs):
        following = command("analyze", f"runs={shlex.quote(found)}")
    else:
        following = command("score", shlex.join([f"run={found}", *runs[0].eval.score_arguments]))
    log_line(f"next: {following}")


def train_cells(composed: Sequence[Composed]) -> list[Cell]:
    """Train the composed runs, or print their plans, and return them.

    Raises:
        UserError: as :func:`train_command`; after the plans too, where a folder holds a run of another configuration.
        RunError: as :func:`train_command`.
    """
    cells = grid_cells(composed)
    if cells[0].settings.dry_run:
        for data in dict.fromkeys(cell.settings.data for cell in cells):
            Corpus(data).say_notes()
        for cell in cells:
            say_script(cell.settings.tokenizer, cell.settings.data)
        expected = expect_grid(cells)
        texts = []
        for run in expected:
            # The words of a plan begin in column 15, in which long lines go on.
            wrapped = [
                textwrap.wrap(line, 100, subsequent_indent=" " * 15) for line in run.describe().splitlines()
            ]
            texts.append("\n".join(itertools.chain.from_iterable(wrapped)))
        if len(expected) > 1:
            costs = format_table(format_costs(list_costs([run.plan for run in expected])))
            texts.append(f"{costs}\nhours: '{command('cost')}' with the same arguments measures them here")
        print("\n\n".join(texts))  # noqa: T201 - the plan is what was asked for
        for cell in cells:
            check_same_configuration(cell.settings)
        log_line("next: the same command without dry_run=true")
        return cells
    if os.environ.get("RANK", "0") == "0":
        say_budget_warnings(cell.settings for cell in cells)
    if len(cells) == 1:
        train_run(cells[0].settings)
    else:
        _run_grid(cells)
    return cells


def _run_grid(cells: Sequence[Cell]) -> None:
    """Train the runs of a grid one after the other; a ``RunError`` names those that failed, after all were tried."""
    processes = int(os.environ.get("WORLD_SIZE", "1"))
    if processes > 1:
        raise UserError(
            f"a grid of {len(cells)} runs under a launcher of {processes} processes: a launcher starts one run. "
            f"'{command('workers', f'gpus={processes}')}' with the same arguments runs the grid with one worker a "
            f"device; '{command('emit')}' writes the command of each run"
        )
    check_cells(cells)
    shared = cells[0].settings
    if all(cell.settings.eval == shared.eval for cell in cells):
        log_what_is_not_scored(
            Path(shared.paths.runs, "*"), shared.eval, [cell.settings.folder for cell in cells]
        )
    run = GridRun(*with_trunks(longest_first(cells), train_run))
    try:
        run.work()
    finally:
        # The summary is printed after a signal too.
        print(format_outcomes(run.outcomes), flush=True)  # noqa: T201 - the summary is what was asked for
    failed = [outcome.cell for outcome in run.outcomes if outcome.status == "failed"]
    if failed:
        raise RunError(f"{len(failed)} of {len(run.outcomes)} runs failed: {', '.join(failed)}")


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


def build_command(values: Mapping[str, object]) -> None:
    """Build the tokenizer a composed configuration asks for, with the counts of its training tokens beside it.

    Raises:
        UserError: for a mistake in the configuration or in the files it names.
    """
    settings = check(BuildSettings, values)
    Corpus(settings.data).say_notes()
    check_tokenizer(settings.tokenizer)
    say_script(settings.tokenizer, settings.data)
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
