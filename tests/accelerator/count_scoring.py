"""Counts batches of scoring on the fake device: ``count_scoring.py trees|rows|logits DTYPE``."""

import copy
import sys

import numpy as np
import torch
from transformers import GraniteConfig, LlamaConfig

from tests.accelerator.fake_device import fake_device, report
from ucurve.eval.scoring.batching import ACCELERATOR
from ucurve.eval.scoring.causal import log_probabilities
from ucurve.eval.scoring.text.sentences import Sentences

VOCABULARY, COUNT = 50_000, {"trees": 20_000, "rows": 20_000, "logits": 1_500}[sys.argv[1]]

way, dtype = sys.argv[1], getattr(torch, sys.argv[2])
options = {
    "vocab_size": VOCABULARY,
    "hidden_size": 256,
    "intermediate_size": 1024,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}
config = GraniteConfig(**options, logits_scaling=8.0) if way == "logits" else LlamaConfig(**options)
draw = np.random.default_rng(0)
lengths = np.sort(draw.integers(8, 12, COUNT))
tokens, none = draw.integers(0, VOCABULARY, lengths.sum()), np.zeros(0, dtype=np.int64)
starts = np.concatenate([[0], np.cumsum(lengths)])
everything, spans = np.ones(len(tokens), dtype=bool), np.zeros((COUNT, 2), dtype=np.int64)
sentences = Sentences([""] * COUNT, tokens, starts, none, none, everything, spans)
if way == "rows":
    log_probabilities.supports_prefix_sharing = lambda *_: False

with fake_device() as fake:
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_config(config, dtype=dtype).eval()
    with fake:
        fake.place(model)
        batches = []

        def advance(sentences):
            batches.append(copy.deepcopy(fake.count))
            fake.restart()

        log_probabilities.token_log_probabilities(model, sentences, 1, ACCELERATOR.batch_tokens, advance)
    report(batches=batches)  # the first one with what precedes all batches
