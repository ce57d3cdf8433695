"""What is asked of a model before and when it is trained, whatever its architecture."""

from typing import TYPE_CHECKING, Protocol

from ucurve.training.model.parameters import Parameters

NOT_PREDICTED = -100  # in place of a target where there is none, as in transformers

if TYPE_CHECKING:  # plans are made without torch
    import torch
    from transformers import PreTrainedModel


class ModelDesign(Protocol):
    """An architecture with its sizes. The vocabulary and the context, in tokens, are the run's."""

    @property
    def architecture(self) -> str:
        """The name that transformers has for the architecture (``model_type`` of ``config.json``)."""

    @property
    def title(self) -> str:
        """The name that people have for it."""

    def count_parameters(self, vocabulary: int, context: int) -> Parameters:
        """Count the parameters of a model."""

    def count_flops(self, vocabulary: int, context: int, tokens: int, predicted: float = 1.0) -> float:
        """Count the FLOPs of matrix products in training on ``tokens`` tokens, in sequences of ``context``.

        Two for each multiply-add, the backward pass twice the forward; scores of attention over the full context.
        The head of a masked model sees the share of positions that is ``predicted``.
        """

    def build_model(
        self, vocabulary: int, context: int, document_token: int, seed: int, device: "torch.device | None" = None
    ) -> "PreTrainedModel":
        """Build a model in float32 on a device, with initial weights that the processor draws from ``seed``."""
