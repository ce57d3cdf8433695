"""Opens the files of a corpus, uncompressed as they are read."""

import bz2
import contextlib
import gzip
import io
import lzma
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from ucurve.errors import UserError
from ucurve.training.corpus.file_names import COMPRESSIONS, compression_by_name

DAMAGED = (OSError, EOFError, zlib.error, lzma.LZMAError)  # what reading a damaged file raises

_BEGINNINGS = {
    b"\x1f\x8b\x08": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\xfd7zXZ\x00": "xz",
    **{b"BZh%d1AY&SY" % level: "bz2" for level in range(1, 10)},
}
_POINTER = b"version https://git-lfs.github.com/spec/"


def open_lines(path: Path) -> BinaryIO:
    """Open a file for reading from its beginning; reading on may raise any of ``DAMAGED``."""
    match _compression(path):
        case "gzip":
            return cast(BinaryIO, gzip.open(path, "rb"))
        case "bz2":
            return cast(BinaryIO, bz2.open(path, "rb"))
        case "xz":
            return cast(BinaryIO, lzma.open(path, "rb"))
        case "zstd":
            import pyarrow as pa

            return io.BufferedReader(pa.input_stream(str(path), compression="zstd"))
    return path.open("rb")


@contextlib.contextmanager
def open_seekable(path: Path) -> Iterator[BinaryIO]:
    """Open a file that can be read out of order; a compressed one is unpacked into a temporary file."""
    with open_lines(path) as stream:
        if _compression(path) is None:
            yield stream
            return
        with tempfile.TemporaryFile() as unpacked:
            shutil.copyfileobj(stream, unpacked)
            unpacked.seek(0)
            yield cast(BinaryIO, unpacked)


def one_line(error: Exception) -> str:
    """Return the text of an error in one line."""
    return " ".join(str(error).split())


def _compression(path: Path) -> str | None:
    with path.open("rb") as file:
        beginning = file.read(len(_POINTER))
    if beginning == _POINTER:
        raise UserError(f"{path}: a pointer of Git LFS, not the file itself; 'git lfs pull' fetches it")
    by_name = compression_by_name(path)
    if by_name is not None:
        return COMPRESSIONS[by_name]
    # The name of a download may have lost its ending.
    return next((kind for start, kind in _BEGINNINGS.items() if beginning.startswith(start)), None)
