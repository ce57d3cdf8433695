"""The shape of a model, its number of parameters by group, and the FLOPs of training it by ``6ND``."""

from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Parameters:
    """Number of parameters by group."""

    embedding: int
    attention: int  # query, key, value and output projections with biases
    mlp: int  # both projections of the feed-forward layers with biases
    layer_norm: int  # scales and offsets of all layer norms
    output: int  # the output layer, V d; untied and without bias in Pythia

    @property
    def total(self) -> int:
        """All parameters, the N of ``6ND`` here."""
        return self.embedding + self.attention + self.mlp + self.layer_norm + self.output

    @property
    def non_embedding(self) -> int:
        """Parameters without token embeddings and output layer, the other reading of N."""
        return self.total - self.embedding - self.output

    def as_dict(self) -> dict[str, int]:
        """Return the groups and both totals by name."""
        return asdict(self) | {"total": self.total, "non_embedding": self.non_embedding}


@dataclass(frozen=True)
class Shape:
    """Layers, width d, attention heads and feed-forward width of a model of one of ``ARCHITECTURES``."""

    layers: int
    width: int
    heads: int
    feed_forward: int
    architecture: str = "gpt_neox"


def flops_6nd(parameters: int, tokens: int) -> float:
    """Training FLOPs by the rule ``C = 6ND`` (Liu et al., ZhoBLiMP, 5.2, after Hoffmann et al. 2022)."""
    # The paper does not say whether embeddings count as parameters.
    return 6.0 * parameters * tokens
