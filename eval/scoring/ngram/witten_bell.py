"""Interpolated Witten-Bell smoothing (Witten and Bell 1991; Chen and Goodman 1999, section 2.5).

Modified Kneser-Ney would need the different tokens before every n-gram and the counts of the counts of a whole corpus.
"""

from collections.abc import Collection

import numpy as np

from ucurve.eval.models.unigram import log_unigrams
from ucurve.eval.scoring.ngram.counts import NgramCounts
from ucurve.eval.scoring.ngram.inventory import SentenceNgrams
from ucurve.eval.scoring.text.sentences import Ids, Scores

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
