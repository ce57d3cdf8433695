"""What the name of a corpus file says: its form, how it is compressed, and which part of a corpus it is."""

import re
from pathlib import Path
from typing import Literal

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
# Older versions read these alone; runs are named after files without them, and other endings stay in the name.
_FIRST_FORMS = (".txt", ".jsonl", ".parquet")
_FIRST_COMPRESSIONS = (".gz", ".zst")
ALLOWED_FILES = (
    "allowed: text (.txt, .train, .raw, .tokens), .jsonl, .json, .csv, .tsv and .parquet, each plain or with "
    ".gz, .zst, .xz or .bz2"
)
_ABOUT_THE_CORPUS = re.compile(r"(readme|licen[sc]e|copying)([-_. ].*)?", re.IGNORECASE)
_HELD_OUT_PARTS = {"validation", "valid", "dev"}


def plain_name(name: str) -> str:
    """Return a file name without the first extensions of form and compression: ``a.b.jsonl.gz`` as ``a.b``."""
    for suffixes in (_FIRST_COMPRESSIONS, _FIRST_FORMS):
        for suffix in suffixes:
            if name.lower().endswith(suffix):
                name = name[: -len(suffix)]
                break
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
    # One family of a folder is read, so that a table of sources or a packed copy beside the text is not trained on.
    end, form = ending(path), file_form(path)
    if end in _FIRST_FORMS:
        return 0 if compression_by_name(path) in (None, *_FIRST_COMPRESSIONS) else 1
    return None if form is None else {"text": 2, "table": 3, "json": 4}[form]


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
