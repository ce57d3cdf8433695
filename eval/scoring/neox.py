"""The body of a GPT-NeoX model with fewer and wider matrix products than its module has.

In a layer with parallel residual the attention and the feed-forward part read the same normalised input, each with a
gain and shift of its own. Gains and shifts go into the weights that follow them, so that one product of the normalised
input gives queries, keys, values and the hidden feed-forward layer, and another adds both results to the residual. The
values are the module's up to float32 rounding; ``fused_body`` compares them before it hands the body out.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch.nn import functional

_PROBE = 8  # tokens on which the fused body is compared with the module


@dataclass(frozen=True)
class _Layer:
    """Weights of one layer: ``into`` float32[3 D + F, D], ``out`` float32[D, D + F], and their biases."""

    into: torch.Tensor
    into_bias: torch.Tensor
    out: torch.Tensor
    out_bias: torch.Tensor


class FusedBody:
    """Computes last hidden states of a GPT-NeoX model.

    Args:
        model: a ``GPTNeoXForCausalLM`` with parallel residual and float32 weights.
    """

    def __init__(self, model: Any) -> None:
        body, config = model.base_model, model.config
        self._embedding: torch.Tensor = body.embed_in.weight
        self._heads, self._width = config.num_attention_heads, config.hidden_size // config.num_attention_heads
        self._epsilon = config.layer_norm_eps
        self._final, self._rotary = body.final_layer_norm, body.rotary_emb
        self._layers = [self._fuse(layer) for layer in body.layers]

    def _fuse(self, layer: Any) -> _Layer:
        attention, feed = layer.attention, layer.mlp
        weight, bias = _absorb(attention.query_key_value, layer.input_layernorm)
        wide, wide_bias = _absorb(feed.dense_h_to_4h, layer.post_attention_layernorm)
        order = torch.arange(len(weight)).view(self._heads, 3, self._width).transpose(0, 1).flatten()
        out = torch.cat([attention.dense.weight, feed.dense_4h_to_h.weight], dim=1)
        out_bias = _bias(attention.dense) + _bias(feed.dense_4h_to_h)
        return _Layer(torch.cat([weight[order], wide]), torch.cat([bias[order], wide_bias]), out, out_bias)

    def __call__(self, ids: torch.Tensor, positions: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
        """Run rows of tokens through the layers.

        Args:
            ids: int64[B, N].
            positions: int64[B, N], of the tokens in their sentences.
            seen: bool[B, 1, N, N], which tokens each token attends to.

        Returns:
            float32[B, N, D], last hidden states.
        """
        hidden = self._embedding[ids.flatten()]
        cosine, sine = (part[:, None, :, : part.shape[-1] // 2] for part in self._rotary(hidden, positions))
        mask = torch.zeros(seen.shape, dtype=hidden.dtype, device=hidden.device).masked_fill_(~seen, -torch.inf)
        for layer in self._layers:
            hidden = self._apply(layer, hidden, mask, cosine, sine)
        return functional.layer_norm(
            hidden, hidden.shape[-1:], self._final.weight, self._final.bias, self._epsilon
        ).view(*ids.shape, -1)

    def _apply(
        self, layer: _Layer, hidden: torch.Tensor, mask: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor
    ) -> torch.Tensor:
        (rows, _, columns, _), size = mask.shape, hidden.shape[-1]
        normalised = functional.layer_norm(hidden, (size,), eps=self._epsilon)
        wide = functional.linear(normalised, layer.into, layer.into_bias)
        heads = wide[:, : 3 * size].view(rows, columns, 3, self._heads, self._width).permute(2, 0, 3, 1, 4)
        _rotate(heads[:2], cosine, sine)
        attended = functional.scaled_dot_product_attention(heads[0], heads[1], heads[2], attn_mask=mask)
        both = torch.empty(len(hidden), layer.out.shape[1], dtype=hidden.dtype, device=hidden.device)
        both[:, :size] = attended.transpose(1, 2).reshape(-1, size)
        both[:, size:] = functional.gelu(wide[:, 3 * size :])
        return torch.addmm(layer.out_bias, both, layer.out.T).add_(hidden)


class PlainBody:
    """Computes last hidden states by the model's own module; arguments and result are those of ``FusedBody``."""

    def __init__(self, model: Any) -> None:
        self._body = model.base_model

    def __call__(self, ids: torch.Tensor, positions: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
        """Run rows of tokens through the layers."""
        output = self._body(input_ids=ids, position_ids=positions, attention_mask=seen, use_cache=False)
        hidden: torch.Tensor = output.last_hidden_state
        return hidden


def fused_body(model: Any) -> FusedBody | None:
    """Build the fused body of a model, if it is of the kind and gives the module's own hidden states."""
    config = model.config
    if config.model_type != "gpt_neox" or not config.use_parallel_residual or config.hidden_act != "gelu":
        return None
    body = FusedBody(model)
    ids = torch.arange(_PROBE, device=model.device)[None] % config.vocab_size
    positions = torch.arange(_PROBE, device=model.device)[None]
    seen = torch.ones(1, 1, _PROBE, _PROBE, dtype=torch.bool, device=model.device).tril()
    wanted = PlainBody(model)(ids, positions, seen)
    same = torch.allclose(body(ids, positions, seen), wanted, rtol=1e-4, atol=1e-4, equal_nan=True)
    return body if same else None


def _absorb(linear: Any, norm: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Return weight and bias that give on the normalised input what ``linear`` gives after ``norm``."""
    return linear.weight * norm.weight, _bias(linear) + linear.weight @ norm.bias


def _bias(linear: Any) -> torch.Tensor:
    bias: torch.Tensor = linear.weight.new_zeros(len(linear.weight)) if linear.bias is None else linear.bias
    return bias


def _rotate(heads: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> None:
    """Turn queries and keys, float32[2, B, H, N, W], by their positions, in place (rotary position embedding)."""
    half = cosine.shape[-1]
    first, second = heads[..., :half].clone(), heads[..., half : 2 * half].clone()
    heads[..., :half] = first * cosine - second * sine
    heads[..., half : 2 * half] = second * cosine + first * sine
