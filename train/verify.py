"""Checks a run folder: every scheduled checkpoint is there, whole, of the step it claims, and beside whole records."""

import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from eval.verify import Findings, verify_scores
from train.model.architectures import ARCHITECTURES
from train.optim import learning_rate
from train.plan import Plan, make_plan
from train.run_folder.checkpoint import find_faults, holds_weights
from train.run_folder.config_file import load_settings, stored_config_sha256
from train.run_folder.records import read_record
from train.run_folder.resume import state_faults
from train.tokenizer.folder import tokenizer_files
from ucurve.config import check
from ucurve.errors import DamagedError, RunError, UserError, missing_folder
from ucurve.provenance import versions
from ucurve.storage import sealed
from ucurve.storage.files import is_leftover, sha256_file
from ucurve.storage.run_folder import (
    CHECKPOINTS,
    CONFIGURATION,
    EVAL,
    FILES,
    METRICS,
    METRICS_SHA256,
    RECORD,
    RESUME,
    TOKENIZER,
    checkpoints,
    own_faults,
    parse_metrics,
    read_manifest,
    step_name,
)


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
        found = find_faults(folder)
        problems += found or _misplaced(folder, plan, record)
        whole += [] if found else [folder]
    problems += tokenizer_faults(run, record, whole)
    return problems + twin_faults(whole, plan) + first_weights_faults(whole, plan, record)


def _misplaced(folder: Path, plan: Plan, record: dict[str, Any]) -> list[str]:
    """Compare a whole checkpoint with the run it stands in."""
    manifest = read_manifest(folder)
    expected = plan.describe_checkpoint(manifest["step"], record["data_sha256"], record["corpus"]["tokens"])
    return [
        f"{folder}: {key} is {manifest[key]!r}, the run says {value!r}"
        for key, value in vars(expected).items()
        if manifest[key] != value
    ]


_FILES = {CONFIGURATION, RECORD, METRICS}
_FOLDERS = {TOKENIZER, CHECKPOINTS, RESUME, EVAL, "wandb"}
_PROVENANCE = ("code_revision", "versions", "hardware")
_SHOWN = 5


def layout_faults(run: Path, steps: Sequence[int]) -> list[str]:
    """Name what is missing in a run folder or does not belong there, and likewise among its checkpoints.

    Args:
        steps: steps at which a checkpoint is scheduled.
    """
    missing = [f"{run / name}: missing" for name in sorted(_FILES) if not (run / name).is_file()]
    foreign = [
        _foreign(path, "not part of a run folder")
        for path in sorted(run.iterdir())
        if not (path.name in _FILES and path.is_file()) and not (path.name in _FOLDERS and path.is_dir())
    ]
    return missing + foreign + _unscheduled(run, steps)


def _unscheduled(run: Path, steps: Sequence[int]) -> list[str]:
    place = run / CHECKPOINTS
    scheduled = {step_name(step) for step in steps}
    present = {path.name for path in place.iterdir()} if place.is_dir() else set()
    missing = [f"{place / name}: missing" for name in sorted(scheduled - present)]
    return missing + [_foreign(place / name, "not on the schedule") for name in sorted(present - scheduled)]


def _foreign(path: Path, why: str) -> str:
    return f"{path}: left behind by a killed process, or being written" if is_leftover(path) else f"{path}: {why}"


def record_faults(run: Path, record: Mapping[str, Any], plan: Plan) -> list[str]:
    """Name what ``run.json`` does not say, and what it says otherwise than ``config.yaml``.

    Args:
        record: ``run.json``.
        plan: of the run, from ``config.yaml``.
    """
    path = run / RECORD
    expected = {
        "config_sha256": plan.config_sha256,
        "checkpoint_steps": list(plan.checkpoint_steps),
        "seeds": asdict(plan.settings.seeds),
        "parameters": plan.parameters.as_dict(),
    }
    silent = [f"{path}: does not say {key}" for key in _PROVENANCE if key not in record]
    return silent + [
        f"{path}: {key} is {record.get(key)!r}, config.yaml gives {value!r}"
        for key, value in expected.items()
        if record.get(key) != value
    ]


def unvouched_records(run: Path, record: Mapping[str, Any]) -> list[str]:
    """Name what ``run.json`` does not say as an older version wrote it, so that nothing vouches for some files.

    Args:
        record: ``run.json``, which can be read.
    """
    path = run / RECORD
    silent = [] if sealed.RECORD.is_on(path) else [sealed.RECORD.key]
    silent += [key for key in (FILES, *([METRICS_SHA256] * (record["status"] == "finished"))) if key not in record]
    return [f"{path}: does not say {key}; an older version wrote the run" for key in silent]


