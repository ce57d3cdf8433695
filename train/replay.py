"""Reconstructs the training sequences of any step of a run."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ucurve.errors import UserError
from ucurve.huggingface.pretrained import load_tokenizer
from ucurve.progress import log_line
from ucurve.storage.run_folder import TOKENIZER
from ucurve.token_stream.order import Batches
from ucurve.token_stream.run import RunTokens
from ucurve.token_stream.store import TokenStore
from ucurve.training.corpus.corpus import Corpus
from ucurve.training.data.store import build_token_store
from ucurve.training.objective.masks import Masking
from ucurve.training.run.prepare import make_masking
from ucurve.training.run_folder.config_file import load_settings

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


@dataclass(frozen=True)
class SeenSequence:
    """One training sequence as the trainer feeds it; all numbers but ``step`` count from 0."""

    step: int  # optimizer step, from 1
    sequence: int  # index in the global batch
    epoch: int
    position: int  # index of its first token in the token stream
    documents: list[int]  # indices of the documents it touches, in the order of the corpus
    ids: list[int]  # inputs and their last target, so one more than the length; without masks
    text: str  # special tokens shown
    # Of a run that predicts masked tokens: the text as the model sees it, its ids, and those to predict at each place,
    # ``NOT_PREDICTED`` where there is none.
    masked: str = ""
    inputs: list[int] = field(default_factory=list)
    targets: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class SeenBatches:
    """The batches of a run as text, also those of steps that are still to be trained."""

    run: RunTokens
    batches: Batches = field(repr=False)
    tokenizer: "PreTrainedTokenizerBase" = field(repr=False)
    masking: Masking | None = field(default=None, repr=False)

    def between(self, after: int, to: int) -> Iterator[SeenSequence]:
        """Yield every sequence of the steps ``after + 1`` to ``to``."""
        for step in range(after + 1, to + 1):
            yield from self.of_step(step)

    def of_step(self, step: int) -> Iterator[SeenSequence]:
        """Yield the sequences of 1-based ``step`` in the order of the global batch."""
        part, store = self.batches.at(step), self.batches.store
        order, size = part.order, part.sequences
        starts, windows = self.batches.starts_of_step(step), self.batches.of_step(step)
        masks: list[dict[str, Any]] = [{}] * size  # a run without masks has none
        if self.masking is not None:  # which the last target is no part of
            masks = [
                {"masked": self._decode(inputs), "inputs": inputs, "targets": targets}
                for inputs, targets in self.masking.of_windows(step, (step - 1) * size, windows).tolist()
            ]
            windows = windows[:, :-1]
        epochs = order.epochs_at(np.arange((step - 1) * size, step * size, dtype=np.uint64)).tolist()
        for place, (start, ids, epoch) in enumerate(zip(starts.tolist(), windows.tolist(), epochs, strict=True)):
            first, last = (store.find_document(position) for position in (start, start + len(ids) - 1))
            documents = list(range(first, last + 1))
            yield SeenSequence(step, place, epoch, start, documents, ids, self._decode(ids), **masks[place])

    def _decode(self, ids: list[int]) -> str:
        return str(self.tokenizer.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False))


def open_batches(run: Path, cache: Path | None = None, data_path: str | None = None) -> SeenBatches:
    """Open the batches of a run; a token stream that is missing or damaged is built again from the corpus.

    Args:
        cache: folder of the token streams; None for the run's own.
        data_path: where the corpus lies now; None for the run's own place.

    Raises:
        UserError: when the folder holds no run, its configuration was changed, or the stream cannot be had.
    """
    seen = RunTokens.of(run)
    store = seen.find_stream(cache) or _rebuild(seen, cache or seen.cache, data_path)
    settings, tokenizer = load_settings(run), load_tokenizer(run / TOKENIZER)
    masking = make_masking(settings, store, tokenizer) if settings.has_masks else None
    return SeenBatches(seen, seen.batches(store), tokenizer, masking)


def _rebuild(seen: RunTokens, cache: Path, data_path: str | None) -> TokenStore:
    """Tokenize the corpus again; a ``UserError`` says why it cannot be, or that it gives other tokens now."""
    run, settings = seen.run, load_settings(seen.run)
    if data_path is not None and settings.data.kind != "text":
        raise UserError(
            f"data_path={data_path} is for a corpus of files; {run} has data.kind={settings.data.kind}"
        )
    log_line(f"{cache} does not hold the token stream of {run.name}; it is built from the corpus")
    data = settings.data if data_path is None else replace(settings.data, path=data_path)
    try:
        store = build_token_store(Corpus(data), run / TOKENIZER, cache)
    except UserError as error:
        raise UserError(
            f"{run}: its token stream is not in {cache} and cannot be rebuilt: {error}\n"
            "  cache=FOLDER names another cache, data_path=PATH the place where the corpus lies now"
        ) from error
    if store.sha256 != seen.data_sha256:
        raise UserError(
            f"{run}: the corpus gives another token stream now, {store.sha256[:16]}, than the run is trained on, "
            f"{seen.data_sha256[:16]} (data_sha256 in run.json); data_path=PATH names another place of the corpus"
        )
    return store
