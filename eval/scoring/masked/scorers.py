"""The ways to score with a masked model: pseudo-log-likelihoods. Torch is imported when they score."""

from functools import cached_property
from typing import TYPE_CHECKING

import pandas as pd

from ucurve.eval.models.folder import StartToken
from ucurve.eval.models.model_info import ModelInfo
from ucurve.eval.scoring.base import Encode, ScorerSettings, TokenScorer
from ucurve.eval.scoring.masked.frame import (
    SentenceFrame,
    check_knows_words,
    masked_context_length,
    number_words,
    read_frame,
)
from ucurve.eval.scoring.mink import WithMinK
from ucurve.eval.scoring.text.sentences import Advance, Ids, Scores

if TYPE_CHECKING:
    from transformers import PreTrainedModel


class PseudoLogLikelihood(TokenScorer):
    """The sum over tokens, one token masked at a time (Salazar et al. 2020)."""

    name, kind, shared = "pll", "masked", True

    def choose_start(self) -> StartToken:
        """Return no token: a masked model always reads its own frame."""
        return StartToken(None, None, "frame")

    @cached_property
    def frame(self) -> SentenceFrame:
        """What the tokenizer puts around a sentence."""
        return read_frame(self.info.tokenizer, self.info.config)

    def longest_sentence(self) -> int | None:
        """Return the most tokens of a sentence that fit between the frame's."""
        positions = masked_context_length(self.info.config)
        return None if positions is None else positions - len(self.frame.before) - len(self.frame.after)

    def own_key_settings(self) -> dict[str, object]:
        """Return the frame, and where a token is predicted if that is not its place."""
        frame = [list(self.frame.before), list(self.frame.after), self.frame.mask]
        return {"frame": frame} | ({"back": self.frame.back} if self.frame.back else {})

    def words(self) -> Ids | None:
        """Return the word of each token, int64[tokens], if the rest of its word is masked with it."""
        return None

    def token_log_probabilities(self, model: "PreTrainedModel", batch_tokens: int, advance: Advance | None) -> Scores:
        """Score every token that counts given all others, or all but the rest of its word."""
        from ucurve.eval.scoring.masked import log_probabilities

        return log_probabilities.token_log_probabilities(
            model, self.sentences, self.frame, self.words(), batch_tokens, advance
        )


class PseudoMinK(WithMinK, PseudoLogLikelihood):
    """The sum over tokens, and the mean of the least probable ones (MIN-K% PROB of masked models: RuBLiMP 2.4)."""

    name = "pll_mink"


class WithinWords(PseudoLogLikelihood):
    """The sum over tokens, the later tokens of the same word masked as well (Kauf and Ivanova 2023)."""

    name = "pll_l2r"

    def __init__(self, info: ModelInfo, pairs: pd.DataFrame, settings: ScorerSettings, encode: Encode) -> None:
        super().__init__(info, pairs, settings, encode)
        check_knows_words(info.tokenizer)

    def words(self) -> Ids:
        """Return the word of each token, int64[tokens]."""
        return self.sentences.once("words", lambda: number_words(self.info.tokenizer, self.sentences))


class ConditionalWithinWords(WithinWords):
    """The sum over the tokens of the target as ``pll_l2r`` takes it, the condition in view."""

    name, part = "pll_conditional", "target"
