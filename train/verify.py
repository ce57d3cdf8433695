"""Checks that a run folder is what it says: every scheduled checkpoint there, whole, and the step it claims."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from train.checkpoint import checkpoints, faults, read_manifest
from train.plan import Plan, make_plan
from train.records import read_record
from train.stored import load_settings, stored_config_sha256
from train.verify_records import layout_faults, metrics_faults, record_faults, tokenizer_faults
from train.verify_weights import first_weights_faults, twin_faults
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
    finished = record["status"] == "finished"
    problems = [] if finished else [f"{run}: the run is {record['status']}, not finished"]
    problems += record_faults(run, record, plan) + layout_faults(run, plan.checkpoint_steps)
    problems += metrics_faults(run / "metrics.jsonl", plan, finished)
    return problems + _checkpoint_faults(run, plan, record)


def _checkpoint_faults(run: Path, plan: Plan, record: dict[str, Any]) -> list[str]:
    problems: list[str] = []
    whole: list[Path] = []
    for folder in checkpoints(run):
        found = faults(folder)
        problems += found or _misplaced(folder, plan, record)
        whole += [] if found else [folder]
    problems += tokenizer_faults(run, record, whole)
    return problems + twin_faults(whole, plan) + first_weights_faults(whole, plan, record)


def _misplaced(folder: Path, plan: Plan, record: dict[str, Any]) -> list[str]:
    """Compare a whole checkpoint with the run it stands in."""
    manifest = read_manifest(folder)
    expected = plan.facts(manifest["step"], record["data_sha256"], record["corpus"]["tokens"])
    return [
        f"{folder}: {key} is {manifest[key]!r}, the run says {value!r}"
        for key, value in vars(expected).items()
        if manifest[key] != value
    ]
