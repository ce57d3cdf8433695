"""Pseudo-log-likelihood under a masked model: each token given all others, or all but the rest of its word.

A sentence stands between the special tokens that its tokenizer puts around one, and one query is made for each token
that counts: the sentence with that token masked (Salazar et al. 2020, section 2; RuBLiMP, section 3, equation 2), or
with the later pieces of its word masked too (Kauf and Ivanova 2023). The tokens that do not count stay in view.

Hooks take the positions that are not asked for away between the inner model and its head, and the input of the output
layer before it turns into logits of the whole vocabulary. Where that does not give the model's own answers, it is asked
for logits.
"""

import inspect
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from torch.utils.hooks import RemovableHandle
from transformers import PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput

from ucurve.eval.models.folder import model_kind
from ucurve.eval.scoring.batching import length_batches, rows_of_logits
from ucurve.eval.scoring.loading import evaluating
from ucurve.eval.scoring.masked.frame import SentenceFrame
from ucurve.eval.scoring.output import OutputLayer
from ucurve.eval.scoring.sharing import merge, own_batches
from ucurve.eval.scoring.text.sentences import Advance, Ids, NotFiniteError, Scores, Sentences

_HELD = 2**21  # tokens of the queries that are laid out, and searched for equal ones, at once


@dataclass(frozen=True)
class Queries:
    """Rows of tokens of which some are masked, and the tokens whose probability is asked for."""

    rows: torch.Tensor  # int64[R, L]
    positions: torch.Tensor  # int64[R], the column that is asked for in each row
    contexts: torch.Tensor  # int64[T], the row a token is asked for in
    targets: torch.Tensor  # int64[T], that token

    def to(self, device: torch.device) -> "Queries":
        """Move all four to a device."""
        return Queries(*(part.to(device) for part in (self.rows, self.positions, self.contexts, self.targets)))


Reader = Callable[[PreTrainedModel, Queries], Scores]  # gives float64[T], natural log probabilities


def choose_reader(model: PreTrainedModel, probe: Queries) -> Reader:
    """Choose the cheapest way to ask a model that gives the answers of its full logits."""
    plain = through_logits(model, probe)
    close = 100 * torch.finfo(model.dtype).eps
    for reader in (through_layer, through_head):
        try:
            values = reader(model, probe)
        # A model that is built otherwise than hooks suppose.
        except (AttributeError, IndexError, RuntimeError, TypeError, ValueError):
            continue
        if np.allclose(values, plain, rtol=close, atol=close, equal_nan=True):
            return reader
    return through_logits


def through_layer(model: PreTrainedModel, queries: Queries) -> Scores:
    """Read hidden states and leave the output layer to ``OutputLayer``: only the logits that are asked for are kept."""
    there = queries.to(model.device)
    linear = model.get_output_embeddings()
    if not isinstance(linear, torch.nn.Linear) or linear.weight.dtype != torch.float32:
        raise TypeError("no linear output layer in float32")
    seen: list[torch.Tensor] = []

    def take(_module: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor]:
        seen.append(inputs[0])
        return (inputs[0][:0],)  # so that the layer computes nothing

    with _only_at(model, there.positions), linear.register_forward_pre_hook(take):
        _forward(model, there.rows)
    layer = OutputLayer(linear.weight, linear.bias)
    return layer.log_probabilities(seen[0].flatten(0, -2), queries.contexts.numpy(), queries.targets.numpy())


def through_head(model: PreTrainedModel, queries: Queries) -> Scores:
    """Ask the model for the logits of the one position of each row, ``rows_of_logits`` rows at once."""

    def logits(rows: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        with _only_at(model, positions):
            return _forward(model, rows)[:, 0]

    return _by_parts(model, queries, logits, per_row=1)


def through_logits(model: PreTrainedModel, queries: Queries) -> Scores:
    """Ask the model for all logits of a row and keep those of one position."""

    def logits(rows: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        return _forward(model, rows)[torch.arange(len(rows), device=rows.device), positions]

    return _by_parts(model, queries, logits, per_row=queries.rows.shape[1])


def _by_parts(
    model: PreTrainedModel,
    queries: Queries,
    logits: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    per_row: int,
) -> Scores:
    """Return natural log probabilities, float64[T], from what ``logits`` gives, float[R, V], some rows at once."""
    queries = queries.to(model.device)
    size = rows_of_logits(model, per_row)
    scores = np.full(len(queries.targets), np.nan)
    for low in range(0, len(queries.rows), size):
        values = logits(queries.rows[low : low + size], queries.positions[low : low + size]).float()
        inside = (queries.contexts >= low) & (queries.contexts < low + size)
        contexts = queries.contexts[inside] - low
        chosen = values[contexts, queries.targets[inside]].double() - values.logsumexp(-1).double()[contexts]
        scores[inside.cpu().numpy()] = chosen.cpu().numpy()
    return scores


def _forward(model: PreTrainedModel, rows: torch.Tensor) -> torch.Tensor:
    """Ask for logits with every token in view, even the token that the model pads with."""
    takes_mask = "attention_mask" in inspect.signature(model.forward).parameters
    mask = torch.ones_like(rows)
    if model_kind(model.config.to_dict()) == "hybrid":  # causal, unless its mask says otherwise
        mask = mask.bool()[:, None, None].expand(-1, 1, rows.shape[1], -1)
    logits: torch.Tensor = model(input_ids=rows, **({"attention_mask": mask} if takes_mask else {})).logits
    return logits


def _only_at(model: PreTrainedModel, positions: torch.Tensor) -> RemovableHandle:
    """Let the inner model hand its head one position of each row, [R, 1, D], until the handle is closed."""

    def select(_module: torch.nn.Module, _inputs: object, output: BaseModelOutput) -> BaseModelOutput:
        hidden = output.last_hidden_state
        assert hidden is not None
        output.last_hidden_state = hidden[torch.arange(len(hidden), device=hidden.device), positions][:, None]
        return output

    return model.base_model.register_forward_hook(select)


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
    chunks: list[Ids] = []
    # Sentences of equal length, the longest first; members of a pair meet in one group if they may.
    for group in length_batches(sentences.lengths, sys.maxsize):
        length = int(sentences.lengths[group[0]])
        size = max(1, _HELD // (length * (length + len(frame.before) + len(frame.after))))
        chunks += [group[first : first + size] for first in range(0, len(group), size)]
    # The first chunk is the same in all processes.
    reader = choose_reader(model, _lay_out(sentences, chunks[0], frame, words).probe())
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
        # Equal queries, as both members of a pair have them, are made once.
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
    """Make the queries of sentences of equal length."""
    places = sentences.starts[chunk][:, None] + np.arange(sentences.lengths[chunk[0]])
    ids, counts = sentences.tokens[places], sentences.scored[places]
    turns, columns = np.nonzero(counts)
    # What each query masks, bool[queries, L]: its token, and the pieces after it of the same word.
    column = np.arange(ids.shape[1])
    hidden = column == columns[:, None]
    if words is not None:
        of = words[places]
        hidden = (of[turns] == of[turns, columns][:, None]) & (column >= columns[:, None])
    rows = frame.around(np.where(hidden, frame.mask, ids[turns]))
    positions = columns + len(frame.before) - frame.back
    return _Layout(rows, positions, ids[counts], places[counts], chunk[turns], turns, len(chunk))
