"""Trains the cells of a grid; several processes, on one machine or several, may work on one grid at the same time.

Cells that failed have a record: ``<runs>/.grid/<cell>.json`` with the reason and ``<cell>.log`` with the traceback.
"""

import contextlib
import os
import socket
import time
import traceback
import uuid
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from ucurve.errors import BusyError, RunError, UcurveError, UserError
from ucurve.fields import format_names
from ucurve.progress import log_line
from ucurve.storage.facts import read_run_facts
from ucurve.storage.files import read_json_or_empty, write_json, write_text
from ucurve.storage.locks import Claims, cell_claims, is_being_written
from ucurve.training.config import RunRequest
from ucurve.training.grid.cells import Cell
from ucurve.training.run_folder.checks import check_same_configuration
from ucurve.training.run_folder.resume import newest_step

_PAUSE = 5.0  # seconds between looks at a run of another process from which others go on
# Skipped cells were finished before, running ones are in another process, not started after a signal to this worker.
# Interrupted ones are cut off, by that signal or before, and go on with the next start.
Status = Literal["done", "skipped", "failed", "running", "interrupted", "not started"]


@dataclass(frozen=True)
class Outcome:
    """The status of a cell when this worker ends."""

    cell: str
    status: Status
    reason: str = ""  # of a failure it is the message of the error
    log: str = ""  # of a failure, the file that has the traceback


class GridRun:
    """One worker on one grid; ``train`` is called for finished runs only when there is something to score.

    ``before`` names the run from which another goes on.
    """

    def __init__(
        self, cells: Sequence[Cell], train: Callable[[RunRequest], None], before: Mapping[str, str] | None = None
    ) -> None:
        self._cells = list(cells)
        self._train = train
        self._before = before or {}
        self._outcomes: dict[str, Outcome] = {}
        # A cell that failed before this start is tried again, one that failed since is not.
        self._old_failures = {cell.name: read_failure(cell.settings.folder) for cell in self._cells}
        self._claims: dict[str, Claims] = {}

    @property
    def outcomes(self) -> list[Outcome]:
        """The status of every cell, in order."""
        return [self._outcomes.get(cell.name) or _find_outcome(cell) for cell in self._cells]

    def work(self) -> None:
        """Train until every cell is finished, has failed or is claimed by another process; signals are no failures.

        While another process trains the run from which some go on, and nothing else is left, it waits.
        """
        waiting = self._cells
        with contextlib.ExitStack() as stack:
            for place in {cell.settings.paths.runs for cell in self._cells}:
                self._claims[place] = stack.enter_context(cell_claims(Path(place)))
            while waiting:
                busy = [cell for cell in waiting if not self._attempt(cell)]
                # No cell could be begun in this round.
                if len(busy) == len(waiting):
                    if not any(self._status_before(cell) == "running" for cell in busy):
                        break
                    time.sleep(_PAUSE)
                waiting = busy

    def _status_before(self, cell: Cell) -> Status | None:
        """Return the status of the run from which a cell goes on, if there is one."""
        outcome = self._outcomes.get(self._before.get(cell.name, ""))
        return None if outcome is None else outcome.status

    def _attempt(self, cell: Cell) -> bool:
        """Try one cell; return whether no other process runs it."""
        claims = self._claims[cell.settings.paths.runs]
        if not claims.acquire(cell.name):
            self._outcomes[cell.name] = Outcome(cell.name, "running", "in another process")
            return False
        try:
            self._outcomes[cell.name] = self._train_claimed(cell)
        finally:
            claims.release(cell.name)
        return self._outcomes[cell.name].status != "running"

    def _train_claimed(self, cell: Cell) -> Outcome:
        """Train a cell that this worker has claimed; an error of it becomes its outcome."""
        failure = read_failure(cell.settings.folder)
        if failure is not None and failure != self._old_failures[cell.name]:
            return _failed(cell, failure)  # another worker has tried it meanwhile
        try:
            return self._train_run(cell)
        except BusyError:
            return Outcome(cell.name, "running", "in another process")
        # A cell that fails, in whatever way, does not stop the others.
        except Exception as error:
            failure = record_failure(cell.settings, error)
            log_line(f"{cell.name} failed; {failure.log} says why, and so will the summary")
            return _failed(cell, failure)

    def _train_run(self, cell: Cell) -> Outcome:
        """Train a cell, or only score it where its run is finished, and return its outcome."""
        facts = read_run_facts(cell.settings.folder)
        finished = facts is not None and facts.finished
        if finished and cell.name not in self._before.values():  # a trunk of other budgets serves as it is
            try:
                check_same_configuration(cell.settings)
            except UserError as error:
                # A mistake of this command, which must not mark the finished run as failed.
                return Outcome(cell.name, "failed", str(error))
        if self._status_before(cell) == "failed" and not cell.settings.folder.exists():
            place = cell.settings.folder.with_name(self._before[cell.name])
            raise RunError(f"{place}, from which this run goes on, has failed")
        if not finished or cell.settings.eval.scores_here:
            self._train(cell.settings)
        clear_failure(cell.settings.folder)
        return Outcome(cell.name, "skipped", "finished before") if finished else Outcome(cell.name, "done")