def metrics_faults(path: Path, plan: Plan, record: Mapping[str, Any]) -> list[str]:
    """Name lines of ``metrics.jsonl`` that are not the next step's, steps missing at its end, and changed bytes.

    Args:
        path: the file; where it is missing nothing is said of it here.
        record: ``run.json``.
    """
    if not path.is_file():
        return []
    finished = record["status"] == "finished"
    last = 0
    found: list[str] = []
    for place, values in _lines(path):
        problem = _line_fault(values, last, plan.settings.batch.tokens)
        found += [f"{place}: {problem}"] if problem else []
        last = values["step"] if values is not None and isinstance(values.get("step"), int) else last + 1
    if finished and last != plan.steps:
        found.append(f"{path}: ends at step {last}, the run has {plan.steps}")
    if record.get(METRICS_SHA256, "") not in ("", sha256_file(path)):
        found.insert(0, f"{path}: its hash is not run.json's")
    return _few(found, path)


def _lines(path: Path) -> Iterator[tuple[str, dict[str, Any] | None]]:
    """Yield the place of each line and what it holds; None for a line that is no JSON object."""
    with path.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            yield f"{path}:{number}", parse_metrics(line)


def _line_fault(values: Mapping[str, Any] | None, last: int, batch_tokens: int) -> str | None:
    if values is None:
        return "no readable line"
    step, loss = values.get("step"), values.get("loss")
    if step != last + 1:
        return f"step {step} after step {last}"
    if values.get("tokens") != step * batch_tokens:
        return f"tokens is {values.get('tokens')} at step {step}, {step * batch_tokens} is expected"
    if not isinstance(loss, int | float) or not math.isfinite(loss):
        return f"loss is {loss} at step {step}"
    return None


def _few(found: list[str], path: Path) -> list[str]:
    """Keep the first faults of a file: one lost line of a long run must not hide the rest of the report."""
    more = len(found) - _SHOWN
    return found if more <= 0 else [*found[:_SHOWN], f"{path}: {more} more faults"]


def tokenizer_faults(run: Path, record: Mapping[str, Any], whole: Sequence[Path]) -> list[str]:
    """Compare the tokenizers of the checkpoints with the first's, and the run's own with that, file by file.

    Args:
        record: ``run.json``.
        whole: checkpoints that are what their manifests say.
    """
    own = run / TOKENIZER
    missing = [] if own.is_dir() or FILES in record else [f"{own}: missing"]  # else it is compared with run.json
    if not whole:
        return missing
    first, *others = [(folder, read_manifest(folder)) for folder in whole]
    name, manifest = first[0].name, first[1]
    found = tokenizer_files(own) if own.is_dir() else {}
    said = record.get("tokenizer_sha256", manifest["tokenizer_sha256"])  # records of older runs do not say it
    return [
        *missing,
        *[f"{own / file}: not the file of {name}" for file in found if manifest["files"].get(file) != found[file]],
        *([f"{run / RECORD}: tokenizer_sha256 is not that of {name}"] if said != manifest["tokenizer_sha256"] else []),
        *[
            f"{folder}: another tokenizer than {name}"
            for folder, other in others
            if other["tokenizer_sha256"] != manifest["tokenizer_sha256"]
        ],
    ]


def first_weights_faults(whole: Sequence[Path], plan: Plan, record: dict[str, Any]) -> list[str]:
    """Draw the initial weights anew from the seed and compare the checkpoint of step 0 with them, bit for bit.

    Args:
        whole: checkpoints that are what their manifests say.
        record: ``run.json``.

    Returns:
        The fault, naming the versions of torch that drew the weights then and now; empty when there is none.
    """
    first = next((folder for folder in whole if read_manifest(folder)["step"] == 0), None)
    if first is None:
        return []
    settings = plan.settings
    no_token = 0  # the token that precedes documents stands in the configuration only
    shape = settings.model.shape
    build_model = ARCHITECTURES[shape.architecture].build_model
    model = build_model(shape, plan.vocabulary, settings.batch.length, no_token, settings.seeds.init)
    if holds_weights(first, model):
        return []
    then, now = record.get("versions", {}).get("torch"), versions()["torch"]
    return [f"{first}: not the weights that seeds.init={settings.seeds.init} gives (torch {then} then, {now} now)"]


def twin_faults(whole: Sequence[Path], plan: Plan) -> list[str]:
    """Name checkpoints with equal weights; those are right only where every learning rate between them is 0.

    Args:
        whole: checkpoints that are what their manifests say, in the order of their steps.
    """
    found: dict[str, Path] = {}
    twins = [(folder, found.setdefault(read_manifest(folder)["weights_sha256"], folder)) for folder in whole]
    return [
        f"{folder}: the same weights as {twin.name}"
        for folder, twin in twins
        if folder != twin and _moves(plan, read_manifest(twin)["step"], read_manifest(folder)["step"])
    ]


def _moves(plan: Plan, after: int, to: int) -> bool:
    optimizer = plan.settings.optimizer
    return any(learning_rate(optimizer, step, plan.steps) > 0 for step in range(after + 1, to + 1))
