from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from tokenizers import pre_tokenizers
from transformers import AutoConfig, AutoModelForMaskedLM, BertTokenizer, RobertaTokenizer, XLMRobertaTokenizer


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


SYLLABLES = [consonant + vowel for consonant in "bdgklmnprst" for vowel in "aeiou"]


@pytest.fixture(scope="session")
def masked_tokenizers():
    """Three ways to cut words of known syllables: at every syllable, marked before or inside a word, or at every byte."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces = [*special, *SYLLABLES, *(f"##{one}" for one in SYLLABLES), ".", *"我们爱吃饭"]
    scores = [(one, 0.0) for one in ("<s>", "<pad>", "</s>", "<unk>")]
    scores += [(start + one, -4.0) for one in SYLLABLES for start in ("▁", "")] + [(".", -4.0), ("<mask>", 0.0)]
    units = ["<s>", "<pad>", "</s>", "<unk>", *sorted(pre_tokenizers.ByteLevel.alphabet()), "<mask>"]
    return {
        "wordpiece": BertTokenizer(
            vocab={piece: place for place, piece in enumerate(pieces)}, do_lower_case=False
        ),
        "unigram": XLMRobertaTokenizer(vocab=scores),
        "bytes": RobertaTokenizer(vocab={unit: place for place, unit in enumerate(units)}, merges=[]),
    }


@pytest.fixture(scope="session")
def make_masked():
    """Build a masked model with random weights, spread enough to tell sentences apart."""

    def make(tokenizer, kind="bert", **options):
        torch.manual_seed(0)
        sizes = {
            "hidden_size": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "intermediate_size": 48,
            "max_position_embeddings": 80,
            "initializer_range": 0.3,
            "hidden_dropout_prob": 0.3,
            "attention_probs_dropout_prob": 0.3,
        }
        special = {f"{name}_token_id": getattr(tokenizer, f"{name}_token_id") for name in ("pad", "bos", "eos")}
        config = AutoConfig.for_model(kind, vocab_size=len(tokenizer), **sizes | special | options)
        return AutoModelForMaskedLM.from_config(config).eval()

    return make


@pytest.fixture(scope="session")
def conditional_pairs():
    """200 pairs of a condition and two targets, of words of one to four syllables, most of unequal length."""
    draw = np.random.default_rng(0)

    def words(most):
        return " ".join(
            "".join(draw.choice(SYLLABLES, size=draw.integers(1, 5))) for _ in range(draw.integers(1, most + 1))
        )

    rows = [(condition := words(4), f"{condition} {words(2)}.", f"{condition} {words(2)}.") for _ in range(200)]
    table = pd.DataFrame(rows, columns=["condition", "good", "bad"])
    return table.assign(benchmark="tse/eus", paradigm="toy", pair=range(len(table)))
