"""What a model saw: the training sequences of any step of a run, with the documents they come from.

The order of the data is a pure function, so the batches of any step are found from the step's number alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from train.config import RunSettings
from train.order import DataOrder
from train.records import read_record
from train.run_tokens import open_run_tokens
from train.stored import load_settings, stored_config_sha256
from train.tokens import TokenStore
from ucurve.errors import UserError, missing_folder
from ucurve.pretrained import load_tokenizer
from ucurve.run_folder import RECORD, TOKENIZER, own_faults, refuse_faults


@dataclass(frozen=True)
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


@dataclass(frozen=True)
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


def run_settings(run: Path) -> RunSettings:
    """Read the settings of a run folder.

    Raises:
        UserError: when there is no such folder, or it holds no run.
    """
    if not run.is_dir():
        raise missing_folder("run", run)
    return load_settings(run)


def open_batches(run: Path, cache: Path | None = None, data_path: str | None = None) -> SeenBatches:
    """Open the batches of a run from its folder and its token stream, which is built anew where it is gone.

    Args:
        run: run folder.
        cache: folder of the token streams; None for the run's own.
        data_path: where the corpus lies now; None for the run's own place.

    Raises:
        UserError: when the folder holds no run, its configuration was changed, or the stream cannot be had.
    """
    settings, record = run_settings(run), _record(run)
    store = open_run_tokens(run, settings, record["data_sha256"], cache, data_path)
    return SeenBatches(
        name=run.resolve().name,
        steps=settings.steps,
        sequences=settings.batch.sequences,
        order=_order(settings, store),
        store=store,
        tokenizer=load_tokenizer(run / TOKENIZER),
    )


def _record(run: Path) -> dict[str, Any]:
    record = read_record(run)
    if record is None:
        raise UserError(f"{run / RECORD}: missing; it says which data the run is trained on")
    if record.get("config_sha256") != stored_config_sha256(run):
        raise UserError(f"{run}: config.yaml is not the configuration that run.json was written with")
    refuse_faults(own_faults(run, record), "restore it from a copy")
    return record


def _order(settings: RunSettings, store: TokenStore) -> DataOrder:
    return DataOrder.over(store.sha256, settings.seeds.data, settings.batch.length, store.length)
