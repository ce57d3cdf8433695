"""Faults of the disk, as safetensors reports them."""

import contextlib
import os
import re
from collections.abc import Iterator

from safetensors import SafetensorError


@contextlib.contextmanager
def disk_faults() -> Iterator[None]:
    """Turn a disk's fault that safetensors wraps in its own error into the OSError it was, as for a full disk.

    Raises:
        OSError: with the number and message of the system.
    """
    try:
        yield
    except SafetensorError as error:
        found = re.search(r"os error (\d+)", str(error))
        if found is None:
            raise
        number = int(found.group(1))
        raise OSError(number, os.strerror(number)) from error
