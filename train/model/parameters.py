"""The number of parameters of a model by group, and the FLOPs of training it by ``6ND``."""

from collections.abc import Mapping
from dataclasses import dataclass

EMBEDDING, OUTPUT = "embedding", "output"


@dataclass(frozen=True)
class Parameters:
    """Number of parameters by group, as attention, mlp or layer_norm; the groups differ between architectures.

    ``embedding`` and ``output`` are the matrices of the vocabulary; one that serves as both is an embedding.
    """

    groups: Mapping[str, int]

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
