"""Which files a corpus consists of: files, folders and globs, in a fixed order."""

import fnmatch
import glob
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from train.readers import ALLOWED_FILES, file_format
from ucurve.errors import UserError, nearest


def select_files(paths: Sequence[str], exclude: Sequence[str]) -> list[Path]:
    """List the text files that the paths name, sorted by their names below the folder they have in common.

    Args:
        paths: files, folders (searched to any depth) and globs (``**`` for any depth).
        exclude: patterns of file names left out of folders and globs; a file named on its own is always taken.
            Files and folders whose name starts with a dot, and formats of other kinds, are left out too.

    Raises:
        UserError: when a path does not exist, names a format that is not read, or yields no file.
    """
    files = {file.absolute() for path in paths for file in _files_of(path, exclude)}
    names = relative_names(list(files))
    return sorted(files, key=lambda file: names[file])


def relative_names(files: Sequence[Path]) -> dict[Path, str]:
    """Name absolute files by their path below the folder they have in common, so that a moved corpus is the same."""
    common = os.path.commonpath([file.parent for file in files])
    return {file: os.fsencode(file.relative_to(common)).decode("utf-8", "backslashreplace") for file in files}


def _files_of(path: str, exclude: Sequence[str]) -> list[Path]:
    target = Path(path)
    if target.is_file():
        if file_format(target) is None:
            raise UserError(f"data.path: {path}: not a format that is read; {ALLOWED_FILES}")
        return [target]
    if target.is_dir():
        found = list(_below(target))
    elif glob.has_magic(path):
        matches = glob.glob(path, recursive=True)  # noqa: PTH207 - Path.glob takes no absolute pattern
        found = [file for match in matches for file in _below(Path(match))]
    else:
        raise UserError(f"data.path: no file or folder {path!r}{_hint(target)}")
    kept = [file for file in found if not any(fnmatch.fnmatch(file.name, pattern) for pattern in exclude)]
    if not kept:
        left_out = f"; {len(found)} left out by data.exclude={list(exclude)}" if found else ""
        raise UserError(f"data.path: no text file in {path!r}; {ALLOWED_FILES}{left_out}")
    return kept


def _below(path: Path) -> Iterator[Path]:
    files = path.rglob("*") if path.is_dir() else [path]
    for file in files:
        hidden = any(part.startswith(".") for part in file.relative_to(path).parts or (file.name,))
        if file.is_file() and file_format(file) is not None and not hidden:
            yield file


def _hint(target: Path) -> str:
    if not target.parent.is_dir():
        return f"; the folder {str(target.parent)!r} does not exist either"
    close = nearest(target.name, [entry.name for entry in target.parent.iterdir()])
    return f". Did you mean {str(target.with_name(close))!r}?" if close else ""
