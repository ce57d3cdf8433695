"""Contexts that sentences share, computed once: sentences as paths of a tree, scored by blocks of the tree.

Sorted sentences are cut into blocks of a bounded number of contexts. A block goes through the model as one row whose
tokens attend to their ancestors alone, so every context in it costs one position and one normaliser however many
sentences continue it. Exact up to float32 rounding.
"""

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from eval.scoring.output import OutputLayer
from eval.scoring.sentences import Ids, Sentences

Scores = npt.NDArray[np.float64]
_BLOCK = 96  # contexts of a block: attention grows with it, contexts cut in two by block borders shrink with it
ARCHITECTURES = ("gpt2", "gpt_neox", "llama")  # read positions and a mask of any form as given


@dataclass(frozen=True)
class Forest:
    """The distinct contexts of all sentences, block after block; a context is the path from its block's root.

    Attributes:
        tokens: int64[contexts], last token of the context; the start token at a root.
        parents: int64[contexts], the context one token shorter; a root is its own.
        depths: int64[contexts], tokens since the root: the position in the sentence.
        blocks: int64[blocks + 1], where each block begins.
        last: int64[sentences], the context of a sentence's last token.
        final: int64[sentences], that token.
    """

    tokens: Ids
    parents: Ids
    depths: Ids
    blocks: Ids
    last: Ids
    final: Ids


def can_share(model: Any) -> bool:
    """Say whether a model may be given trees instead of sentences."""
    return model.config.model_type in ARCHITECTURES and model.config._attn_implementation == "sdpa"


def block_size(sentences: Sentences, batch_tokens: int) -> int:
    """Choose how many contexts a block has: by the usual length, and no more than one forward pass may have."""
    return min(batch_tokens, max(_BLOCK, 4 * int(sentences.lengths.mean())))


@functools.lru_cache(maxsize=8)  # a sweep scores the same sentences checkpoint after checkpoint
def plant(sentences: Sentences, start: int, block: int) -> Forest:
    """Build the forest of all sentences.

    Args:
        sentences: at least one token each.
        start: id of the start token.
        block: most contexts of a block (a longer sentence is a block alone).
    """
    lengths = sentences.lengths
    padded = np.full((len(lengths), int(lengths.max())), -1, dtype=np.int64)
    padded[np.arange(padded.shape[1]) < lengths[:, None]] = sentences.tokens
    order = np.lexsort(padded.T[::-1])
    padded, sizes = padded[order], lengths[order]
    shared = _shared(padded, sizes)
    heads = _heads(sizes, shared, block)
    shared[heads] = 0
    depth = np.arange(padded.shape[1])
    new = (depth >= shared[:, None]) & (depth < sizes[:, None])
    node = np.where(new, np.cumsum(new).reshape(new.shape) - 1, -1)
    node = np.maximum.accumulate(node, axis=0)  # a context not new is the one of the sentence before
    inputs = np.concatenate([np.full_like(padded[:, :1], start), padded[:, :-1]], axis=1)
    parents = np.concatenate([node[:, :1], node[:, :-1]], axis=1)
    rows = np.arange(len(sizes))
    last, final = np.empty_like(sizes), np.empty_like(sizes)
    last[order], final[order] = node[rows, sizes - 1], padded[rows, sizes - 1]
    edges = np.append(node[heads, 0], new.sum())
    return Forest(inputs[new], parents[new], np.nonzero(new)[1], edges, last, final)


def _shared(padded: Ids, sizes: Ids) -> Ids:
    """Count the contexts each sorted sentence shares with the one before: one more than tokens, but for its last."""
    same = np.cumprod(padded[1:] == padded[:-1], axis=1).sum(axis=1)
    return np.concatenate([[0], np.minimum(np.minimum(same + 1, sizes[:-1]), sizes[1:])])


def _heads(sizes: Ids, shared: Ids, block: int) -> list[int]:
    """Cut sorted sentences into blocks, each as long as it can be; return the first sentence of each."""
    heads, filled = [0], int(sizes[0])
    for place, (size, before) in enumerate(zip(sizes[1:].tolist(), shared[1:].tolist(), strict=True), start=1):
        filled += size - before
        if filled > block:
            heads.append(place)
            filled = size
    return heads


