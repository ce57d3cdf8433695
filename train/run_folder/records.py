"""A run's own records: ``metrics.jsonl``, one line for each optimizer step, and ``run.json``."""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ucurve.errors import RunError, UserError
from ucurve.storage import sealed
from ucurve.storage.files import new_file, sha256_file, write_text
from ucurve.storage.run_folder import (
    FILES,
    RECORD,
    RESUME,
    TOKENIZER,
    own_faults,
    parse_metrics,
    read_run_record,
    refuse_faults,
    replacing,
)

_NEEDED = {"status", "data_sha256", "vocabulary", "corpus"}
_SESSION_KEYS = ("code_revision", "versions", "hardware", "engine")  # what may change when a run goes on


class MetricsLog:
    """Appends to ``metrics.jsonl``.

    Args:
        resumed_step: the run continues after this step; the lines of later steps are dropped.
        kept_sha256: SHA-256 of the lines that are kept, as they were written; None where it was not recorded.

    Raises:
        RunError: when the lines that are kept have another hash; the file is left as it is.
    """

    def __init__(self, path: Path, resumed_step: int, kept_sha256: str | None = None) -> None:
        self._digest = hashlib.sha256()
        path.parent.mkdir(parents=True, exist_ok=True)
        with new_file(path) as temporary, temporary.open("wb") as kept:
            for line in _lines_until(path, resumed_step):
                self._digest.update(line)
                kept.write(line)
            if kept_sha256 not in (None, self.sha256):
                raise RunError(
                    f"{path}: the lines up to step {resumed_step} are not those that were written; restore the file "
                    f"from a copy, or remove {path.parent / RESUME} and start again, which repeats all steps"
                )
        self._file = path.open("ab")

    @property
    def sha256(self) -> str:
        """Hex SHA-256 of all lines so far."""
        return self._digest.hexdigest()

    def append(self, metrics: Mapping[str, float]) -> None:
        """Write one line and flush it, so that a killed process loses none."""
        line = (json.dumps(dict(metrics), allow_nan=False) + "\n").encode()
        self._file.write(line)
        self._file.flush()
        self._digest.update(line)

    def sync(self) -> None:
        """Force the lines written so far to disk."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class RunRecord:
    """``run.json``: the inputs, the software and the status of a run."""

    def __init__(self, run: Path, facts: Mapping[str, Any]) -> None:
        self._run = run
        before = read_record(run) or {}
        self._facts = dict(facts) | {key: before[key] for key in ("sessions", FILES) if key in before}

    def write_file(self, name: str, text: str) -> None:
        """Write a file of the run folder, unless it is there already, and record its hash.

        The record accepts the old and the new file before the file is replaced, so that a kill leaves both valid.
        """
        digest = hashlib.sha256(text.encode()).hexdigest()
        path, before = self._run / name, read_run_record(self._run)
        if not path.is_file() or sha256_file(path) != digest:
            if FILES in before:
                self._store(replacing(before, self._run, name, digest))
            write_text(path, text)
        if FILES in before and (after := replacing(before, self._run, name, digest)) != before:
            self._store(after)
        self._facts[FILES] = {**self._facts.get(FILES, {}), name: digest}

    def record_tokenizer(self) -> None:
        """Record the hashes of the run's tokenizer, or compare it with those that an earlier start recorded.

        Raises:
            DamagedError: naming every file that is not what was written.
        """
        files = self._facts.setdefault(FILES, {})
        place = self._run / TOKENIZER
        if not any(name.startswith(f"{TOKENIZER}/") for name in files):
            files |= {f"{TOKENIZER}/{path.name}": sha256_file(path) for path in sorted(place.iterdir())}
        advice = f"remove {place} and start the same command again, which copies it from where it was built"
        refuse_faults(own_faults(self._run, self._facts, [TOKENIZER]), advice)

    def begin(self, done: int) -> None:
        """Record code revision, versions, hardware and engine for the steps after ``done``, unless nothing changed."""
        session_facts = {key: self._facts.get(key) for key in _SESSION_KEYS}
        kept = [session for session in self._facts.get("sessions", []) if session["after_step"] < done]
        if not kept or {key: kept[-1].get(key) for key in _SESSION_KEYS} != session_facts:
            kept.append({"after_step": done, **session_facts})
        self._facts["sessions"] = kept
        self._store(self._facts)

    def write(self, status: str, **more: Any) -> None:
        """Write the record with ``status`` running, interrupted, finished or failed, and further facts."""
        self._facts |= {"status": status, **more}
        self._store(self._facts)

    def _store(self, facts: Mapping[str, Any]) -> None:
        sealed.RECORD.write(self._run / RECORD, facts)


def read_record(run: Path) -> dict[str, Any] | None:
    """Return a run's record, or None where there is none.

    Raises:
        DamagedError: when the file is not what was written.
        UserError: when it is not a record that was written here.
    """
    path = run / RECORD
    if not path.exists():
        return None
    record = read_run_record(run)
    if not set(record) >= _NEEDED:
        raise UserError(f"{path}: not the record of a run; it needs {', '.join(sorted(_NEEDED))}")
    return record


def _lines_until(path: Path, step: int) -> Iterator[bytes]:
    """Yield the lines of the steps up to ``step``; a torn line ends them."""
    if not path.exists():
        return
    with path.open("rb") as lines:
        for line in lines:
            if _parse_step(line) > step:
                return
            yield line


def _parse_step(line: bytes) -> float:
    """Return the step of a line; infinity for a torn line."""
    try:
        return float((parse_metrics(line) or {})["step"])
    except (ValueError, KeyError, TypeError):
        return float("inf")
