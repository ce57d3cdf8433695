"""GPT-NeoX models of Pythia's shapes: their parameters, FLOPs and initialization. The only file that names them."""

import math
from typing import TYPE_CHECKING

from train.model.shape import Parameters, Shape
from ucurve.huggingface.attention import register_without_mask

if TYPE_CHECKING:  # parameters and FLOPs are counted without torch
    from torch import nn
    from transformers import GPTNeoXForCausalLM

TITLE = "GPT-NeoX"
_GROUPS = {"embed_in": "embedding", "lm_head": "output", "attention": "attention", "mlp": "mlp"}


def count_parameters(shape: Shape, vocabulary: int) -> Parameters:
    """Count the parameters of a GPT-NeoX model with untied embeddings, as transformers builds it."""
    d, f = shape.width, shape.feed_forward
    return Parameters(
        embedding=vocabulary * d,
        attention=shape.layers * (4 * d * d + 4 * d),
        mlp=shape.layers * (2 * d * f + d + f),
        layer_norm=(2 * shape.layers + 1) * 2 * d,
        output=vocabulary * d,
    )


def count_flops(shape: Shape, vocabulary: int, sequence_length: int, tokens: int) -> float:
    """Training FLOPs of the matrix products alone, two per multiply-add, the backward pass twice the forward.

    Scores and weighted values are counted over the full ``sequence_length``, the embedding look-up as 0.
    """
    projections = 4 * shape.width**2 + 2 * shape.width * shape.feed_forward
    attention = 2 * sequence_length * shape.width
    per_token = shape.layers * (projections + attention) + vocabulary * shape.width
    return 3.0 * 2.0 * per_token * tokens


def build_model(shape: Shape, vocabulary: int, context: int, document_token: int, seed: int) -> "GPTNeoXForCausalLM":
    """Build a model in float32 with Pythia's architecture and initialisation (Biderman et al. 2023, 2.2)."""
    import torch
    from transformers import GPTNeoXConfig, GPTNeoXForCausalLM

    config = GPTNeoXConfig(
        vocab_size=vocabulary,
        hidden_size=shape.width,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        intermediate_size=shape.feed_forward,
        max_position_embeddings=context,  # the rotary positions beyond it would be untrained
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.25},
        use_parallel_residual=True,
        tie_word_embeddings=False,
        bos_token_id=document_token,
        eos_token_id=document_token,
        use_cache=False,
    )
    with torch.random.fork_rng(devices=[]):  # the global generators are not changed
        model: GPTNeoXForCausalLM = GPTNeoXForCausalLM(config).float()
    model.set_attn_implementation(register_without_mask())  # windows of text have no padding
    initialize(model, seed)
    return model


def initialize(model: "GPTNeoXForCausalLM", seed: int) -> None:
    """Draw all weights again from ``seed``, in the order of the parameters.

    Matrices are normal with deviation sqrt(2 / 5d) ("small init"), the two output projections of a layer with
    2 / (L sqrt(d)) ("Wang init"), as in Pythia's published configurations; biases 0, layer norms 1 and 0.
    """
    import torch

    generator = torch.Generator().manual_seed(seed)
    width, layers = model.config.hidden_size, model.config.num_hidden_layers
    small, wang = math.sqrt(2 / (5 * width)), 2 / (layers * math.sqrt(width))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.ndim == 1:
                parameter.fill_(1.0 if "norm" in name and name.endswith("weight") else 0.0)
                continue
            projection = name.endswith(("attention.dense.weight", "mlp.dense_4h_to_h.weight"))
            parameter.normal_(0.0, wang if projection else small, generator=generator)


def parameters_by_group(model: "nn.Module") -> Parameters:
    """Count a built GPT-NeoX model's parameters by group."""
    counts = dict.fromkeys(("embedding", "attention", "mlp", "layer_norm", "output"), 0)
    for name, parameter in model.named_parameters():
        group = next((group for part, group in _GROUPS.items() if part in name.split(".")), "layer_norm")
        counts[group] += parameter.numel()
    return Parameters(**counts)


def saved_name(name: str) -> str:
    """Return the name that a parameter has in ``model.safetensors``, where the output layer is ``embed_out``."""
    return name.replace("lm_head.", "embed_out.")
