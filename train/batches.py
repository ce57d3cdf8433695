"""What a model saw between two checkpoints: ``python -m train.batches run=runs/NAME from=512 to=514``."""

import csv
import io
import json
import sys
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, TextIO

from pydantic import ConfigDict, Field, NonNegativeInt
from pydantic.dataclasses import dataclass

from train.replay import SeenBatches, SeenSequence, open_batches, run_settings
from ucurve.cli import run
from ucurve.config import check
from ucurve.errors import UserError
from ucurve.storage.files import new_file

Format = Literal["text", "jsonl", "csv"]


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class BatchesSettings:
    """Which batches to show and how.

    Attributes:
        after: the batches of the steps after this one are shown; ``from`` on the command line.
        format: ``text`` for people, ``jsonl`` or ``csv`` with a record for each sequence.
        ids: whether token ids are shown beside the text.
        out: the file to write; None prints.
        cache: folder of the token streams; None for the run's own.
        data_path: where the corpus lies now; None for the run's own place.
    """

    run: Annotated[str, Field(min_length=1)]
    after: Annotated[NonNegativeInt, Field(alias="from")]
    to: NonNegativeInt
    format: Format = "text"
    ids: bool = False
    out: Path | None = None
    cache: Path | None = None
    data_path: str | None = None


def batches_command(values: dict[str, Any]) -> None:
    """Print or write the batches between two steps of a run.

    Raises:
        UserError: when the run, a step or the data does not fit.
    """
    settings = check(BatchesSettings, values)
    _check_steps(settings)
    steps = run_settings(Path(settings.run)).steps
    if settings.to > steps:
        raise UserError(f"to={settings.to}: {settings.run} has {steps} steps")
    batches = open_batches(Path(settings.run), settings.cache, settings.data_path)
    if settings.out is None:
        _write(sys.stdout, batches, settings)
        return
    with new_file(settings.out) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        _write(file, batches, settings)


def _check_steps(settings: BatchesSettings) -> None:
    if settings.after >= settings.to:
        raise UserError(
            f"from={settings.after} to={settings.to}: no steps; the batches of the steps after from up to to are "
            "shown, so to must be greater"
        )
    if settings.out is not None and settings.out.is_dir():
        raise UserError(f"out={settings.out} is a folder; a file is expected")


def _write(file: TextIO, batches: SeenBatches, settings: BatchesSettings) -> None:
    head, line = {"text": (_heading, _as_text), "jsonl": (_nothing, _as_json), "csv": (_columns, _as_csv)}[
        settings.format
    ]
    file.write(head(batches, settings))
    file.writelines(map(partial(line, ids=settings.ids), batches.between(settings.after, settings.to)))


def _heading(batches: SeenBatches, settings: BatchesSettings) -> str:
    steps = f"steps {settings.after + 1:,} to {settings.to:,}"
    size = f"{batches.sequences} x {batches.order.length} tokens each"
    return f"{batches.name}: {steps}, {size}; every sequence ends with its last target\n"


def _as_text(seen: SeenSequence, ids: bool) -> str:
    documents = _span(seen.documents)
    where = f"step {seen.step:,}  sequence {seen.sequence}  epoch {seen.epoch}  {documents}  position {seen.position:,}"
    return "\n".join([f"\n{where}", *([" ".join(map(str, seen.ids))] if ids else []), seen.text]) + "\n"


def _span(documents: list[int]) -> str:
    return f"document {documents[0]}" if len(documents) == 1 else f"documents {documents[0]} to {documents[-1]}"


def _nothing(_: SeenBatches, __: BatchesSettings) -> str:
    return ""


def _as_json(seen: SeenSequence, ids: bool) -> str:
    return json.dumps(_values(seen, ids), ensure_ascii=False) + "\n"


def _columns(_: SeenBatches, settings: BatchesSettings) -> str:
    names = ["step", "sequence", "epoch", "position", "documents", *(["ids"] if settings.ids else []), "text"]
    return ",".join(names) + "\n"


def _as_csv(seen: SeenSequence, ids: bool) -> str:
    line = io.StringIO()
    values = (" ".join(map(str, value)) if isinstance(value, list) else value for value in _values(seen, ids).values())
    csv.writer(line, lineterminator="\n").writerow(values)
    return line.getvalue()


def _values(seen: SeenSequence, ids: bool) -> dict[str, Any]:
    return {key: value for key, value in vars(seen).items() if ids or key != "ids"}


if __name__ == "__main__":
    run("batches")
