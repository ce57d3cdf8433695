"""From the card of a benchmark to its pair table."""

import gc
import json
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np
import pandas as pd

from ucurve.errors import UserError, first_line, nearest, refuse_missing_folder
from ucurve.eval.benchmarks.card import DEMO, Benchmark
from ucurve.eval.benchmarks.expressions import groups
from ucurve.eval.benchmarks.files.readers import Row, read_rows
from ucurve.eval.benchmarks.files.source_file import source_files
from ucurve.eval.benchmarks.files.tables import Record, TableForm, written
from ucurve.eval.benchmarks.files.unpacking import UNPACKED
from ucurve.eval.benchmarks.pairing.columns import (
    BAD,
    GOOD,
    Columns,
    make_shape,
    may_be_missing,
    text_columns,
    used_columns,
)
from ucurve.eval.benchmarks.pairing.layouts import pair_either, pair_sentences
from ucurve.eval.benchmarks.registry import find_benchmark
from ucurve.eval.benchmarks.rows import find_rows
from ucurve.eval.pairs import COUNTED, SET, Keys, counted, lacks, pair_table
from ucurve.huggingface.pretrained import data_set_parts, load_rows
from ucurve.huggingface.revisions import find_commit
from ucurve.progress import log_line

Fingerprint = tuple[tuple[Path, int, int], ...]
_CONTEXTS = {"condition_good", "condition_bad", "target"}
_TWO_CONTEXTS: Columns = {member: f"{{condition_{member}}} {{target}}" for member in ("good", "bad")}
_KEYS: Keys = ("paradigm", "phenomenon", "good", "bad")


def read_published(
    card: Benchmark, root: Path | None, text: Container[str] = (), unpacked: int = UNPACKED
) -> list[Row]:
    """Read the rows of a benchmark as published, from the hub if it has no folder; columns in ``text`` stay text."""
    if root is not None and card.place is None:
        refuse_missing_folder("benchmark_root", root)
    if card.name == DEMO and (root is None or not (root / card.name).is_dir()):
        from ucurve.templates.demo import demo_pairs

        return [
            Row(card.name, "", f"demo pair {number}", dict(record)) for number, record in enumerate(demo_pairs())
        ]
    if (folder := card.home(root)) is None:
        hub = card.hub
        if hub is None:
            raise UserError(f"benchmark {card.name!r} is not on the hub; give benchmark_root=DIR with its files")
        try:
            return [
                Row(part, "", f"{hub.name}/{part}:{number}", json.loads(json.dumps(row)))
                for part in hub.parts or data_set_parts(hub.name, hub.revision)
                for number, row in enumerate(
                    load_rows(hub.name, part, split=hub.split, revision=hub.revision), start=1
                )
            ]
        except Exception as error:  # the hub's client raises errors of many libraries
            raise _not_fetched(card, error) from error
    form = TableForm(card.delimiter, card.header or None, card.header_unless, card.quotes)
    rows = read_rows(source_files(find_files(card, root), unpacked), form, text)
    if not rows:
        raise UserError(
            f"benchmark {card.name!r} has no pairs in {' or '.join(str(folder / one) for one in card.files)}"
        )
    return rows


def find_files(card: Benchmark, root: Path | None) -> list[Path]:
    """Return the files of a benchmark, at least one."""
    folder = card.home(root)
    assert folder is not None
    if card.place is None and root is not None and not folder.is_dir():
        present = sorted(entry.name for entry in root.iterdir() if entry.is_dir())
        close = nearest(folder.name, present)
        hint = f" Did you mean the root of {close!r}?" if close else ""
        held = ", ".join(present) or "none"
        raise UserError(f"benchmark {card.name!r}: no folder {folder}; {root} holds {held}.{hint}")
    files = card.matching(root)
    if not files:
        what = "files of a form that is read" if card.files == (".",) else f"{' or '.join(card.files)} files"
        raise UserError(f"benchmark {card.name!r}: no {what} in {folder}")
    return files


