"""GPT-NeoX (Pythia) on trees of contexts, on a processor: the library's arithmetic with less around the products.

Attention and the inner units of GPT-NeoX read the same hidden states side by side, so that with its factors folded into
the weights one layer norm serves both. What only depends on the token itself (all of the first layer but its attention)
is computed once for each distinct token. Working memory is kept from batch to batch.
"""

import math
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np
import torch
from torch.nn.functional import layer_norm
from transformers import PreTrainedModel

from ucurve.eval.scoring.output import to_device
from ucurve.eval.scoring.text.sentences import Ids

if TYPE_CHECKING:
    from transformers.models.gpt_neox.modeling_gpt_neox import GPTNeoXLayer, GPTNeoXModel

WIDEST = 1024  # hidden units up to which this pays: with wider ones, nearly all time goes to the matrix products
_KEPT = 2**23  # numbers of the first layer that are kept for the tokens of all batches, 32 MB
_TILE = 16  # nodes whose attention is computed at once: fewer share their ancestors, more see less of each other
_LOG2_E = math.log2(math.e)
_SMALLEST = 1e-30  # below this sum of powers, float32 may have lost terms


@dataclass(frozen=True)
class Trees:
    """Nodes of trees, tree after tree, each with all that is below it right after it."""

    tokens: Ids  # int64[nodes]
    positions: Ids  # int64[nodes], in the sentence
    parents: Ids  # int64[nodes], the node before in the sentence; a root is its own
    ends: Ids  # int64[nodes], the first node after it that is not below it
    sizes: Ids  # int64[trees], nodes of each


def library_body(model: PreTrainedModel, trees: Trees) -> torch.Tensor:
    """Run trees through a model as rows padded at their ends."""
    device, sizes = model.device, trees.sizes
    rows, starts = np.repeat(np.arange(len(sizes)), sizes), np.repeat(np.cumsum(sizes) - sizes, sizes)
    columns = np.arange(len(rows)) - starts
    table = np.zeros((3, len(sizes), int(sizes.max())), dtype=np.int64)
    table[2] = np.arange(1, table.shape[2] + 1)
    table[:, rows, columns] = trees.tokens, trees.positions, trees.ends - starts
    ids, positions, ends = to_device(table, device)
    cells = to_device(rows * table.shape[2] + columns, device)
    node = torch.arange(ends.shape[1], device=device)
    # bool[trees, 1, nodes, nodes]: of each node, itself and its ancestors
    seen = ((node <= node[:, None]) & (node[:, None] < ends[:, None]))[:, None]
    output = model.base_model(
        input_ids=ids,
        position_ids=positions,
        attention_mask=torch.zeros(seen.shape, dtype=model.dtype, device=device).masked_fill_(~seen, -torch.inf),
        use_cache=False,
    )
    hidden: torch.Tensor = output.last_hidden_state
    return hidden.flatten(0, 1)[cells.to(hidden.device)]


def fits(model: PreTrainedModel) -> bool:
    """Say whether a model is a GPT-NeoX as ``TreeNeoX`` computes it."""
    config, body = model.config, cast("GPTNeoXModel", model.base_model)
    return bool(
        config.model_type == "gpt_neox"
        and config.use_parallel_residual
        and config.hidden_act == "gelu"
        and config.rope_parameters["rope_type"] == "default"
        and config.hidden_size <= WIDEST
        and model.device.type == "cpu"
        and model.dtype == torch.float32
        and isinstance(cast("GPTNeoXLayer", body.layers[0]).mlp.dense_h_to_4h, torch.nn.Linear)  # not quantized
    )


