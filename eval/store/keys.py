"""Checks that a stored score is what was written, and of the run, checkpoint, benchmark and pairs where it lies."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import pandas as pd

from ucurve.errors import DamagedError
from ucurve.eval.pairs import data_hash
from ucurve.storage.facts import Manifest, RunIdentity, read_manifest, read_run_facts
from ucurve.storage.faults import faults_of, lasting, refuse_faults
from ucurve.storage.files import has_hash
from ucurve.storage.run_folder import EVAL, MANIFEST, STEPS, checkpoint_folder, parse_step
from ucurve.storage.score_key import ScoreKey, key_path, read_key

PAIRS = "pairs.parquet"
ADVICE = "score it again, or delete scores, key and rows to leave a gap"


@dataclass(frozen=True)
class Owner:
    """Whose scores belong into a folder."""

    folder: Path
    run: RunIdentity | None  # the run whose folder it is; None where only scores of a model are
    _manifests: dict[int, Manifest | None] = field(default_factory=dict, compare=False)

    @classmethod
    def of(cls, folder: Path) -> "Owner":
        """Read whose scores belong into a folder."""
        facts = read_run_facts(folder)
        return cls(folder, None if facts is None else facts.identity)

    def faults(self, scores: Path, key: ScoreKey) -> list[str]:
        """Name why a score is missing, of another place than where it lies, or not of the checkpoint or pairs there."""
        if not scores.is_file():
            return [f"{scores}: missing, and its key is there"]
        return self.misplaced(scores, key) or self.outdated(scores, key)

    def misplaced(self, scores: Path, key: ScoreKey) -> list[str]:
        """Name why a score does not belong where it lies: it is of another run, step, benchmark or scorer."""
        place = dict(zip(("step", "benchmark", "scorer"), order_of(self.folder, scores), strict=True))
        found = [
            f"{key_path(scores)}: {name} is {getattr(key, name)!r}, and it lies in the place of {value!r}"
            for name, value in place.items()
            if getattr(key, name) != value
        ]
        if key.run != self.run:
            found.append(
                f"{key_path(scores)}: of {_describe(key.run, key.model)}, and this is {_describe(self.run)}"
            )
        return found[:1]

    def outdated(self, scores: Path, key: ScoreKey) -> list[str]:
        """Name why a score is of other weights or pairs than those that are there now."""
        if key.step not in self._manifests:
            folder = checkpoint_folder(self.folder, key.step)
            self._manifests[key.step] = read_manifest(folder) if (folder / MANIFEST).is_file() else None
        manifest = self._manifests[key.step]
        if manifest is not None:  # of checkpoints that were deleted, scores may stay
            expected = {"weights_sha256": manifest.weights_sha256}
            files = {
                "config_sha256": "config.json",
                "tokenizer_sha256": "tokenizer.json",
            }  # some have other files
            expected |= {name: manifest.files[file] for name, file in files.items() if file in manifest.files}
            if wrong := [name for name, value in expected.items() if getattr(key, name) != value]:
                return [f"{key_path(scores)}: {', '.join(wrong)} not that of the checkpoint"]
        pairs = scores.parents[1] / PAIRS
        if not pairs.is_file():
            return [f"{pairs}: missing, and scores of it are there"]
        return [] if stored_hash(pairs) == key.data_sha256 else [f"{pairs}: not the pairs of {scores}"]


def _describe(run: RunIdentity | None, model: str = "") -> str:
    """Name the run or the model that scores are of, for a message."""
    if run is None:
        return f"the model {model}" if model else "a folder of no run"
    return (
        f"the run {run.name} (configuration {run.config_sha256[:8]}, seeds {run.seeds.init} and {run.seeds.data})"
    )


def order_of(folder: Path, scores: Path) -> tuple[int, str, str]:
    """Return step, benchmark and scorer of the place where scores are, by which tables are sorted."""
    step = parse_step(scores.stem)
    assert step is not None
    return step, scores.parents[1].relative_to(folder / EVAL).as_posix(), scores.parent.name


def scores_below(folder: Path) -> Iterator[Path]:
    """Yield where scores are that have a key below ``eval/``."""
    for path in (folder / EVAL).rglob(f"{STEPS}.json"):
        if parse_step(path.stem) is not None:
            yield path.with_suffix(".parquet")


def stored_hash(pairs: Path) -> str | None:
    """Return the hash of a stored pair table (``data_hash``); None when it is missing or cannot be read."""
    try:
        stat = pairs.stat()
        return _hash(pairs, stat.st_mtime_ns, stat.st_size, stat.st_ino)
    except (OSError, ValueError):
        return None


@lru_cache(maxsize=128)  # by what changes when the file does
def _hash(pairs: Path, *_: int) -> str:
    return data_hash(pd.read_parquet(pairs))


def scored_hashes(place: Path) -> set[str]:
    """Return the hashes of the pairs that the scores of a benchmark, which lie below ``place``, are of."""
    keys = (find_key(path) for path in place.glob(f"*/{STEPS}.json"))
    return {key.data_sha256 for key in keys if key is not None}


def check_pairs(pairs: Path) -> None:
    """Check a stored pair table before it is used: it must be the one that the scores beside it are of."""
    known = scored_hashes(pairs.parent)
    if known and stored_hash(pairs) not in known:
        problem = "not what was written" if pairs.is_file() else "missing"
        raise DamagedError(f"{pairs}: {problem}; python score.py ... writes it again; no score is computed again")


def check_places(folder: Path, replaced: Collection[Path]) -> None:
    """Check that no score below ``eval/``, apart from those to be ``replaced``, is of another run or place."""
    owner = Owner.of(folder)
    for scores in scores_below(folder):
        if scores not in replaced and (key := find_key(scores)) is not None:
            refuse_faults(owner.misplaced(scores, key), ADVICE)


def check_owner(folder: Path) -> None:
    """Raise a ``DamagedError`` unless every score below ``eval/`` is of the run, step and pairs where it lies."""
    owner = Owner.of(folder)
    alone = (key_path(rows) for rows in (folder / EVAL).rglob(f"{STEPS}.rows") if not key_path(rows).exists())
    refuse_faults((f"{path}: missing, and the rows of the score are there" for path in alone), ADVICE)
    for scores in scores_below(folder):
        refuse_faults(owner.faults(scores, read_key(scores)), ADVICE)


def check_scores(folder: Path, scores: Path) -> None:
    """Check stored scores against the key beside them before they are used; nothing is wrong where there are none."""
    refuse_faults(score_faults(folder, scores), ADVICE)


def score_faults(folder: Path, scores: Path) -> list[str]:
    """Name what is wrong with stored scores or the key beside them; one without the other is a fault too.

    Where no score of the folder has a key, somebody made them in another way, and they are taken as they are.
    """
    return faults_of(lambda: lasting(lambda: _check(folder, scores)))


def _check(folder: Path, scores: Path) -> None:
    """Raise a ``DamagedError`` for stored scores or a key that are not what was written, or not of their place."""
    if not key_path(scores).exists():
        if scores.is_file() and any(scores_below(folder)):
            raise DamagedError(f"{key_path(scores)}: missing, and the scores are there")
        return
    key = read_key(scores)
    changed = scores.is_file() and not has_hash(scores, key.scores_sha256)
    found = [f"{scores}: not what was written"] if changed else Owner.of(folder).faults(scores, key)
    if found:
        raise DamagedError(*found)


def find_key(scores: Path) -> ScoreKey | None:
    """Read the key of a score; None when it is missing or not what was written."""
    try:
        return read_key(scores)
    except DamagedError:
        return None
