"""Locks on files, and what each one means. The system drops a process's locks when it ends, however it ends.

- ``.locks/RUN.lock``: held by the only process that writes the run; others only look whether it is held.
- ``.locks/grid``: claims (``Claims``) of the workers of a grid on its cells.
- ``eval/.claims``: claims of scorers on scores, on the pairs of a benchmark, and on the tables while they are written.
- ``eval/.scoring.lock``: shared by all who score into the folder; who has it alone removes what killed scorers left.
- ``eval/.fetched/COMMIT``: shared by all who score with weights that were fetched for these scores and that are to be
  removed after them; who has it alone removes them.
- ``.FOLDER.lock``: beside a tokenizer or a token stream, held by the process that builds it; the others wait. Beside
  the folder that a command makes it is there only as long as the command.
"""

import contextlib
import errno
import fcntl
import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, Self

from filelock import FileLock, Timeout

from ucurve.errors import BusyError, RunError, UserError
from ucurve.progress import log_line
from ucurve.storage.files import disk_faults, new_folder, remove_leftovers
from ucurve.storage.run_folder import EVAL

_CLAIMS, _SCORING = ".claims", ".scoring.lock"
FETCHED = ".fetched"  # in the folder `eval`, a file for each commit
EVAL_LOCKS = (_CLAIMS, _SCORING)
_LOCKS = ".locks"  # in a folder of runs
_SHORTLY = 0.2  # seconds: who only looks whether a run is being written holds its lock for a moment
_OFFSETS = 2**62  # a claim is a lock on one byte of the lock file, far beyond its end
_NO_LOCKS = (errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK)  # file systems without locks raise these
_MOUNTS = Path("/proc/self/mountinfo")


def file_lock(path: Path, timeout: float = -1) -> FileLock:
    """Return the lock of a file, which is made where it is not there."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        # Tried before, because the library would not say which file system has no locks.
        with contextlib.suppress(BlockingIOError):
            _flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB, path)
    finally:
        os.close(descriptor)
    return FileLock(path, timeout)


def _flock(file: IO[str] | int, operation: int, path: Path) -> None:
    with _refusing_without_locks(path):
        fcntl.flock(file, operation)


@contextmanager
def _refusing_without_locks(path: Path) -> Iterator[None]:
    """Turn what a file system without locks raises into a ``UserError`` that says which it is."""
    try:
        yield
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        raise UserError(
            f"{path} cannot be locked ({error.strerror}): {_file_system(path)} passes no file locks on. Mount it with "
            "them (Lustre: the option flock; NFS: version 4, or version 3 with its lock daemon), or name a folder on "
            "another file system, as with paths.runs="
        ) from error


def _file_system(path: Path) -> str:
    """Name the file system of a path by its type and where it is mounted, if the system tells."""
    place = path.resolve()
    try:
        lines = _MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return "its file system"
    mounts = [
        (Path(line.split()[4].replace("\\040", " ")), line.partition(" - ")[2].split()[0]) for line in lines
    ]
    above = [mount for mount in mounts if place.is_relative_to(mount[0])]
    if not above:
        return "its file system"
    # Several at one place are all named by one.
    where, kind = max(above, key=lambda mount: len(mount[0].parts))
    return f"the file system {where} of type {kind}"


@contextmanager
def only_writer(run: Path) -> Iterator[None]:
    """Hold the lock of the only process that writes a run.

    Raises:
        BusyError: when another process holds it.
        UserError: when the file system has no locks.
    """
    lock = _run_lock(run)
    lock.parent.mkdir(parents=True, exist_ok=True)
    try:
        with file_lock(lock, timeout=_SHORTLY):
            yield
    except Timeout as error:
        raise _busy(run) from error


def refuse_busy(run: Path) -> None:
    """Refuse a run that another process is writing; whoever takes the lock itself may still find that out later.

    Raises:
        BusyError: naming the folder.
    """
    if is_being_written(run):
        raise _busy(run)


def is_being_written(run: Path) -> bool:
    """Tell whether a process is writing the run: it holds the lock that the run's only writer takes.

    Raises:
        UserError: when the file system has no locks.
    """
    try:
        descriptor = os.open(lock := _run_lock(run), os.O_RDONLY)
    except OSError:
        return False
    try:
        _flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB, lock)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def _run_lock(run: Path) -> Path:
    """Return the lock file of a run; by all paths to one folder, as by a symbolic link, it is the same."""
    folder = run.resolve()
    return folder.parent / _LOCKS / f"{folder.name}.lock"


def _busy(run: Path) -> BusyError:
    return BusyError(f"{run} is being written by another process; wait for it or stop it")


@contextmanager
def scoring_into(folder: Path) -> Iterator[None]:
    """Mark a run folder as being scored; what killed scorers left in it is removed, if no other is at work.

    Raises:
        UserError: when the file system has no locks.
    """
    lock = folder / EVAL / _SCORING
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("a+") as file:  # locks over NFS want a file that is open for both
        _tidy(file, lock)
        _flock(file, fcntl.LOCK_SH, lock)
        yield
        _tidy(file, lock)


def _tidy(file: IO[str], lock: Path) -> None:
    """Remove leftovers beside a lock and keep it for this process alone, unless another scorer is at work."""
    root = lock.parent
    with contextlib.suppress(BlockingIOError):
        _flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB, lock)
        for place in (root, *(path for path in root.rglob("*") if path.is_dir())):
            remove_leftovers(place)


def hold_shared(path: Path) -> IO[str]:
    """Open a file for reading and appending, and share its lock until it is closed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        file = path.open("a+", encoding="utf-8")
        _flock(file, fcntl.LOCK_SH, path)
        with contextlib.suppress(FileNotFoundError):
            if path.stat().st_ino == os.fstat(file.fileno()).st_ino:
                return file
        file.close()  # who had it alone has removed it


