"""MIN-K% PROB, the mean log probability of a sentence's least probable tokens: the scorers ``mink`` and ``pll_mink``.

Shi et al. (2023) detect pretraining data with it; RuBLiMP (section 2.4) filters its pairs by it, with K from the grid
of its section 4.
"""

from typing import TYPE_CHECKING

import numpy as np

from ucurve.errors import UserError
from ucurve.eval.scoring.base import ScoreColumns, TokenScorer
from ucurve.eval.scoring.text.sentences import Flags, Ids, Scores

if TYPE_CHECKING:
    from transformers import PreTrainedModel

MIN_K = (30, 40, 50, 60)  # percent of a sentence's tokens, as in RuBLiMP's ablation (section 4, figure 3)


def min_k(log_probabilities: Scores, starts: Ids, scored: Flags, percent: float) -> Scores:
    """Average the log probabilities of the K % least probable tokens of each sentence, float64[sentences].

    Of n tokens, floor(n K / 100) count, as in the published code of both papers, but at least one, where the code
    averages nothing. A sentence without a scored token, or with one that is NaN, is NaN.
    """
    if not 0 < percent <= 100:
        raise UserError(f"mink: K is a percentage of a sentence's tokens, over 0 and up to 100, not {percent:g}")
    sentences = len(starts) - 1
    owner = np.repeat(np.arange(sentences), np.diff(starts))[scored]
    values = log_probabilities[scored]
    order = np.lexsort((values, ~np.isnan(values), owner))  # NaN first, so that it is never left out
    owner, values = owner[order], values[order]
    counts = np.bincount(owner, minlength=sentences)
    wanted = np.maximum(1, np.floor(counts * percent / 100)).astype(np.int64)
    rank = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
    least = rank < wanted[owner]
    means = np.bincount(owner[least], weights=values[least], minlength=sentences) / wanted
    return np.where(counts > 0, means, np.nan)


class WithMinK(TokenScorer):
    """A scorer of tokens that also stores the means of the least probable tokens."""

    linking = ("mink",)

    @classmethod
    def columns(cls, unigrams: bool) -> set[str]:
        """Return the columns of each member of a pair, with or without unigram probabilities."""
        return super().columns(unigrams) | {f"mink{percent}" for percent in MIN_K}

    def own_key_settings(self) -> dict[str, object]:
        """Return the percentages of tokens, and the settings of the way to score."""
        return super().own_key_settings() | {"min_k": list(MIN_K)}

    def sentence_columns(self, values: Scores, model: "PreTrainedModel", batch_tokens: int) -> ScoreColumns:
        """Compute what is stored of every sentence, with ``mink30`` and so on."""
        sentences = self.sentences
        return super().sentence_columns(values, model, batch_tokens) | {
            f"mink{percent}": min_k(values, sentences.starts, sentences.scored, percent) for percent in MIN_K
        }
