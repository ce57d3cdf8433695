"""Contexts that sentences share, computed once: sentences as paths of a tree, scored by blocks of the tree.

Sorted sentences are cut into blocks of a bounded number of contexts. A block goes through the model as one row whose
tokens attend to their ancestors alone, so every context in it costs one position and one normalizer however many
sentences continue it. Exact up to float32 rounding.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from transformers import PreTrainedModel

from ucurve.eval.scoring.batching import device_sizes, side_by_side
from ucurve.eval.scoring.causal import neox
from ucurve.eval.scoring.causal.neox import Trees, library_body
from ucurve.eval.scoring.output import OutputLayer
from ucurve.eval.scoring.text.sentences import Advance, Ids, Scores, Sentences

Nodes = npt.NDArray[np.int32]  # a row for each sentence: 4 bytes, since there are several of them


@dataclass(frozen=True, eq=False)
class PrefixForest:
    """The distinct contexts of all sentences, block after block; a context is the path from its block's root."""

    tokens: Ids  # int64[contexts], last token of the context; the first token that is read, at a root
    parents: Ids  # int64[contexts], the context one token shorter; a root is its own
    depths: Ids  # int64[contexts], tokens since the root: the position in the sentence
    ends: Ids  # int64[contexts], the first context after it that does not begin with it
    blocks: Ids  # int64[blocks + 1], where each block begins
    last: Ids  # int64[sentences], the context of a sentence's last token
    final: Ids  # int64[sentences], that token
    # int64[tokens of the sentences], where the log probability of each token is among those of the contexts' last
    # tokens followed by those of the sentences' last tokens; -1 for a token without context.
    steps: Ids


def block_size(model: PreTrainedModel, sentences: Sentences, batch_tokens: int) -> int:
    """Choose how many contexts a block has: by the usual length, and no more than one forward pass may have."""
    if neox.fits(model):  # its attention does not grow with the block
        return batch_tokens
    return min(batch_tokens, max(device_sizes(model.device.type).block, 4 * int(sentences.lengths.mean())))


def build_prefix_forest(sentences: Sentences, start: int | None, block: int) -> PrefixForest:
    """Build the forest of all sentences, of one token at least, or two without a start token.

    ``block`` is the most contexts of a block (a longer sentence is a block alone).
    """
    # What is read, as rows padded with -1 at the end, and the number of contexts of each.
    lengths = sentences.lengths
    first = int(start is not None)
    padded = np.full((len(lengths), int(lengths.max()) + first), -1, dtype=np.int32)
    padded[:, :first] = -1 if start is None else start
    padded[:, first:][np.arange(padded.shape[1] - first) < lengths[:, None]] = sentences.tokens
    sizes = lengths + first - 1
    order = np.lexsort(padded.T[::-1])
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    padded, sizes = padded[order], sizes[order]
    # Contexts that each sentence shares with the one before; the last token of a sentence makes none.
    same = np.logical_and.accumulate(padded[1:] == padded[:-1], axis=1).sum(axis=1)
    shared = np.concatenate([[0], np.minimum(np.minimum(same, sizes[:-1]), sizes[1:])])
    heads = _heads(sizes, shared, block)
    shared[heads] = 0
    depth = np.arange(padded.shape[1] - 1)
    new = (depth >= shared[:, None]) & (depth < sizes[:, None])
    node = np.cumsum(new, dtype=np.int32).reshape(new.shape) - 1
    node[~new] = -1
    np.maximum.accumulate(node, axis=0, out=node)  # a context not new is the one of the sentence before
    rows = np.arange(len(sizes))
    last, final = node[rows, sizes - 1][rank], padded[rows, sizes][rank]
    edges = np.append(node[heads, 0], new.sum())
    steps = _steps(node, sizes, order, int(edges[-1]), start is None)
    tokens, depths = padded[:, :-1][new], np.nonzero(new)[1]
    node[:, 1:] = node[:, :-1].copy()  # now the context one token shorter
    parents = node[new].astype(np.int64)
    parts = (tokens, parents, depths, _ends(parents, depths), edges, last, final, steps)
    return PrefixForest(*(part.astype(np.int64, copy=False) for part in parts))


