"""The scorers ``ngram-1`` to ``ngram-5``: models of the tokens that a run had seen at a checkpoint."""

from collections.abc import Collection
from typing import ClassVar

import pandas as pd

from ucurve.errors import UserError
from ucurve.eval.models.model_info import ModelInfo
from ucurve.eval.scoring.base import Encode, ScorerSettings, TokenScorer
from ucurve.eval.scoring.loading import Workspace
from ucurve.eval.scoring.ngram.inventory import ORDERS
from ucurve.eval.scoring.ngram.seen import SMOOTHING, SeenNgrams
from ucurve.eval.scoring.text.sentences import Advance, Scores, Sentences
from ucurve.huggingface.tokenizer_files import tokenizer_sha256
from ucurve.storage.run_folder import TOKENIZER
from ucurve.token_stream.run import RunTokens


class Ngram(TokenScorer):
    """The log probability of the whole sentence by an n-gram model of the training tokens so far."""

    order: ClassVar[int]  # tokens of an n-gram
    loads = "n-grams"
    fits_parameters = False

    def __init__(self, info: ModelInfo, pairs: pd.DataFrame, settings: ScorerSettings, encode: Encode) -> None:
        run = info.target.run
        if run is None:
            raise UserError(
                f"{info.target.folder}: the scorer {self.name!r} counts the training tokens of a run, in the order in "
                "which it saw them; it goes with run=RUN, not with model="
            )
        of_run, of_checkpoint = tokenizer_sha256(run / TOKENIZER), tokenizer_sha256(info.target.folder)
        if of_run != of_checkpoint:  # then token ids may not be those of the training tokens
            raise UserError(
                f"{info.target.folder}: its tokenizer, {of_checkpoint[:16]}, is not the one that the training tokens "
                f"are made with, {of_run[:16]} in {run / TOKENIZER}; n-grams can be counted with that one alone"
            )
        self.training = RunTokens.of(run)
        super().__init__(info, pairs, settings, encode)

    def key_settings(self) -> dict[str, object]:
        """Return what n-grams depend on: the training tokens up to the step, and not how a model is computed."""
        return {
            "scorer": self.name,
            "revision": self.revision,
            "smoothing": SMOOTHING,
            "order": self.order,
            "training_tokens": self.training.key(),
            "step": self.info.target.step,
            "start_id": self.start.id,
            "start_rule": self.start.rule,
            **self.reading(),
            "unk_id": self.info.tokenizer.unk_token_id,
            "ids_without_unigram": sorted(self.info.special),
            "unigrams_sha256": self.unigrams.sha256,
            "unigrams_add_k": self.unigrams.add_k,
            "add_k": self.settings.add_k,
        }

    def load(self, workspace: Workspace, sentences: Collection[Sentences]) -> SeenNgrams:
        """Count n-grams up to the step, continuing from an earlier step of the same training tokens."""

        def list_all() -> SeenNgrams:
            batches = self.training.batches(self.training.open_stream("scorer=ngram"))
            return SeenNgrams(batches, sentences, self.start.id, self.info.vocabulary, self.info.special)

        key = (*self.training.key().values(), self.start.id, frozenset(sentences))
        return workspace.get(self.loads, key, list_all).up_to(self.info.target.step)

    def token_log_probabilities(self, model: SeenNgrams, batch_tokens: int, advance: Advance | None) -> Scores:  # noqa: ARG002
        """Score every token given the tokens before it."""
        scores = model.log_probabilities(self.sentences, self.order, self.settings.add_k)
        if advance is not None:
            advance(self.size)
        return scores


def _of_order(number: int) -> type[Ngram]:
    class OfOrder(Ngram):
        name, order = f"ngram-{number}", number

    return OfOrder


NGRAMS = tuple(map(_of_order, ORDERS))
