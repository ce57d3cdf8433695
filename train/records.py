"""A run's own records: ``metrics.jsonl``, one line for each optimizer step, and ``run.json``."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ucurve.errors import UserError
from ucurve.files import new_file, write_json

_NEEDED = {"status", "data_sha256", "vocabulary", "corpus"}
_MAKER = ("code_revision", "versions", "hardware", "engine")  # what may change when a run goes on


class MetricsLog:
    """Appends to ``metrics.jsonl``; the local file is the truth whatever else is logged to."""

    def __init__(self, path: Path, resumed_step: int) -> None:
        """Open the log of a run that goes on after ``resumed_step``, dropping the lines of steps to be taken again."""
        if path.exists():
            _keep_lines_until(path, resumed_step)
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("a", encoding="utf-8")

    def append(self, metrics: Mapping[str, float]) -> None:
        """Write one line and hand it to the operating system, so that a killed process loses none."""
        self._file.write(json.dumps(dict(metrics), allow_nan=False) + "\n")
        self._file.flush()

    def sync(self) -> None:
        """Force the lines written so far to disk."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class RunRecord:
    """``run.json``: what made the run and how it stands."""

    def __init__(self, run: Path, facts: Mapping[str, Any]) -> None:
        self._path = run / "run.json"
        before = read_record(run) or {}
        self._facts = dict(facts) | ({"sessions": before["sessions"]} if "sessions" in before else {})

    def begin(self, done: int) -> None:
        """Note what makes the steps after ``done`` from here on; going on with the same adds no entry.

        Without it a run that went on with other code, versions, hardware or engine would look made by the last alone.
        """
        maker = {key: self._facts.get(key) for key in _MAKER}
        kept = [session for session in self._facts.get("sessions", []) if session["after_step"] < done]
        if not kept or {key: kept[-1].get(key) for key in _MAKER} != maker:
            kept.append({"after_step": done, **maker})
        self._facts["sessions"] = kept
        write_json(self._path, self._facts)

    def write(self, status: str, **more: Any) -> None:
        """Write the record with ``status`` running, finished or failed, and further facts."""
        self._facts |= {"status": status, **more}
        write_json(self._path, self._facts)


def read_record(run: Path) -> dict[str, Any] | None:
    """Return a run's record, or None where there is none.

    Raises:
        UserError: when the file is not a record that was written here.
    """
    path = run / "run.json"
    if not path.exists():
        return None
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be read ({error})") from error
    if not isinstance(record, dict) or not set(record) >= _NEEDED:
        raise UserError(f"{path}: not the record of a run; it needs {', '.join(sorted(_NEEDED))}")
    return record


def _keep_lines_until(path: Path, step: int) -> None:
    with (
        new_file(path) as temporary,
        path.open(encoding="utf-8", errors="replace") as lines,
        temporary.open("w", encoding="utf-8") as kept,
    ):
        for line in lines:
            if _step_of(line) > step:
                break
            kept.write(line)


def _step_of(line: str) -> float:
    """Return the step of a line; a torn last line counts as beyond every step."""
    try:
        return float(json.loads(line)["step"])
    except (ValueError, KeyError, TypeError):
        return float("inf")
