"""Log probabilities of tokens under a causal model, each given what precedes it in its sentence.

A sentence is read after one start token, as ids, never as a joined string, or without one when the policy is ``none``;
then its first token has no score. The forward pass and the logits are of the model's dtype, float32 unless another was
asked for; what follows the logits is at least float32, and what is added up is float64.
"""

from contextlib import nullcontext

import numpy as np
import torch
from transformers import PreTrainedModel

from ucurve.eval.scoring.batching import length_batches, rows_of_logits, side_by_side
from ucurve.eval.scoring.causal.probe import needs_no_mask, supports_prefix_sharing
from ucurve.eval.scoring.causal.trie import ForestScorer, block_size, build_prefix_forest
from ucurve.eval.scoring.loading import evaluating
from ucurve.eval.scoring.output import OutputLayer, output_layer, score_rows, without_mask
from ucurve.eval.scoring.sharing import merge
from ucurve.eval.scoring.text.sentences import Advance, Ids, NotFiniteError, Scores, Sentences


@evaluating
def token_log_probabilities(
    model: PreTrainedModel,
    sentences: Sentences,
    start: int | None,
    batch_tokens: int,
    advance: Advance | None = None,
    notes: dict[str, object] | None = None,
) -> Scores:
    """Score every token, float64[tokens]; a ``NotFiniteError`` names the sentence of one that counts and is not finite.

    Without a start token, the first token of a sentence is NaN. The size of batches changes no decision. ``notes``
    takes how a model was read where that is not the usual way, by trees on a processor.
    """
    first = sentences.ids(0) if start is None else np.concatenate([[start], sentences.ids(0)])
    layer = output_layer(model, torch.from_numpy(first)[None, :-1].to(model.device))
    if layer is None:
        batch_tokens = min(batch_tokens, rows_of_logits(model))
    block = 1 if layer is None else block_size(model, sentences, batch_tokens)
    longest = int(sentences.lengths.max()) + (start is not None)
    sharing = supports_prefix_sharing(model, layer, longest, block, batch_tokens)
    if notes is not None and not (sharing and model.device.type == "cpu"):
        notes["prefix_sharing"] = sharing
    if sharing:
        assert layer is not None
        forest = sentences.once(("forest", start, block), lambda: build_prefix_forest(sentences, start, block))
        scores = ForestScorer(model, layer, forest, batch_tokens).token_log_probabilities(advance)
    else:
        with without_mask(model) if needs_no_mask(model, layer, longest, batch_tokens) else nullcontext():
            scores = _by_length(model, layer, sentences, start, batch_tokens, advance)
    scores = merge(scores)
    _look_again(model, layer, sentences, start, scores)
    return scores


def _look_again(
    model: PreTrainedModel, layer: OutputLayer | None, sentences: Sentences, start: int | None, scores: Scores
) -> None:
    """Score alone each sentence that is not finite, since one such number spoils what it was computed with."""
    wrong = ~np.isfinite(scores) & sentences.scored
    for sentence in np.unique(sentences.owner[wrong]):
        place = slice(sentences.starts[sentence], sentences.starts[sentence + 1])
        scores[place] = _score_batch(model, layer, sentences.ids(sentence)[None], start)[0]
        if not np.isfinite(scores[place][sentences.scored[place]]).all():
            raise NotFiniteError(int(sentence))


def _by_length(
    model: PreTrainedModel,
    layer: OutputLayer | None,
    sentences: Sentences,
    start: int | None,
    batch_tokens: int,
    advance: Advance | None,
) -> Scores:
    """Score sentences one by one, those of equal length in one batch, so that nothing is padded."""
    scores = np.full(len(sentences.tokens), np.nan)

    def score(batch: Ids) -> int:
        places = sentences.starts[batch][:, None] + np.arange(sentences.lengths[batch[0]])
        scores[places] = _score_batch(model, layer, sentences.tokens[places], start)
        return len(batch)

    for done in side_by_side(score, list(length_batches(sentences.lengths, batch_tokens)), model):
        if advance is not None:
            advance(done)
    return scores


def _score_batch(model: PreTrainedModel, layer: OutputLayer | None, ids: Ids, start: int | None) -> Scores:
    """Score sentences of one length, int64[B, L]; without a start token, the first column is NaN."""
    read = ids if start is None else np.concatenate([np.full((len(ids), 1), start), ids], axis=1)
    scores = score_rows(model, layer, read[:, :-1].copy(), read[:, 1:])
    return scores if start is not None else np.concatenate([np.full((len(ids), 1), np.nan), scores], axis=1)
