"""Pseudo-log-likelihood under a masked model: each token given all others, or all but the rest of its word.

A sentence stands between the special tokens that its tokenizer puts around one, and one query is made for each token
that counts: the sentence with that token masked (Salazar et al. 2020, section 2; RuBLiMP, section 3, equation 2), or
with the later pieces of its word masked too (Kauf and Ivanova 2023). The tokens that do not count stay in view.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from transformers import PreTrainedModel

from ucurve.eval.scoring.batching import length_batches
from ucurve.eval.scoring.loading import evaluating
from ucurve.eval.scoring.masked.frame import SentenceFrame
from ucurve.eval.scoring.masked.head import Queries, choose_reader
from ucurve.eval.scoring.sharing import merge, own_batches
from ucurve.eval.scoring.text.sentences import Advance, Flags, Ids, NotFiniteError, Scores, Sentences

_HELD = 2**21  # tokens of the queries that are laid out, and searched for equal ones, at once


@evaluating
def token_log_probabilities(
    model: PreTrainedModel,
    sentences: Sentences,
    frame: SentenceFrame,
    words: Ids | None,
    batch_tokens: int,
    advance: Advance | None = None,
) -> Scores:
    """Score every token that counts, float64[tokens] natural logs with NaN for the others.

    With ``words`` of ``number_words``, int64[tokens], the scores are within-word left-to-right.
    """
    scores = np.full(len(sentences.tokens), np.nan)
    chunks = [*_chunks(sentences, frame)]
    reader = choose_reader(model, _lay_out(sentences, chunks[0], frame, words).probe())  # the same in all processes
    for chunk in own_batches(chunks):
        layout = _lay_out(sentences, chunk, frame, words)
        done = 0
        for queries, asked, finished in layout.batches(batch_tokens):
            scores[layout.places[asked]] = values = reader(model, queries)
            if not np.isfinite(values).all():
                raise NotFiniteError(int(layout.sentences[asked[~np.isfinite(values)][0]]))
            if advance is not None:
                advance(finished - done)
            done = finished
    return merge(scores)


def _chunks(sentences: Sentences, frame: SentenceFrame) -> Iterator[Ids]:
    """Group sentences of equal length, the longest first; members of a pair meet in one group if they may."""
    for group in length_batches(sentences.lengths, sys.maxsize):
        length = int(sentences.lengths[group[0]])
        size = max(1, _HELD // (length * (length + len(frame.before) + len(frame.after))))
        yield from (group[first : first + size] for first in range(0, len(group), size))


@dataclass(frozen=True)
class _Layout:
    """The queries of sentences of equal length: one for each token that counts, sentence after sentence."""

    rows: Ids  # int64[queries, L + frame], what the model reads
    positions: Ids  # int64[queries], the column that is asked for
    targets: Ids  # int64[queries], the token that was there
    places: Ids  # int64[queries], the place of that token among all tokens
    sentences: Ids  # int64[queries], its sentence
    turns: Ids  # int64[queries], the number of the sentence in the group, from 0
    size: int

    def probe(self) -> Queries:
        """Return the first and the last query of the first sentence, to try a model on."""
        return self._queries(np.unique([0, int(np.searchsorted(self.turns, self.turns[0], side="right")) - 1]))

    def batches(self, batch_tokens: int) -> Iterator[tuple[Queries, Ids, int]]:
        """Yield queries to make, the tokens they answer, and how many sentences are then done."""
        keys = np.column_stack([self.rows, self.positions])
        codes, distinct = pd.factorize(np.array([key.tobytes() for key in keys], dtype=object))
        by_code = np.argsort(codes, kind="stable")
        edges = np.searchsorted(codes[by_code], np.arange(len(distinct) + 1))
        size = max(1, batch_tokens // self.rows.shape[1])
        for low in range(0, len(distinct), size):
            high = min(low + size, len(distinct))
            asked = by_code[edges[low] : edges[high]]
            ahead = self.turns[by_code[edges[high]]] if high < len(distinct) else self.size
            yield self._queries(by_code[edges[low:high]], asked, codes[asked] - low), asked, int(ahead)

    def _queries(self, chosen: Ids, asked: Ids | None = None, contexts: Ids | None = None) -> Queries:
        asked = chosen if asked is None else asked
        contexts = np.arange(len(chosen)) if contexts is None else contexts
        arrays = self.rows[chosen], self.positions[chosen], contexts, self.targets[asked]
        return Queries(*map(torch.from_numpy, arrays))


def _lay_out(sentences: Sentences, chunk: Ids, frame: SentenceFrame, words: Ids | None) -> _Layout:
    places = sentences.starts[chunk][:, None] + np.arange(sentences.lengths[chunk[0]])
    ids, counts = sentences.tokens[places], sentences.scored[places]
    turns, columns = np.nonzero(counts)
    hidden = _hidden(turns, columns, ids.shape[1], None if words is None else words[places])
    rows = frame.around(np.where(hidden, frame.mask, ids[turns]))
    positions = columns + len(frame.before) - frame.back
    return _Layout(rows, positions, ids[counts], places[counts], chunk[turns], turns, len(chunk))


def _hidden(turns: Ids, columns: Ids, length: int, words: Ids | None) -> Flags:
    """Mark what each query masks, bool[queries, length]: its token, and the pieces after it of the same word."""
    column = np.arange(length)
    if words is None:
        return np.asarray(column == columns[:, None])
    same = words[turns] == words[turns, columns][:, None]
    return np.asarray(same & (column >= columns[:, None]))
