"""Folders that are built once and shared: under a lock, complete or not at all."""

import contextlib
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from filelock import FileLock, Timeout

from train.disk import disk_faults
from ucurve.errors import RunError, UserError
from ucurve.files import new_folder
from ucurve.progress import say


def build_once(folder: Path, is_complete: Callable[[Path], bool], build: Callable[[Path], None]) -> Path:
    """Build a folder unless it is there and complete; a second process that wants it waits for the first.

    A mistake of the user's that shows while it is built leaves nothing behind.

    Args:
        folder: the folder wanted; its lock lies beside it under the same name with a dot in front.
        is_complete: tells whether a folder found there can be used as it is.
        build: fills the temporary folder it is given, which is then renamed to ``folder``.

    Raises:
        UserError: what ``build`` raises.
        RunError: when the folder cannot be written.
    """
    try:
        with _place(folder), _waiting_lock(folder):
            if not is_complete(folder):
                _remove_leftovers(folder)
                _build(folder, build)
    except OSError as error:
        raise RunError(f"{folder} cannot be built: {error}") from error
    return folder


@contextlib.contextmanager
def _place(folder: Path) -> Iterator[None]:
    """Make the place of the folder; after a mistake what was made of it goes again, where it is empty."""
    made = [place for place in folder.parents if not place.exists()]
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except UserError:
        with contextlib.suppress(OSError):
            for place in made:
                place.rmdir()
        raise


def _build(folder: Path, build: Callable[[Path], None]) -> None:
    try:
        with new_folder(folder) as temporary, disk_faults():
            build(temporary)
    except UserError:
        _lock_file(folder).unlink(missing_ok=True)  # while it is held: who waits for it sees that and makes another
        raise


def _lock_file(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.lock")


def _waiting_lock(folder: Path) -> AbstractContextManager[object]:
    lock = FileLock(_lock_file(folder))
    try:
        return lock.acquire(timeout=1)
    except Timeout:
        say(f"waiting for the process that builds {folder}")
    return lock.acquire()


def _remove_leftovers(folder: Path) -> None:
    for path in folder.parent.glob(f".{folder.name}.tmp-*"):
        shutil.rmtree(path)