def is_alone(file: IO[str], path: Path) -> bool:
    """Turn a shared lock into a sole one, and tell whether that could be done; if not, the lock may be lost."""
    try:
        _flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB, path)
    except BlockingIOError:
        return False
    return True


def score_claims(folder: Path) -> "Claims":
    """Return what the scores of a run folder are claimed with; its ``eval/`` is there."""
    return Claims(folder / EVAL / _CLAIMS)


def cell_claims(runs: Path) -> "Claims":
    """Return what the cells of a grid are claimed with, in the folder of its runs."""
    lock = runs / _LOCKS / "grid"
    lock.parent.mkdir(parents=True, exist_ok=True)
    return Claims(lock)


class Claims:
    """Claims on things that several processes share out among them, held by locks on single bytes of one empty file.

    A killed process leaves no claim behind. On a network file system claims hold between machines where it passes POSIX
    locks on (NFS 4; Lustre mounted with ``flock``).
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._descriptor: int | None = None

    def __enter__(self) -> Self:
        self._descriptor = os.open(self._file, os.O_RDWR | os.O_CREAT, 0o666)
        return self

    def __exit__(self, *_: object) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
        self._descriptor = None

    def acquire(self, name: str, wait: bool = False) -> bool:
        """Claim a thing for this process alone, and tell whether it has it; ``wait`` until no other process does."""
        try:
            self._lock(fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB), name)
        except (BlockingIOError, PermissionError):  # POSIX lets a system answer with either
            return False
        return True

    def acquire_shared(self, name: str) -> None:
        """Claim a thing together with all who share it, waiting while one has it alone; a sole claim turns into one."""
        self._lock(fcntl.LOCK_SH, name)

    @contextmanager
    def holding(self, name: str) -> Iterator[None]:
        """Hold a claim, waiting for another process that has it."""
        self.acquire(name, wait=True)
        try:
            yield
        finally:
            self.release(name)

    def release(self, name: str) -> None:
        """Give a claim up."""
        self._lock(fcntl.LOCK_UN, name)

    def _lock(self, operation: int, name: str) -> None:
        assert self._descriptor is not None
        with _refusing_without_locks(self._file):
            place = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8]) % _OFFSETS
            fcntl.lockf(self._descriptor, operation, 1, place)


@contextmanager
def new_output(folder: Path) -> Iterator[Path]:
    """Give a temporary folder as ``new_folder`` does, after what killed writers of the same folder left is removed.

    Raises:
        BusyError: Another process is writing the folder.
    """
    lock = _build_lock(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        with file_lock(lock, timeout=_SHORTLY):
            try:
                remove_leftovers(folder.parent, folder.name)
                with new_folder(folder) as temporary:
                    yield temporary
            finally:
                lock.unlink(missing_ok=True)  # while it is held: who waits for it sees that and makes another
    except Timeout as error:
        raise _busy(folder) from error


def build_once(folder: Path, is_complete: Callable[[Path], bool], build: Callable[[Path], None]) -> Path:
    """Build a folder unless it is there and complete; a second process that wants it waits for the first.

    ``build`` fills a temporary folder, which is then renamed. A ``UserError`` of it leaves nothing behind.
    """
    try:
        with _parents(folder), _waiting_lock(folder):
            if not is_complete(folder):
                remove_leftovers(folder.parent, folder.name)
                try:
                    with new_folder(folder) as temporary, disk_faults():
                        build(temporary)
                except UserError:
                    # While it is held: who waits for it sees that and makes another.
                    _build_lock(folder).unlink(missing_ok=True)
                    raise
    except OSError as error:
        raise RunError(f"{folder} cannot be built: {error}") from error
    return folder


@contextlib.contextmanager
def _parents(folder: Path) -> Iterator[None]:
    """Make the folders above a folder; after a mistake those that were made are removed again, where empty."""
    made = [place for place in folder.parents if not place.exists()]
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except UserError:
        with contextlib.suppress(OSError):
            for place in made:
                place.rmdir()
        raise


def _build_lock(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.lock")


def _waiting_lock(folder: Path) -> AbstractContextManager[object]:
    """Take the lock of whoever builds a folder; who has to wait for it is told so once."""
    lock = file_lock(_build_lock(folder))
    try:
        return lock.acquire(timeout=1)
    except Timeout:
        log_line(f"waiting for the process that builds {folder}")
    return lock.acquire()