@dataclass(frozen=True)
class _Linear:
    """A linear layer as float32[inputs, outputs] and float32[outputs]."""

    weight: torch.Tensor
    bias: torch.Tensor

    def __call__(self, inputs: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        outputs: torch.Tensor = torch.mm(inputs, self.weight, out=out).add_(self.bias)
        return outputs


@dataclass(frozen=True)
class _Layer:
    """Folded weights of one layer; D hidden, I inner units."""

    read: _Linear  # from normalized hidden states to queries, keys and values, D to 3D
    inner: _Linear  # from normalized hidden states to inner units, D to I
    attended: torch.Tensor  # float32[D, D], from what was attended to what is added
    outer: torch.Tensor  # float32[I, D], from activated inner units to what is added
    bias: torch.Tensor  # float32[D], of both


class _Workspace:
    """Working memory of one thread: one flat tensor for each purpose, as large as any batch needed so far."""

    def __init__(self) -> None:
        self._kept: dict[str, torch.Tensor] = {}

    def buffer(self, purpose: str, *shape: int) -> torch.Tensor:
        """Return a tensor of a shape; its values are undefined."""
        size = math.prod(shape)
        if purpose not in self._kept or self._kept[purpose].numel() < size:
            self._kept[purpose] = torch.empty(size)
        return self._kept[purpose][:size].view(shape)


class TreeNeoX:
    """The inner part of a GPT-NeoX model for which ``fits`` holds; several threads may call it at once."""

    def __init__(self, model: PreTrainedModel) -> None:
        body, config = cast("GPTNeoXModel", model.base_model), model.config
        self._heads, self._width = config.num_attention_heads, config.hidden_size
        self._epsilon = config.layer_norm_eps
        layers = [cast("GPTNeoXLayer", layer) for layer in body.layers]
        self._rotated: int = layers[0].attention.rotary_ndims
        self._frequencies = body.rotary_emb.inv_freq
        self._embedding, self._final_norm = body.embed_in.weight, body.final_layer_norm
        self._layers = [self._folded(layer) for layer in layers]
        self._kept: tuple[torch.Tensor, torch.Tensor, torch.Tensor] | None = None
        self._of_thread = threading.local()

    def keep(self, tokens: Ids) -> None:
        """Compute what only depends on the token itself once for all trees, unless it takes much memory."""
        distinct = torch.from_numpy(np.unique(tokens))
        if 4 * self._width * len(distinct) <= _KEPT:
            self._kept = (distinct, *self._alone(distinct, _Workspace()))

    def __call__(self, trees: Trees) -> torch.Tensor:
        """Compute last hidden states, float32[nodes, D]."""
        if not hasattr(self._of_thread, "workspace"):
            self._of_thread.workspace = _Workspace()
        workspace = self._of_thread.workspace
        attention = _Attention(trees, workspace, (self._heads, self._width // self._heads), self._frequencies)
        tokens = torch.from_numpy(trees.tokens)
        # Of the first layer, only what precedes a token enters here, by attention.
        if self._kept is None:
            distinct, places = torch.unique(tokens, return_inverse=True)
            own, read = self._alone(distinct, workspace)
        else:
            distinct, own, read = self._kept
            places = torch.searchsorted(distinct, tokens)
        torch.index_select(read, 0, places, out=attention.read)
        hidden = torch.index_select(own, 0, places, out=workspace.buffer("hidden", len(places), self._width))
        hidden.addmm_(attention(), self._layers[0].attended)
        for layer in self._layers[1:]:
            units = self._enter(layer, hidden, attention.read, workspace)
            hidden += layer.bias
            hidden.addmm_(units, layer.outer).addmm_(attention(), layer.attended)
        normal: torch.Tensor = self._final_norm(hidden)
        return normal

    def _alone(self, tokens: torch.Tensor, workspace: _Workspace) -> tuple[torch.Tensor, torch.Tensor]:
        """Compute the first layer of tokens that attend to nothing: [tokens, D], and queries, keys and values."""
        layer, own = self._layers[0], self._embedding[tokens]
        read = workspace.buffer("read", len(tokens), 3 * self._width)
        units = self._enter(layer, own, read, workspace)
        return own.add_(layer.bias).addmm_(units, layer.outer), read

    def _enter(
        self, layer: _Layer, hidden: torch.Tensor, read: torch.Tensor, workspace: _Workspace
    ) -> torch.Tensor:
        """Write queries, keys and values to ``read``, and return activated inner units, float32[tokens, I]."""
        normal = layer_norm(hidden, (self._width,), eps=self._epsilon)
        layer.read(normal, out=read)
        units = layer.inner(normal, out=workspace.buffer("units", len(hidden), len(layer.outer)))
        activated: torch.Tensor = torch.ops.aten.gelu_(units)
        return activated

    def _folded(self, layer: "GPTNeoXLayer") -> _Layer:
        """Fold the factors of both layer norms into the weights that read them."""
        weight, bias = _after_norm(layer.input_layernorm, layer.attention.query_key_value)
        inner_weight, inner_bias = _after_norm(layer.post_attention_layernorm, layer.mlp.dense_h_to_4h)
        attended, outer = layer.attention.dense, layer.mlp.dense_4h_to_h
        return _Layer(
            _Linear(self._by_part(weight).T.contiguous(), self._by_part(bias)),
            _Linear(inner_weight.T.contiguous(), inner_bias),
            attended.weight.T.contiguous(),
            outer.weight.T.contiguous(),
            outer.bias if attended.bias is None else attended.bias + outer.bias,
        )

    def _by_part(self, rows: torch.Tensor) -> torch.Tensor:
        """Sort rows into queries, keys and values, with the two numbers that are rotated together side by side.

        Rows are float32[3D, ...], head after head its query, key and value, as the library stores them. Queries are
        scaled so that powers of 2 of the products are attention's exponentials.
        """
        size, half = self._width // self._heads, self._rotated // 2
        parts = rows.unflatten(0, (self._heads, 3, size)).transpose(0, 1).clone()
        order = torch.arange(size)
        order[: self._rotated] = torch.arange(self._rotated).view(2, half).T.flatten()
        parts[:2] = parts[:2, :, order]
        parts[0] *= size**-0.5 * _LOG2_E
        sorted_rows: torch.Tensor = parts.flatten(0, 2)
        return sorted_rows


def _after_norm(norm: torch.nn.LayerNorm, layer: torch.nn.Linear) -> tuple[torch.Tensor, torch.Tensor]:
    """Fold a layer norm's factors and shifts into the weight and bias of the layer that reads it."""
    bias = layer.weight @ norm.bias
    return layer.weight * norm.weight, bias if layer.bias is None else bias + layer.bias


class _Attention:
    """Attention of one batch of trees; the caller writes queries, keys and values to ``read``, [nodes, 3D].

    Nodes are cut into tiles. What a tile's nodes attend to is in the tile or among the ancestors of its first node,
    because a node follows its ancestors at once or after what is below them. ``heads`` are their number and size,
    ``frequencies``, float32[rotated / 2], those of the rotary embedding.
    """

    def __init__(
        self, trees: Trees, workspace: _Workspace, heads: tuple[int, int], frequencies: torch.Tensor
    ) -> None:
        self._workspace, self._heads, self._nodes = workspace, heads[0], len(trees.tokens)
        angles = torch.from_numpy(trees.positions)[:, None].float() * frequencies
        self._turns = torch.polar(torch.ones_like(angles), angles)[:, None]  # complex64[nodes, 1, rotated / 2]
        tiles = -(-self._nodes // _TILE)
        self._filled = workspace.buffer("filled", tiles * _TILE, 3, *heads)
        self._filled[self._nodes :] = 0
        self.read = self._filled[: self._nodes].flatten(1)
        node = np.arange(tiles * _TILE)
        ends = np.concatenate([trees.ends, node[self._nodes :] + 1])  # what fills the last tile sees itself
        queries = node.reshape(tiles, _TILE)
        # The ancestors of the first node of each tile, -1 where it has no more.
        nodes = queries[:, 0]
        ancestors = np.full((tiles, int(trees.positions[nodes].max())), -1)
        for generation in range(ancestors.shape[1]):
            parents = trees.parents[nodes]
            ancestors[:, generation] = np.where(parents == nodes, -1, parents)
            nodes = parents
        keys = np.concatenate([ancestors, queries], axis=1)
        seen = (
            (keys[:, None] <= queries[:, :, None])
            & (queries[:, :, None] < ends[keys][:, None])
            & (keys >= 0)[:, None]
        )
        self._keys, self._seen = torch.from_numpy(keys).clamp_(min=0), torch.from_numpy(seen).float()

    def __call__(self) -> torch.Tensor:
        """Return what every node takes from those it attends to, float32[nodes, D]; ``read`` is changed."""
        (tiles, length, count), filled = self._seen.shape, self._filled
        heads, size = filled.shape[2:]
        pairs = filled[: self._nodes, :2, :, : 2 * self._turns.shape[-1]].flatten(1, 2).unflatten(-1, (-1, 2))
        torch.view_as_complex(pairs).mul_(self._turns)
        others = self._workspace.buffer("others", tiles * count, 2, heads, size)
        torch.index_select(filled[:, 1:], 0, self._keys.flatten(), out=others)
        queries, others = filled[:, 0].unflatten(0, (tiles, length)), others.unflatten(0, (tiles, count))
        weights, totals = self._weights(queries, others[:, :, 0])
        taken = self._workspace.buffer("taken", heads, tiles, length, size)
        for head in range(heads):
            torch.bmm(weights[head], others[:, :, 1, head], out=taken[head])
        taken /= totals
        return taken.permute(1, 2, 0, 3).reshape(tiles * length, -1)[: self._nodes]

    def _weights(self, queries: torch.Tensor, keys: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return attention before it is normalized, float32[H, tiles, Q, K], and its sums, float32[H, tiles, Q, 1]."""
        weights = self._workspace.buffer("weights", self._heads, *self._seen.shape)

        def multiply() -> torch.Tensor:
            for head in range(self._heads):
                torch.bmm(queries[:, :, head], keys[:, :, head].mT, out=weights[head])
            return weights

        totals = multiply().exp2_().mul_(self._seen).sum(-1, keepdim=True)
        # Out of float32's range: shift by the largest.
        if not ((totals > _SMALLEST) & (totals < torch.inf)).all():
            multiply().masked_fill_(self._seen == 0, -torch.inf)
            totals = weights.sub_(weights.amax(-1, keepdim=True)).exp2_().sum(-1, keepdim=True)
        return weights, totals
