"""Checks that a run folder is what it says: every scheduled checkpoint there, whole, and the step it claims."""

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from eval.verify import Findings, verify_scores
from train.checkpoint import faults
from train.plan import Plan, make_plan
from train.records import read_record
from train.resume import state_faults
from train.stored import load_settings, stored_config_sha256
from train.verify_records import layout_faults, metrics_faults, record_faults, tokenizer_faults, unvouched_records
from train.verify_weights import first_weights_faults, twin_faults
from ucurve.config import check
from ucurve.errors import DamagedError, RunError, UserError, missing_folder
from ucurve.run_folder import CONFIGURATION, EVAL, METRICS, RECORD, checkpoints, own_faults, read_manifest


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class VerifySettings:
    """What to verify: one run folder, or a folder that a model was scored into."""

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
    alone = _holds_scores_alone(run)
    findings = verify_scores(run) if alone else run_findings(run)
    problems = findings.faults + findings.unvouched
    if problems:
        raise RunError(f"{run}: {len(problems)} fault(s)\n  " + "\n  ".join(problems))
    what = "scores of a model, all as their keys say" if alone else f"{len(checkpoints(run))} checkpoints, all as"
    print(f"{run}: {what}{'' if alone else ' their manifests say'}")  # noqa: T201


def _holds_scores_alone(folder: Path) -> bool:
    """Tell the folder that a model was scored into from a run's."""
    return (folder / EVAL).is_dir() and not any((folder / name).exists() for name in (CONFIGURATION, RECORD))


def run_faults(run: Path) -> list[str]:
    """Return every fault of a run folder, each naming the checkpoint or file; empty when there is none.

    Raises:
        UserError: when the folder holds no run.
    """
    return run_findings(run).faults


def run_findings(run: Path) -> Findings:
    """Return every fault of a run folder, and what nothing vouches for because an older version wrote it.

    Raises:
        UserError: when the folder holds no run.
    """
    settings = load_settings(run)
    try:
        record = read_record(run)
    except UserError as error:
        return Findings([str(error)])
    if record is None:
        return Findings([f"{run / RECORD}: missing"])
    plan = replace(make_plan(settings, record["vocabulary"]), config_sha256=stored_config_sha256(run))
    finished = record["status"] == "finished"
    problems = [] if finished else [f"{run}: the run is {record['status']}, not finished"]
    problems += record_faults(run, record, plan) + layout_faults(run, plan.checkpoint_steps)
    problems += own_faults(run, record) + metrics_faults(run / METRICS, plan, record) + state_faults(run)
    scores = verify_scores(run, {manifest["step"]: manifest for manifest in _manifests(run)})
    problems += scores.faults + _checkpoint_faults(run, plan, record)
    return Findings(problems, unvouched_records(run, record) + scores.unvouched)


def _manifests(run: Path) -> Iterator[dict[str, Any]]:
    for folder in checkpoints(run):
        with contextlib.suppress(DamagedError):
            yield read_manifest(folder)


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
