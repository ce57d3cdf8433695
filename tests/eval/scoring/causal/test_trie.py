import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

from ucurve.eval.scoring.causal.log_probabilities import token_log_probabilities
from ucurve.eval.scoring.causal.trie import block_size, build_prefix_forest
from ucurve.eval.scoring.text.sentences import Sentences, encode


def sentence_scores(model, sentences, start, batch_tokens, advance=None):
    return sentences.sums(token_log_probabilities(model, sentences, start, batch_tokens, advance))


START = 9
sentences_of_ids = st.lists(st.lists(st.integers(0, 3), min_size=2, max_size=7), min_size=1, max_size=40)
starts = st.sampled_from([START, None])


def made_of(lists):
    starts = np.cumsum([0, *map(len, lists)])
    tokens = np.concatenate([np.array(ids) for ids in lists])
    spans = np.zeros((len(lists), 2), dtype=np.int64)
    texts = ["" for _ in lists]
    return Sentences(texts, tokens, starts, np.array([0]), np.array([0]), np.ones(len(tokens), dtype=bool), spans)


def path(forest, context):
    ids = [int(forest.tokens[context])]
    while forest.parents[context] != context:
        context = forest.parents[context]
        ids.append(int(forest.tokens[context]))
    return ids[::-1]


def read(lists, start):
    """What is read of each sentence, its start token first."""
    return [ids if start is None else [start, *ids] for ids in lists]


@given(sentences_of_ids, starts, st.integers(1, 30))
def test_every_sentence_is_a_path_of_its_block(lists, start, block):
    forest = build_prefix_forest(made_of(lists), start, block)
    for place, ids in enumerate(read(lists, start)):
        assert [*path(forest, forest.last[place]), int(forest.final[place])] == ids
    owner = np.searchsorted(forest.blocks, np.arange(len(forest.tokens)), side="right")
    np.testing.assert_array_equal(owner, owner[forest.parents])
    np.testing.assert_array_equal(
        forest.depths, [len(path(forest, node)) - 1 for node in range(len(forest.tokens))]
    )


@given(sentences_of_ids, starts, st.integers(1, 30))
def test_blocks_are_bounded_and_hold_no_context_twice(lists, start, block):
    forest = build_prefix_forest(made_of(lists), start, block)
    longest = max(map(len, read(lists, start)))
    assert np.diff(forest.blocks).max() <= max(block, longest - 1)
    for first, end in zip(forest.blocks[:-1], forest.blocks[1:], strict=True):
        contexts = [tuple(path(forest, node)) for node in range(first, end)]
        assert len(set(contexts)) == len(contexts)


@given(sentences_of_ids, starts)
def test_one_block_holds_each_context_once(lists, start):
    forest = build_prefix_forest(made_of(lists), start, 10**6)
    assert len(forest.tokens) == len(
        {tuple(ids[:end]) for ids in read(lists, start) for end in range(1, len(ids))}
    )


@given(sentences_of_ids, starts, st.integers(1, 30))
def test_every_token_finds_its_own_step(lists, start, block):
    sentences = made_of(lists)
    forest = build_prefix_forest(sentences, start, block)
    steps = [(*path(forest, node),) for node in range(len(forest.tokens))]
    steps += [(*path(forest, last), int(final)) for last, final in zip(forest.last, forest.final, strict=True)]
    wanted = [
        tuple(ids[: end + 1]) for ids in read(lists, start) for end in range(int(start is not None), len(ids))
    ]
    found = [steps[step] if step >= 0 else None for step in forest.steps]
    assert found == [None if len(ids) == 1 else ids for ids in wanted]


def test_the_forest_is_built_once_for_all_checkpoints(pairs, tokenizer, model):
    sentences = encode(pairs, tokenizer)
    scores = token_log_probabilities(model, sentences, START, 96)
    forest = sentences.once(("forest", START, 96), lambda: pytest.fail("was not kept"))
    assert len(forest.final) == len(sentences.texts)
    np.testing.assert_array_equal(token_log_probabilities(model, sentences, START, 96), scores)
    assert sentences.once(("forest", START, 96), lambda: None) is forest
    assert encode(pairs, tokenizer).once(("forest", START, 96), lambda: None) is None


@pytest.mark.parametrize(("batch_tokens", "count"), [(1, 4), (20, 10), (64, 40), (256, 40)])
def test_batch_tokens_bound_every_forward_pass(batch_tokens, count, model, pairs, tokenizer):
    sentences = encode(pairs.iloc[:count], tokenizer)
    others = gpt2(len(tokenizer)).eval()
    assert block_size(others, sentences, 4096) == 96
    assert block_size(model, sentences, 4096) == 4096
    for one, inner in ((model, model.gpt_neox.final_layer_norm), (others, others.transformer.ln_f)):
        sizes = []
        watch = inner.register_forward_hook(lambda _, __, out, sizes=sizes: sizes.append(out[..., 0].numel()))
        sentence_scores(one, sentences, 0, batch_tokens)
        watch.remove()
        assert max(sizes) <= max(batch_tokens, sentences.lengths.max())


def gpt2(vocabulary):
    shape = {"n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 64, "initializer_range": 0.4}
    return GPT2LMHeadModel(GPT2Config(vocab_size=vocabulary, **shape))


def llama(vocabulary):
    shape = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    return LlamaForCausalLM(LlamaConfig(vocab_size=vocabulary, **shape, initializer_range=0.4))


@pytest.mark.parametrize("build", [gpt2, llama])
def test_other_architectures_share_exactly(build, pairs, tokenizer, plain_score):
    torch.manual_seed(0)
    model = build(len(tokenizer)).eval()
    sentences = encode(pairs.iloc[:60], tokenizer)
    scores = sentence_scores(model, sentences, 0, 1024)
    wanted = [plain_score(model, sentences.ids(place), 0) for place in range(len(sentences.texts))]
    assert scores == pytest.approx(wanted, abs=1e-4)
