"""The architectures that can be trained. A further one is a file beside ``neox`` and an entry in ``ARCHITECTURES``."""

from typing import TYPE_CHECKING, Protocol

from train.model import neox
from train.model.shape import Parameters, Shape

if TYPE_CHECKING:  # plans are made without torch
    from torch import nn
    from transformers import PreTrainedModel


class Architecture(Protocol):
    """What the file of an architecture defines; it imports torch only inside functions."""

    TITLE: str

    def count_parameters(self, shape: Shape, vocabulary: int) -> Parameters:
        """Count the parameters of a model from its shape, without building it."""

    def count_flops(self, shape: Shape, vocabulary: int, sequence_length: int, tokens: int) -> float:
        """Count the training FLOPs of the matrix products."""

    def build_model(
        self, shape: Shape, vocabulary: int, context: int, document_token: int, seed: int
    ) -> "PreTrainedModel":
        """Build a model in float32 with initial weights drawn from ``seed``."""

    def parameters_by_group(self, model: "nn.Module") -> Parameters:
        """Count the parameters of a built model."""

    def saved_name(self, name: str) -> str:
        """Return the name that a parameter has in ``model.safetensors``."""


# By the name that transformers has for them (``model_type`` of ``config.json``).
ARCHITECTURES: dict[str, Architecture] = {"gpt_neox": neox}
