"""The ways to score with a causal model, each token given what precedes it. Torch is imported when they score."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

import pandas as pd

from ucurve.eval.models.folder import context_length
from ucurve.eval.models.model_info import ModelInfo
from ucurve.eval.scoring.base import Encode, ScoreColumns, ScorerSettings, TokenScorer
from ucurve.eval.scoring.mink import WithMinK
from ucurve.eval.scoring.text.sentences import Advance, Scores

if TYPE_CHECKING:
    from transformers import PreTrainedModel


class WholeSentence(TokenScorer):
    """The log probability of the whole sentence."""

    name, shared = "sentence", True
    _computed: Mapping[str, object] = MappingProxyType({})

    def token_log_probabilities(self, model: "PreTrainedModel", batch_tokens: int, advance: Advance | None) -> Scores:
        """Score every token given the tokens before it."""
        from ucurve.eval.scoring.causal import log_probabilities

        self._computed = dict[str, object]()
        return log_probabilities.token_log_probabilities(
            model, self.sentences, self.start.id, batch_tokens, advance, self._computed
        )

    def check_word_corrections(self) -> None:
        """Check the tokenizer, the start token and the context, of which the whole sentence is read."""
        from ucurve.eval.scoring.causal.bow_correction import check_all_words

        check_all_words(self.info.tokenizer, self.sentences, self.start.id, context_length(self.info.config))

    def word_corrections(self, model: "PreTrainedModel", batch_tokens: int) -> Scores | None:
        """Compute what ``bow_correction=true`` adds to the log probability of each word of ``token_layout``."""
        from ucurve.eval.scoring.causal import bow_correction

        words = self.token_layout().words
        if words is None or not self.settings.bow_correction:
            return None
        assert self.start.id is not None, "the words were checked"
        return bow_correction.word_corrections(
            model, self.info.tokenizer, self.sentences, words, self.start.id, batch_tokens
        )

    def notes(self) -> dict[str, object]:
        """Return facts about the sentences, and how the model that was scored last was read if not as usual."""
        return {**super().notes(), **self._computed}


class Conditional(WholeSentence):
    """The log probability of the target given the condition."""

    name, part = "conditional", "target"


class Region(WholeSentence):
    """The log probability of a span of characters given what precedes it."""

    name, part = "region", "region"

    def __init__(self, info: ModelInfo, pairs: pd.DataFrame, settings: ScorerSettings, encode: Encode) -> None:
        super().__init__(info, pairs, settings, encode)
        if settings.bow_correction:
            from ucurve.eval.scoring.causal.bow_correction import check_words

            check_words(info.tokenizer, encode(self.part, False), self.start.id, context_length(info.config))

    def own_key_settings(self) -> dict[str, object]:
        """Return whether regions are corrected."""
        return {"bow_correction": self.settings.bow_correction}

    def sentence_columns(self, values: Scores, model: "PreTrainedModel", batch_tokens: int) -> ScoreColumns:
        """Compute what is stored of every sentence; ``bow`` is the correction that ``lp`` includes."""
        columns = super().sentence_columns(values, model, batch_tokens)
        if self.settings.bow_correction:
            from ucurve.eval.scoring.causal.bow_correction import bow_corrections

            columns["bow"] = bow_corrections(model, self.info.tokenizer, self.sentences, self.start.id, batch_tokens)
            columns["lp"] = columns["lp"] + columns["bow"]
        return columns


class MinK(WithMinK, WholeSentence):
    """The log probability of the whole sentence, and the mean of its least probable tokens (MIN-K% PROB)."""

    name = "mink"
