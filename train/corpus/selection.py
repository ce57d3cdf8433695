"""Which files of the given paths are the corpus, which are held-out text, and what is left out."""

import fnmatch
import glob
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ucurve.errors import UserError, nearest
from ucurve.gather import gather
from ucurve.training.corpus.files import (
    ALLOWED_FILES,
    compression_by_name,
    ending,
    family,
    file_form,
    is_about_the_corpus,
    is_held_out,
    is_test,
)

_VALIDATION = "validation*"
_NAMES_IN_A_NOTE = 3  # a note names so many files
_ENDINGS_IN_A_NOTE = 8  # a note shows so many endings of names


@dataclass(frozen=True)
class Selection:
    """The files of a corpus, absolute, in the order they are read."""

    files: tuple[Path, ...] = ()
    notes: tuple[str, ...] = ()  # on other files of a folder or glob


def select_files(paths: Sequence[str], exclude: Sequence[str]) -> Selection:
    """Find the text files that the paths name, sorted by their names below the folder they have in common.

    Of a folder or glob the files of one family (``files.family``) are taken. Readmes, licences, files of other splits
    and a compressed copy beside the file itself are left out.

    Args:
        paths: files, folders (searched to any depth) and globs (``**`` for any depth).
        exclude: patterns of file names that are left out of folders and globs; a file named on its own is always taken.
            An empty list leaves nothing out but files and folders whose name starts with a dot.

    Raises:
        UserError: when a path does not exist, names a format that is not read, or yields no file.
    """
    found = [_select(path, exclude) for path in paths]
    files = {file.absolute() for selection in found for file in selection.files}
    names = relative_names(list(files))
    notes = tuple(note for selection in found for note in selection.notes)
    return Selection(tuple(sorted(files, key=lambda file: names[file])), notes)


def find_validation_files(paths: Sequence[str], training: Sequence[Path]) -> list[Path]:
    """List the files of held-out text below the given folders and beside the training files.

    These are files of the same family that are named ``validation*`` or that ``select_files`` leaves out as held-out
    text.
    """
    places = [file for path in paths if Path(path).is_dir() for file in _below(Path(path))]
    places += [
        file for folder in {file.parent for file in training} for file in folder.glob("*") if file.is_file()
    ]
    families = {family(file) for file in training}
    named = {
        file.absolute()
        for file in places
        if family(file) in families
        and not file.name.startswith(".")
        and (fnmatch.fnmatch(file.name, _VALIDATION) or is_held_out(file))
    }
    return sorted(named - set(training))


def relative_names(files: Sequence[Path]) -> dict[Path, str]:
    """Name absolute files by their path below their common folder, so that a moved corpus is the same."""
    common = os.path.commonpath([file.parent for file in files])
    return {file: os.fsencode(file.relative_to(common)).decode("utf-8", "backslashreplace") for file in files}


def _select(path: str, exclude: Sequence[str]) -> Selection:
    """Return the files of one path, as ``select_files`` says, not yet absolute, and notes on those left out."""
    target = Path(path)
    if target.is_file():
        if file_form(target) is None:
            raise UserError(f"data.path: {path}: not a format that is read; {ALLOWED_FILES}")
        return Selection((target,))
    # A glob with ** may give a file and also the folder that holds it.
    there = list(dict.fromkeys(_list_files(path)))
    present = [file for file in there if not any(fnmatch.fnmatch(file.name, pattern) for pattern in exclude)]
    other = {file for file in present if is_about_the_corpus(file) or is_held_out(file) or is_test(file)}
    copies = {file for file in present if compression_by_name(file) and file.with_suffix("") in there}
    left_out = copies | (other if exclude else set())  # an empty list leaves no split out
    families = [number for file in present if file not in left_out and (number := family(file)) is not None]
    chosen = min(families, default=0)
    taken = [file for file in present if family(file) == chosen and file not in left_out]
    rest = [file for file in present if file not in set(taken)]
    if not taken:
        excluded = [file for file in there if file not in set(present) and family(file) is not None]
        reasons = [f"{len(excluded)} left out by data.exclude={list(exclude)}"] if excluded else []
        readable = any(file_form(file) is not None for file in rest)
        hint = ["'data.exclude=[]' leaves out none of them"] if readable and exclude else []
        why = "".join(f"; {reason}" for reason in (*reasons, *_describe(rest), *hint))
        raise UserError(f"data.path: no text file in {path!r}; {ALLOWED_FILES}{why}")
    notes = (f"data.path={path}: left out {'; '.join(_describe(rest))}",) if rest else ()
    return Selection(tuple(taken), notes)


def _list_files(path: str) -> Iterator[Path]:
    """Yield the visible files of a folder or glob, of every form."""
    target = Path(path)
    if target.is_dir():
        yield from _below(target)
    elif glob.has_magic(path):
        for match in glob.glob(path, recursive=True):  # noqa: PTH207 - Path.glob takes no absolute pattern
            yield from _below(Path(match))
    elif not target.parent.is_dir():
        raise UserError(
            f"data.path: no file or folder {path!r}; the folder {str(target.parent)!r} does not exist either"
        )
    else:
        close = nearest(target.name, [entry.name for entry in target.parent.iterdir()])
        hint = f". Did you mean {str(target.with_name(close))!r}?" if close else ""
        raise UserError(f"data.path: no file or folder {path!r}{hint}")


def _below(path: Path) -> Iterator[Path]:
    files = path.rglob("*") if path.is_dir() else [path]
    for file in files:
        hidden = any(part.startswith(".") for part in file.relative_to(path).parts or (file.name,))
        if not hidden and file.is_file():
            yield file


def _describe(files: Sequence[Path]) -> Iterator[str]:
    """Say how many files there are of each reason for which some are left out, with the first names."""
    kinds = gather((_reason(file), file) for file in files)
    for reason, group in kinds.items():
        endings = sorted({ending(file) or "no ending" for file in group})
        shown = " ".join(endings[:_ENDINGS_IN_A_NOTE]) + (" ..." if len(endings) > _ENDINGS_IN_A_NOTE else "")
        count = f"{len(group)} {'file' if len(group) == 1 else 'files'}"
        yield f"{count} {reason} ({shown}: {_names(group)})"


def _reason(file: Path) -> str:
    """Say why a file is left out, by the first of several reasons."""
    if is_about_the_corpus(file):
        return "about the corpus"
    if file_form(file) is None:
        return "of a form that is not read"
    if is_held_out(file):
        return "named as held-out text"
    return "named as test text" if is_test(file) else "of another form than the text"


def _names(files: Sequence[Path]) -> str:
    # Names of files are bytes, which need not be UTF-8.
    names = sorted(os.fsencode(file.name).decode("utf-8", "backslashreplace") for file in files)
    return ", ".join(names[:_NAMES_IN_A_NOTE]) + (", ..." if len(names) > _NAMES_IN_A_NOTE else "")
