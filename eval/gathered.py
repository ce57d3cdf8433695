"""Rows of a sweep on their way into the tables: gathered in memory, written now and then, and at the end."""

import time
from pathlib import Path
from typing import Any

import pandas as pd

from eval.jobs import Job
from eval.results import has_key
from eval.tables import TABLES, TableFile, add_rows
from eval.targets import Target
from ucurve.locks import holding_tables

_SECONDS = 30.0  # between two times of writing, at least
_SHARE = 0.05  # of the time that goes into writing, at most


class GatheredRows:
    """Rows that wait to be written. A kill loses them; the next sweep makes them again from the stored scores.

    Args:
        folder: the run folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held: dict[str, list[tuple[Job, pd.DataFrame]]] = {kind.name: [] for kind in TABLES}
        self._due = time.monotonic() + _SECONDS

    def keep(self, kind: TableFile, job: Job, rows: pd.DataFrame) -> None:
        """Take the rows of a score for a table, and write all that are held when it is time to."""
        _, benchmark, scorer = job.identity
        self._held[kind.name].append((job, rows.assign(**labels(job.target, benchmark, scorer))))
        if time.monotonic() > self._due:
            self.write()

    def write(self) -> None:
        """Put what is held into the tables, but no rows of a score that has given way to another since."""
        begun = time.monotonic()
        with holding_tables(self._folder):
            for kind in TABLES:
                held = self._held[kind.name]
                fresh = [rows for job, rows in held if has_key(job.path(self._folder), job.key)]
                add_rows(kind, self._folder, fresh)
                held.clear()
        ended = time.monotonic()
        self._due = ended + max(_SECONDS, (ended - begun) / _SHARE)


def labels(target: Target, benchmark: str, scorer: str) -> dict[str, Any]:
    """Return the columns that say of a row what it is of."""
    facts = {name: target.manifest.get(name) for name in ("tokens", "flops")}
    return {"run": target.name, "step": target.step, **facts, "benchmark": benchmark, "scorer": scorer}
