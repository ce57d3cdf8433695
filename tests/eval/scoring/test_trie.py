import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

from eval.scoring.sentence import score_sentences
from eval.scoring.sentences import Sentences, encode
from eval.scoring.trie import block_size, can_share, plant

START = 9
sentences_of_ids = st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=7), min_size=1, max_size=40)


def made_of(lists):
    starts = np.cumsum([0, *map(len, lists)])
    return Sentences([], np.concatenate([np.array(ids) for ids in lists]), starts, np.array([0]), np.array([0]))


def path(forest, context):
    ids = []
    while forest.parents[context] != context:
        ids.append(int(forest.tokens[context]))
        context = forest.parents[context]
    assert forest.tokens[context] == START
    return ids[::-1]


@given(sentences_of_ids, st.integers(1, 30))
def test_every_sentence_is_a_path_of_its_block(lists, block):
    forest = plant(made_of(lists), START, block)
    for place, ids in enumerate(lists):
        assert [*path(forest, forest.last[place]), int(forest.final[place])] == ids
    owner = np.searchsorted(forest.blocks, np.arange(len(forest.tokens)), side="right")
    np.testing.assert_array_equal(owner, owner[forest.parents])
    np.testing.assert_array_equal(forest.depths, [len(path(forest, node)) for node in range(len(forest.tokens))])


@given(sentences_of_ids, st.integers(1, 30))
def test_blocks_are_bounded_and_hold_no_context_twice(lists, block):
    forest = plant(made_of(lists), START, block)
    longest = max(map(len, lists))
    assert np.diff(forest.blocks).max() <= max(block, longest)
    for first, end in zip(forest.blocks[:-1], forest.blocks[1:], strict=True):
        contexts = [tuple(path(forest, node)) for node in range(first, end)]
        assert len(set(contexts)) == len(contexts)


@given(sentences_of_ids)
def test_one_block_holds_each_context_once(lists):
    forest = plant(made_of(lists), START, 10**6)
    assert len(forest.tokens) == len({tuple(ids[:end]) for ids in lists for end in range(len(ids))})


def test_planted_once(pairs, tokenizer):
    sentences = encode(pairs, tokenizer)
    assert plant(sentences, START, 96) is plant(sentences, START, 96)
    assert plant(sentences, START, 96) is not plant(encode(pairs, tokenizer), START, 96)


@pytest.mark.parametrize("batch_tokens", [1, 20, 64, 4096])
def test_batch_tokens_bound_every_forward_pass(batch_tokens, model, pairs, tokenizer):
    sentences = encode(pairs, tokenizer)
    assert block_size(sentences, 4096) == 96
    sizes = []
    watch = model.gpt_neox.register_forward_hook(lambda _, __, out: sizes.append(out[0][..., 0].numel()))
    score_sentences(model, sentences, 0, batch_tokens)
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
    assert can_share(model)
    sentences = encode(pairs.iloc[:60], tokenizer)
    scores = score_sentences(model, sentences, 0, 1024)
    wanted = [plain_score(model, sentences.ids(place), 0) for place in range(len(sentences.texts))]
    assert scores == pytest.approx(wanted, abs=1e-4)


def test_other_attention_does_not_share(make_model):
    model = make_model()
    assert can_share(model)
    model.set_attn_implementation("eager")
    assert not can_share(model)
