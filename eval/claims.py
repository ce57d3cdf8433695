"""Several processes, on one machine or several, share a sweep: each score is claimed by one of them at a time."""

import fcntl
import hashlib
import os
from pathlib import Path
from types import TracebackType
from typing import Self

_OFFSETS = 2**62  # a claim is a lock on one byte of the lock file, far beyond its end


class Claims:
    """Claims on the scores of one run folder, held by locks on single bytes of one empty file.

    The system drops a process's locks when it ends, however it ends, so that a killed scorer leaves no claim behind. On
    a network file system they hold between machines where it passes POSIX locks on (NFS 4; Lustre mounted with
    ``flock``).

    Args:
        file: the lock file; made when absent.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._descriptor: int | None = None

    def __enter__(self) -> Self:
        self._descriptor = os.open(self._file, os.O_RDWR | os.O_CREAT, 0o666)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
        self._descriptor = None

    def take(self, name: str, wait: bool = False) -> bool:
        """Claim a thing, such as a score, for this process alone.

        Args:
            name: of the thing, the same in every process.
            wait: whether to wait until no other process claims or shares it.

        Returns:
            Whether it is ours now.
        """
        assert self._descriptor is not None
        try:
            fcntl.lockf(self._descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB), 1, _offset(name))
        except (BlockingIOError, PermissionError):
            return False
        return True

    def share(self, name: str) -> None:
        """Claim a thing together with every other process that shares it; wait while one has it alone.

        A claim of ours on the thing alone becomes a shared one.
        """
        assert self._descriptor is not None
        fcntl.lockf(self._descriptor, fcntl.LOCK_SH, 1, _offset(name))

    def give(self, name: str) -> None:
        """Give a claim up."""
        assert self._descriptor is not None
        fcntl.lockf(self._descriptor, fcntl.LOCK_UN, 1, _offset(name))


def _offset(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8]) % _OFFSETS
