"""What a grid notes of a cell that failed: ``<runs>/.grid/<cell>.json`` and the traceback in ``<cell>.log``."""

import os
import socket
import traceback
import uuid
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from train.config import RunSettings
from ucurve.storage.files import read_json_or_empty, write_json, write_text


@dataclass(frozen=True)
class Failure:
    """A cell that failed.

    Attributes:
        log: the file that has the traceback.
        process: host and process id of the worker.
        attempt: tells this failure from an earlier or later one of the same cell.
    """

    error: str
    log: str
    process: str
    time: str
    attempt: str

    @property
    def reason(self) -> str:
        """The first line of the message."""
        return (self.error.splitlines() or [""])[0]


def record_failure(settings: RunSettings, error: Exception) -> Failure:
    """Write the traceback to the cell's log and the reason beside it."""
    place = _place(settings.folder)
    process, time = f"{socket.gethostname()}:{os.getpid()}", datetime.now(UTC).isoformat(timespec="seconds")
    log = place.with_name(f"{place.name}.log")
    message = str(error) if str(error) else type(error).__name__
    failure = Failure(message, str(log), process, time, uuid.uuid4().hex)
    write_text(log, f"{time} {process} {settings.run_name}\n" + "".join(traceback.format_exception(error)))
    write_json(_record(place), asdict(failure))
    return failure


def read_failure(run: Path) -> Failure | None:
    """Return the last failure of a run folder's cell, or None; a note that cannot be read counts as none."""
    try:
        return Failure(**read_json_or_empty(failure_file(run)))
    except TypeError:
        return None


def clear_failure(run: Path) -> None:
    """Remove what was noted of a cell that is done now."""
    place = _place(run)
    _record(place).unlink(missing_ok=True)
    place.with_name(f"{place.name}.log").unlink(missing_ok=True)


def failure_file(run: Path) -> Path:
    """Return where the failure of a run folder's cell is noted."""
    return _record(_place(run))


def _place(run: Path) -> Path:
    return run.parent / ".grid" / run.name


def _record(place: Path) -> Path:
    return place.with_name(f"{place.name}.json")
