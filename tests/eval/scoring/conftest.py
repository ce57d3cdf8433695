from types import SimpleNamespace

import pytest
import torch


@pytest.fixture(scope="session")
def bigram_model():
    """Build a causal model whose logits are a table of bigrams: the hidden state of a token is its row's choice."""

    def build(table):
        table = torch.as_tensor(table, dtype=torch.float32)
        layer = torch.nn.Linear(len(table), len(table), bias=False)
        layer.weight.data = table.T.contiguous()

        class Bigram(torch.nn.Module):
            device = torch.device("cpu")
            config = SimpleNamespace(
                model_type="bigram", get_text_config=lambda: SimpleNamespace(vocab_size=len(table))
            )

            def base_model(self, input_ids, **_):
                return SimpleNamespace(last_hidden_state=torch.eye(len(table))[input_ids])

            def get_output_embeddings(self):
                return layer

            def forward(self, input_ids, **_):
                return SimpleNamespace(logits=table[input_ids])

        return Bigram()

    return build
