"""Files of a corpus: what their names say (form, compression, part), and their hashes, so that each is read once.

Hashes are remembered here and in the cache folder. A remembered hash holds as long as path, size, inode and times of
change are the same, so bytes that a fault of the disk changes are not noticed; the token stream itself is read on every
machine after each of its starts (``training.data``).
"""

import contextlib
import json
import os
import re
import time
from pathlib import Path
from typing import Literal

from ucurve.storage.files import canonical_json, sha256_file, sha256_json

Form = Literal["text", "json_lines", "json", "table", "parquet"]

FORMS: dict[str, Form] = {
    ".txt": "text",
    ".jsonl": "json_lines",
    ".parquet": "parquet",
    ".train": "text",
    ".dev": "text",
    ".valid": "text",
    ".test": "text",
    ".raw": "text",
    ".tokens": "text",
    ".csv": "table",
    ".tsv": "table",
    ".json": "json",
}
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd", ".xz": "xz", ".bz2": "bz2"}
_FAMILIES: dict[Form, int] = {"text": 0, "json_lines": 0, "parquet": 0, "table": 1, "json": 2}
ALLOWED_FILES = (
    "allowed: text (.txt, .train, .raw, .tokens), .jsonl, .json, .csv, .tsv and .parquet, each plain or with "
    ".gz, .zst, .xz or .bz2"
)
_ABOUT_THE_CORPUS = re.compile(r"(readme|licen[sc]e|copying)([-_. ].*)?", re.IGNORECASE)
_HELD_OUT_PARTS = {"validation", "valid", "dev"}


def plain_name(name: str) -> str:
    """Return a file name without the extensions of form and compression: ``a.b.jsonl.gz`` as ``a.b``."""
    for suffixes in (COMPRESSIONS, FORMS):
        end = next((suffix for suffix in suffixes if name.lower().endswith(suffix)), "")
        name = name[: len(name) - len(end)]
    return name


def compression_by_name(path: Path) -> str | None:
    """Return the end of a file's name that says how it is compressed, in lower case."""
    return next((suffix for suffix in COMPRESSIONS if path.name.lower().endswith(suffix)), None)


def ending(path: Path) -> str:
    """Return the end of a file's name that says its form, in lower case and without the compression; perhaps empty."""
    name = path.name.lower().removesuffix(compression_by_name(path) or "")
    return next((end for end in FORMS if name.endswith(end)), Path(name).suffix)


def file_form(path: Path) -> Form | None:
    """Return the form by the end of a file's name, or None for one that is not read."""
    return FORMS.get(ending(path))


def family(path: Path) -> int | None:
    """Return which kind of corpus a file belongs to, the most likely first; None for a form that is not read."""
    # One family of a folder is read, so that a table of sources beside the text is not trained on.
    form = file_form(path)
    return None if form is None else _FAMILIES[form]


def is_about_the_corpus(path: Path) -> bool:
    """Tell whether a file is a readme or a licence by its name."""
    return _ABOUT_THE_CORPUS.fullmatch(path.name) is not None


def is_held_out(path: Path) -> bool:
    """Tell whether a name has a part that says held-out text: ``childes.dev``, ``c4-zh-validation.0.json.gz``."""
    return bool(_parts(path) & _HELD_OUT_PARTS) and "train" not in _parts(path)


def is_test(path: Path) -> bool:
    """Tell whether a name has a part that says test: ``wiki.test.tokens``."""
    return "test" in _parts(path) and "train" not in _parts(path)


def _parts(path: Path) -> set[str]:
    return set(re.split(r"[-_. ]", path.name.lower()))


FILE_HASHES = "file_hashes.jsonl"  # in the cache folder; a line for each file that was hashed
_SETTLED_SECONDS = 2.0  # a file must be unchanged for so long

_File = tuple[str, int, int, int, int]  # path, size, inode, mtime_ns, ctime_ns
_remembered: dict[_File, str] = {}


def hash_file(path: Path) -> str:
    """Return the hex SHA-256 of a file, without reading one that is remembered."""
    file = _describe(path)
    if file not in _remembered:
        started = time.time()
        digest = sha256_file(path)
        # A later change could leave the times of a file that changed just now, as some file systems count coarsely.
        settled = started - max(file[3:]) / 1e9 > _SETTLED_SECONDS
        if not settled or _describe(path) != file:
            return digest
        _remembered[file] = digest
    return _remembered[file]


def recall_hashes(cache: Path) -> None:
    """Read the hashes that other processes have written into a cache folder."""
    _remembered.update(_read(cache / FILE_HASHES))


def keep_hashes(cache: Path) -> None:
    """Write the hashes of this process into a cache folder for later ones, if it can be written to."""
    there = _read(cache / FILE_HASHES)
    new = [[*file, digest] for file, digest in _remembered.items() if file not in there]
    with contextlib.suppress(OSError):  # of a cache that may not be written to: files are hashed again
        if new:  # written in one piece, as other processes may write too
            with (cache / FILE_HASHES).open("ab") as record:
                record.write("".join(f"{canonical_json([*line, sha256_json(line)])}\n" for line in new).encode())


def _read(record: Path) -> dict[_File, str]:
    """Read the lines of a record that are as they were written."""
    try:
        lines = record.read_bytes().splitlines()
    except OSError:
        return {}
    found: dict[_File, str] = {}
    for text in lines:
        try:
            *line, check = json.loads(text)
        except (ValueError, TypeError):
            continue
        # A line may be cut off, or mixed with that of another process.
        if check == sha256_json(line):
            *file, digest = line
            found[tuple(file)] = digest
    return found


def _describe(path: Path) -> _File:
    there = path.stat()
    # Names of files are bytes, which need not be UTF-8.
    name = os.fsencode(path.absolute()).decode("utf-8", "backslashreplace")
    return name, there.st_size, there.st_ino, there.st_mtime_ns, there.st_ctime_ns
