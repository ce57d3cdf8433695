"""Parameters and training FLOPs from the model's shape alone; no torch."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Parameters:
    """Number of parameters by group.

    Attributes:
        attention: query, key, value and output projections with biases.
        mlp: both projections of the feed-forward layers with biases.
        layer_norm: scales and offsets of all layer norms.
        output: the output layer, V d; untied and without bias in Pythia.
    """

    embedding: int
    attention: int
    mlp: int
    layer_norm: int
    output: int

    @property
    def total(self) -> int:
        """All parameters, the N of ``6ND`` here."""
        return self.embedding + self.attention + self.mlp + self.layer_norm + self.output

    @property
    def non_embedding(self) -> int:
        """Parameters without token embeddings and output layer, the other reading of N."""
        return self.total - self.embedding - self.output


@dataclass(frozen=True)
class Shape:
    """Shape of a GPT-NeoX model: layers, width d, attention heads, feed-forward width."""

    layers: int
    width: int
    heads: int
    feed_forward: int


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


def flops_6nd(parameters: int, tokens: int) -> float:
    """Training FLOPs by the rule ``C = 6ND`` (Liu et al., ZhoBLiMP, 5.2, after Hoffmann et al. 2022).

    Args:
        parameters: N; the paper does not say whether embeddings count.
        tokens: D, training tokens.
    """
    return 6.0 * parameters * tokens


def flops_exact(shape: Shape, vocabulary: int, sequence_length: int, tokens: int) -> float:
    """Training FLOPs of the matrix products alone, two per multiply-add, the backward pass twice the forward.

    Counted: the four attention projections, scores and weighted values over the full ``sequence_length`` (what a
    kernel that does not skip the masked half computes), the feed-forward layers, the output layer. The embedding
    look-up is no product and counts 0.
    """
    projections = 4 * shape.width**2 + 2 * shape.width * shape.feed_forward
    attention = 2 * sequence_length * shape.width
    per_token = shape.layers * (projections + attention) + vocabulary * shape.width
    return 3.0 * 2.0 * per_token * tokens
