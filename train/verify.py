"""Checks that a run folder is what it says: every scheduled checkpoint there, whole, and the step it claims."""

from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from train.checkpoint import checkpoint_folder, checkpoints, faults, read_manifest
from train.plan import Plan, make_plan
from train.records import read_record
from train.run import load_settings
from ucurve.command import check
from ucurve.errors import RunError, missing_folder


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class VerifySettings:
    """What to verify: one run folder."""

    run: Annotated[str, Field(min_length=1)]


def verify_command(values: dict[str, Any]) -> None:
    """Verify a run folder and say so on standard output.

    Raises:
        UserError: when there is no such run.
        RunError: naming every fault found.
    """
    run = Path(check(VerifySettings, values).run)
    if not run.is_dir():
        raise missing_folder("run", run)
    problems = run_faults(run)
    if problems:
        raise RunError(f"{run}: {len(problems)} fault(s)\n  " + "\n  ".join(problems))
    print(f"{run}: {len(list(checkpoints(run)))} checkpoints, all as their manifests say")  # noqa: T201


def run_faults(run: Path) -> list[str]:
    """Return every fault of a run folder, each naming the checkpoint or file; empty when there is none.

    Raises:
        UserError: when the folder holds no run.
    """
    settings = load_settings(run)
    record = read_record(run)
    if record is None:
        return [f"{run / 'run.json'}: missing"]
    plan = make_plan(settings, record["vocabulary"])
    problems = [] if record["status"] == "finished" else [f"{run}: the run is {record['status']}, not finished"]
    problems += _missing_or_foreign(run, plan)
    weights: dict[str, Path] = {}
    for folder in checkpoints(run):
        found = faults(folder)
        problems += found or _misplaced(folder, plan, record, weights)
    return problems


def _missing_or_foreign(run: Path, plan: Plan) -> list[str]:
    scheduled = {checkpoint_folder(run, step).name for step in plan.checkpoint_steps}
    present = {path.name for path in (run / "checkpoints").iterdir()} if (run / "checkpoints").is_dir() else set()
    missing = [f"{run / 'checkpoints' / name}: missing" for name in sorted(scheduled - present)]
    foreign = [f"{run / 'checkpoints' / name}: not on the schedule" for name in sorted(present - scheduled)]
    return missing + foreign


def _misplaced(folder: Path, plan: Plan, record: dict[str, Any], weights: dict[str, Path]) -> list[str]:
    """Compare a whole checkpoint with the run it stands in; ``weights`` collects the hashes seen so far."""
    manifest = read_manifest(folder)
    expected = plan.facts(manifest["step"], record["data_sha256"], record["corpus"]["tokens"])
    problems = [
        f"{folder}: {key} is {manifest[key]!r}, the run says {value!r}"
        for key, value in vars(expected).items()
        if manifest[key] != value
    ]
    twin = weights.setdefault(manifest["weights_sha256"], folder)
    if twin != folder:
        problems.append(f"{folder}: the same weights as {twin.name}")
    return problems
