"""What a model saw between two checkpoints: ``python -m train.batches run=runs/NAME from=512 to=514``.

The order of the data is a pure function, so the batches of any step are found from the step's number alone.
"""

import csv
import io
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass as plain_dataclass
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, TextIO

from pydantic import ConfigDict, Field, NonNegativeInt
from pydantic.dataclasses import dataclass

from train.config import RunSettings
from train.order import DataOrder
from train.records import read_record
from train.run_tokens import open_run_tokens
from train.stored import load_settings, stored_config_sha256
from train.text import load_tokenizer
from train.tokens import TokenStore
from ucurve.command import check, run_command
from ucurve.errors import UserError, missing_folder
from ucurve.files import new_file

Format = Literal["text", "jsonl", "csv"]


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class BatchesSettings:
    """Which batches to show and how.

    Attributes:
        run: run folder.
        after: the batches of the steps after this one are shown; ``from`` on the command line.
        to: up to this step.
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


@plain_dataclass(frozen=True)
class SeenSequence:
    """One training sequence as the loop feeds it.

    Attributes:
        step: optimizer step, from 1.
        sequence: place in the global batch, from 0.
        epoch: passes through the corpus before this one, from 0.
        position: place of its first token in the token stream.
        documents: numbers of the documents it touches, in the order of the corpus, from 0.
        ids: token ids, one more than the sequence length: inputs and their last target.
        text: the tokens as text, special tokens shown.
    """

    step: int
    sequence: int
    epoch: int
    position: int
    documents: list[int]
    ids: list[int]
    text: str


@plain_dataclass(frozen=True)
class SeenBatches:
    """The batches of a run, as they were or will be.

    Attributes:
        name: of the run.
        steps: optimizer steps of the whole run.
        sequences: sequences in a global batch.
        order: the order of the data.
        store: the token stream.
        tokenizer: turns ids into text.
    """

    name: str
    steps: int
    sequences: int
    order: DataOrder
    store: TokenStore = field(repr=False)
    tokenizer: Any = field(repr=False)

    def between(self, after: int, to: int) -> Iterator[SeenSequence]:
        """Yield every sequence of the steps ``after + 1`` to ``to``."""
        for step in range(after + 1, to + 1):
            yield from self.of_step(step)

    def of_step(self, step: int) -> Iterator[SeenSequence]:
        """Yield the sequences of 1-based ``step`` in the order of the global batch."""
        starts = self.order.batch(step - 1, self.sequences)
        windows = self.store.windows(starts, self.order.length + 1)
        for place, (start, ids) in enumerate(zip(starts.tolist(), windows.tolist(), strict=True)):
            epoch = ((step - 1) * self.sequences + place) // self.order.sequences
            yield SeenSequence(step, place, epoch, start, self._documents(start), ids, self._text(ids))

    def _documents(self, start: int) -> list[int]:
        first, last = (self.store.document_of(position) for position in (start, start + self.order.length))
        return list(range(first, last + 1))

    def _text(self, ids: list[int]) -> str:
        return str(self.tokenizer.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False))


def open_batches(run: Path, cache: Path | None = None, data_path: str | None = None) -> SeenBatches:
    """Open the batches of a run from its folder and its token stream, which is built anew where it is gone.

    Args:
        run: run folder.
        cache: folder of the token streams; None for the run's own.
        data_path: where the corpus lies now; None for the run's own place.

    Raises:
        UserError: when the folder holds no run, its configuration was changed, or the stream cannot be had.
    """
    if not run.is_dir():
        raise missing_folder("run", run)
    settings, record = load_settings(run), _record(run)
    store = open_run_tokens(run, settings, record["data_sha256"], cache, data_path)
    return SeenBatches(
        name=run.resolve().name,
        steps=settings.steps,
        sequences=settings.batch.sequences,
        order=_order(settings, store),
        store=store,
        tokenizer=load_tokenizer(run / "tokenizer"),
    )


def batches_command(values: dict[str, Any]) -> None:
    """Print or write the batches between two steps of a run.

    Raises:
        UserError: when the run, a step or the data does not fit.
    """
    settings = check(BatchesSettings, values)
    _refuse_no_steps(settings)
    batches = open_batches(Path(settings.run), settings.cache, settings.data_path)
    if settings.to > batches.steps:
        raise UserError(f"to={settings.to}: {settings.run} has {batches.steps} steps")
    if settings.out is None:
        _write(sys.stdout, batches, settings)
        return
    with new_file(settings.out) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        _write(file, batches, settings)


def _refuse_no_steps(settings: BatchesSettings) -> None:
    if settings.after >= settings.to:
        raise UserError(
            f"from={settings.after} to={settings.to}: no steps; the batches of the steps after from up to to are "
            "shown, so to must be greater"
        )
    if settings.out is not None and settings.out.is_dir():
        raise UserError(f"out={settings.out} is a folder; a file is expected")


def _record(run: Path) -> dict[str, Any]:
    record = read_record(run)
    if record is None:
        raise UserError(f"{run / 'run.json'}: missing; it says which data the run is trained on")
    if record.get("config_sha256") != stored_config_sha256(run):
        raise UserError(f"{run}: config.yaml is not the configuration that run.json was written with")
    return record


def _order(settings: RunSettings, store: TokenStore) -> DataOrder:
    return DataOrder.over(store.sha256, settings.seeds.data, settings.batch.length, store.length)


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
    run_command("batches", batches_command)