def _not_fetched(card: Benchmark, error: Exception) -> UserError:
    """Build the error for a benchmark that the hub does not give."""
    assert card.hub is not None
    at = f" at the revision {card.hub.revision!r}" if card.hub.revision else ""
    return UserError(
        f"benchmark {card.name!r} could not be fetched from the hub data set {card.hub.name}{at} "
        f"({first_line(error)}); give benchmark_root=DIR to read it from local files; in train.py 'benchmarks=[]' "
        "scores nothing"
    )


def load_benchmark(
    card: Benchmark | str, root: Path | None = None, revision: str | None = None, unpacked: int = UNPACKED
) -> pd.DataFrame:
    """Load the pair table of a benchmark (``ucurve.eval.pairs``), and log a difference from the published numbers.

    ``root`` has a folder for each benchmark; without it, the benchmark is read from the hub at ``revision``, or that of
    the card, or the newest, and the table's attribute ``commit`` names the commit.
    """
    if isinstance(card, str):
        card = find_benchmark(card)
    if card.home(root) is None and card.hub is not None:
        hub = replace(card.hub, revision=revision or card.hub.revision)
        card = replace(card, hub=hub)
        # The commit, so that all that is read, and what the table says of it, is of one state of the data set.
        try:
            commit = find_commit(hub.name, "dataset", hub.revision)
        except Exception as error:  # the hub's client raises errors of many libraries
            raise _not_fetched(card, error) from error
        card = replace(card, hub=replace(hub, revision=commit))
    with _without_garbage():
        pairs = _read_pairs(card, root, unpacked)
    if card.home(root) is None and card.hub is not None:
        pairs.attrs["commit"] = card.hub.revision
    _compare(pairs, card)
    return pairs


