"""The n-grams that a run had seen at a step, counted from step to step as far as scores are asked for.

Their probabilities are smoothed by interpolated Witten-Bell (Witten and Bell 1991; Chen and Goodman 1999, section 2.5).
Modified Kneser-Ney would need the different tokens before every n-gram and the counts of the counts of a whole corpus.
"""

import time
from collections.abc import Collection

import numpy as np

from ucurve.eval.models.unigram import log_unigrams
from ucurve.eval.scoring.ngram.counts import NgramCounts
from ucurve.eval.scoring.ngram.inventory import SentenceNgrams, list_ngrams
from ucurve.eval.scoring.text.sentences import Ids, Scores, Sentences
from ucurve.progress import log_line
from ucurve.token_stream.order import Batches

_BLOCK = 2**20  # tokens that are counted at once
_SECONDS_BETWEEN_LINES = 10.0
SMOOTHING = "interpolated Witten-Bell, counts within a training sequence, 1"


def log_probabilities(
    counts: NgramCounts, ngrams: SentenceNgrams, tokens: Ids, order: int, excluded: Collection[int], add_k: float
) -> Scores:
    """Compute the natural log probability of each token after the ``order - 1`` tokens before it in its sentence.

    With c the counts, h a context, h' the context without its first token, and N1+(h, .) the number of different tokens
    after h: p(w | h) = (c(h w) + N1+(h, .) p(w | h')) / (c(h) + N1+(h, .)), and p(w | h') where h was never seen. The
    probabilities of order 1 are those of ``log_unigrams``. Over the tokens that are not excluded, they sum to 1 after
    every context.
    """
    probabilities = np.exp(log_unigrams(counts.unigrams, excluded, add_k))[tokens]
    for level in range(order - 1):
        gram, context = ngrams.grams[level + 1], ngrams.contexts[level]
        seen = np.flatnonzero(context >= 0)
        seen = seen[counts.followed[level][context[seen]] > 0]
        followed, distinct = counts.followed[level][context[seen]], counts.distinct[level][context[seen]]
        share = counts.grams[level][gram[seen]] + distinct * probabilities[seen]
        probabilities[seen] = share / (followed + distinct)
    return np.asarray(np.log(probabilities))


class SeenNgrams:
    """Counts of the n-grams of sentences in the tokens of a run up to a step, in place of a loaded model."""

    def __init__(
        self,
        training: Batches,
        sentences: Collection[Sentences],
        start: int | None,
        vocabulary: int,
        excluded: Collection[int],  # ids that no sentence is made of
    ) -> None:
        self._training, self._excluded = training, excluded
        self._inventory = list_ngrams(sentences, start, vocabulary)
        self._counted = np.ones(vocabulary, dtype=bool)
        self._counted[list(excluded)] = False
        self._step, self._counts = 0, self._none()

    @property
    def followers(self) -> tuple[int, ...]:
        """How many different tokens after contexts of each order are kept, 8 bytes each."""
        return self._counts.followers

    def up_to(self, step: int) -> "SeenNgrams":
        """Continue counting up to a step; from the beginning if more is counted already."""
        if step < self._step:
            self._step, self._counts = 0, self._none()
        last_line = time.monotonic()
        for block in self._training.between(self._step, step, _BLOCK):
            self._counts.add(block)
            if time.monotonic() - last_line > _SECONDS_BETWEEN_LINES:
                last_line = time.monotonic()
                log_line(f"n-grams counted in {self._counts.tokens:,} training tokens, on the way to step {step}")
        self._step = step
        return self

    def log_probabilities(self, sentences: Sentences, order: int, add_k: float) -> Scores:
        """Compute natural log probabilities of the tokens of sentences by the model of an order, float64[tokens]."""
        ngrams = self._inventory.sentences[sentences]
        return log_probabilities(self._counts, ngrams, sentences.tokens, order, self._excluded, add_k)

    def _none(self) -> NgramCounts:
        return NgramCounts(self._inventory, self._counted)
