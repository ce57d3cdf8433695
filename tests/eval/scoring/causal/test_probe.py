from dataclasses import replace

import numpy as np
import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from ucurve.eval.metrics.accuracy import decide
from ucurve.eval.scoring.batching import ACCELERATOR
from ucurve.eval.scoring.causal import probe, trie
from ucurve.eval.scoring.causal.log_probabilities import token_log_probabilities
from ucurve.eval.scoring.output import output_layer, score_rows, without_mask
from ucurve.eval.scoring.sharing import sharing
from ucurve.eval.scoring.text.sentences import encode

SHAPE = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
GROUPED = {**SHAPE, "num_key_value_heads": 1}
SHARING = {
    "gpt_neox": SHAPE,
    "gpt2": {"n_embd": 32, "n_layer": 2, "n_head": 2},
    "llama": GROUPED,
    "qwen2": GROUPED,
    "qwen3": {**GROUPED, "head_dim": 16},
    "olmo": GROUPED,
    "olmo2": GROUPED,
    "gemma": {**GROUPED, "head_dim": 16},
    "mistral": {**GROUPED, "sliding_window": None},
    "phi": SHAPE,
    "stablelm": GROUPED,
    "starcoder2": GROUPED,
    "xglm": {"d_model": 32, "ffn_dim": 64, "num_layers": 2, "attention_heads": 2},
}
ALONE = {
    "bloom": ({"hidden_size": 32, "n_layer": 2, "n_head": 2}, "takes no positions"),
    "mamba": ({"hidden_size": 32, "num_hidden_layers": 2}, "takes no positions"),
    "granite": ({**GROUPED, "logits_scaling": 8.0}, "not those of a linear layer"),
    "mistral": ({**GROUPED, "sliding_window": 4}, "change its log probabilities"),
}


