"""LSTM language models, which transformers does not have, as a causal architecture of it by the name ``lstm``.

Importing this file makes them known to ``AutoConfig`` and ``AutoModelForCausalLM``.
"""

import torch
from torch import nn
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForCausalLM,
    PreTrainedConfig,
    PreTrainedModel,
    initialization,
)
from transformers.modeling_outputs import BaseModelOutput, CausalLMOutput


class LSTMConfig(PreTrainedConfig):
    """Layers of one width, which is that of the embedding too; the sizes are those of Gulordava et al. 2018, 3.

    ``dropout`` is the share of the outputs of each layer but the last that are dropped, as in ``torch.nn.LSTM``.
    """

    model_type = "lstm"
    vocab_size: int = 50_000
    hidden_size: int = 650
    num_hidden_layers: int = 2
    dropout: float = 0.0
    tie_word_embeddings: bool = True


class LSTMLayer(nn.Module):
    """The parameters of ``torch.nn.LSTM`` with one layer; read in each pass, so that others can stand in for them."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight_ih, self.weight_hh = (nn.Parameter(torch.empty(4 * width, width)) for _ in range(2))
        self.bias_ih, self.bias_hh = (nn.Parameter(torch.empty(4 * width)) for _ in range(2))

    # Compiled, the positions would be unrolled, and no longer be one kernel.
    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return the states of all positions of inputs, both of shape [sequences, length, width]."""
        # The state before the first position, and the cell's, are 0.
        start = inputs.new_zeros(1, len(inputs), inputs.shape[2])
        weights = (self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        # In order: with biases, one layer, no dropout, in one direction, and sequences before positions.
        states: torch.Tensor = torch.lstm(
            inputs, (start, start), weights, True, 1, 0.0, self.training, False, True
        )[0]
        return states


class LSTMPreTrainedModel(PreTrainedModel):
    """How LSTMs are initialized and named."""

    config_class = LSTMConfig
    base_model_prefix = "lstm"

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        """Draw weights as ``torch.nn.LSTM`` does, and embeddings as PyTorch's word_language_model example."""
        if isinstance(module, LSTMLayer):
            bound = module.weight_hh.shape[1] ** -0.5
            for parameter in module.parameters():
                initialization.uniform_(parameter, -bound, bound)
        elif isinstance(module, nn.Embedding | nn.Linear):
            initialization.uniform_(module.weight, -0.1, 0.1)


class LSTMModel(LSTMPreTrainedModel):
    """Embedding and layers."""

    def __init__(self, config: LSTMConfig) -> None:
        super().__init__(config)
        self.embedding = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList(LSTMLayer(config.hidden_size) for _ in range(config.num_hidden_layers))
        self.post_init()  # type: ignore[no-untyped-call]

    def get_input_embeddings(self) -> nn.Module:
        """Return the embedding of tokens."""
        return self.embedding

    def forward(
        self, input_ids: torch.Tensor | None = None, inputs_embeds: torch.Tensor | None = None, **_unused: object
    ) -> BaseModelOutput:
        """Compute the states of the last layer; padding may stand on the right only."""
        hidden = self.embedding(input_ids) if inputs_embeds is None else inputs_embeds
        for layer in self.layers[:-1]:
            hidden = nn.functional.dropout(layer(hidden), self.config.dropout, self.training)
        hidden = self.layers[-1](hidden)
        return BaseModelOutput(last_hidden_state=hidden)


class LSTMForCausalLM(LSTMPreTrainedModel):
    """An LSTM with an output layer without bias."""

    _tied_weights_keys = {"lm_head.weight": "lstm.embedding.weight"}  # noqa: RUF012, an instance variable of the base class

    def __init__(self, config: LSTMConfig) -> None:
        super().__init__(config)
        self.lstm = LSTMModel(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.post_init()  # type: ignore[no-untyped-call]

    def forward(
        self, input_ids: torch.Tensor | None = None, labels: torch.Tensor | None = None, **others: object
    ) -> CausalLMOutput:
        """Compute logits, and the mean loss of the next token where there are labels."""
        logits = self.lm_head(self.lstm(input_ids, **others).last_hidden_state)
        loss = None if labels is None else self.loss_function(logits, labels, vocab_size=self.config.vocab_size)
        return CausalLMOutput(loss=loss, logits=logits)


AutoConfig.register("lstm", LSTMConfig)
AutoModel.register(LSTMConfig, LSTMModel)
AutoModelForCausalLM.register(LSTMConfig, LSTMForCausalLM)
