"""The files of a benchmark: plain or compressed, on disk or inside an archive, and which of them hold pairs.

Patterns of a card stand for files below the card's own folder only (``refuse_outside``).
"""

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator

from ucurve.errors import UserError
from ucurve.eval.benchmarks.files.unpacking import (
    UNPACKED,
    Budget,
    compression_of,
    decompress,
    read_file,
    refuse_pointer,
    tar_members,
    zip_members,
)
from ucurve.fields import as_tuple

KNOWN_SUFFIXES = (".jsonl", ".json", ".csv", ".tsv", ".parquet", ".xlsx", ".txt")
_COMPRESSED = {".gz": "gzip", ".zst": "zstd"}
_ARCHIVES = (".zip", ".tar.gz", ".tgz", ".tar")
FORMS = (*KNOWN_SUFFIXES, *_ARCHIVES)  # in the order in which a folder is read
_ABOUT = {  # what the hub, archives of data and repositories put beside the tables
    "dataset_info.json", "dataset_infos.json", "dataset_dict.json", "state.json", "croissant.json",
    "dataset-metadata.json", "datapackage.json",
    "readme.txt", "license.txt", "licence.txt", "citation.txt", "notice.txt", "changelog.txt", "requirements.txt",
}  # fmt: skip
_MAGIC = re.compile(r"[*?\[]")


@dataclass(frozen=True)
class SourceFile:
    """One file of records."""

    place: str  # how messages name it, as `DIR/a.zip/member.csv`
    stem: str  # name without the ends for form and compression; bytes that are not UTF-8 are escaped
    folder: str  # the name of the folder that holds it; empty at the top of an archive
    suffix: str  # the end of its name that says its form, in lower case
    budget: Budget  # how much may still be unpacked
    read: Callable[[], bytes]  # returns its bytes, uncompressed


def form_of(path: Path) -> str | None:
    """Return the suffix that says the form of a file or archive; None for an unknown one."""
    name = path.name.lower()
    archive = next((end for end in _ARCHIVES if name.endswith(end)), None)
    if archive is not None:
        return archive
    suffix = Path(name.removesuffix(_compression(name))).suffix
    return suffix if suffix in KNOWN_SUFFIXES else None


def may_hold_pairs(name: str) -> bool:
    """Tell by its path whether a file may hold pairs: it has a known form, is not hidden, and is none of ``_ABOUT``."""
    path = PurePosixPath(name)
    known = form_of(Path(path.name)) is not None and path.name.lower() not in _ABOUT
    return known and not any(map(is_hidden, path.parts))


def is_hidden(name: str) -> bool:
    """Tell the name of a file or folder that a listing does not show, or that macOS adds to archives."""
    return name.startswith(".") or name == "__MACOSX"


def as_text(path: Path | str) -> str:
    """Return a path or name of the file system as text that can be stored; bytes that are not UTF-8 are escaped."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def source_files(paths: Sequence[Path], unpacked: int = UNPACKED) -> list[SourceFile]:
    """Return files, and of archives the members of known forms by name; together they may hold ``unpacked`` bytes."""
    budget = Budget(unpacked)
    files = []

    def is_member(name: str) -> bool:
        return may_hold_pairs(name) and form_of(Path(name)) in KNOWN_SUFFIXES

    for path in paths:
        kind, place = form_of(path), as_text(path)
        if kind not in _ARCHIVES:
            read = partial(read_file, path, place)
            files.append(_file(place, as_text(path.name), as_text(path.parent.name), read, budget))
            continue
        unpack = zip_members if kind == ".zip" else tar_members
        held = {PurePosixPath(name): data for name, data in unpack(path, place, is_member, budget).items()}
        for member in sorted(held, key=str):
            inside = f"{place}/{member}"
            pointer = partial(refuse_pointer, held[member], inside)
            files.append(_file(inside, member.name, member.parent.name, pointer, budget))
    return files


def _file(place: str, name: str, folder: str, read: Callable[[], bytes], budget: Budget) -> SourceFile:
    """Describe a file whose bytes ``read`` gives; they are uncompressed where its name or its first bytes say so."""
    compression = _compression(name.lower())
    plain = Path(name[: len(name) - len(compression)])

    def content() -> bytes:
        data = read()
        codec = _COMPRESSED[compression] if compression else compression_of(data)
        return data if codec is None else decompress(data, codec, place, budget)

    return SourceFile(place, plain.stem, folder, plain.suffix.lower(), budget, content)


def _compression(name: str) -> str:
    return next((end for end in _COMPRESSED if name.endswith(end)), "")


def _check_patterns(patterns: tuple[str, ...]) -> tuple[str, ...]:
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


Patterns = Annotated[tuple[str, ...], BeforeValidator(as_tuple), AfterValidator(_check_patterns)]


def matching_files(folder: Path, pattern: str) -> list[Path]:
    """Return the files below a folder that a pattern stands for, each once, in the order of their paths.

    Hidden files and those whose names say that they hold no pairs are left out, unless the pattern names them.
    """
    # As the file system's encoding has its names.
    pattern = os.fsdecode(pattern.encode("utf-8", "surrogateescape"))
    if Path(pattern).is_absolute() or not _MAGIC.search(pattern):
        path = folder / pattern
        return list(_inside(path)) if path.is_dir() else [path] * (path.is_file() and form_of(path) is not None)
    named = [part for part in PurePosixPath(pattern).parts if part.startswith(".")]  # hidden files that are meant
    files: list[Path] = []
    # Several ** in a row find the same files as one, in far more time.
    for path in sorted(folder.glob(re.sub(r"(\*\*/)+", "**/", pattern))):
        hidden = filter(is_hidden, path.relative_to(folder).parts)
        if all(any(fnmatchcase(part, one) for one in named) for part in hidden):
            if path.is_dir():
                files += _inside(path)
            elif path.is_file() and may_hold_pairs(path.name.lstrip(".")):
                files.append(path)
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


def _inside(folder: Path) -> list[Path]:
    """Return the files below a folder that may hold pairs, without cards, by form and then by path."""
    files = [
        file
        for file in sorted(folder.rglob("*"))
        if may_hold_pairs(str(file.relative_to(folder))) and file.is_file()
    ]
    return sorted(files, key=lambda file: FORMS.index(form_of(file) or ""))
