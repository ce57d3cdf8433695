"""Budgets that share their steps: with ``rate=wsd`` all budgets of a grid grow out of one trunk of constant rate.

A run that goes on from the state of another has its folder as it was at that step, before it takes steps of its own.
"""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ucurve.errors import BusyError
from ucurve.progress import log_line
from ucurve.storage.facts import ParentFacts, RunFacts, own_faults, read_run_facts, write_run_facts
from ucurve.storage.faults import file_faults, refuse_faults
from ucurve.storage.files import new_folder, remove_leftovers, sha256_file, sha256_json, write_text
from ucurve.storage.locks import only_writer
from ucurve.storage.run_folder import CONFIGURATION, HELD_OUT, METRICS, TOKENIZER
from ucurve.training.checkpoint_schedule import ScheduleSettings, checkpoint_steps
from ucurve.training.config import RunRequest, RunSettings
from ucurve.training.factors import factors_of
from ucurve.training.grid.cells import Cell
from ucurve.training.identity import config_sha256, without_seeds
from ucurve.training.optim import usual_rate
from ucurve.training.plan import Plan, make_plan
from ucurve.training.run.prepare import ExpectedRun, expect_run, pin_as
from ucurve.training.run_folder.checkpoint import copy_checkpoint
from ucurve.training.run_folder.checks import check_same_configuration
from ucurve.training.run_folder.config_file import configuration_text, load_settings
from ucurve.training.run_folder.resume import copy_state


@dataclass(frozen=True)
class Trunk:
    """A run of constant rate up to the last decay, and the names of the runs that leave it before their own."""

    settings: RunSettings
    branches: tuple[str, ...]


def find_trunks(cells: Sequence[Cell]) -> list[Trunk]:
    """Return the trunks of a grid: one for each two or more ``wsd`` runs that differ in budget and decay alone.

    Runs that all have a folder need none, and a warm-up that is a share of the steps differs between budgets.
    """
    groups: dict[str, list[RunSettings]] = {}
    for cell in cells:
        settings = cell.settings
        if isinstance(settings, RunSettings) and settings.rate.kind == "wsd" and settings.optimizer.warmup > 1:
            before = _at_peak(settings).identity()
            # The budget and the schedule may differ; all else that determines the outcome must be the same.
            same = {key: value for key, value in before.items() if key not in ("tokens", "schedule")}
            groups.setdefault(sha256_json([same, settings.paths.runs]), []).append(settings)
    return [
        Trunk(_trunk_of(runs), tuple(run.run_name for run in runs))
        for runs in groups.values()
        if len({run.run_name for run in runs}) > 1 and not all(run.folder.exists() for run in runs)
    ]


def _at_peak(settings: RunSettings) -> RunSettings:
    # A constant rate never reaches a minimum, which must not tell the runs apart.
    return replace(settings, rate=usual_rate("constant"), optimizer=replace(settings.optimizer, minimum=1.0))


def _trunk_of(runs: Sequence[RunSettings]) -> RunSettings:
    """Return the settings of the run that has the steps of all ``runs`` before their decays."""
    longest = max(runs, key=lambda run: run.steps)
    ends = {run.run_name: run.rate.steps_before_decay(run.steps) for run in runs}
    steps, states = {0, max(ends.values())}, set(ends.values())
    for run in runs:
        scheduled = checkpoint_steps(run.schedule, run.steps, run.batch.tokens)
        steps |= {step for step in scheduled if step <= ends[run.run_name]}
        states |= {step for step in run.kept_steps if step <= ends[run.run_name]}
    return replace(
        _at_peak(longest),
        tokens=max(ends.values()) * longest.batch.tokens,
        schedule=ScheduleSettings("list", None, tuple(sorted(steps))),
        resume=replace(longest.resume, keep_states=tuple(sorted(states))),
        eval=replace(longest.eval, when="never"),  # the branches score the checkpoints that are theirs
        name="-".join(filter(None, [longest.name, "trunk"])),
    )


def _trunk_of_branches(trunks: Sequence[Trunk]) -> dict[str, RunSettings]:
    return {name: trunk.settings for trunk in trunks for name in trunk.branches}


def with_trunks(
    cells: Sequence[Cell], train: Callable[[RunRequest], None]
) -> tuple[list[Cell], Callable[[RunRequest], None], dict[str, str]]:
    """Return the runs of a grid, trunks first, what trains one of them, and which run comes before which, by names."""
    trunks = find_trunks(cells)
    trunk_of = _trunk_of_branches(trunks)

    before = {branch: trunk.run_name for branch, trunk in trunk_of.items()}

    def train_from_trunk(settings: RunRequest) -> None:
        trunk = trunk_of.get(settings.run_name)
        if isinstance(settings, RunSettings) and trunk is not None:
            start_branch(settings, as_begun(trunk))
        elif isinstance(settings, RunSettings) and settings.run_name in before.values():
            settings = as_begun(settings)
        train(settings)

    return [*(Cell(trunk.settings, ()) for trunk in trunks), *cells], train_from_trunk, before


def expect_grid(cells: Sequence[Cell]) -> list[ExpectedRun]:
    """Plan the runs of a grid, trunks first; a run with a trunk has its own steps only from there on."""
    trunks = find_trunks(cells)
    trunk_of = _trunk_of_branches(trunks)
    expected = [expect_run(as_begun(trunk.settings)) for trunk in trunks]
    for cell in cells:
        run = expect_run(cell.settings)
        if cell.name in trunk_of:
            point = branch_point(run.plan.settings, as_begun(trunk_of[cell.name]))
            run = replace(run, plan=replace(run.plan, parent=point))
        expected.append(run)
    return expected