@pytest.fixture
def build(tokenizer):
    def make(kind, **shape):
        torch.manual_seed(0)
        own = {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": None, "vocab_size": len(tokenizer)}
        config = AutoConfig.for_model(kind, **own, **shape)
        model = AutoModelForCausalLM.from_config(config).eval()
        for weights in model.parameters():
            if weights.dim() > 1:
                torch.nn.init.normal_(weights, std=0.2)
        return model

    return make


@pytest.fixture
def shared(monkeypatch):
    """Count the sentences that are scored as paths of trees, those of the trial left out."""
    counts = []
    build = trie.build_prefix_forest

    def watch(sentences, start, block):
        counts.append(len(sentences.texts))
        return build(sentences, start, block)

    monkeypatch.setattr("ucurve.eval.scoring.causal.log_probabilities.build_prefix_forest", watch)
    probe._named.clear()
    return counts


def compare(model, sentences, plain_score):
    scores = sentences.sums(token_log_probabilities(model, sentences, 0, 1024))
    wanted = [plain_score(model, sentences.ids(place), 0) for place in range(len(sentences.texts))]
    np.testing.assert_allclose(scores, wanted, atol=1e-4)
    assert np.ptp(wanted) > 1


@pytest.mark.parametrize("kind", SHARING)
def test_architectures_that_share(kind, build, shared, pairs, tokenizer, plain_score, capsys):
    sentences = encode(pairs.iloc[:40], tokenizer)
    compare(build(kind, **SHARING[kind]), sentences, plain_score)
    assert shared == [len(sentences.texts)]
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("kind", ALONE)
def test_architectures_that_do_not_share_say_why(kind, build, shared, pairs, tokenizer, plain_score, capsys):
    shape, reason = ALONE[kind]
    sentences, model = encode(pairs.iloc[:20], tokenizer), build(kind, **shape)
    compare(model, sentences, plain_score)
    compare(model, sentences, plain_score)
    assert shared == []
    (line,) = [line for line in capsys.readouterr().err.splitlines() if "shared" in line]
    assert line.startswith(f"{type(model).__name__}: no computation is shared between sentences, because ")
    assert reason in line


@pytest.mark.parametrize("kind", ["gpt2", "llama", "qwen3", "olmo2", "gemma"])
def test_large_logits_whose_rounding_depends_on_the_batch_share(kind, build, shared, pairs, tokenizer):
    sentences, model = encode(pairs.iloc[:40], tokenizer), build(kind, **SHARING[kind])
    with torch.no_grad():
        model.get_output_embeddings().weight.mul_(3000 / model.config.hidden_size**0.5)
    token_log_probabilities(model, sentences, 0, 1024)
    assert shared == [len(sentences.texts)]


def test_a_window_longer_than_every_sentence_does_not_matter(build, shared, pairs, tokenizer, plain_score):
    sentences = encode(pairs.iloc[:20], tokenizer)
    window = int(sentences.lengths.max()) + 1
    compare(build("mistral", **GROUPED, sliding_window=window), sentences, plain_score)
    assert shared == [len(sentences.texts)]


def test_other_attention_is_tried_too(make_model, shared, pairs, tokenizer, plain_score):
    model, sentences = make_model(), encode(pairs.iloc[:20], tokenizer)
    model.set_attn_implementation("eager")
    compare(model, sentences, plain_score)
    assert shared == [len(sentences.texts)]


@pytest.mark.parametrize("kind", ["gpt2", "mistral"])
def test_sizes_of_an_accelerator_give_the_same_decisions(kind, build, pairs, tokenizer, monkeypatch):
    sentences, model = encode(pairs, tokenizer), build(kind, **SHARING[kind])
    usual = sentences.sums(token_log_probabilities(model, sentences, 0, 1024))
    small = replace(ACCELERATOR, tokens=7)  # more than one chunk of a small vocabulary
    monkeypatch.setattr("ucurve.eval.scoring.batching.PROCESSOR", small)
    other = sentences.sums(token_log_probabilities(model, sentences, 0, small.batch_tokens))
    np.testing.assert_allclose(other, usual, atol=1e-4)
    one, two = (decide(scores[sentences.good], scores[sentences.bad])[0] for scores in (usual, other))
    np.testing.assert_array_equal(one, two)


def test_a_window_is_seen_in_half_precision_too(build):
    shape = {
        **GROUPED,
        "head_dim": 16,
        "sliding_window": 8,
        "layer_types": ["sliding_attention", "full_attention"],
    }
    model = build("gemma2", **shape, final_logit_softcapping=None).bfloat16()
    with torch.inference_mode():
        layer = output_layer(model, torch.tensor([[0, 1, 2]]))
        assert not probe.supports_prefix_sharing(model, layer, longest=24, block=96, batch_tokens=1024)
    late = build("mistral", **GROUPED, sliding_window=20)
    for weights in late.parameters():
        if weights.dim() > 1:
            torch.nn.init.normal_(weights, std=0.02)  # little depends on what is read
    with torch.inference_mode():
        layer = output_layer(late.bfloat16(), torch.tensor([[0, 1, 2]]))
        assert not probe.supports_prefix_sharing(late, layer, longest=24, block=96, batch_tokens=1024)
    plain = build("qwen2", **GROUPED).bfloat16()
    with torch.inference_mode():
        layer = output_layer(plain, torch.tensor([[0, 1, 2]]))
        assert probe.supports_prefix_sharing(plain, layer, longest=24, block=96, batch_tokens=1024)


@pytest.mark.parametrize(("kind", "window", "bare"), [("llama", None, True), ("mistral", 4, False)])
def test_rows_are_read_without_a_mask_only_where_that_changes_nothing(kind, window, bare, build, monkeypatch):
    model = build(kind, **GROUPED, sliding_window=window)
    ids = np.arange(24).reshape(2, 12) % 40
    with torch.inference_mode():
        layer = output_layer(model, torch.tensor([[0, 1, 2]]))
        assert not probe.needs_no_mask(model, layer, longest=12, batch_tokens=64)  # on a processor
        monkeypatch.setattr(probe, "attends_without_mask", lambda model: True)
        assert probe.needs_no_mask(model, layer, longest=12, batch_tokens=64) is bare
        assert model.config._attn_implementation == "sdpa"
        usual = score_rows(model, layer, ids[:, :-1].copy(), ids[:, 1:])
        with without_mask(model):
            other = score_rows(model, layer, ids[:, :-1].copy(), ids[:, 1:])
    assert np.allclose(usual, other, atol=1e-5) is bare


@pytest.mark.parametrize(("window", "noted"), [(None, {}), (4, {"prefix_sharing": False})])
def test_scores_say_where_nothing_was_shared(window, noted, build, pairs, tokenizer):
    notes = {}
    sentences = encode(pairs.iloc[:20], tokenizer)
    token_log_probabilities(build("mistral", **GROUPED, sliding_window=window), sentences, 0, 1024, notes=notes)
    assert notes == noted


class SecondOfTwo:
    """A group whose other process found what is given."""

    rank, size = 1, 2

    def __init__(self, found):
        self.found = found

    def gather(self, value, error=None):
        assert error is None
        return [self.found, value]

    def check(self):
        pass


@pytest.mark.parametrize(
    ("window", "other", "supported"), [(None, True, True), (4, True, False), (None, False, False)]
)
def test_each_of_several_processes_tries_the_whole_model_and_all_agree(build, window, other, supported):
    model = build("mistral", **GROUPED, sliding_window=window)
    with torch.inference_mode(), sharing(SecondOfTwo(other)):
        layer = output_layer(model, torch.tensor([[0, 1, 2]]))
        found = probe.supports_prefix_sharing(model, layer, longest=12, block=16, batch_tokens=64)
        assert found is supported
