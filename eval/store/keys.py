"""Checks that a stored score is what was written, and of the run, checkpoint, benchmark and scorer where it lies."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ucurve.errors import DamagedError
from ucurve.storage.facts import RunIdentity, read_manifest, read_run_facts
from ucurve.storage.files import sha256_file
from ucurve.storage.run_folder import EVAL, MANIFEST, STEPS, checkpoint_folder, parse_step
from ucurve.storage.score_key import ScoreInputs, ScoreKey, key_path, read_key

_TRIES, _PAUSE = 5, 0.05  # a reader may meet a score that is just being replaced, and tries again
_ADVICE = "score it again, or delete scores and key to leave a gap"


@dataclass(frozen=True)
class Owner:
    """Whose scores belong into a folder.

    Attributes:
        run: the run whose folder it is; None where only scores of a model are.
    """

    folder: Path
    run: RunIdentity | None

    @classmethod
    def of(cls, folder: Path) -> "Owner":
        """Read whose scores belong into a folder.

        Raises:
            DamagedError: when ``run.json`` is not what was written.
        """
        facts = read_run_facts(folder)
        return cls(folder, None if facts is None else facts.identity)

    def fault(self, scores: Path, key: ScoreKey) -> str | None:
        """Describe why a score does not belong where it lies: it is of another run, step, benchmark or scorer."""
        step = parse_step(scores.stem)
        place = {"step": step, "benchmark": benchmark_of(self.folder, scores), "scorer": scores.parent.name}
        for name, value in place.items():
            if getattr(key, name) != value:
                return f"{key_path(scores)}: {name} is {getattr(key, name)!r}, and it lies in the place of {value!r}"
        if key.run != self.run:
            return f"{key_path(scores)}: of {_describe(key.run, key.model)}, and this is {_describe(self.run)}"
        wrong = [] if step is None else self._differing(step, key)
        return f"{key_path(scores)}: {', '.join(wrong)} not that of the checkpoint" if wrong else None

    def _differing(self, step: int, key: ScoreKey) -> list[str]:
        """Name the hashes that are not those of the checkpoint; none where there is no such checkpoint."""
        folder = checkpoint_folder(self.folder, step)
        if not (folder / MANIFEST).is_file():
            return []
        manifest = read_manifest(folder)
        expected = {"weights_sha256": manifest.weights_sha256}
        files = {"config_sha256": "config.json", "tokenizer_sha256": "tokenizer.json"}  # a tokenizer of many files is
        expected |= {name: manifest.files[file] for name, file in files.items() if file in manifest.files}  # apart
        return [name for name, value in expected.items() if getattr(key, name) != value]


def _describe(run: RunIdentity | None, model: str = "") -> str:
    if run is None:
        return f"the model {model}" if model else "no run's folder"
    return f"the run {run.name} (configuration {run.config_sha256[:8]}, seeds {run.seeds.init} and {run.seeds.data})"


def benchmark_of(folder: Path, scores: Path) -> str:
    """Return the benchmark whose scores are in a file below ``eval/``."""
    return scores.parents[1].relative_to(folder / EVAL).as_posix()


def stored_keys(folder: Path) -> Iterator[Path]:
    """Yield where scores are that have a key below ``eval/``, in the order of their paths."""
    for path in sorted((folder / EVAL).rglob(f"{STEPS}.json")):
        if parse_step(path.stem) is not None:
            yield path.with_suffix(".parquet")


def check_owner(folder: Path) -> None:
    """Check that every score below ``eval/`` is of the run and the step where it lies; the scores are not read.

    Raises:
        DamagedError: when one is not, or its key is not what was written.
    """
    owner = Owner.of(folder)
    for scores in stored_keys(folder):
        problem = owner.fault(scores, read_key(scores))
        if problem is not None:
            raise DamagedError(f"{problem}; {_ADVICE}")


def check_scores(folder: Path, scores: Path) -> None:
    """Check stored scores against the key beside them before they are used; nothing is wrong where there are none.

    Raises:
        DamagedError: when one of the two is missing, was changed, or belongs elsewhere.
    """
    problem = score_fault(folder, scores)
    if problem is not None:
        raise DamagedError(f"{problem}; {_ADVICE}")


def score_fault(folder: Path, scores: Path) -> str | None:
    """Describe what is wrong with stored scores or the key beside them; one without the other is a fault too.

    Where no score of the folder has a key, somebody made them in another way, and they are taken as they are.
    """
    for attempt in range(_TRIES):
        if attempt:
            time.sleep(_PAUSE)
        problem = _problem(folder, scores)
        if problem is None:
            break
    return problem


def _problem(folder: Path, scores: Path) -> str | None:
    if not scores.is_file():
        return f"{scores}: missing, and its key is there" if key_path(scores).exists() else None
    if not key_path(scores).exists():
        return None if not any(stored_keys(folder)) else f"{key_path(scores)}: missing, and the scores are there"
    try:
        key = read_key(scores)
        problem = Owner.of(folder).fault(scores, key)
    except DamagedError as error:
        return str(error)
    return f"{scores}: not what was written" if key.scores_sha256 != sha256_file(scores) else problem


def find_key(scores: Path) -> ScoreKey | None:
    """Read the key of a score; None when it is missing or not what was written."""
    try:
        return read_key(scores)
    except DamagedError:
        return None


def is_current(scores: Path, inputs: ScoreInputs, scores_sha256: str | None = None) -> bool:
    """Tell whether the key beside stored scores has these inputs.

    Args:
        scores_sha256: of the scores that the key must name; None where that does not matter.
    """
    key = find_key(scores)
    return key is not None and key.inputs_sha256 == inputs.inputs_sha256 and scores_sha256 in (None, key.scores_sha256)