class ForestScorer:
    """Scores the sentences of a forest.

    Args:
        model: a causal model for which ``can_share`` holds.
        layer: its output layer.
        forest: of the sentences.
        batch_tokens: most tokens of one forward pass.
    """

    def __init__(self, model: Any, layer: OutputLayer, forest: Forest, batch_tokens: int) -> None:
        self._model, self._layer, self._forest, self._batch_tokens = model, layer, forest, batch_tokens
        self._by_last = np.argsort(forest.last, kind="stable")
        self._lasts = forest.last[self._by_last]

    def batches(self) -> Iterator[tuple[Ids, Scores]]:
        """Yield sentences and their scores, batch by batch; every sentence once."""
        sizes = np.diff(self._forest.blocks)
        order = np.argsort(-sizes, kind="stable")
        first = 0
        while first < len(order):
            rows = max(1, self._batch_tokens // int(sizes[order[first]]))
            yield self._score(order[first : first + rows])
            first += rows

    def _score(self, blocks: Ids) -> tuple[Ids, Scores]:
        forest = self._forest
        starts, sizes = forest.blocks[blocks], np.diff(forest.blocks)[blocks]
        contexts = np.concatenate([np.arange(start, start + size) for start, size in zip(starts, sizes, strict=True)])
        sentences, owner = self._sentences(starts, starts + sizes)
        local = np.repeat(np.cumsum(sizes) - sizes - starts, sizes)  # from a context to its place in this batch
        parents = forest.parents[contexts] + local
        last = forest.last[sentences] + (np.cumsum(sizes) - sizes - starts)[owner]
        hidden = self._hidden(contexts, parents, sizes)
        after = torch.from_numpy(np.concatenate([parents, last])).to(hidden.device)
        targets = torch.from_numpy(np.concatenate([forest.tokens[contexts], forest.final[sentences]])).to(hidden.device)
        steps = self._layer.log_probabilities(hidden, after, targets)
        total = _path_sums(steps[: len(contexts)], parents, forest.depths[contexts])
        return sentences, total[last] + steps[len(contexts) :]

    def _sentences(self, starts: Ids, ends: Ids) -> tuple[Ids, Ids]:
        """Return the sentences that end in some blocks, and which of the blocks each one's is."""
        low, high = np.searchsorted(self._lasts, starts), np.searchsorted(self._lasts, ends)
        parts = [self._by_last[left:right] for left, right in zip(low, high, strict=True)]
        return np.concatenate(parts), np.repeat(np.arange(len(starts)), high - low)

    def _hidden(self, contexts: Ids, parents: Ids, sizes: Ids) -> torch.Tensor:
        """Run blocks through the model, padded at their ends; return float32[contexts, D]."""
        forest, device = self._forest, self._model.device
        rows = np.repeat(np.arange(len(sizes)), sizes)
        columns = np.arange(len(contexts)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        shape = (len(sizes), int(sizes.max()))
        ids, positions = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        ids[rows, columns], positions[rows, columns] = forest.tokens[contexts], forest.depths[contexts]
        above = np.tile(np.arange(shape[1]), (shape[0], 1))
        above[rows, columns] = columns[parents]
        output = self._model.base_model(
            input_ids=torch.from_numpy(ids).to(device),
            position_ids=torch.from_numpy(positions).to(device),
            attention_mask=_ancestors(torch.from_numpy(above).to(device), int(positions.max())),
            use_cache=False,
        )
        hidden: torch.Tensor = output.last_hidden_state
        return hidden[torch.from_numpy(rows).to(device), torch.from_numpy(columns).to(device)]


def _ancestors(above: torch.Tensor, depth: int) -> torch.Tensor:
    """Mark for every node itself and its ancestors.

    Args:
        above: int64[B, N], each node's parent; a root is its own.
        depth: of the deepest node.

    Returns:
        bool[B, 1, N, N].
    """
    size = above.shape[1]
    seen = torch.eye(size, dtype=torch.bool, device=above.device).repeat(len(above), 1, 1)
    reach = 1
    while reach <= depth:  # after each round a node sees twice as many generations
        seen = seen | seen.gather(1, above[:, :, None].expand(-1, -1, size))
        above = above.gather(1, above)
        reach *= 2
    return seen[:, None]


def _path_sums(steps: Scores, parents: Ids, depths: Ids) -> Scores:
    """Sum the steps from the root to each context; a root's own step counts nothing."""
    total = np.where(depths == 0, 0.0, steps)
    for depth in range(1, int(depths.max()) + 1):
        level = np.flatnonzero(depths == depth)
        total[level] += total[parents[level]]
    return total
