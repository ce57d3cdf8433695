"""What a model saw between two checkpoints: ``ucurve batches run=runs/NAME from=512 to=514``."""

import csv
import json
import shlex
import sys
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Literal, TextIO

from pydantic import ConfigDict, Field, NonNegativeInt
from pydantic.dataclasses import dataclass

from ucurve.cli import run
from ucurve.config import check
from ucurve.errors import UserError
from ucurve.invocation import command
from ucurve.progress import log_line
from ucurve.storage.files import new_file
from ucurve.token_stream.run import RunTokens
from ucurve.training.replay import SeenBatches, SeenSequence, open_batches


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class BatchesSettings:
    """Which batches to show and how; conf/batches.yaml describes every key (``after`` is ``from`` there)."""

    run: Annotated[str, Field(min_length=1)]
    after: Annotated[NonNegativeInt, Field(alias="from")]  # ``from`` is a word of Python
    to: NonNegativeInt
    format: Literal["text", "jsonl", "csv"]
    ids: bool
    out: Path | None
    cache: Path | None
    data_path: str | None


def batches_command(values: Mapping[str, object]) -> None:
    """Print or write the batches between two steps of a run.

    Raises:
        UserError: when the run, a step or the data does not fit.
    """
    settings = check(BatchesSettings, values)
    if settings.after >= settings.to:
        raise UserError(
            f"from={settings.after} to={settings.to}: no steps; the batches of the steps after from up to to are "
            "shown, so to must be greater"
        )
    if settings.out is not None and settings.out.is_dir():
        raise UserError(f"out={settings.out} is a folder; a file is expected")
    steps = RunTokens.of(Path(settings.run)).steps
    if settings.to > steps:
        raise UserError(f"to={settings.to}: {settings.run} has {steps} steps")
    batches = open_batches(Path(settings.run), settings.cache, settings.data_path)
    if settings.out is None:
        _write(sys.stdout, batches, settings)
        if settings.format == "text" and settings.to < steps:
            # As many steps follow as were shown.
            after = min(2 * settings.to - settings.after, steps)
            following = command("batches", f"run={shlex.quote(settings.run)} from={settings.to} to={after}")
            log_line(f"next: {following}")
        return
    # The csv module writes line ends of its own.
    with new_file(settings.out) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        _write(file, batches, settings)


def _write(file: TextIO, batches: SeenBatches, settings: BatchesSettings) -> None:
    """Write the sequences of the steps asked for as text, or as a record each with the columns that the run has."""
    sequences = batches.between(settings.after, settings.to)
    if settings.format == "text":
        steps = f"steps {settings.after + 1:,} to {settings.to:,}"
        stages = batches.batches.stages(settings.after, settings.to)
        size = ", then ".join(f"{part.sequences} x {part.order.length} tokens" for part, *_ in stages) + " each"
        name = batches.run.run.resolve().name
        what = "with what the model sees of it below" if batches.masking else "ends with its last target"
        file.write(f"{name}: {steps}, {size}; every sequence {what}\n")
        for seen in sequences:
            first, last = seen.documents[0], seen.documents[-1]
            documents = f"document {first}" if first == last else f"documents {first} to {last}"
            place = f"sequence {seen.sequence}  epoch {seen.epoch}  {documents}  position {seen.position:,}"
            ids = [" ".join(map(str, seen.ids))] if settings.ids else []
            shown = [f"\nstep {seen.step:,}  {place}", *ids, seen.text, *([seen.masked] if seen.masked else [])]
            file.write("\n".join(shown) + "\n")
        return
    left_out = set() if settings.ids else {"ids", "inputs", "targets"}
    left_out |= set() if batches.masking else {"masked", "inputs", "targets"}
    names = [field.name for field in fields(SeenSequence) if field.name not in left_out]
    records = ({name: getattr(seen, name) for name in names} for seen in sequences)
    if settings.format == "jsonl":
        file.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
        return
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(names)
    for record in records:
        writer.writerow(
            " ".join(map(str, value)) if isinstance(value, list) else value for value in record.values()
        )


if __name__ == "__main__":
    run("batches")
