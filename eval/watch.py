"""Finds checkpoints of runs as they appear, for scoring beside the training."""

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from glob import has_magic
from pathlib import Path

from ucurve.errors import RunError, UserError
from ucurve.progress import log_line
from ucurve.storage.facts import read_run_facts
from ucurve.storage.locks import is_being_written
from ucurve.storage.run_folder import MANIFEST, RECORD, checkpoints, match_folders, parse_step

_PAUSE = 5.0  # seconds between two looks at the folders
_LAST_LOOKS = 12  # at runs of a pattern that have all ended: a grid may be about to begin with its next run
_ENDED = ("finished", "failed")


def watch_runs(pattern: str) -> Iterator[tuple[Path, list[int]]]:
    """Yield the new whole checkpoints of the runs that a path or a pattern stands for, until all runs have ended.

    Runs that match a pattern later are found too, within a minute after the others have ended. A run that was
    interrupted is waited for. Those that have failed are named by a ``RunError`` at the end.
    """
    seen: dict[Path, set[tuple[int, int]]] = defaultdict(set)
    noted: dict[Path, str] = {}
    looks, last_looks = 0, _LAST_LOOKS if has_magic(pattern) else 1
    while looks < last_looks:
        runs = [path for path in match_folders(pattern) if (path / RECORD).is_file()]
        if not runs:
            raise UserError(
                f"run={pattern}: no run there yet; start watching when training has made the run folder"
            )
        statuses = {run: _status(run) for run in runs}  # before their checkpoints are listed
        idle = True
        for run in statuses:
            new = _whole_checkpoints(run) - seen[run]
            if new:
                idle = False
                seen[run] |= new
                yield run, sorted(step for step, _ in new)
        if not idle:  # scoring took time, in which more may have come
            looks = 0
            continue
        looks = looks + 1 if all(status in _ENDED for status in statuses.values()) else 0
        for run, status in statuses.items():
            if status not in _ENDED and noted.get(run) != status:
                noted[run] = status
                log_line(f"{run}: {status}; waiting for its checkpoints")
        if looks < last_looks:
            time.sleep(_PAUSE)
    failed = [str(run) for run, status in statuses.items() if status == "failed"]
    if failed:
        raise RunError(f"the checkpoints so far are scored, but training has failed: {', '.join(failed)}")


def _status(run: Path) -> str:
    """Return the status of a run; one whose process was killed is interrupted, whatever its record says."""
    facts = read_run_facts(run)
    status = "running" if facts is None else facts.status
    return "interrupted" if status == "running" and not is_being_written(run) else status


def _whole_checkpoints(run: Path) -> set[tuple[int, int]]:
    """Return the step of each checkpoint and when its manifest was written; a folder without one is being written."""
    found = set()
    for folder in checkpoints(run):
        step = parse_step(folder.name)
        if step is not None:
            with suppress(FileNotFoundError):  # it is being written, or written again
                found.add((step, (folder / MANIFEST).stat().st_mtime_ns))
    return found