@contextmanager
def _without_garbage() -> Iterator[None]:
    """Pause garbage collection, which takes a fifth of the time while many small objects are made."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _read_pairs(card: Benchmark, root: Path | None, unpacked: int) -> pd.DataFrame:
    """Read the rows of a benchmark, bring them into one for each pair, and map their columns."""
    # A sentence such as 1984 is text in every file, whatever the others of its column are.
    of_text = {name for columns in (card.columns, *card.each) for name in text_columns(columns)}
    if card.sentences is not None:
        given = (card.sentences.sentence, card.sentences.grammatical)
        of_text |= {name for name in given if isinstance(name, str)}
    if card.either is not None:
        of_text |= {card.either.a, card.either.b, card.either.label}
    rows = read_published(card, root, of_text, unpacked)
    rows = rows if card.rows is None else find_rows(card.rows)(rows)
    if card.sentences is not None:
        rows = pair_sentences(rows, card.sentences)
    elif card.either is not None:
        rows = pair_either(rows, card.either)
    if card.place is not None:
        _check_columns(rows[:1], card)
    places: list[str] = []
    pairs = pair_table(_records(rows, card, places), card.name, str(card.language), _KEYS)
    if card.not_counted:
        _mark_counted(pairs, card)
    if card.place is not None:  # one set may be published in several forms
        parts = pd.Series([place.rpartition(":")[0] for place in places])
        if repeated := int((parts.groupby([pairs["good"], pairs["bad"]]).nunique() > 1).sum()):
            log_line(f"{card.name}: {repeated} pairs are in several files, and each counts as often as it occurs")
    return pairs


def fingerprint(card: Benchmark, root: Path | None = None) -> Fingerprint:
    """Return path, size and time of change of the files that ``load_benchmark`` would read."""
    return tuple((file, stat.st_size, stat.st_mtime_ns) for file in card.matching(root) for stat in [file.stat()])


def _records(rows: Sequence[Row], card: Benchmark, places: list[str]) -> Iterator[tuple[str, Record]]:
    """Yield the records of pairs with their places, which are also appended to ``places``."""
    shapes = [make_shape(columns, card.omit) for columns in _maps(card)]
    known: Record = {"language": card.language, "code": card.code or card.language}
    names: dict[tuple[str, str], Record] = {}  # what the name of a file says, once for each
    for number, row in enumerate(rows):
        if (row.part, row.folder) not in names:
            names[row.part, row.folder] = known | {"file": row.part, "folder": row.folder} | _groups(card, row)
        about = names[row.part, row.folder]
        for shape in shapes:
            pairs = shape(row.record, about, row.place)
            of = str(number) if len(pairs) > 1 else row.set
            for pair in pairs:
                if of:
                    pair[SET] = of
                places.append(row.place)
                yield row.place, pair


def _maps(card: Benchmark) -> list[Columns]:
    maps = [card.columns | columns for columns in card.each or ({},)]
    return [_TWO_CONTEXTS | columns if columns.keys() >= _CONTEXTS else columns for columns in maps]


def _groups(card: Benchmark, row: Row) -> dict[str, str]:
    return {} if card.file_names is None else groups(card.file_names, row.part, row.place)


def _mark_counted(pairs: pd.DataFrame, card: Benchmark) -> None:
    """Add the column of which pairs count, where the card leaves some out that are there."""
    left_out = np.zeros(len(pairs), dtype=bool)
    for line in card.not_counted:
        fits = np.ones(len(pairs), dtype=bool)
        for name, patterns in line.items():
            if name not in pairs:
                raise lacks(f"{card.name}: not_counted", name, map(str, pairs.columns), "column")
            texts = pairs[name].map(written)
            # Each text is compared once, since columns have few of them.
            found = {text for text in texts.unique() if any(fnmatchcase(text, pattern) for pattern in patterns)}
            fits &= texts.isin(found).to_numpy()
        left_out |= fits
    if left_out.any():
        pairs[COUNTED] = ~left_out


def _check_columns(rows: Sequence[Row], card: Benchmark) -> None:
    """Check that the columns that a user's own card names exist."""
    known = {"file", "folder", "language", "code"}
    for row in rows:
        for columns in _maps(card):
            needed: Columns = {"good": GOOD, "bad": BAD, **columns}
            there = {*row.record, *known, *_groups(card, row)}
            missing = {
                ours: theirs
                for theirs, ours in used_columns(needed).items()
                if theirs not in there and not may_be_missing(needed[ours])
            }
            for ours, theirs in missing.items():
                held = ", ".join(row.record)
                raise UserError(
                    f"{card.where}.{ours}: no column {theirs!r} at {row.place}; the columns are {held}. "
                    f"{_suggest_columns(card, missing, row)}"
                )


def _suggest_columns(card: Benchmark, missing: Mapping[str, str], row: Row) -> str:
    """Name the columns that may be meant, as they are written where the columns of the card are."""
    found = {
        ours: next((name for name in row.record if ours in name.lower()), nearest(theirs, row.record) or "COLUMN")
        for ours, theirs in missing.items()
    }
    if card.where == "custom.columns":
        return f"Give {' '.join(f'custom.columns.{ours}={name}' for ours, name in found.items())}"
    return f"Write {{{', '.join(f'{ours}: {name}' for ours, name in found.items())}}} under `columns` of the card"


def _compare(pairs: pd.DataFrame, card: Benchmark) -> None:
    """Log the first number that differs from the published benchmark's."""
    found = {
        "pairs": len(pairs),
        "paradigms": pairs["paradigm"].nunique(),
        "phenomena": pairs["phenomenon"].nunique(),
        "counted": int(counted(pairs).sum()),
    }
    for name, number in found.items():
        published = getattr(card.expected, name)
        if published not in (None, number):
            what = "pairs that count" if name == "counted" else name
            log_line(f"{card.name}: {number} {what}; the published benchmark has {published}")
            return
