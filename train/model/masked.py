"""Masked language models of transformers: what tells one, and what its output layer gets."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # settings are checked without torch
    import torch
    from transformers import PreTrainedModel


def is_masked(model: "PreTrainedModel") -> bool:
    """Tell whether a model is of the class that transformers has for masked models of its architecture."""
    from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES

    return MODEL_FOR_MASKED_LM_MAPPING_NAMES.get(model.config.model_type) == type(model).__name__


def output_inputs(model: "PreTrainedModel", hidden: "torch.Tensor") -> "torch.Tensor":
    """Return what the output layer of a masked model gets of last hidden states, both of shape [..., width].

    The model itself computes it, with these states in place of what its inner model would.
    """
    import torch
    from transformers.modeling_outputs import BaseModelOutput

    found: list[torch.Tensor] = []

    def take(_layer: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor]:
        found.append(inputs[0])
        return (inputs[0][:0],)  # so that it computes no logits

    def give(*_given: object, **_named: object) -> BaseModelOutput:
        return BaseModelOutput(last_hidden_state=hidden.flatten(0, -2)[None])

    output, inner = model.get_output_embeddings(), model.base_model
    inner.forward = give
    try:
        with output.register_forward_pre_hook(take):
            model(hidden.new_zeros((1, 1), dtype=torch.long))
    finally:
        del inner.forward  # that of its class is found again
    return found[0].view(*hidden.shape[:-1], found[0].shape[-1])  # perhaps of no position