def start_branch(settings: RunSettings, trunk: RunSettings) -> None:
    """Make the run folder of a ``wsd`` run from its trunk before the decay, unless there is one; ``train_run`` goes on.

    Raises:
        BusyError: The trunk is not trained to its end, as another process trains it.
        DamagedError: The trunk is not what was written.
    """
    if settings.folder.exists():
        return
    facts = read_run_facts(trunk.folder)
    if facts is None or not facts.finished:
        raise BusyError(f"{trunk.folder}, from which {settings.run_name} goes on, is not finished")
    check_same_configuration(trunk)
    pinned = pin_as(settings, trunk.folder)
    point = branch_point(pinned, trunk)
    if point is None:
        log_line(f"{settings.run_name} is trained alone: {trunk.folder} kept no state from which it could go on")
        return
    faults = own_faults(trunk.folder, facts) + file_faults({trunk.folder / METRICS: facts.metrics_sha256})
    refuse_faults(faults, "restore it from a copy")
    plan = replace(make_plan(pinned, facts.vocabulary), parent=point)
    with only_writer(settings.folder):
        remove_leftovers(settings.folder.parent, settings.folder.name)
        # The folder appears whole or not at all.
        with new_folder(settings.folder) as folder:
            _write_branch(plan, trunk.folder, folder, facts)


def as_begun(trunk: RunSettings) -> RunSettings:
    """Return a trunk with the checkpoints and states that its folder, perhaps begun for other budgets, has of it."""
    if not (trunk.folder / CONFIGURATION).exists():
        return trunk
    begun = load_settings(trunk.folder)
    return replace(trunk, schedule=begun.schedule, resume=begun.resume)


def branch_point(settings: RunSettings, trunk: RunSettings) -> ParentFacts | None:
    """Return where a ``wsd`` run leaves its trunk, if it can: after the last state before its decay that is kept.

    The trunk may have been begun for other budgets. The run leaves it before a step of which it wants a checkpoint or a
    state that the trunk does not have, and takes the steps up to its decay by itself.
    """
    wanted = {*_scheduled(settings)} - {*_scheduled(trunk)} | {*settings.kept_steps} - {*trunk.kept_steps}
    last = min([settings.rate.steps_before_decay(settings.steps), *(step - 1 for step in wanted)])
    states = [step for step in trunk.kept_steps if step <= last]
    if not states:
        return None
    return ParentFacts(name=trunk.run_name, step=max(states), config_sha256=config_sha256(trunk.identity()))


def _scheduled(settings: RunSettings) -> tuple[int, ...]:
    return checkpoint_steps(settings.schedule, settings.steps, settings.seen_per_step)


def _write_branch(plan: Plan, trunk: Path, folder: Path, facts: RunFacts) -> None:
    """Write what a run has at the step at which it leaves its trunk, from what the trunk has."""
    settings, parent = plan.settings, plan.parent
    assert parent is not None, "a branch has a parent"
    shutil.copytree(trunk / TOKENIZER, folder / TOKENIZER)
    for step in plan.checkpoint_steps:
        if step <= parent.step:
            copy_checkpoint(trunk, folder, plan.describe_checkpoint(step, facts.data_sha256, facts.corpus.tokens))
    owner = {"config_sha256": plan.config_sha256, "data_sha256": facts.data_sha256}
    for step in (*(kept for kept in settings.kept_steps if kept < parent.step), parent.step):
        copy_state(trunk, folder, step, owner)
    lines = (trunk / METRICS).read_text(encoding="utf-8").splitlines(keepends=True)
    # The file has a line for each step.
    write_text(folder / METRICS, "".join(lines[: parent.step]))
    files = {name: digest for name, digest in facts.files.items() if name.startswith(f"{TOKENIZER}/")}
    write_text(folder / CONFIGURATION, configuration_text(settings))
    files[CONFIGURATION] = sha256_file(folder / CONFIGURATION)
    if (trunk / HELD_OUT).is_file():
        header, *losses = (trunk / HELD_OUT).read_text(encoding="utf-8").splitlines(keepends=True)
        steps = {str(step) for step in plan.checkpoint_steps if step <= parent.step}
        write_text(
            folder / HELD_OUT, "".join([header, *(line for line in losses if line.partition(",")[0] in steps)])
        )
        files[HELD_OUT] = sha256_file(folder / HELD_OUT)
    # Runs that read other commits of the hub are other lines of a figure.
    commits = {"commits": settings.commits} if settings.commits else {}
    changed = {
        "name": settings.run_name,
        "factors": factors_of(settings, facts.parameters),
        "tokens_budget": settings.tokens,
        "config_sha256": plan.config_sha256,
        "cell_sha256": config_sha256(without_seeds(settings.identity()) | commits),
        "checkpoint_steps": plan.checkpoint_steps,
        "sessions": tuple(session for session in facts.sessions if session.after_step < parent.step),
        "parent": parent,
        "files": files,
        "status": "interrupted",  # so that ``train_run`` goes on from its state
        "steps": None,
        "metrics_sha256": None,
    }
    write_run_facts(folder, facts.model_copy(update=changed))