def format_outcomes(outcomes: Sequence[Outcome]) -> str:
    """Return the outcomes as text: a line for each cell, each reason of failures once, the number of each status."""
    width = max(len(outcome.cell) for outcome in outcomes)
    failed = [one for one in outcomes if one.status == "failed"]
    notes = [one.log if one in failed else one.reason for one in outcomes]
    lines = [
        f"{one.cell:<{width}}  {one.status:<11}  {note}".rstrip()
        for one, note in zip(outcomes, notes, strict=True)
    ]
    reasons = [
        f"{format_names([one.cell for one in failed if one.reason == reason])} failed: {reason}"
        for reason in dict.fromkeys(one.reason for one in failed)
    ]
    return "\n".join([*lines, *reasons, count_statuses([one.status for one in outcomes])])


def count_statuses(statuses: Sequence[str]) -> str:
    """Return how many cells there are and how many of each status, as one line."""
    return f"{len(statuses)} cells: " + ", ".join(
        f"{count} {status}" for status, count in Counter(statuses).items()
    )


def _failed(cell: Cell, failure: "Failure") -> Outcome:
    return Outcome(cell.name, "failed", failure.error, failure.log)


def _find_outcome(cell: Cell) -> Outcome:
    """Return the status of a cell that this worker has not ended, by what is in its folder."""
    folder = cell.settings.folder
    with contextlib.suppress(UcurveError):
        facts = read_run_facts(folder)
        if facts is not None and not facts.finished and not is_being_written(folder):
            return Outcome(cell.name, "interrupted", f"at step {newest_step(folder)}")
    return Outcome(cell.name, "not started")


@dataclass(frozen=True)
class Failure:
    """A cell that failed."""

    error: str
    log: str  # the file that has the traceback
    process: str  # host and process id of the worker
    time: str
    attempt: str  # differs between the failures of one cell

    @property
    def reason(self) -> str:
        """The first line of the message."""
        return (self.error.splitlines() or [""])[0]


def record_failure(settings: RunRequest, error: Exception) -> Failure:
    """Write the traceback to the cell's log and the reason beside it."""
    process, time = f"{socket.gethostname()}:{os.getpid()}", datetime.now(UTC).isoformat(timespec="seconds")
    log = failure_file(settings.folder).with_suffix(".log")
    failure = Failure(str(error) or type(error).__name__, str(log), process, time, uuid.uuid4().hex)
    # The log is written before the record that names it.
    write_text(log, f"{time} {process} {settings.run_name}\n" + "".join(traceback.format_exception(error)))
    write_json(failure_file(settings.folder), asdict(failure))
    return failure


def read_failure(run: Path) -> Failure | None:
    """Return the last failure of a run folder's cell, if one can be read."""
    try:
        return Failure(**read_json_or_empty(failure_file(run)))
    except TypeError:  # there is no record, or another version wrote it
        return None


def clear_failure(run: Path) -> None:
    """Remove the record of a cell that succeeded now."""
    for file in (failure_file(run), failure_file(run).with_suffix(".log")):
        file.unlink(missing_ok=True)


def failure_file(run: Path) -> Path:
    """Return where the failure of a run folder's cell is recorded."""
    return run.parent / ".grid" / f"{run.name}.json"
