"""A token stream of a data set of the hub that is not whole yet, in a folder that stays for the same command."""

import contextlib
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ucurve.storage.files import read_json_or_empty, sync_file, write_json

_PROGRESS = "progress.json"


@contextlib.contextmanager
def kept_if_unfinished(target: Path, temporary: Path) -> Iterator[Path]:
    """Give a folder that becomes ``temporary``; after an error it stays beside ``target`` if progress was saved."""
    folder = target.with_name(f".{target.name}.unfinished")
    folder.mkdir(exist_ok=True)
    try:
        yield folder
    except BaseException:
        if not (folder / _PROGRESS).exists():
            shutil.rmtree(folder)
        raise
    (folder / _PROGRESS).unlink(missing_ok=True)
    # The folder takes the place of the empty one that was given.
    temporary.rmdir()
    folder.rename(temporary)


def save_progress(folder: Path, key: str, sizes: Mapping[str, int], read: Mapping[str, Any]) -> None:
    """Save how far a stream is: the sizes that its files have, and what has been read for them."""
    # The files must be on disk before the record that gives their sizes.
    for name in sizes:
        sync_file(folder / name)
    write_json(folder / _PROGRESS, {"key": key, "sizes": dict(sizes), "read": dict(read)})


def restore_progress(folder: Path, key: str) -> Mapping[str, Any] | None:
    """Bring the files of a stream to the sizes that were saved last, and return what had been read; else empty it."""
    progress = read_json_or_empty(folder / _PROGRESS)
    sizes = progress.get("sizes", {})
    files = {file.name: file for file in folder.iterdir() if file.name != _PROGRESS}
    whole = all(name in files and files[name].stat().st_size >= size for name, size in sizes.items())
    known = progress.get("key") == key and whole
    for name, file in files.items():
        if known and name in sizes:
            with file.open("r+b") as opened:
                # What was written after the record is cut off and made again.
                opened.truncate(sizes[name])
        else:
            file.unlink()
    if not known:
        (folder / _PROGRESS).unlink(missing_ok=True)
    return progress["read"] if known else None
