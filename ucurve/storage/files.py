"""Hashes, files and folders that exist complete or not at all, and readers of text and JSON that name broken lines."""

import contextlib
import glob
import hashlib
import json
import os
import re
import shutil
import stat
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ucurve.errors import UcurveError, UserError

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")  # an escape of half a pair
OF_DESKTOPS = (".DS_Store", "Thumbs.db", "desktop.ini")
# str.splitlines also ends lines at U+2028 and others, which stand within texts.
LINE_END = re.compile(r"\r\n?|\n")


def sha256_file(path: Path) -> str:
    """Return the hex SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def has_hash(path: Path, sha256: str | None) -> bool:
    """Tell whether a file is there and is what was written, by the hex SHA-256 that was recorded of it."""
    return path.is_file() and sha256_file(path) == sha256


def sha256_json(value: object) -> str:
    """Return the hex SHA-256 of a JSON value, independent of key order."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def canonical_json(value: object) -> str:
    """Write a JSON value the one way it is written here: sorted keys, no spaces, no NaN."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def sync_folder(path: Path) -> None:
    """Flush a folder's entries to disk, so that a rename in it survives a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_file(path: Path) -> None:
    """Flush a file's bytes to disk."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


@contextlib.contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Give a temporary path beside ``path``; on success it is synced and renamed to it, on failure removed.

    The file has the mode that the umask gives to new files, also where a library writes its own with mode 600.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = beside(path)
    try:
        # A file is made to see which mode the umask gives; reading the umask would set it for all threads.
        temporary.touch(exist_ok=False)
        mode = temporary.stat().st_mode
        temporary.unlink()
        yield temporary
        _set_mode(temporary, mode)
        sync_file(temporary)
        temporary.replace(path)
        sync_folder(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Give a temporary folder beside ``path``; on success its files are synced and it replaces ``path``.

    On failure the temporary folder is removed and ``path`` left as it was. Its files have the mode that the umask gives
    to new files, as in ``new_file``.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = beside(path)
    temporary.mkdir()
    mode = temporary.stat().st_mode & 0o666  # a folder has the bits of a file, and those to enter it
    try:
        yield temporary
        for file in temporary.rglob("*"):
            if file.is_file():
                if not file.is_symlink():
                    _set_mode(file, mode)
                sync_file(file)
        sync_folder(temporary)
        if path.exists():
            shutil.rmtree(path)
        temporary.rename(path)
        sync_folder(path.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def link_or_copy(source: Path, target: Path) -> None:
    """Make another name of a file that is never changed in place, or a copy where the file system has no such names."""
    try:
        target.hardlink_to(source)
    except OSError:
        shutil.copyfile(source, target)


def write_text(path: Path, text: str) -> None:
    """Write a text file in UTF-8, complete or not at all."""
    with new_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def readable_json(value: object) -> str:
    """Write a JSON value for people to read: indented, in the order it has; NaN is refused."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)


def write_json(path: Path, value: object) -> None:
    """Write a JSON file for people to read, complete or not at all; NaN is refused."""
    write_text(path, readable_json(value) + "\n")


def decode_utf8(data: bytes, name: str) -> str:
    """Decode UTF-8, with or without a byte order mark."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UserError(f"{name}:{line}: not UTF-8 ({error.reason})") from error


def read_utf8(path: Path) -> str:
    """Read a text file, its line ends as they are there; ``UserError`` with the line of what is not UTF-8."""
    try:
        return decode_utf8(path.read_bytes(), str(path))
    except OSError as error:
        raise UserError(f"cannot read {path} ({error.strerror})") from error


def read_json(path: Path) -> Any:
    """Read a JSON file; ``UserError`` with the line of what is not JSON, or for text that is not Unicode."""
    text = read_utf8(path)
    try:
        value = json.loads(text)
        if _SURROGATE.search(text):
            # Halves of a pair that are together become one character.
            json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise UserError(f"{path}:{error.lineno}: not JSON ({error.msg})") from error
    except UnicodeEncodeError as error:
        raise UserError(f"{path}: half a surrogate pair, which is not Unicode text") from error
    except (ValueError, RecursionError) as error:
        # So end a number of thousands of digits, and as many brackets in one another.
        raise UserError(f"{path}: not JSON ({error})") from error
    return value


def read_json_object(path: Path, what: str = "a JSON object") -> dict[str, Any]:
    """Read a JSON file that holds an object; ``what`` it is of stands in the message for one that does not."""
    value = read_json(path)
    if not isinstance(value, dict):
        raise UserError(f"{path}: {what} is expected, not a {type(value).__name__}")
    return value


def read_json_or_empty(path: Path) -> dict[str, Any]:
    """Read a JSON object that may be missing or broken; it is then empty."""
    try:
        return read_json_object(path)
    except UserError:
        return {}


@contextlib.contextmanager
def disk_faults() -> Iterator[None]:
    """Turn a disk's fault that safetensors or tokenizers wrap in an error of their own into the OSError it was."""
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


def contents(folder: Path) -> list[Path]:
    """Return what is in a folder, sorted, but for the files that Finder and Windows put into folders they show."""
    return sorted(path for path in folder.iterdir() if path.name not in OF_DESKTOPS)


def is_leftover(path: Path) -> bool:
    """Tell whether a path is what ``new_file`` or ``new_folder`` was writing when its process was killed."""
    return path.name.startswith(".") and ".tmp-" in path.name


def remove_leftovers(folder: Path, name: str = "") -> None:
    """Remove what killed writers of all names, or of one, left in ``folder``; call it only where none is at work."""
    for path in folder.glob(f".{glob.escape(name) or '*'}.tmp-*"):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def _set_mode(file: Path, mode: int) -> None:
    """Set the permissions of a file, where they are others: a file system without permissions refuses to."""
    if stat.S_IMODE(file.stat().st_mode) != stat.S_IMODE(mode):
        file.chmod(stat.S_IMODE(mode))


def beside(path: Path) -> Path:
    """Return a hidden place beside a file or folder, where it is written before it takes the name."""
    return path.with_name(f".{path.name}.tmp-{uuid.uuid4().hex[:12]}")
