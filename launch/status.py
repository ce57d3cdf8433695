"""Lists the status of a grid's cells: ``ucurve status runs='runs/*'``, or with the arguments of the grid."""

import os
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Literal

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass as checked

from ucurve.cli import run
from ucurve.errors import UserError
from ucurve.launch.arguments import Format, expand_grid, format_rows, split_arguments
from ucurve.storage.facts import RunFacts, read_run_facts
from ucurve.storage.locks import is_being_written
from ucurve.storage.run_folder import CONFIGURATION, METRICS, RECORD, match_folders, parse_metrics
from ucurve.training.config import RunSettings
from ucurve.training.grid.worker import Failure, count_statuses, failure_file, read_failure

_TAIL = 4096  # bytes that hold the last line of metrics.jsonl
Status = Literal["done", "running", "interrupted", "failed", "missing"]


@checked(frozen=True, config=ConfigDict(extra="forbid"))
class StatusSettings:
    """What to list and how."""

    runs: str | None  # run folders, as a pattern; without it and without a grid, those in ``runs``
    format: Format


@dataclass(frozen=True)
class CellStatus:
    """The status of one cell."""

    cell: str
    # ``interrupted`` is a run that is not finished and that no process is writing; ``missing`` has no folder
    status: Status
    step: int | None = None  # last optimizer step that was logged
    steps: int | None = None
    loss: float | None = None  # loss at ``step``, in nats per predicted token
    tokens_per_second: float | None = None
    age: float | None = None  # seconds since the run last wrote its log or record
    reason: str | None = None  # first line of the message of a failure


def status_command(arguments: Sequence[str]) -> None:
    """Print the table."""
    settings, grid = split_arguments(StatusSettings, "status", arguments)
    cells = [cell.settings for cell in (expand_grid(grid) if grid else [])]
    expected = {cell.folder: cell.steps if isinstance(cell, RunSettings) else None for cell in cells}
    pattern = settings.runs or (None if grid else "runs/*")
    found = _run_folders(pattern) if pattern else []
    folders = list(dict.fromkeys([*expected, *found]))
    if not folders:
        raise UserError(f"runs={pattern}: no run folder there; give runs=PATTERN or the arguments of a grid")
    rows = [cell_status(folder, expected.get(folder)) for folder in folders]
    first = {row.reason: row.cell for row in reversed(rows)}  # the first cell is put in last
    texts = [_format_status(row, first[row.reason]) for row in rows]
    print(format_rows([asdict(row) for row in rows], texts, settings.format))  # noqa: T201
    if settings.format == "text":
        print(count_statuses([row.status for row in rows]))  # noqa: T201


def cell_status(run: Path, steps: int | None = None) -> CellStatus:
    """Return the status of the run of one folder, without changing anything."""
    failure = read_failure(run)
    try:
        facts = read_run_facts(run)
    except UserError as error:
        return CellStatus(run.name, "failed", steps=steps, age=_seconds_since_last_write(run), reason=str(error))
    if facts is None:
        status: Status = "running" if is_being_written(run) else "failed" if failure else "missing"
        return CellStatus(run.name, status, steps=steps, reason=failure.reason if failure else None)
    status, reason = _find_status(run, facts, failure)
    last = _last_metrics(run)
    return CellStatus(
        cell=run.name,
        status=status,
        step=int(last["step"]) if last else 0,
        steps=max(facts.checkpoint_steps, default=steps),  # the last step has a checkpoint in every schedule
        loss=last.get("loss", last.get("masked_loss")),
        tokens_per_second=last.get("tokens_per_second"),
        age=_seconds_since_last_write(run),
        reason=reason,
    )


def _find_status(run: Path, facts: RunFacts, failure: Failure | None) -> tuple[Status, str | None]:
    """Return the status of a run that has a record, and the reason of a failure."""
    if is_being_written(run):
        return "running", None
    # A run record that is newer than the failure is of a later start.
    if failure is not None and failure_file(run).stat().st_mtime >= (run / RECORD).stat().st_mtime:
        return "failed", failure.reason
    if facts.status == "failed":
        return "failed", (facts.error or "").partition("\n")[0]
    return ("done" if facts.finished else "interrupted"), None


def _run_folders(pattern: str) -> list[Path]:
    """Return the run folders that a pattern names, and those of which there is only the record of a failure."""
    places = match_folders(str(Path(pattern).parent))
    noted = [place / note.stem for place in places for note in place.glob(".grid/*.json")]
    folders = match_folders(pattern)
    runs = {folder for folder in folders if (folder / CONFIGURATION).exists() or (folder / RECORD).exists()}
    return sorted(runs | {run for run in noted if fnmatch(run.name, Path(pattern).name)})


def _last_metrics(run: Path) -> dict[str, float]:
    """Return the last whole line of ``metrics.jsonl``; empty where there is none."""
    try:
        with (run / METRICS).open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL))
            lines = file.read().decode(errors="replace").splitlines()
    except OSError:
        return {}
    for line in reversed(lines):
        # None for a line of which the beginning was not read, or the end not written.
        values = parse_metrics(line)
        if values is not None and "step" in values:
            return values
    return {}


def _seconds_since_last_write(run: Path) -> float | None:
    times = [path.stat().st_mtime for path in (run / METRICS, run / RECORD) if path.exists()]
    return round(max(0.0, time.time() - max(times)), 1) if times else None


def _format_status(row: CellStatus, first: str) -> dict[str, object]:
    """Write a row for people; the reason stands at the ``first`` cell that has it."""
    return {
        "cell": row.cell,
        "status": row.status,
        "step": "-" if row.steps is None else f"{row.step or 0}/{row.steps}",
        "loss": None if row.loss is None else f"{row.loss:.3f}",
        "tokens/s": None if row.tokens_per_second is None else f"{row.tokens_per_second:.0f}",
        "age": None if row.age is None else _format_duration(row.age),
        "reason": (row.reason or "") if row.cell == first or not row.reason else f"as {first}",
    }


def _format_duration(seconds: float) -> str:
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"


if __name__ == "__main__":
    run("status")
