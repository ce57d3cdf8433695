"""Where the rows of a benchmark come from: its files, its data set on the hub, or the embedded demo."""

import json
from collections.abc import Container
from dataclasses import replace
from pathlib import Path

from ucurve.errors import UserError, missing_folder, nearest
from ucurve.eval.benchmarks.card import DEMO, Benchmark
from ucurve.eval.benchmarks.files.readers import Row, read_rows
from ucurve.eval.benchmarks.files.source_file import source_files
from ucurve.eval.benchmarks.files.tables import TableForm
from ucurve.eval.benchmarks.files.unpacking import UNPACKED
from ucurve.huggingface.pretrained import data_set_parts, load_rows
from ucurve.huggingface.revisions import find_commit


def read_published(
    card: Benchmark, root: Path | None, text: Container[str] = (), unpacked: int = UNPACKED
) -> list[Row]:
    """Read the rows of a benchmark as published, from the hub if it has no folder; columns in ``text`` stay text."""
    if root is not None and not root.is_dir() and card.place is None:
        raise missing_folder("benchmark_root", root)
    if card.name == DEMO and (root is None or not (root / card.name).is_dir()):
        from ucurve.eval.templates.demo import demo_pairs

        return [Row(card.name, "", f"demo pair {number}", dict(record)) for number, record in enumerate(demo_pairs())]
    if card.home(root) is None:
        return _from_hub(card)
    form = TableForm(card.delimiter, card.header or None, card.header_unless, card.quotes)
    rows = read_rows(source_files(find_files(card, root), unpacked), form, text)
    if not rows:
        raise UserError(f"benchmark {card.name!r} has no pairs in {card.home(root)}/{' or '.join(card.files)}")
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


def _from_hub(card: Benchmark) -> list[Row]:
    if card.hub is None:
        raise UserError(f"benchmark {card.name!r} is not on the hub; give benchmark_root=DIR with its files")
    hub = card.hub
    try:
        return [
            Row(part, "", f"{hub.name}/{part}:{number}", json.loads(json.dumps(row)))
            for part in hub.parts or data_set_parts(hub.name, hub.revision)
            for number, row in enumerate(load_rows(hub.name, part, split=hub.split, revision=hub.revision), start=1)
        ]
    except Exception as error:  # the hub's client raises errors of many libraries
        raise _not_fetched(card, error) from error


def pin(card: Benchmark) -> Benchmark:
    """Return the card of a benchmark of the hub with its revision replaced by the commit."""
    if card.hub is None:
        return card
    try:
        commit = find_commit(card.hub.name, "dataset", card.hub.revision)
    except Exception as error:  # the hub's client raises errors of many libraries
        raise _not_fetched(card, error) from error
    return replace(card, hub=replace(card.hub, revision=commit))


def _not_fetched(card: Benchmark, error: Exception) -> UserError:
    assert card.hub is not None
    reason = f"{type(error).__name__}: {error}".splitlines()[0]
    at = f" at the revision {card.hub.revision!r}" if card.hub.revision else ""
    return UserError(
        f"benchmark {card.name!r} could not be fetched from the hub data set {card.hub.name}{at} ({reason}); "
        "give benchmark_root=DIR to read it from local files; in train.py 'benchmarks=[]' scores nothing"
    )
