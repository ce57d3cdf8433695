"""Whether the files of a run folder beside the weights are whole: its layout, its record and its metrics."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from train.plan import Plan
from train.text import tokenizer_files
from ucurve import sealed
from ucurve.files import is_leftover, sha256_file
from ucurve.run_folder import (
    CHECKPOINTS,
    CONFIGURATION,
    EVAL,
    FILES,
    METRICS,
    METRICS_SHA256,
    RECORD,
    RESUME,
    TOKENIZER,
    parse_metrics,
    read_manifest,
    step_name,
)

_FILES = {CONFIGURATION, RECORD, METRICS}
_FOLDERS = {TOKENIZER, CHECKPOINTS, RESUME, EVAL, "wandb"}
_PROVENANCE = ("code_revision", "versions", "hardware")
_SHOWN = 5


def layout_faults(run: Path, steps: Sequence[int]) -> list[str]:
    """Name what is missing in a run folder or does not belong there, and likewise among its checkpoints.

    Args:
        run: run folder.
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
        run: run folder.
        record: ``run.json``.
        plan: of the run, from ``config.yaml``.
    """
    path = run / RECORD
    totals = {"total": plan.parameters.total, "non_embedding": plan.parameters.non_embedding}
    expected = {
        "config_sha256": plan.config_sha256,
        "checkpoint_steps": list(plan.checkpoint_steps),
        "seeds": asdict(plan.settings.seeds),
        "parameters": asdict(plan.parameters) | totals,
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
        run: run folder.
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
        plan: of the run.
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
        run: run folder.
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
