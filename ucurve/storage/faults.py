"""Compares files with what was recorded of them, and names or refuses what is missing, foreign or changed."""

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from ucurve.errors import DamagedError
from ucurve.storage.files import has_hash, is_leftover

_TRIES, _PAUSE = 5, 0.05  # of a reader, and seconds between them


def listed_faults(folder: Path, listed: Mapping[str, str], found: Collection[str], by: str) -> list[str]:
    """Name the files that are missing, not listed, or of another SHA-256 than ``listed``; ``by`` names the list.

    Of files whose folder is missing, the folder is named.
    """
    absent = [folder / name for name in set(listed) - set(found)]
    missing = [
        f"{path}: missing" for path in sorted({one if one.parent.is_dir() else one.parent for one in absent})
    ]
    foreign = [f"{folder / name}: not in {by}" for name in sorted(set(found) - set(listed))]
    changed = [
        f"{folder / name}: its hash is not {by}'s"
        for name in sorted(set(found) & set(listed))
        if not has_hash(folder / name, listed[name])
    ]
    return missing + foreign + changed


def file_faults(recorded: Mapping[Path, str | None]) -> list[str]:
    """Name the files that are missing or not what was written, by the SHA-256 that was recorded of each."""
    wrong = [path for path, sha256 in recorded.items() if not has_hash(path, sha256)]
    return [f"{path}: {'not what was written' if path.is_file() else 'missing'}" for path in wrong]


def foreign_faults(paths: Iterable[Path], why: str) -> list[str]:
    """Name what does not belong where it is: what a killed process left behind, or else ``why``."""
    left = "left behind by a killed process, or being written"
    return [f"{path}: {left if is_leftover(path) else why}" for path in paths]


def faults_of(read: Callable[[], object]) -> list[str]:
    """Name what a reader finds damaged, if anything."""
    try:
        read()
    except DamagedError as error:
        return [str(error)]
    return []


def lasting(read: Callable[[], None]) -> None:
    """Read something some times before what is damaged or missing counts: it may just be replaced by a writer."""
    for _ in range(_TRIES - 1):
        with suppress(DamagedError, FileNotFoundError):
            return read()
        time.sleep(_PAUSE)
    return read()


def refuse_faults(problems: Iterable[str], advice: str) -> None:
    """Refuse to go on where there are faults.

    Raises:
        DamagedError: with all of them, and what to do.
    """
    found = list(problems)
    if found:
        raise DamagedError("; ".join(found) + f"; {advice}")
