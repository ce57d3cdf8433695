"""GPT-NeoX models of Pythia's shapes: their parameters, FLOPs and initialization, counted without building them."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ucurve.huggingface.attention import register_without_mask
from ucurve.training.model.design import Parameters

if TYPE_CHECKING:  # parameters and FLOPs are counted without torch
    import torch
    from transformers import GPTNeoXForCausalLM


@dataclass(frozen=True)
class PythiaShape:
    """Layers, width d, attention heads and feed-forward width of a GPT-NeoX model; a ``ModelDesign``."""

    layers: int
    width: int
    heads: int
    feed_forward: int
    hidden_dropout: float = 0.0
    attention_dropout: float = 0.0
    architecture = "gpt_neox"
    title = "GPT-NeoX"

    def count_parameters(self, vocabulary: int, context: int) -> Parameters:  # noqa: ARG002, none has a position of its own
        """Count the parameters of a GPT-NeoX model with untied embeddings, as transformers builds it."""
        d, f = self.width, self.feed_forward
        return Parameters(
            {
                "embedding": vocabulary * d,
                "attention": self.layers * (4 * d * d + 4 * d),  # query, key, value and output with biases
                "mlp": self.layers * (2 * d * f + d + f),
                "layer_norm": (2 * self.layers + 1) * 2 * d,
                "output": vocabulary * d,
            },
            hidden=((3 * d, d), (d, d), (f, d), (d, f)) * self.layers,
        )

    def count_flops(self, vocabulary: int, context: int, tokens: int, predicted: float = 1.0) -> float:
        """Training FLOPs of the matrix products alone, two per multiply-add, the backward pass twice the forward.

        Scores and weighted values are counted over the full ``context``, the embedding look-up as 0.
        """
        projections = 4 * self.width**2 + 2 * self.width * self.feed_forward
        attention = 2 * context * self.width
        per_token = self.layers * (projections + attention) + predicted * vocabulary * self.width
        return 3.0 * 2.0 * per_token * tokens

    def build_model(
        self, vocabulary: int, context: int, document_token: int, seed: int, device: "torch.device | None" = None
    ) -> "GPTNeoXForCausalLM":
        """Build a model in float32 with Pythia's architecture and initialisation (Biderman et al. 2023, 2.2)."""
        import torch
        from transformers import GPTNeoXConfig, GPTNeoXForCausalLM
        from transformers.initialization import no_init_weights

        from ucurve.training.model.placing import built_on

        config = GPTNeoXConfig(
            vocab_size=vocabulary,
            hidden_size=self.width,
            num_hidden_layers=self.layers,
            num_attention_heads=self.heads,
            intermediate_size=self.feed_forward,
            hidden_dropout=self.hidden_dropout,
            attention_dropout=self.attention_dropout,
            max_position_embeddings=context,  # the rotary positions beyond it would be untrained
            rope_parameters={"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.25},
            use_parallel_residual=True,
            tie_word_embeddings=False,
            bos_token_id=document_token,
            eos_token_id=document_token,
            use_cache=False,
        )
        device = device or torch.device("cpu")
        with built_on(device):
            with no_init_weights():  # all of them are drawn below
                model: GPTNeoXForCausalLM = GPTNeoXForCausalLM(config).float()
            initialize(model, seed)
        torch.nn.Module.to(model, device)
        model.set_attn_implementation(register_without_mask())  # windows of text have no padding
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
