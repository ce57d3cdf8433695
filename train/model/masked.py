"""Masked language models of transformers: what tells one, and what its output layer gets."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # settings are checked without torch
    import torch
    from transformers import PreTrainedModel

    from ucurve.huggingface.pretrained import ModelClass


def is_masked(model: "PreTrainedModel") -> bool:
    """Tell whether a model is of the class that transformers has for masked models of its architecture."""
    from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES

    return MODEL_FOR_MASKED_LM_MAPPING_NAMES.get(model.config.model_type) == type(model).__name__


def loading_class(model: "PreTrainedModel") -> "ModelClass":
    """Return the class that loads checkpoints of a model."""
    return "AutoModelForMaskedLM" if is_masked(model) else "AutoModelForCausalLM"


def output_inputs(model: "PreTrainedModel", hidden: "torch.Tensor") -> "torch.Tensor":
    """Return what the output layer of a masked model gets of last hidden states, both of shape [..., width].

    The layers outside of the inner model follow each other, up to the output layer, which may be inside one of them.
    """
    import torch

    found: list[torch.Tensor] = []

    def take(_layer: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor]:
        found.append(inputs[0])
        return (inputs[0][:0],)  # so that it computes no logits

    output = model.get_output_embeddings()
    with output.register_forward_pre_hook(take):
        for layer in model.children():
            if layer is not model.base_model and not found:
                hidden = layer(hidden)
    return found[0]
