"""Whether the files of a token stream are what was written, read once on a machine between two starts of it."""

import contextlib
import time
from pathlib import Path

from ucurve.storage.files import read_json_or_empty, sha256_json, write_json
from ucurve.storage.locks import file_lock
from ucurve.token_stream.store import is_complete_store

_BOOT = Path("/proc/sys/kernel/random/boot_id")  # another number after each start of a machine
_SETTLED_SECONDS = (
    2.0  # as some file systems count coarsely, a later change could leave the times of a newer file
)


def is_complete_here(folder: Path, key: str) -> bool:
    """Tell whether a folder holds the stream of ``key``, byte for byte.

    Of the processes of a machine one reads the bytes while the others wait. The files are not read again while their
    sizes and times are the same, until the machine is started again. Other machines read them at the same time.
    """
    if not is_complete_store(folder, key, read_all=False):
        return False
    try:
        record = folder.with_name(f".{folder.name}.read") / f"{_BOOT.read_text().strip()}.json"
        record.parent.mkdir(exist_ok=True)
        lock = file_lock(record.with_suffix(".lock"))
    except OSError:  # another system, or a cache that cannot be written to
        return is_complete_store(folder, key)
    with lock:
        # The time is taken before the files are read, so that a change during the reading counts as new.
        started = time.time()
        files = sorted((file.name, file.stat()) for file in folder.iterdir())
        found = sha256_json([[name, of.st_size, of.st_ino, of.st_mtime_ns, of.st_ctime_ns] for name, of in files])
        if read_json_or_empty(record).get("files") == found:
            return True
        whole = is_complete_store(folder, key)
        newest = max(file.stat().st_ctime for file in folder.iterdir())
        if whole and started - newest > _SETTLED_SECONDS:
            with contextlib.suppress(OSError):  # a full disk
                write_json(record, {"files": found})
        return whole
