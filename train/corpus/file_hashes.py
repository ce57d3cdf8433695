"""Hashes of corpus files, remembered here and in the cache folder, so that a large file is read once.

A remembered hash holds as long as path, size, inode and times of change are the same, so bytes that a fault of the disk
changes are not noticed; the token stream itself is read on every machine after each of its starts (``training.data``).
"""

import contextlib
import json
import os
import time
from pathlib import Path

from ucurve.storage.files import canonical_json, sha256_file, sha256_json

FILE_HASHES = "file_hashes.jsonl"  # in the cache folder; a line for each file that was hashed
_SETTLED_SECONDS = 2.0  # a file must be unchanged for so long

_File = tuple[str, int, int, int, int]  # path, size, inode, mtime_ns, ctime_ns
_remembered: dict[_File, str] = {}


def hash_file(path: Path) -> str:
    """Return the hex SHA-256 of a file, without reading one that is remembered."""
    file = _describe(path)
    if file not in _remembered:
        started = time.time()
        digest = sha256_file(path)
        # A later change could leave the times of a file that changed just now, as some file systems count coarsely.
        settled = started - max(file[3:]) / 1e9 > _SETTLED_SECONDS
        if not settled or _describe(path) != file:
            return digest
        _remembered[file] = digest
    return _remembered[file]


def recall_hashes(cache: Path) -> None:
    """Read the hashes that other processes have written into a cache folder."""
    _remembered.update(_read(cache / FILE_HASHES))


def keep_hashes(cache: Path) -> None:
    """Write the hashes of this process into a cache folder for later ones, if it can be written to."""
    there = _read(cache / FILE_HASHES)
    new = [[*file, digest] for file, digest in _remembered.items() if file not in there]
    with contextlib.suppress(OSError):  # of a cache that may not be written to: files are hashed again
        if new:  # written in one piece, as other processes may write too
            with (cache / FILE_HASHES).open("ab") as record:
                record.write("".join(f"{canonical_json([*line, sha256_json(line)])}\n" for line in new).encode())


def _read(record: Path) -> dict[_File, str]:
    """Read the lines of a record that are as they were written."""
    try:
        lines = record.read_bytes().splitlines()
    except OSError:
        return {}
    found: dict[_File, str] = {}
    for text in lines:
        try:
            *line, check = json.loads(text)
        except (ValueError, TypeError):
            continue
        # A line may be cut off, or mixed with that of another process.
        if check == sha256_json(line):
            *file, digest = line
            found[tuple(file)] = digest
    return found


def _describe(path: Path) -> _File:
    there = path.stat()
    # Names of files are bytes, which need not be UTF-8.
    name = os.fsencode(path.absolute()).decode("utf-8", "backslashreplace")
    return name, there.st_size, there.st_ino, there.st_mtime_ns, there.st_ctime_ns
