"""Folders that are built once and shared: under a lock, complete or not at all."""

import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from filelock import FileLock, Timeout

from ucurve.errors import RunError
from ucurve.files import new_folder
from ucurve.progress import say


def build_once(folder: Path, is_complete: Callable[[Path], bool], build: Callable[[Path], None]) -> Path:
    """Build a folder unless it is there and complete; a second process that wants it waits for the first.

    Args:
        folder: the folder wanted; its lock lies beside it under the same name with a dot in front.
        is_complete: tells whether a folder found there can be used as it is.
        build: fills the temporary folder it is given, which is then renamed to ``folder``.

    Raises:
        RunError: when the folder cannot be written.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _waiting_lock(folder):
            if not is_complete(folder):
                _remove_leftovers(folder)
                with new_folder(folder) as temporary:
                    build(temporary)
    except OSError as error:
        raise RunError(f"{folder} cannot be built: {error}") from error
    return folder


def _waiting_lock(folder: Path) -> AbstractContextManager[object]:
    lock = FileLock(folder.with_name(f".{folder.name}.lock"))
    try:
        return lock.acquire(timeout=1)
    except Timeout:
        say(f"waiting for the process that builds {folder}")
    return lock.acquire()


def _remove_leftovers(folder: Path) -> None:
    for path in folder.parent.glob(f".{folder.name}.tmp-*"):
        shutil.rmtree(path)