def _heads(sizes: Ids, shared: Ids, block: int) -> list[int]:
    """Cut sorted sentences into blocks, where they share least near the end of each; return the first of each."""
    through = np.cumsum(sizes - shared)  # contexts up to and with each sentence, if there were one block
    heads, last = [0], len(sizes)
    while True:
        full = through[heads[-1]] - sizes[heads[-1]] + block
        low, high = np.searchsorted(through, [full - block // 3, full], side="right")
        low, high = max(int(low), heads[-1] + 1), max(int(high), heads[-1] + 1)
        if high == last:
            return heads
        least = np.argmin(shared[low : high + 1][::-1])  # of several, the last
        heads.append(high - int(least))


def _ends(parents: Ids, depths: Ids) -> Ids:
    """Find for every context the first one that no longer begins with it; contexts follow their own beginnings."""
    ends = np.arange(1, len(parents) + 1)
    by_depth = np.argsort(depths, kind="stable")
    levels = np.split(by_depth, np.cumsum(np.bincount(depths))[:-1])
    for level in levels[:0:-1]:
        np.maximum.at(ends, parents[level], ends[level])
    return ends


def _steps(node: Nodes, sizes: Ids, order: Ids, contexts: int, without_start: bool) -> Ids:
    """Find for every token of every sentence where its log probability will be (``PrefixForest.steps``).

    ``node``, int32[sentences, L], are the contexts of the sorted sentences, ``sizes`` their numbers, and ``order`` is
    the sentence that each row is.
    """
    lengths = sizes + int(without_start)  # tokens that are asked for, in the sorted order
    ends = np.empty_like(lengths)
    ends[order] = lengths
    ends = np.cumsum(ends)
    steps = np.empty(int(ends[-1]), dtype=np.int64)
    steps[ends - 1] = contexts + np.arange(len(ends))
    starts = (ends[order] - lengths) + int(without_start)
    if without_start:
        steps[starts - 1] = -1
    rows, columns = np.nonzero(np.arange(1, node.shape[1]) < sizes[:, None])
    steps[starts[rows] + columns] = node[rows, columns + 1]
    return steps


class ForestScorer:
    """Scores the sentences of a forest by a model that reads trees as sentences (``eval.scoring.causal.probe``)."""

    def __init__(
        self, model: PreTrainedModel, layer: OutputLayer, forest: PrefixForest, batch_tokens: int
    ) -> None:
        self._model, self._layer, self._forest, self._batch_tokens = model, layer, forest, batch_tokens
        self._body = tree_body(model, forest.tokens)
        self._by_last = np.argsort(forest.last, kind="stable")
        self._lasts = forest.last[self._by_last]

    def token_log_probabilities(self, advance: Advance | None = None) -> Scores:
        """Return the log probability of every token of the sentences, NaN for a token without context."""
        forest = self._forest
        steps = np.full(len(forest.tokens) + len(forest.last) + 1, np.nan)
        sizes = np.diff(forest.blocks)
        # Blocks of like size go together, since a batch is as wide as its largest one; the largest come first.
        order = np.argsort(-sizes, kind="stable")
        batches: list[Ids] = []
        while len(order):
            rows = max(1, self._batch_tokens // int(sizes[order[0]]))
            batches.append(order[:rows])
            order = order[rows:]
        for sentences in side_by_side(lambda blocks: self._score(blocks, steps), batches, self._model):
            if advance is not None:
                advance(sentences)
        return steps[forest.steps]  # -1 takes the one at the end, which stays NaN

    def _score(self, blocks: Ids, steps: Scores) -> int:
        """Fill in the steps of some blocks; return how many sentences end in them."""
        forest = self._forest
        starts, sizes = forest.blocks[blocks], np.diff(forest.blocks)[blocks]
        contexts = np.concatenate(
            [np.arange(start, start + size) for start, size in zip(starts, sizes, strict=True)]
        )
        low, high = np.searchsorted(self._lasts, starts), np.searchsorted(self._lasts, starts + sizes)
        sentences = np.concatenate([self._by_last[left:right] for left, right in zip(low, high, strict=True)])
        owner = np.repeat(np.arange(len(starts)), high - low)  # the block that each of these sentences ends in
        shift = np.cumsum(sizes) - sizes - starts  # from a context to its place in this batch
        parents = forest.parents[contexts] + np.repeat(shift, sizes)
        last = forest.last[sentences] + shift[owner]
        ends = forest.ends[contexts] + np.repeat(shift, sizes)
        own = forest.tokens[contexts]
        hidden = self._body(Trees(own, forest.depths[contexts], parents, ends, sizes))
        after, targets = (np.concatenate(parts) for parts in ((parents, last), (own, forest.final[sentences])))
        scores = self._layer.log_probabilities(hidden, after, targets)
        steps[contexts], steps[len(forest.tokens) + sentences] = np.split(scores, [len(contexts)])
        return len(sentences)


def tree_body(model: PreTrainedModel, tokens: Ids) -> Callable[[Trees], torch.Tensor]:
    """Choose what computes the last hidden states float32[contexts, D] of trees that hold ``tokens``."""
    if not neox.fits(model):
        return functools.partial(library_body, model)
    ours, line = neox.TreeNeoX(model), np.arange(4)
    probe = Trees(line % model.config.vocab_size, line, np.maximum(line - 1, 0), np.full(4, 4), np.array([4]))
    same = torch.allclose(ours(probe), library_body(model, probe), rtol=1e-4, atol=1e-4, equal_nan=True)
    if not same:
        return functools.partial(library_body, model)  # its parts were changed, as adapters do
    ours.keep(tokens)
    return ours
