"""What can be looked at: the runs, what they were scored on, and the scores that are open."""

import hashlib
import json
import threading
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar, cast

from ucurve.analysis.data.files import PAIR_COLUMNS, read_stored
from ucurve.analysis.data.groups import Pairs
from ucurve.analysis.data.runs import Run, find_runs
from ucurve.errors import UserError, unknown_name
from ucurve.eval.store.keys import PAIRS
from ucurve.invocation import command
from ucurve.storage.files import sha256_file
from ucurve.storage.run_folder import EVAL
from ucurve.workbench.explore.matrix import ScoreMatrix, open_matrix, stored_steps

CACHE = Path("cache") / "workbench"
Found = TypeVar("Found")
_LONGEST_NAME = 255  # bytes, of a folder
_KEPT = 24  # tables of curves and verdicts
_OPENED_AT_ONCE = 2  # runs, since one thread computes while another waits for the disk
_importing = threading.Lock()


def import_transformers() -> None:
    """Import what models and tokenizers need, in one thread at a time.

    Where two threads take their first names of the library at once, it tells one of them that it has no such name.
    """
    with _importing:
        import transformers.modeling_utils
        import transformers.tokenization_utils_base  # noqa: F401


@dataclass
class Library:
    """The runs that match the patterns, read again at every visit, and their scores, opened once."""

    patterns: Callable[[], Sequence[str]]
    cache: Path = CACHE  # where the copies of the scores go
    _open: dict[tuple[str, str, str], ScoreMatrix] = field(default_factory=dict, init=False)
    _pairs: dict[str, Pairs] = field(default_factory=dict, init=False)  # by the SHA-256 of their file
    _reading_pairs: threading.Lock = field(default_factory=threading.Lock, init=False)
    _copying: dict[tuple[str, str, str], threading.Lock] = field(
        default_factory=lambda: defaultdict(threading.Lock), init=False
    )
    _runs: list[Run] = field(default_factory=list, init=False)
    _found: dict[Hashable, object] = field(default_factory=dict, init=False)

    def runs(self) -> list[Run]:
        """Find the runs; those that were found last are kept for the requests that follow."""
        patterns = self.patterns()
        if not patterns:
            raise UserError(no_runs())
        self._runs = find_runs(patterns)
        return self._runs

    def matrices(self, benchmark: str, scorer: str, labels: Sequence[str] | None = None) -> list[ScoreMatrix]:
        """Open the scores of runs on a benchmark; None names all runs that have some.

        Of several scorers, with commas between, each run has the first one that it was scored by.
        """
        for what, name in (("benchmark", benchmark), *(("scorer", one) for one in scorer.split(","))):
            parts = name.split("/")  # a path of folders below eval/
            if len(name.encode()) > _LONGEST_NAME or "\0" in name or {"", ".", ".."} & set(parts):
                # Names come from addresses, and none may lead out of a run's folder.
                raise UserError(f"{what} {name[:80]!r}: no run can hold scores of that name")
        runs = self._runs or self.runs()
        known = {run.label: run for run in runs}
        for label in labels or ():
            if label not in known:
                raise unknown_name("run", label, known)
        chosen = runs if labels is None else [known[label] for label in labels]
        scored = [(run, own) for run in chosen if (own := _scorer_of(run, benchmark, scorer))]
        if not scored:
            raise UserError(f"no scores of {benchmark} by {scorer} in {', '.join(run.label for run in chosen)}")
        with ThreadPoolExecutor(_OPENED_AT_ONCE) as pool:
            return list(pool.map(lambda each: self._matrix(each[0], benchmark, each[1]), scored))

    def matrix(self, label: str, benchmark: str, scorer: str) -> ScoreMatrix:
        """Open the scores of one run."""
        return self.matrices(benchmark, scorer, [label])[0]

    def recall(self, key: Hashable, work: Callable[[], Found]) -> Found:
        """Return what was found for a key, or find it and keep it; what was asked last is kept."""
        if key not in self._found:
            self._found[key] = work()
            while len(self._found) > _KEPT:  # another request may drop the oldest one at the same time
                self._found.pop(next(iter(self._found)), None)
        return cast(Found, self._found[key])

    def _matrix(self, run: Run, benchmark: str, scorer: str) -> ScoreMatrix:
        """Open the scores of a run, or return them where they are open and no file has changed."""
        named = run.label, benchmark, scorer
        with self._copying[named]:  # what others look at meanwhile is not held up
            opened = open_matrix(run, benchmark, scorer, self.cache, self._read_pairs, self._open.get(named))
            self._open[named] = opened
            return opened

    def _read_pairs(self, path: Path) -> Pairs:
        """Read pairs, or return those of an equal file, as runs of one study have the same."""
        digest = sha256_file(path)
        with self._reading_pairs:
            if digest not in self._pairs:
                self._pairs[digest] = Pairs(read_stored(path, needed=PAIR_COLUMNS))
            return self._pairs[digest]


def no_runs() -> str:
    """Say that there are no runs, and what to do about it."""
    return f"There are no runs in runs/ yet. This trains three small ones and scores them: {command('demo')}"


def list_scores(run: Run) -> list[dict[str, object]]:
    """List what a run was scored on: ``benchmark``, ``scorer`` and the number of ``steps``."""
    place = run.folder / EVAL
    found = [
        (pairs.parent.relative_to(place).as_posix(), folder.name)
        for pairs in sorted(place.rglob(PAIRS))
        for folder in sorted(path for path in pairs.parent.iterdir() if path.is_dir())
    ]
    return [
        {"benchmark": benchmark, "scorer": scorer, "steps": len(steps)}
        for benchmark, scorer in found
        if (steps := stored_steps(run.folder, benchmark, scorer))
    ]


def _scorer_of(run: Run, benchmark: str, scorer: str) -> str:
    """Return the first of the scorers, with commas between, that a run was scored by; empty for none."""
    return next((one for one in scorer.split(",") if stored_steps(run.folder, benchmark, one)), "")


def list_changes(library: Library, benchmark: str, scorer: str) -> dict[str, object]:
    """Say how far each run is with its training and scores; ``version`` changes when one of them goes on."""
    runs = [
        {"run": run.label, "status": run.status,
         "steps": stored_steps(run.folder, benchmark, _scorer_of(run, benchmark, scorer) or scorer)}
        for run in library.runs()
    ]  # fmt: skip
    version = hashlib.sha256(json.dumps(runs).encode()).hexdigest()[:16]
    return {"version": version, "runs": [{**run, "steps": len(run["steps"])} for run in runs]}
