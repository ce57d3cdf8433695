"""Removes weights of scored checkpoints, and states that nothing goes on from: ``ucurve prune run='runs/*'``."""

import shutil
from collections.abc import Collection
from pathlib import Path
from typing import Annotated

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from ucurve.config import check
from ucurve.errors import RunError, UserError, missing_folder
from ucurve.eval.benchmarks.custom import stored_name
from ucurve.eval.pairs import split_name
from ucurve.eval.store.keys import order_of, score_faults, scores_below
from ucurve.fields import format_names
from ucurve.progress import log_line
from ucurve.storage.facts import read_manifest, read_run_facts
from ucurve.storage.files import contents
from ucurve.storage.run_folder import (
    RECORD,
    RESUME,
    STEPS,
    WEIGHTS,
    checkpoints,
    match_folders,
    parse_step,
    step_name,
)
from ucurve.training.run_folder.checkpoint import find_faults, remove_weights
from ucurve.training.run_folder.config_file import load_settings


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class PruneSettings:
    """Which runs, by a folder or a pattern, and whether anything is removed."""

    run: Annotated[str, Field(min_length=1)]
    dry_run: bool


def prune_command(values: dict[str, object]) -> None:
    """Remove weights of scored checkpoints and states of finished runs, and say how much room that makes."""
    settings = check(PruneSettings, values)
    runs = [folder for folder in match_folders(settings.run) if (folder / RECORD).is_file()]
    if not runs:
        raise missing_folder("run", Path(settings.run))
    for run in runs:
        scored, facts = scored_steps(run), read_run_facts(run)
        folders = prunable(run, set.intersection(*scored.values()))
        finished = facts is not None and facts.finished
        kept = set(map(step_name, load_settings(run).kept_steps))
        # A run that is not finished goes on from its states.
        states = [one for one in sorted((run / RESUME).glob(STEPS)) if finished and one.name not in kept]
        files = [
            *(folder / WEIGHTS for folder in folders),
            *(file for state in states for file in contents(state)),
        ]
        freed = sum(file.stat().st_size for file in files)
        if not settings.dry_run:
            for state in states:
                shutil.rmtree(state)
            for folder in folders:
                remove_weights(folder)
        done = "would be removed" if settings.dry_run else "removed"
        of_all = f"{len(folders)} of {len(checkpoints(run))} checkpoints"
        log_line(
            f"{run}: weights of {of_all} and {len(states)} states to resume from {done}, {freed / 1e9:.2f} GB"
        )
        for (benchmark, scorer), steps in scored.items():
            unscored = (one for one in checkpoints(run)[1:-1] if parse_step(one.name) not in steps)
            if names := [one.name for one in unscored if read_manifest(one).has_weights]:
                log_line(
                    f"{run}: not scored on {benchmark} by {scorer}, so with their weights: {format_names(names)}"
                )


def prunable(run: Path, scored: Collection[int]) -> list[Path]:
    """Return the checkpoints of a run whose weights nothing needs any more, in the order of their steps.

    They are those of the steps that are ``scored`` by all scorers on all benchmarks. The first and the last one are
    kept: the first is compared with the seeds (``ucurve verify``), and the last is what a model is wanted for. A
    damaged checkpoint is a ``RunError``.
    """
    left = [folder for folder in checkpoints(run)[1:-1] if parse_step(folder.name) in scored]
    for folder in left:
        if faults := find_faults(folder):
            raise RunError(f"{faults[0]}; nothing of {run} is removed")
    # The weights of others were removed before.
    return [folder for folder in left if read_manifest(folder).has_weights]


def scored_steps(run: Path) -> dict[tuple[str, str], set[int]]:
    """Return the steps with valid scores by benchmark and scorer; a ``UserError`` where a benchmark has none.

    The benchmarks are those that the run's configuration says to score, and those that any of its checkpoints is scored
    on.
    """
    steps: dict[tuple[str, str], set[int]] = {}
    for scores in scores_below(run):
        step, benchmark, scorer = order_of(run, scores)
        if not score_faults(run, scores):
            steps.setdefault((benchmark, scorer), set()).add(step)
    settings = load_settings(run).eval
    wanted = {stored_name(name, settings.custom) for name in settings.benchmarks if settings.when != "never"}
    if subset := settings.pairs_kept():
        wanted = set(map(subset.name, wanted))
    # A language of a benchmark, as multiblimp/nld, is one by itself and stands for its family.
    split = [split_name(benchmark) for benchmark, _ in steps]
    lacking = wanted - {benchmark for benchmark, _ in steps} - {family + mark for family, _, mark in split}
    if lacking or not steps:
        raise UserError(
            f"{run}: not scored{''.join(f' on {name}' for name in sorted(lacking))} yet; score it first"
        )
    return steps
