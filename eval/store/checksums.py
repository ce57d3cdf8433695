"""Checksums of the tables and pairs below ``eval/``: ``eval/manifest.json`` holds the SHA-256 of each file.

A file is replaced while the lock of the tables is held. First the manifest accepts both the old and the new SHA-256,
then the file is replaced, then the manifest accepts the new one only. The manifest therefore fits the files even if the
process is killed in between. The SHA-256 of a score file is in the key file beside it.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from ucurve.errors import DamagedError
from ucurve.storage.files import new_file, sha256_file
from ucurve.storage.locks import holding_tables
from ucurve.storage.run_folder import CHECKPOINTS, EVAL, MANIFEST
from ucurve.storage.sealed import SUMS

_TRIES, _PAUSE = 5, 0.05  # a reader may meet a file that is just being replaced, and tries again
Sums = Mapping[str, list[str]]


def sums_path(folder: Path) -> Path:
    """Return the path of the manifest that holds the checksums of a run folder's tables and pairs."""
    return folder / EVAL / MANIFEST


def read_sums(folder: Path) -> Sums | None:
    """Read the accepted SHA-256 of the files below ``eval/``, by their path there; None without a manifest.

    Raises:
        DamagedError: when the manifest was changed after it was written.
    """
    path = sums_path(folder)
    if not path.exists():
        return None
    files: dict[str, list[str]] = SUMS.read(path)["files"]
    return files


@contextmanager
def new_summed_file(folder: Path, path: Path) -> Iterator[Path]:
    """Give a temporary path as ``new_file`` does, and record the SHA-256 of what is written there."""
    with holding_tables(folder):
        with new_file(path) as temporary:
            yield temporary
            fresh = sha256_file(temporary)
            accepted = _known_sums(folder).get(_name(folder, path), ())
            there = [sha256_file(path)] if path.is_file() else []
            _accept(folder, path, [*(one for one in there if one in accepted and one != fresh), fresh])
        _accept(folder, path, [fresh])


def adopt(folder: Path, path: Path) -> None:
    """Record the SHA-256 of a file that was compared with its source; an older version may have written it."""
    with holding_tables(folder):
        _accept(folder, path, [sha256_file(path)])


def remove_summed(folder: Path, path: Path) -> None:
    """Delete a file and its SHA-256; nothing happens where there is none."""
    with holding_tables(folder):
        left = {name: digests for name, digests in _known_sums(folder).items() if name != _name(folder, path)}
        if left != _known_sums(folder):
            SUMS.write(sums_path(folder), {"files": left})
        path.unlink(missing_ok=True)


def is_summed(folder: Path, path: Path) -> bool:
    """Tell whether a file is there and has the SHA-256 that the manifest holds."""
    return path.is_file() and sha256_file(path) in _known_sums(folder).get(_name(folder, path), ())


def check_summed(folder: Path, path: Path) -> None:
    """Check a table or pairs before they are used; a file that is not in the manifest is accepted.

    Args:
        path: the file, below its ``eval/``; it may be missing if it is not in the manifest.

    Raises:
        DamagedError: when the file or the manifest was changed after it was written.
    """
    for attempt in range(_TRIES):
        if attempt:
            time.sleep(_PAUSE)
        found = sha256_file(path) if path.is_file() else None
        accepted = _known_sums(folder).get(_name(folder, path))
        if accepted is None or found in accepted:
            return
    problem = "missing" if found is None else "not what was written"
    what = f"run={folder}" if (folder / CHECKPOINTS).is_dir() else f"model=... out={folder}"
    raise DamagedError(
        f"{path}: {problem}; python score.py {what} 'benchmarks=[...]' makes it again from the stored scores; no score "
        "is computed again"
    )


def is_whole(folder: Path, path: Path) -> bool:
    """Tell whether ``check_summed`` accepts a table or pairs."""
    try:
        check_summed(folder, path)
    except DamagedError:
        return False
    return True


def _accept(folder: Path, path: Path, digests: list[str]) -> None:
    """Write the accepted digests of a file into the manifest; the caller holds the lock of the tables."""
    before = _known_sums(folder)
    name = _name(folder, path)
    if before.get(name) != digests:
        SUMS.write(sums_path(folder), {"files": dict(sorted({**before, name: digests}.items()))})


def _known_sums(folder: Path) -> Sums:
    return read_sums(folder) or {}


def _name(folder: Path, path: Path) -> str:
    return path.relative_to(folder / EVAL).as_posix()
