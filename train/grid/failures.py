"""Records of cells that failed: ``<runs>/.grid/<cell>.json`` with the reason and ``<cell>.log`` with the traceback."""

import os
import socket
import traceback
import uuid
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from ucurve.storage.files import read_json_or_empty, write_json, write_text
from ucurve.training.config import RunRequest


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
    write_text(log, f"{time} {process} {settings.run_name}\n" + "".join(traceback.format_exception(error)))
    write_json(failure_file(settings.folder), asdict(failure))
    return failure


def read_failure(run: Path) -> Failure | None:
    """Return the last failure of a run folder's cell, if one can be read."""
    try:
        return Failure(**read_json_or_empty(failure_file(run)))
    except TypeError:
        return None


def clear_failure(run: Path) -> None:
    """Remove the record of a cell that succeeded now."""
    for file in (failure_file(run), failure_file(run).with_suffix(".log")):
        file.unlink(missing_ok=True)


def failure_file(run: Path) -> Path:
    """Return where the failure of a run folder's cell is recorded."""
    return run.parent / ".grid" / f"{run.name}.json"
