"""Compressed files and archives, unpacked in memory and never beyond a limit."""

import bz2
import gzip
import io
import lzma
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from ucurve.config_files import load
from ucurve.errors import UserError
from ucurve.fields import parse_count

# Bytes that the archives and compressed files of one benchmark may hold, unless the user says more.
UNPACKED = parse_count(load("eval/default.yaml")["benchmark_unpacked"])
_CHUNK = 2**20
_BLOCK = 512  # bytes of a tar member beside its content
_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_OF_TAR: dict[bytes, Callable[[BinaryIO], io.BufferedIOBase]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\0": lzma.open,
}
_LFS = b"version https://git-lfs.github.com/spec/"
_UTF8_NAME = 0x800  # of the flags of a zip member: its name is UTF-8
_ENCRYPTED = 0x1


class Budget:
    """How much the archives and compressed files of one benchmark may still hold when they are unpacked."""

    def __init__(self, limit: int = UNPACKED) -> None:
        self._limit = self._left = limit

    def take(self, size: int, place: str) -> None:
        """Count bytes that are about to be unpacked; an error when they are more than is left."""
        self._left -= size
        if self._left < 0:
            raise UserError(
                f"{place}: what is compressed in a benchmark may hold {self._limit:,} bytes together, and "
                "this is more; unpack it, or allow more by benchmark_unpacked=BYTES (in train.py "
                "eval.benchmark_unpacked)"
            )


def read_file(path: Path, place: str, size: int = -1) -> bytes:
    """Return the bytes of a file, or its first ones, unless they are a pointer of Git LFS."""
    try:
        with path.open("rb") as file:
            return refuse_pointer(file.read(size), place)
    except OSError as error:
        raise UserError(f"cannot read {place} ({error.strerror})") from error


def refuse_pointer(data: bytes, place: str) -> bytes:
    """Return the bytes of a file, unless they are a pointer that Git LFS left in its place."""
    if data.startswith(_LFS):
        raise UserError(
            f"{place}: a Git LFS pointer and not the file itself; run `git lfs pull` where it was cloned"
        )
    return data


def compression_of(data: bytes) -> str | None:
    """Return how data is compressed, by its first bytes; None if it is not."""
    return next((codec for magic, codec in _MAGIC.items() if data.startswith(magic)), None)


def decompress(data: bytes, codec: str, place: str, budget: Budget) -> bytes:
    """Return data without its compression."""
    import pyarrow as pa

    # A chunk at a time, since a small file may unpack to any size.
    content = bytearray()
    try:
        with pa.CompressedInputStream(pa.BufferReader(data), codec) as stream:
            while chunk := stream.read(_CHUNK):
                budget.take(len(chunk), place)
                content += chunk
    except (OSError, pa.ArrowException) as error:
        raise UserError(f"{place}: not a {codec} file ({str(error).splitlines()[0]})") from error
    return bytes(content)


def zip_members(path: Path, place: str, wanted: Callable[[str], bool], budget: Budget) -> dict[str, bytes]:
    """Return the wanted files of a zip by their names, as unpacking would; symbolic links are left out."""
    read_file(path, place, len(_LFS))  # a pointer is no archive
    try:
        with zipfile.ZipFile(path) as archive:
            files = {}
            for info in archive.infolist():
                if not info.is_dir() and not stat.S_ISLNK(info.external_attr >> 16):
                    name = info.filename
                    if not info.flag_bits & _UTF8_NAME:  # zipfile takes it for the code page of DOS
                        name = name.encode("cp437").decode("utf-8", "backslashreplace")
                    files[name] = info
            return {
                name: _read_zipped(archive, info, f"{place}/{name}", budget)
                for name, info in files.items()
                if wanted(name)
            }
    # ValueError is that of a name and its encoding
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError) as error:
        raise UserError(f"{place}: not a zip file ({error})") from error


def _read_zipped(archive: zipfile.ZipFile, info: zipfile.ZipInfo, place: str, budget: Budget) -> bytes:
    """Unpack one file of a zip; an error says why it cannot be, and what to do."""
    if info.flag_bits & _ENCRYPTED:
        raise UserError(f"{place}: locked with a password; unpack the archive with it")
    budget.take(info.file_size, place)  # no more is read, whatever the compressed data would give
    try:
        return archive.read(info)
    except NotImplementedError as error:
        raise UserError(f"{place}: packed in a way that cannot be read ({error}); unpack the archive") from error
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError) as error:
        raise UserError(f"{place}: the archive is broken ({error or type(error).__name__})") from error


def tar_members(path: Path, place: str, wanted: Callable[[str], bool], budget: Budget) -> dict[str, bytes]:
    """Return the wanted files of a tar archive by their names, as unpacking would; symbolic links are left out."""
    read_file(path, place, len(_LFS))  # a pointer is no archive
    held: dict[str, bytes] = {}
    try:
        # As a stream from front to back, since what is unpacked is not kept.
        with (
            _Counted(path, place, budget) as content,
            tarfile.open(
                fileobj=content, mode="r|", bufsize=_CHUNK, encoding="utf-8", errors="surrogateescape"
            ) as archive,
        ):
            for member in archive:
                # The holes of a sparse file are not in the archive, but in what is made of it.
                budget.take(_BLOCK + (member.size if member.issparse() else 0), place)
                name, target = (
                    text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
                    for text in (member.name, member.linkname)
                )
                if not wanted(name):
                    continue
                if member.islnk() and target in held:  # a second name of a file before it, without its content
                    held[name] = held[target]
                elif member.isreg() and (data := archive.extractfile(member)) is not None:
                    held[name] = data.read()
    except (tarfile.TarError, OSError, EOFError, zlib.error, lzma.LZMAError, ValueError) as error:
        raise UserError(f"{place}: not a tar archive ({error})") from error
    return held


class _Counted(io.RawIOBase):
    """The uncompressed content of a file, which counts each piece that is read."""

    def __init__(self, path: Path, place: str, budget: Budget) -> None:
        self._file = path.open("rb")
        self._place, self._budget = place, budget
        first = self._file.peek(_BLOCK)
        unpack = next((opener for magic, opener in _OF_TAR.items() if first.startswith(magic)), None)
        self._content: io.BufferedIOBase = self._file if unpack is None else unpack(self._file)

    def readable(self) -> bool:
        """Tell that it can be read."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes, at most as many as a chunk has."""
        data = self._content.read(min(size, _CHUNK) if size >= 0 else _CHUNK)
        self._budget.take(len(data), self._place)
        return data

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()
