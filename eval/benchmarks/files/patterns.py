"""Which files the patterns of a card stand for, and that those of a card lie below its own folder."""

import os
import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator

from ucurve.errors import UserError
from ucurve.eval.benchmarks.files.source_file import FORMS, as_text, form_of, is_hidden, may_hold_pairs
from ucurve.fields import as_tuple

_MAGIC = re.compile(r"[*?\[]")


def _check(patterns: tuple[str, ...]) -> tuple[str, ...]:
    for pattern in patterns:
        parts = PurePosixPath(pattern).parts
        if not pattern.strip() or "\0" in pattern or re.search("[\ud800-\udfff]", pattern):
            raise ValueError(f"{pattern!r} is not a pattern of files, such as *.csv")
        if pattern.startswith("/") or ".." in parts:
            raise ValueError(
                f"{pattern!r} leads out of the card's folder, and a card reads below its own folder only; put the "
                "files there, or score them with custom.path"
            )
        if any("**" in part and part != "**" for part in parts):
            raise ValueError(f"{pattern!r}: '**' stands for folders, alone between slashes, as in **/*.csv")
    return patterns


Patterns = Annotated[tuple[str, ...], BeforeValidator(as_tuple), AfterValidator(_check)]


def matching_files(folder: Path, pattern: str) -> list[Path]:
    """Return the files below a folder that a pattern stands for, each once, in the order of their paths.

    Hidden files and those whose names say that they hold no pairs are left out, unless the pattern names them.
    """
    pattern = os.fsdecode(pattern.encode("utf-8", "surrogateescape"))  # as the file system's encoding has its names
    if Path(pattern).is_absolute() or not _MAGIC.search(pattern):
        path = folder / pattern
        return list(_inside(path)) if path.is_dir() else [path] * (path.is_file() and form_of(path) is not None)
    named = [part for part in PurePosixPath(pattern).parts if part.startswith(".")]  # hidden files that are meant
    files: list[Path] = []
    for path in sorted(folder.glob(re.sub(r"(\*\*/)+", "**/", pattern))):
        hidden = filter(is_hidden, path.relative_to(folder).parts)
        if all(any(fnmatchcase(part, one) for one in named) for part in hidden):
            files += _files(path)
    return list(dict.fromkeys(files))


def refuse_outside(files: Sequence[Path], folders: Sequence[Path], card: Path) -> None:
    """Refuse files that do not lie below one of some folders, even through symbolic links; ``card`` names them."""
    allowed = [folder.resolve() for folder in folders]
    for file in files:
        target = file.resolve()
        if not any(target.is_relative_to(folder) for folder in allowed):
            raise UserError(
                f"{as_text(card)}: files: {as_text(file)} is a link to {as_text(target)}, and a card reads below its "
                "own folder only; copy the file there, or, if the link is yours, give benchmark_root=DIR with the "
                "folder that it leads to"
            )


def _files(path: Path) -> Iterator[Path]:
    if path.is_dir():
        yield from _inside(path)
    elif path.is_file() and may_hold_pairs(path.name.lstrip(".")):
        yield path


def _inside(folder: Path) -> list[Path]:
    """Return the files below a folder that may hold pairs, without cards, by form and then by path."""
    files = [
        file for file in sorted(folder.rglob("*")) if may_hold_pairs(str(file.relative_to(folder))) and file.is_file()
    ]
    return sorted(files, key=lambda file: FORMS.index(form_of(file) or ""))
