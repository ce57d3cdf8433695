"""A run's own records: ``metrics.jsonl``, one line for each optimizer step, and ``run.json``."""

import hashlib
import itertools
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ucurve.errors import RunError
from ucurve.progress import log_line
from ucurve.storage.facts import RunFacts, Session, Status, own_faults, read_run_facts, write_run_facts
from ucurve.storage.faults import refuse_faults
from ucurve.storage.files import contents, has_hash, new_file, sha256_file, write_text
from ucurve.storage.run_folder import RESUME, TOKENIZER, parse_metrics
from ucurve.training.identity import differing_keys


class MetricsLog:
    """Appends to ``metrics.jsonl``.

    Args:
        path: of the file.
        resumed_step: the run continues after this step; the lines of later steps are dropped.
        kept_sha256: SHA-256 of the lines that are kept, as they were written; None where it was not recorded.

    Raises:
        RunError: when the lines that are kept have another hash; the file is left as it is.
    """

    def __init__(self, path: Path, resumed_step: int, kept_sha256: str | None = None) -> None:
        self._digest = hashlib.sha256()
        path.parent.mkdir(parents=True, exist_ok=True)
        # An error before the end of this block leaves the old file as it is.
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
        # JSON has no number for NaN, which most other programs refuse to read.
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
    """Keeps ``run.json`` of a run that is trained, with the sessions and hashes that an earlier start recorded."""

    def __init__(self, run: Path, facts: RunFacts) -> None:
        self._run = run
        # What an earlier start recorded, None at the first one, and what is written now.
        self.before = self._written = before = read_run_facts(run)
        kept = {"sessions": before.sessions, "files": before.files} if before is not None else {}
        self._facts = facts.model_copy(update=kept)

    def write_file(self, name: str, text: str) -> None:
        """Write a file of the run folder, unless it is there already, and record its hash.

        The record accepts the old and the new file before the file is replaced, so that a kill leaves both valid.
        """
        digest = hashlib.sha256(text.encode()).hexdigest()
        path, written = self._run / name, self._written
        if not has_hash(path, digest):
            if written is not None:
                self._write(written.replacing(self._run, name, digest))
            write_text(path, text)
        if written is not None and (after := written.replacing(self._run, name, digest)) != written:
            self._write(after)
        self._change(files={**self._facts.files, name: digest})

    def record_tokenizer(self) -> None:
        """Record the hashes of the run's tokenizer, or compare it with those that an earlier start recorded.

        Raises:
            DamagedError: naming every file that is not what was written.
        """
        place = self._run / TOKENIZER
        if not any(name.startswith(f"{TOKENIZER}/") for name in self._facts.files):
            found = {f"{TOKENIZER}/{path.name}": sha256_file(path) for path in contents(place)}
            self._change(files={**self._facts.files, **found})
        advice = f"remove {place} and start the same command again, which copies it from where it was built"
        refuse_faults(own_faults(self._run, self._facts, [TOKENIZER]), advice)

    def begin(self, done: int) -> None:
        """Record code revision, versions, hardware and engine for the steps after ``done``, unless nothing changed."""
        # The steps of later sessions are taken again, so these sessions are dropped.
        kept = [session for session in self._facts.sessions if session.after_step < done]
        for text in describe_changes([*kept[-1:], self._facts.session(done)]):
            log_line(f"{self._run.name}: {text}")
        # With the same code, versions and machine the session that is there goes on.
        if not kept or kept[-1] != self._facts.session(kept[-1].after_step):
            kept.append(self._facts.session(done))
        self._change(sessions=tuple(kept))
        self._write(self._facts)

    def write(self, status: Status, **more: object) -> None:
        """Write the record with its status and further facts."""
        self._change(status=status, **more)
        self._write(self._facts)

    def _write(self, facts: RunFacts) -> None:
        write_run_facts(self._run, facts)
        self._written = facts

    def _change(self, **changes: object) -> None:
        self._facts = self._facts.model_copy(update=changes)


def describe_changes(sessions: Sequence[Session]) -> list[str]:
    """Say where the steps of a run were computed with something else than those before, so that sums may differ."""
    computed = [
        one.model_dump(exclude={"after_step": True, "code_revision": True, "hardware": {"cores"}})
        for one in sessions
    ]
    return [
        f"the steps after {later.after_step} were computed with something else than those before "
        f"({'; '.join(changed)}), so the last bits of the weights may not be those of a run in one go"
        for later, (before, after) in zip(sessions[1:], itertools.pairwise(computed), strict=True)
        if (changed := differing_keys(before, after))
    ]


def _lines_until(path: Path, step: int) -> Iterator[bytes]:
    """Yield the lines of the steps up to ``step``; a torn line ends them."""
    if not path.exists():
        return
    with path.open("rb") as lines:
        for line in lines:
            try:
                if float((parse_metrics(line) or {})["step"]) > step:
                    return
            except (ValueError, KeyError, TypeError):
                return
            yield line
