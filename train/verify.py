"""Checks that a run folder is what it says: every scheduled checkpoint there, whole, and the step it claims."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from train.checkpoint import checkpoint_folder, checkpoints, faults, read_manifest
from train.config import RunSettings
from train.plan import Plan, make_plan
from train.records import read_record
from train.stored import load_settings, stored_config_sha256
from ucurve.command import check
from ucurve.errors import RunError, UserError, missing_folder


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
    try:
        record = read_record(run)
    except UserError as error:
        return [str(error)]
    if record is None:
        return [f"{run / 'run.json'}: missing"]
    plan = replace(make_plan(settings, record["vocabulary"]), config_sha256=stored_config_sha256(run))
    problems = [] if record["status"] == "finished" else [f"{run}: the run is {record['status']}, not finished"]
    problems += _missing_or_foreign(run, plan)
    whole: list[Path] = []
    for folder in checkpoints(run):
        found = faults(folder)
        problems += found or _misplaced(folder, plan, record)
        whole += [] if found else [folder]
    return problems + _unlike("tokenizer_sha256", "another tokenizer than", whole) + _twins(whole, settings)


def _missing_or_foreign(run: Path, plan: Plan) -> list[str]:
    scheduled = {checkpoint_folder(run, step).name for step in plan.checkpoint_steps}
    present = {path.name for path in (run / "checkpoints").iterdir()} if (run / "checkpoints").is_dir() else set()
    missing = [f"{run / 'checkpoints' / name}: missing" for name in sorted(scheduled - present)]
    foreign = [f"{run / 'checkpoints' / name}: not on the schedule" for name in sorted(present - scheduled)]
    return missing + foreign


def _misplaced(folder: Path, plan: Plan, record: dict[str, Any]) -> list[str]:
    """Compare a whole checkpoint with the run it stands in."""
    manifest = read_manifest(folder)
    expected = plan.facts(manifest["step"], record["data_sha256"], record["corpus"]["tokens"])
    return [
        f"{folder}: {key} is {manifest[key]!r}, the run says {value!r}"
        for key, value in vars(expected).items()
        if manifest[key] != value
    ]


def _unlike(key: str, what: str, folders: list[Path]) -> list[str]:
    """Name the checkpoints whose manifest has another value of ``key`` than the first's."""
    values = [read_manifest(folder)[key] for folder in folders]
    return [
        f"{folder}: {what} {folders[0].name}"
        for folder, value in zip(folders, values, strict=True)
        if value != values[0]
    ]


def _twins(folders: list[Path], settings: RunSettings) -> list[str]:
    """Name checkpoints with equal weights; a learning rate that decays to 0 makes the last two steps equal."""
    first: dict[str, Path] = {}
    twins = [(folder, first.setdefault(read_manifest(folder)["weights_sha256"], folder)) for folder in folders]
    found = [f"{folder}: the same weights as {twin.name}" for folder, twin in twins if folder != twin]
    return found if settings.optimizer.minimum > 0 else []
