"""The scorer ``sentence``: log probability of whole sentences under a causal model.

A sentence is read after one start token, as ids, never as a joined string; every token of the sentence is scored, the
start token is not. The forward pass is float32, sums are float64.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from eval.scoring.output import OutputLayer, logits_of, output_layer
from eval.scoring.sentences import Ids, Sentences
from eval.scoring.trie import ForestScorer, block_size, can_share, plant

Scores = npt.NDArray[np.float64]
_LOGITS = 2**25  # most logits held at once for a model that must be asked for them


class NotFiniteError(Exception):
    """A score is infinite or no number; ``sentence`` says which one's."""

    def __init__(self, sentence: int) -> None:
        super().__init__(sentence)
        self.sentence = sentence


@torch.inference_mode()
def score_sentences(
    model: Any, sentences: Sentences, start: int, batch_tokens: int, advance: Callable[[int], None] | None = None
) -> Scores:
    """Score every distinct sentence, without dropout whatever mode the model is in.

    Args:
        model: a causal ``PreTrainedModel`` with float32 weights.
        sentences: at least one token each.
        start: id of the start token.
        batch_tokens: most tokens of one forward pass (a longer sentence goes alone); changes no decision.
        advance: called after each batch with the number of sentences done.

    Returns:
        float64[sentences], natural log probabilities.

    Raises:
        NotFiniteError: when a score is not finite.
    """
    training = model.training
    model.eval()
    try:
        return _score(model, sentences, start, batch_tokens, advance)
    finally:
        model.train(training)


def _score(
    model: Any, sentences: Sentences, start: int, batch_tokens: int, advance: Callable[[int], None] | None
) -> Scores:
    layer = output_layer(model, torch.tensor([[start, *sentences.ids(0)[:-1]]], device=model.device))
    if layer is None:
        batch_tokens = min(batch_tokens, max(1, _LOGITS // int(model.config.get_text_config().vocab_size)))
    scores = np.full(len(sentences.texts), np.nan)
    if layer is not None and can_share(model):
        scored = _by_forest(model, layer, sentences, start, batch_tokens)
    else:
        scored = _by_length(model, layer, sentences, start, batch_tokens)
    for batch, values in scored:
        scores[batch] = values
        if not np.isfinite(values).all():
            raise NotFiniteError(int(batch[~np.isfinite(values)][0]))
        if advance is not None:
            advance(len(batch))
    return scores


def _by_forest(
    model: Any, layer: OutputLayer, sentences: Sentences, start: int, batch_tokens: int
) -> Iterator[tuple[Ids, Scores]]:
    forest = plant(sentences, start, block_size(sentences, batch_tokens))
    for batch, values in ForestScorer(model, layer, forest, batch_tokens).batches():
        wrong = np.flatnonzero(~np.isfinite(values))
        for place in wrong:  # one such number spoils its whole block, so look again, sentence by sentence
            values[place] = _score_batch(model, layer, sentences.ids(batch[place])[None], start)[0]
        yield batch, values


def _by_length(
    model: Any, layer: OutputLayer | None, sentences: Sentences, start: int, batch_tokens: int
) -> Iterator[tuple[Ids, Scores]]:
    for batch in length_batches(sentences.lengths, batch_tokens):
        targets = np.stack([sentences.ids(index) for index in batch])
        yield batch, _score_batch(model, layer, targets, start)


def length_batches(lengths: Ids, batch_tokens: int) -> Iterator[Ids]:
    """Group sentences of equal length, so that nothing is padded.

    Args:
        lengths: int64[sentences].
        batch_tokens: most tokens of a batch; a batch has at least one sentence.

    Yields:
        int64 indices of the sentences of a batch; every sentence once, the longest first.
    """
    order = np.argsort(-lengths, kind="stable")
    edges = np.flatnonzero(np.diff(lengths[order])) + 1
    for group in np.split(order, edges):
        rows = max(1, batch_tokens // int(lengths[group[0]]))
        yield from (group[first : first + rows] for first in range(0, len(group), rows))


def _score_batch(model: Any, layer: OutputLayer | None, targets: Ids, start: int) -> Scores:
    wanted = torch.from_numpy(targets).to(model.device)
    inputs = torch.cat([torch.full_like(wanted[:, :1], start), wanted[:, :-1]], dim=1)
    if layer is None:
        return _from_logits(model, inputs, wanted)
    hidden = model.base_model(input_ids=inputs, use_cache=False).last_hidden_state.flatten(0, 1)
    contexts = torch.arange(wanted.numel(), device=model.device)
    scores = layer.log_probabilities(hidden, contexts, wanted.flatten())
    return np.asarray(scores.reshape(targets.shape).sum(axis=1))


def _from_logits(model: Any, inputs: torch.Tensor, wanted: torch.Tensor) -> Scores:
    logits = logits_of(model, inputs).float()
    chosen = logits.log_softmax(-1).gather(-1, wanted[..., None]).squeeze(-1)
    return np.asarray(chosen.double().sum(1).cpu())
