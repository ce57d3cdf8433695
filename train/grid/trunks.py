"""Budgets that share their steps: with ``rate=wsd`` all budgets of a grid grow out of one trunk of constant rate."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ucurve.storage.files import sha256_json
from ucurve.training.checkpoint_schedule import ScheduleSettings, checkpoint_steps
from ucurve.training.config import RunRequest, RunSettings
from ucurve.training.grid.cells import Cell
from ucurve.training.optim import RateSettings
from ucurve.training.run.branch import as_begun, branch_point, start_branch
from ucurve.training.run.prepare import ExpectedRun, expect_run


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
            same = {key: value for key, value in before.items() if key not in ("tokens", "schedule")}
            groups.setdefault(sha256_json([same, settings.paths.runs]), []).append(settings)
    return [
        Trunk(_trunk_of(runs), tuple(run.run_name for run in runs))
        for runs in groups.values()
        if len({run.run_name for run in runs}) > 1 and not all(run.folder.exists() for run in runs)
    ]


def _at_peak(settings: RunSettings) -> RunSettings:
    return replace(settings, rate=RateSettings("constant"), optimizer=replace(settings.optimizer, minimum=1.0))


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
        schedule=ScheduleSettings("list", steps=tuple(sorted(steps))),
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
