"""What is asked of a model of any architecture: its parameters by group and by what changes them, FLOPs, weights."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:  # plans are made without torch
    import torch
    from torch import nn
    from transformers import PreTrainedModel

Kind = Literal["embedding", "output", "hidden", "rest"]

NOT_PREDICTED = -100  # in place of a target where there is none, as in transformers
EMBEDDING, OUTPUT = "embedding", "output"


@dataclass(frozen=True)
class Parameters:
    """Number of parameters by group, as attention, mlp or layer_norm; the groups differ between architectures.

    ``embedding`` and ``output`` are the matrices of the vocabulary; one that serves as both is an embedding.
    """

    groups: Mapping[str, int]
    hidden: tuple[tuple[int, ...], ...] = ()  # the shapes of the matrices between embedding and output layer

    @property
    def total(self) -> int:
        """All parameters, the N of ``6ND`` here."""
        return sum(self.groups.values())

    @property
    def non_embedding(self) -> int:
        """Parameters without token embeddings and output layer, the other reading of N."""
        return self.total - self.groups.get(EMBEDDING, 0) - self.groups.get(OUTPUT, 0)

    @property
    def tied(self) -> bool:
        """Whether the output layer has no matrix of its own."""
        return OUTPUT not in self.groups

    def as_dict(self) -> dict[str, int]:
        """Return the groups and both totals by name."""
        return {**self.groups, "total": self.total, "non_embedding": self.non_embedding}


def flops_6nd(parameters: int, tokens: int) -> float:
    """Training FLOPs by the rule ``C = 6ND`` (Liu et al., ZhoBLiMP, 5.2, after Hoffmann et al. 2022)."""
    # The paper does not say whether embeddings count as parameters.
    return 6.0 * parameters * tokens


def kinds_of_parameters(model: "nn.Module") -> dict["nn.Parameter", Kind]:
    """Tell embeddings (a tied output layer is one), the output layer, the matrices between them, and the rest."""
    from torch import nn

    embeddings = {
        one for module in model.modules() if isinstance(module, nn.Embedding) for one in module.parameters()
    }
    find_output = getattr(model, "get_output_embeddings", None)
    output = set(find_output().parameters()) if find_output is not None else set()

    def kind(parameter: "nn.Parameter") -> Kind:
        if parameter in embeddings:
            return "embedding"
        if parameter in output:
            return "output"
        return "hidden" if parameter.ndim == 2 and decays(parameter) else "rest"

    return {parameter: kind(parameter) for parameter in model.parameters()}


def decays(parameter: "nn.Parameter") -> bool:
    """Tell whether weight decay acts on a parameter."""
    return parameter.ndim >= 2 and not getattr(parameter, "_no_weight_decay", False)  # see ``LibraryModel``


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
