"""Works through the cells of a grid; several processes, on one machine or several, may work on one grid at once.

Each cell is claimed by one worker at a time (``ucurve.storage.locks``: the system drops the claims of a process that
ends). A cell that is claimed, or whose folder another process writes, is passed over and looked at again at the end.
Nothing is kept but the run folders and the notes of failures, so that no process has to outlive the others.
"""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from train.config import RunSettings
from train.grid.cells import Cell
from train.grid.failures import Failure, clear_failure, read_failure, record_failure
from train.run_folder.checks import check_same_configuration
from train.run_folder.records import read_record
from ucurve.errors import BusyError
from ucurve.progress import say
from ucurve.storage.locks import Claims, cell_claims

Status = Literal["done", "skipped", "failed", "running", "not started"]


@dataclass(frozen=True)
class Outcome:
    """How a cell stands when this worker is through.

    Attributes:
        cell: the name of its run.
        status: ``done`` by this worker, ``skipped`` because it was finished, ``failed``, ``running`` in another
            process, or ``not started`` because this worker was stopped.
        reason: one line; for a failure also where the traceback is.
    """

    cell: str
    status: Status
    reason: str = ""


class GridRun:
    """One worker on one grid.

    Args:
        cells: the cells, in the order they are to be done.
        train: trains, or goes on with, one run; called for finished runs only when there is something to score.
    """

    def __init__(self, cells: Sequence[Cell], train: Callable[[RunSettings], None]) -> None:
        self._cells = list(cells)
        self._train = train
        self._outcomes: dict[str, Outcome] = {}
        self._old_failures = {cell.name: read_failure(cell.settings.folder) for cell in self._cells}
        self._claims: dict[str, Claims] = {}

    @property
    def outcomes(self) -> list[Outcome]:
        """How every cell stands, in order."""
        return [self._outcomes.get(cell.name, Outcome(cell.name, "not started")) for cell in self._cells]

    def work(self) -> None:
        """Do what is left of the grid, until every cell is finished, has failed or is held by another process.

        What ends the process (``train.engine.signals.Interrupted``, an interrupt) passes through and is no failure.
        """
        waiting = self._cells
        with contextlib.ExitStack() as stack:
            for place in {cell.settings.paths.runs for cell in self._cells}:
                self._claims[place] = stack.enter_context(cell_claims(Path(place)))
            while waiting:
                busy = [cell for cell in waiting if not self._attempt(cell)]
                if len(busy) == len(waiting):
                    break
                waiting = busy

    def _attempt(self, cell: Cell) -> bool:
        """Do one cell unless another process has it; return whether that is settled."""
        claims = self._claims[cell.settings.paths.runs]
        if not claims.take(cell.name):
            self._outcomes[cell.name] = Outcome(cell.name, "running", "in another process")
            return False
        try:
            self._outcomes[cell.name] = self._outcome(cell)
        finally:
            claims.give(cell.name)
        return self._outcomes[cell.name].status != "running"

    def _outcome(self, cell: Cell) -> Outcome:
        failure = read_failure(cell.settings.folder)
        if failure is not None and failure != self._old_failures[cell.name]:
            return _failed(cell, failure)  # another worker has tried it while we were at work
        try:
            return self._do(cell)
        except BusyError:
            return Outcome(cell.name, "running", "in another process")
        except Exception as error:
            return self._note(cell, error)

    def _do(self, cell: Cell) -> Outcome:
        finished = is_finished(cell.settings.folder)
        if finished:
            check_same_configuration(cell.settings)
        if not finished or _is_to_be_scored(cell.settings):
            self._train(cell.settings)
        clear_failure(cell.settings.folder)
        return Outcome(cell.name, "skipped", "finished before") if finished else Outcome(cell.name, "done")

    def _note(self, cell: Cell, error: Exception) -> Outcome:
        failure = record_failure(cell.settings, error)
        say(f"{cell.name} failed: {failure.error}")
        return _failed(cell, failure)


def summary(outcomes: Sequence[Outcome]) -> str:
    """Write the outcomes for a person: a line for each cell, then how many there are of each status."""
    width = max(len(outcome.cell) for outcome in outcomes)
    lines = [f"{one.cell:<{width}}  {one.status:<8}  {one.reason}".rstrip() for one in outcomes]
    statuses = [outcome.status for outcome in outcomes]
    counts = ", ".join(f"{statuses.count(status)} {status}" for status in dict.fromkeys(statuses))
    return "\n".join([*lines, f"{len(outcomes)} cells: {counts}"])


def is_finished(run: Path) -> bool:
    """Tell whether a run folder's record says that its training is finished.

    Raises:
        UserError: when the record cannot be read.
    """
    record = read_record(run)
    return record is not None and record["status"] == "finished"


def _failed(cell: Cell, failure: Failure) -> Outcome:
    return Outcome(cell.name, "failed", f"{failure.reason} ({failure.log})")


def _folder(cell: Cell) -> Path:
    return Path(cell.settings.paths.runs) / cell.name


def _is_to_be_scored(settings: RunSettings) -> bool:
    return settings.eval.when != "never" and bool(settings.eval.benchmarks)
