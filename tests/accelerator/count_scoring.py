"""Counts batches of scoring on the fake device: ``count_scoring.py DTYPE WAY...``, where ways are trees, rows, logits.

Each way is counted in a fork of a process that has imported what all of them need.
"""

import copy
import sys

import numpy as np
import torch
from transformers import AutoModelForCausalLM, GraniteConfig, GraniteForCausalLM, LlamaConfig, LlamaForCausalLM  # noqa: F401 - loads what they need

from tests.accelerator.fake_device import fake_device, in_own_process, report
from ucurve.eval.scoring.batching import ACCELERATOR
from ucurve.eval.scoring.causal import log_probabilities
from ucurve.eval.scoring.text.sentences import Sentences

VOCABULARY, COUNTS = 50_000, {"trees": 20_000, "rows": 20_000, "logits": 1_500}
SIZES = {
    "vocab_size": VOCABULARY,
    "hidden_size": 256,
    "intermediate_size": 1024,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}


def draw_sentences(count):
    draw = np.random.default_rng(0)
    lengths = np.sort(draw.integers(8, 12, count))
    tokens, none = draw.integers(0, VOCABULARY, lengths.sum()), np.zeros(0, dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    everything, spans = np.ones(len(tokens), dtype=bool), np.zeros((count, 2), dtype=np.int64)
    return Sentences([""] * count, tokens, starts, none, none, everything, spans)


def count_batches(way, dtype):
    config = GraniteConfig(**SIZES, logits_scaling=8.0) if way == "logits" else LlamaConfig(**SIZES)
    sentences = draw_sentences(COUNTS[way])
    if way == "rows":
        log_probabilities.supports_prefix_sharing = lambda *_: False
    with fake_device() as fake:
        model = AutoModelForCausalLM.from_config(config, dtype=dtype).eval()
        with fake:
            fake.place(model)
            batches = []

            def advance(sentences):
                batches.append(copy.deepcopy(fake.count))
                fake.restart()

            log_probabilities.token_log_probabilities(model, sentences, 1, ACCELERATOR.batch_tokens, advance)
        report(batches=batches)  # the first one with what precedes all batches


def main(dtype, *ways):
    for way in ways:
        in_own_process(count_batches, way, getattr(torch, dtype))


if __name__ == "__main__":
    main(*sys.argv[1:])
