"""GPT-NeoX models of Pythia's shapes, initialised from a seed."""

import math

import torch
from torch import nn
from transformers import GPTNeoXConfig, GPTNeoXForCausalLM

from train.model.flops import Parameters, Shape
from train.model.loss import output_loss

_GROUPS = {"embed_in": "embedding", "lm_head": "output", "attention": "attention", "mlp": "mlp"}


def build_model(shape: Shape, vocabulary: int, context: int, document_token: int, seed: int) -> GPTNeoXForCausalLM:
    """Build a model in float32 with Pythia's architecture and initialisation (Biderman et al. 2023, 2.2).

    Args:
        shape: layers, width, heads and feed-forward width.
        vocabulary: rows of the embedding and of the output layer, which are not tied.
        context: longest input in tokens; the rotary positions beyond it would be untrained.
        document_token: id of the token that precedes every document.
        seed: seed of the initial weights; the global generators are left alone.
    """
    config = GPTNeoXConfig(
        vocab_size=vocabulary,
        hidden_size=shape.width,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        intermediate_size=shape.feed_forward,
        max_position_embeddings=context,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.25},
        use_parallel_residual=True,
        tie_word_embeddings=False,
        bos_token_id=document_token,
        eos_token_id=document_token,
        use_cache=False,
    )
    with torch.random.fork_rng(devices=[]):
        model: GPTNeoXForCausalLM = GPTNeoXForCausalLM(config).float()
    initialise(model, seed)
    return model


def initialise(model: GPTNeoXForCausalLM, seed: int) -> None:
    """Draw all weights anew from ``seed``, in the order of the parameters.

    Matrices are normal with deviation sqrt(2 / 5d) ("small init"), the two output projections of a layer with
    2 / (L sqrt(d)) ("Wang init"), as in Pythia's published configurations; biases 0, layer norms 1 and 0.
    """
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


def parameters_by_group(model: nn.Module) -> Parameters:
    """Count a built GPT-NeoX model's parameters by group."""
    counts = dict.fromkeys(("embedding", "attention", "mlp", "layer_norm", "output"), 0)
    for name, parameter in model.named_parameters():
        group = next((group for part, group in _GROUPS.items() if part in name.split(".")), "layer_norm")
        counts[group] += parameter.numel()
    return Parameters(**counts)


def summed_loss(model: GPTNeoXForCausalLM, inputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Return the negative log-likelihood of the targets in nats, summed over all of them in float32.

    Args:
        model: the model; its output layer is applied here.
        inputs: token ids, shape [sequences, length].
        targets: the ids one position on, same shape.
    """
    hidden = model.gpt_neox(inputs).last_hidden_state
    return output_loss(hidden.flatten(0, 1), model.get_output_embeddings().weight, targets.flatten())
