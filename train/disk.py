"""Faults of the disk, as libraries written in Rust report them."""

import contextlib
import os
import re
from collections.abc import Iterator

from ucurve.errors import UcurveError


@contextlib.contextmanager
def disk_faults() -> Iterator[None]:
    """Turn a disk's fault that a library wraps in its own error into the OSError it was, as for a full disk.

    safetensors raises a ``SafetensorError`` and tokenizers a plain ``Exception``; the system's number is in their text.

    Raises:
        OSError: with the number and message of the system.
    """
    try:
        yield
    except (OSError, UcurveError):
        raise
    except Exception as error:
        found = re.search(r"\(os error (\d+)\)", str(error))
        if found is None:
            raise
        number = int(found.group(1))
        raise OSError(number, os.strerror(number)) from error
