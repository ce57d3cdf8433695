"""Checks what is stored below ``eval/``: every table, pair and score as it was written, and of the models it names."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from eval.pairs import data_hash
from eval.scoring.scorers import SCORERS
from eval.store.checksums import check_summed, read_sums, sums_path
from eval.store.keys import find_key, score_fault
from eval.store.scores import PAIRS
from eval.store.tables import TABLES, TableFile, read_table
from eval.store.tokens import token_fault, token_path
from ucurve.errors import DamagedError, UserError
from ucurve.storage.files import is_leftover
from ucurve.storage.locks import EVAL_LOCKS
from ucurve.storage.run_folder import CHECKPOINTS, EVAL, RATINGS, REPORTED, SENTENCES, STEPS, parse_step
from ucurve.storage.score_key import key_path

_SCORE = {".parquet", ".json"}  # and its key


@dataclass
class Findings:
    """What is wrong in a folder.

    Attributes:
        faults: what is missing, foreign or not what was written.
        unvouched: what nothing vouches for, because an older version wrote it.
    """

    faults: list[str] = field(default_factory=list)
    unvouched: list[str] = field(default_factory=list)


def verify_scores(folder: Path) -> Findings:
    """Check what is stored below ``eval/``; nothing is wrong where nothing is stored."""
    root = folder / EVAL
    found = Findings()
    if not root.is_dir():
        return found
    try:
        sums = read_sums(folder)
    except DamagedError as error:
        found.faults.append(str(error))
        sums = None
    summed = sorted({*(sums or {}), *_to_be_summed(root)})
    if sums is None and summed and not found.faults:
        found.unvouched.append(f"{sums_path(folder)}: missing; an older version scored here, or it was taken away")
    elif sums is not None:
        found.unvouched += [f"{sums_path(folder)}: does not say {name}" for name in summed if name not in sums]
        found.faults += [problem for name in summed if (problem := _sum_fault(folder, root / name))]
    benchmarks = [path.parent for path in sorted(root.rglob(PAIRS))]
    found.faults += _foreign(root, benchmarks)
    stored: set[tuple[int, str, str]] = set()
    for place in benchmarks:
        data_sha256 = _data_sha256(place / PAIRS, found)
        for path in _scores(place):
            stored.add((int(path.stem.removeprefix("step")), place.relative_to(root).as_posix(), path.parent.name))
            _verify_score(folder, path, data_sha256, found)
    for kind in TABLES:
        found.faults += _rows_of_nothing(kind, folder, stored)
    return found


def _to_be_summed(root: Path) -> Iterator[str]:
    for kind in TABLES:
        if (root / kind.name).exists():
            yield kind.name
    for path in (path for name in (PAIRS, RATINGS, REPORTED, SENTENCES) for path in root.rglob(name)):
        yield path.relative_to(root).as_posix()


def _sum_fault(folder: Path, path: Path) -> str | None:
    try:
        check_summed(folder, path)
    except DamagedError as error:
        return str(error)
    return None


def _data_sha256(path: Path, found: Findings) -> str | None:
    try:
        return data_hash(pd.read_parquet(path))
    except (OSError, ValueError) as error:
        found.faults.append(f"{path}: cannot be read ({str(error).splitlines()[0]})")
        return None


def _scores(place: Path) -> list[Path]:
    """Return where scores of a benchmark are, or would be beside their key."""
    files = (path for path in place.glob(f"*/{STEPS}") if _is_of_step(path))
    return sorted({path.with_suffix(".parquet") for path in files})


def _verify_score(folder: Path, path: Path, data_sha256: str | None, found: Findings) -> None:
    problem = score_fault(folder, path)
    if problem is not None:
        found.faults.append(problem)
        return
    if problem := token_fault(folder, path):
        found.faults.append(problem)
    key = find_key(path)
    if key is None:
        found.faults.append(f"{key_path(path)}: missing, and the scores are there")
    elif data_sha256 is not None and data_sha256 is not None and key.data_sha256 != data_sha256:
        found.faults.append(f"{key_path(path)}: data_sha256 is not that of the pairs")
    if (folder / CHECKPOINTS).is_dir() and not (folder / CHECKPOINTS / path.stem).exists():
        found.faults.append(f"{path}: of step {parse_step(path.stem)}, of which there is no checkpoint")


def _rows_of_nothing(kind: TableFile, folder: Path, stored: set[tuple[int, str, str]]) -> list[str]:
    path = kind.path(folder)
    try:
        rows = read_table(kind, path)[["step", "benchmark", "scorer"]].drop_duplicates()
    except UserError as error:
        return [str(error)]
    return [
        f"{path}: rows of step {step}, {benchmark}, {scorer}, whose scores are not stored"
        for step, benchmark, scorer in rows.itertuples(index=False, name=None)
        if (step, benchmark, scorer) not in stored
    ]


def _foreign(root: Path, benchmarks: list[Path]) -> list[str]:
    """Name what is neither a table, a lock, pairs nor a score; folders count by what is in them."""
    known = {root / name for name in (*EVAL_LOCKS, sums_path(root.parent).name, *(kind.name for kind in TABLES))}
    known |= {place / name for place in benchmarks for name in (PAIRS, RATINGS, REPORTED)}
    known |= {path for place in benchmarks for path in place.glob(SENTENCES)}
    known |= {
        path
        for place in benchmarks
        for path in place.glob(f"*/{STEPS}")
        if path.parent.name in SCORERS and _is_of_step(path)
    }
    known |= {token_path(path) for path in known if path.suffix == ".parquet"}
    paths = sorted(root.rglob("*"))
    return [
        foreign_fault(path, "not part of the scores")
        for path in paths
        if (is_leftover(path) if path.is_dir() else path not in known)
    ]


def _is_of_step(path: Path) -> bool:
    return path.suffix in _SCORE and parse_step(path.stem) is not None


def foreign_fault(path: Path, why: str) -> str:
    """Name what does not belong where it is: what a killed process left behind, or else ``why``."""
    return f"{path}: {'left behind by a killed process, or being written' if is_leftover(path) else why}"
