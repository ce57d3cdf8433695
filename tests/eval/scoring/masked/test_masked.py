from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from ucurve.errors import UserError
from ucurve.eval.metrics.accuracy import decide
from ucurve.eval.scoring.batching import PROCESSOR
from ucurve.eval.scoring.masked.frame import masked_context_length, number_words, read_frame
from ucurve.eval.scoring.masked.log_probabilities import (
    Queries,
    choose_reader,
    through_head,
    through_layer,
    through_logits,
    token_log_probabilities,
)
from ucurve.eval.scoring.sharing import sharing
from ucurve.eval.scoring.text.sentences import NotFiniteError, encode

TOKENIZERS = {"wordpiece": "bert", "unigram": "xlm-roberta", "bytes": "roberta"}
BATCHES = [1, 7 * 12, 64 * 12, 10**6]


@pytest.fixture(params=TOKENIZERS)
def setting(request, masked_tokenizers, make_masked):
    """A tokenizer and a model that goes with it."""
    tokenizer = masked_tokenizers[request.param]
    return tokenizer, make_masked(tokenizer, TOKENIZERS[request.param])


@pytest.fixture(scope="session")
def some_pairs(conditional_pairs):
    return conditional_pairs.iloc[:4].reset_index(drop=True)


def find_pair(good, bad, **columns):
    return pd.DataFrame([{"benchmark": "toy", "paradigm": "toy", "pair": 0, "good": good, "bad": bad, **columns}])


@torch.inference_mode()
def plain(model, tokenizer, text, words=None):
    """Mask one token after the other in what the tokenizer gives, the plain way; within words if their numbers are given."""
    framed = tokenizer(text)["input_ids"]
    alone = tokenizer(text, add_special_tokens=False)["input_ids"]
    scores = []
    for place, token in enumerate(alone):
        ids = torch.tensor([framed])
        ids[0, 1 + place] = tokenizer.mask_token_id
        for later in range(place + 1, len(alone)):
            if words is not None and words[later] == words[place]:
                ids[0, 1 + later] = tokenizer.mask_token_id
        scores.append(float(model(input_ids=ids).logits[0, 1 + place].double().log_softmax(-1)[token]))
    return scores


def words_by_hand(tokenizer, text):
    """Number words by the marks that pieces carry: inside a word for WordPiece, at its beginning for the others."""
    pieces = tokenizer.convert_ids_to_tokens(tokenizer(text, add_special_tokens=False)["input_ids"])
    if "[CLS]" in tokenizer.get_vocab():
        return np.cumsum([not piece.startswith("##") for piece in pieces])
    point_alone = "Ġ" in tokenizer.get_vocab()
    return np.cumsum([piece[0] in "▁Ġ" or (point_alone and piece == ".") for piece in pieces])


def wins(sentences, scores):
    totals = sentences.sums(scores)
    return decide(totals[sentences.good], totals[sentences.bad])


@pytest.mark.parametrize("within_words", [False, True])
def test_equals_one_mask_at_a_time_whatever_the_batch(setting, some_pairs, within_words):
    tokenizer, model = setting
    sentences = encode(some_pairs, tokenizer)
    words = number_words(tokenizer, sentences) if within_words else None
    expected = np.concatenate(
        [
            plain(model, tokenizer, text, words_by_hand(tokenizer, text) if within_words else None)
            for text in sentences.texts
        ]
    )
    for batch_tokens in BATCHES:
        scores = token_log_probabilities(model, sentences, read_frame(tokenizer), words, batch_tokens)
        np.testing.assert_allclose(scores, expected, atol=1e-4)
        np.testing.assert_array_equal(wins(sentences, scores), wins(sentences, expected))
    assert np.ptp(expected) > 3  # the oracle tells tokens apart


def test_the_two_ways_differ_on_words_of_several_pieces_only(masked_tokenizers, make_masked):
    tokenizer = masked_tokenizers["wordpiece"]
    model, frame = make_masked(tokenizer), read_frame(masked_tokenizers["wordpiece"])
    single, several = (
        encode(find_pair("ba de gi .", "ba ba"), tokenizer),
        encode(find_pair("bade gi", "gi badegi"), tokenizer),
    )
    for sentences, differing in (
        (single, [False] * 6),
        (several, [True, False, False, False, True, True, False]),
    ):
        original = token_log_probabilities(model, sentences, frame, None, 10**4)
        within = token_log_probabilities(model, sentences, frame, number_words(tokenizer, sentences), 10**4)
        np.testing.assert_array_equal(np.abs(original - within) > 1e-4, differing)


def test_each_chinese_character_is_a_word_of_bert(masked_tokenizers, make_masked):
    tokenizer = masked_tokenizers["wordpiece"]
    sentences = encode(find_pair("我们爱吃饭", "我们饭吃爱"), tokenizer)
    words = number_words(tokenizer, sentences)
    assert words.tolist() == [0, 1, 2, 3, 4] * 2
    model, frame = make_masked(tokenizer), read_frame(tokenizer)
    np.testing.assert_allclose(
        token_log_probabilities(model, sentences, frame, None, 100),
        token_log_probabilities(model, sentences, frame, words, 100),
        atol=1e-5,
    )


@pytest.mark.parametrize("within_words", [False, True])
def test_only_the_target_counts_and_the_condition_stays_in_view(setting, some_pairs, within_words):
    tokenizer, model = setting
    whole, target = encode(some_pairs, tokenizer), encode(some_pairs, tokenizer, "target")
    scores = {}
    for name, sentences in (("whole", whole), ("target", target)):
        words = number_words(tokenizer, sentences) if within_words else None
        scores[name] = token_log_probabilities(model, sentences, read_frame(tokenizer), words, 1000)
    assert whole.texts == target.texts and not target.scored.all()
    assert np.isnan(scores["target"][~target.scored]).all()
    np.testing.assert_allclose(scores["target"][target.scored], scores["whole"][target.scored], atol=1e-4)


def test_words_of_each_tokenizer(masked_tokenizers):
    def words(name, text):
        tokenizer = masked_tokenizers[name]
        return number_words(tokenizer, encode(find_pair(text, "ba ba"), tokenizer))[
            : -2 if name != "bytes" else -5
        ].tolist()

    assert words("wordpiece", "bade gi.") == [0, 0, 1, 2]  # punctuation is a word of its own
    assert words("unigram", "bade gi.") == [0, 0, 1, 1]  # a word goes from space to space
    assert words("bytes", "bade gi.") == [0, 0, 0, 0, 1, 1, 1, 2]


def test_special_tokens_in_the_text_are_tokens(setting):
    tokenizer, model = setting
    text = f"bade {tokenizer.sep_token} gi {tokenizer.mask_token} bade {tokenizer.cls_token}"
    sentences = encode(find_pair(text, "ba ba"), tokenizer)
    length = sentences.lengths[0]
    words = number_words(tokenizer, sentences)
    for numbers in (None, words):
        scores = token_log_probabilities(model, sentences, read_frame(tokenizer), numbers, 10**4)
        expected = plain(model, tokenizer, text, None if numbers is None else words[:length])
        np.testing.assert_allclose(scores[:length], expected, atol=1e-4)


def test_the_padding_token_in_the_text_is_in_view(masked_tokenizers, make_masked):
    tokenizer = masked_tokenizers["wordpiece"]
    model = make_masked(tokenizer)
    sentences = encode(find_pair(f"bade gi {tokenizer.pad_token}", "ba ba"), tokenizer)
    scores = token_log_probabilities(model, sentences, read_frame(tokenizer), None, 10**4)
    np.testing.assert_allclose(
        scores[: sentences.lengths[0]], plain(model, tokenizer, sentences.texts[0]), atol=1e-4
    )


def test_model_is_read_without_dropout_and_left_as_it_was(setting, some_pairs):
    tokenizer, model = setting
    sentences = encode(some_pairs, tokenizer)
    expected = token_log_probabilities(model, sentences, read_frame(tokenizer), None, 1000)
    model.train()
    scores = token_log_probabilities(model, sentences, read_frame(tokenizer), None, 1000)
    assert model.training
    np.testing.assert_array_equal(scores, expected)


def test_equal_queries_are_made_once(masked_tokenizers, make_masked):
    tokenizer = masked_tokenizers["wordpiece"]
    model = make_masked(tokenizer)
    read = []
    model.base_model.register_forward_hook(
        lambda _module, inputs, output: read.append(len(output.last_hidden_state))
    )
    sentences = encode(find_pair("ba de gi", "ba de ku"), tokenizer)
    scores = token_log_probabilities(model, sentences, read_frame(tokenizer), None, 10**4)
    assert read[-1] == 5  # ba de [MASK] stands for both
    np.testing.assert_allclose(
        scores, np.concatenate([plain(model, tokenizer, text) for text in sentences.texts]), atol=1e-4
    )


@pytest.mark.parametrize("batch_tokens", BATCHES)
def test_progress_adds_up_to_all_sentences(setting, conditional_pairs, batch_tokens):
    tokenizer, model = setting
    sentences = encode(conditional_pairs.iloc[:8], tokenizer, "target")
    steps = []
    token_log_probabilities(model, sentences, read_frame(tokenizer), None, batch_tokens, steps.append)
    assert sum(steps) == len(sentences.texts)
    assert min(steps) >= 0


def test_chunks_of_bounded_size_change_nothing(setting, some_pairs, monkeypatch):
    tokenizer, model = setting
    sentences = encode(some_pairs, tokenizer)
    expected = token_log_probabilities(model, sentences, read_frame(tokenizer), None, 1000)
    monkeypatch.setattr("ucurve.eval.scoring.masked.log_probabilities._HELD", 1)
    scores = token_log_probabilities(model, sentences, read_frame(tokenizer), None, 1000)
    np.testing.assert_allclose(scores, expected, atol=1e-4)


def test_not_finite_names_the_sentence(masked_tokenizers, make_masked):
    tokenizer = masked_tokenizers["wordpiece"]
    model = make_masked(tokenizer)
    broken = tokenizer.convert_tokens_to_ids("ku")
    model.get_input_embeddings().weight.data[broken] = torch.nan
    model.get_output_embeddings().weight = torch.nn.Parameter(torch.randn(len(tokenizer), 32))  # untied
    sentences = encode(find_pair("ba de gi", "ba ku gi"), tokenizer)
    with pytest.raises(NotFiniteError) as caught:
        token_log_probabilities(model, sentences, read_frame(tokenizer), None, 1000)
    assert caught.value.sentence == 1


ARCHITECTURES = {
    "albert": {"embedding_size": 16},
    "bert": {},
    "camembert": {},
    "deberta-v2": {},
    "distilbert": {"dim": 32, "hidden_dim": 48, "n_layers": 2, "n_heads": 2},
    "electra": {"embedding_size": 16},
    "fnet": {},  # takes no attention mask
    "mobilebert": {"embedding_size": 16, "intra_bottleneck_size": 16},  # its output layer is none of torch's
    "modernbert": {"cls_token_id": 2, "sep_token_id": 3},
    "mpnet": {},
    "rembert": {"input_embedding_size": 16, "output_embedding_size": 16},
    "roberta": {},
    "xlm": {"emb_dim": 32, "n_layers": 2, "n_heads": 2},
    "xlm-roberta": {},
    "xlm-roberta-xl": {},
}


@pytest.mark.parametrize("kind", ARCHITECTURES)
def test_every_architecture_gives_its_own_logits(kind, masked_tokenizers, make_masked):
    tokenizer = masked_tokenizers["wordpiece"]
    model = make_masked(tokenizer, kind, **ARCHITECTURES[kind])
    sentences = encode(find_pair("bade gi.", "ku degi."), tokenizer)
    scores = token_log_probabilities(model, sentences, read_frame(tokenizer), None, 100)
    expected = np.concatenate([plain(model, tokenizer, text) for text in sentences.texts])
    np.testing.assert_allclose(scores, expected, atol=1e-4)


@pytest.fixture
def probe():
    """Two rows, the first of them asked for two tokens."""
    rows = torch.tensor([[2, 4, 7, 8, 3], [2, 6, 7, 4, 3]])
    return Queries(rows, torch.tensor([1, 3]), torch.tensor([0, 0, 1]), torch.tensor([6, 9, 8]))


@torch.inference_mode()
@pytest.mark.parametrize("reader", [through_layer, through_head, through_logits])
@pytest.mark.parametrize("logits_at_once", [1, 2**25])
def test_every_reader_gives_the_same(reader, logits_at_once, probe, masked_tokenizers, make_masked, monkeypatch):
    model = make_masked(masked_tokenizers["wordpiece"])
    logits = model(input_ids=probe.rows).logits.double().log_softmax(-1)
    monkeypatch.setattr("ucurve.eval.scoring.batching.PROCESSOR", replace(PROCESSOR, logits=logits_at_once))
    np.testing.assert_allclose(reader(model, probe), logits[[0, 0, 1], [1, 1, 3], [6, 9, 8]].numpy(), atol=1e-5)
    assert not model.base_model._forward_hooks  # a model is left without hooks


@torch.inference_mode()
def test_cheapest_reader_that_is_right(probe, masked_tokenizers, make_masked):
    model = make_masked(masked_tokenizers["wordpiece"])
    assert choose_reader(model, probe) is through_layer
    model.get_output_embeddings().register_forward_hook(lambda _module, _inputs, logits: logits / 2)
    assert choose_reader(model, probe) is through_head
    # Depends on other positions.
    model.cls.register_forward_hook(lambda _module, _inputs, logits: logits - logits[:, :1])
    assert choose_reader(model, probe) is through_logits


@torch.inference_mode()
def test_half_precision_is_normalized_in_float32(probe, masked_tokenizers, make_masked):
    model = make_masked(masked_tokenizers["wordpiece"]).to(torch.bfloat16)
    logits = model(input_ids=probe.rows).logits.double().log_softmax(-1)
    reader = choose_reader(model, probe)
    assert reader is through_head
    np.testing.assert_allclose(reader(model, probe), logits[[0, 0, 1], [1, 1, 3], [6, 9, 8]].numpy(), atol=1e-5)


@pytest.mark.parametrize(
    ("name", "before", "after"), [("wordpiece", (2,), (3,)), ("unigram", (0,), (2,)), ("bytes", (0,), (2,))]
)
def test_frame(masked_tokenizers, name, before, after):
    tokenizer = masked_tokenizers[name]
    frame = read_frame(tokenizer)
    assert (frame.before, frame.after, frame.mask) == (before, after, tokenizer.mask_token_id)
    alone = np.array([tokenizer("bade gi.", add_special_tokens=False)["input_ids"]])
    assert frame.around(alone)[0].tolist() == tokenizer("bade gi.")["input_ids"]


def test_frame_of_a_tokenizer_that_adds_nothing(make_tokenizer):
    tokenizer = make_tokenizer(mask_token="<mask>")
    frame = read_frame(tokenizer)
    assert (frame.before, frame.after, frame.mask) == ((), (), tokenizer.mask_token_id)


def test_no_mask_token(tokenizer):
    tokenizer.name_or_path = "some/folder"
    with pytest.raises(
        UserError, match=r"some/folder: the tokenizer has no mask token, which masked scoring needs"
    ):
        read_frame(tokenizer)


def test_frame_that_changes_the_text():
    class Odd:
        name_or_path, mask_token, mask_token_id = "odd", "<mask>", 4

        def __call__(self, text, add_special_tokens=True):
            return {"input_ids": [0, 5, 2] if add_special_tokens else [4]}

    message = r"odd: the tokenizer gives '<mask>' the ids \[4\], but \[0, 5, 2\] with special"
    with pytest.raises(UserError, match=message):
        read_frame(Odd())


def test_no_words_from_a_tokenizer_that_does_not_tell(some_pairs, masked_tokenizers):
    class Slow:
        name_or_path, is_fast = "slow", False

    sentences = encode(some_pairs, masked_tokenizers["wordpiece"])
    message = r"slow: the tokenizer does not say which word .* the scorer 'pll' needs no words"
    with pytest.raises(UserError, match=message):
        number_words(Slow(), sentences)


def test_no_words_from_a_tokenizer_that_does_not_split_them(some_pairs):
    pieces = [("<unk>", 0.0), ("<mask>", 0.0), ("▁", -2.0), *((letter, -3.0) for letter in "abdegiklmnoprstu.")]
    model = models.Unigram(pieces, unk_id=0)
    whole = Tokenizer(model)
    whole.pre_tokenizer = pre_tokenizers.Metaspace(split=False)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=whole, name_or_path="whole")
    message = r"whole: the tokenizer does not split a text into words: it takes 'a b' for one"
    with pytest.raises(UserError, match=message):
        number_words(tokenizer, encode(some_pairs, tokenizer))


SHIFTED = ["camembert", "data2vec-text", "ibert", "luke", "mpnet", "roberta", "roberta-prelayernorm"]
SHIFTED += ["xlm-roberta", "xlm-roberta-xl", "xmod"]


@torch.inference_mode()
@pytest.mark.parametrize(
    ("kind", "padding"),
    [("bert", 0), ("electra", 1), ("roberta", 0), ("camembert", 3), *((kind, 1) for kind in SHIFTED)],
)
def test_context_length_is_the_longest_that_runs(kind, padding, masked_tokenizers, make_masked):
    options = {"xmod": {"default_language": "en_XX"}, "luke": {"entity_vocab_size": 2}}
    model = make_masked(masked_tokenizers["wordpiece"], kind, pad_token_id=padding, **options.get(kind, {}))
    longest = masked_context_length(model.config.to_dict())
    assert longest == (79 - padding if kind in SHIFTED else 80)
    assert model(input_ids=torch.full((1, longest), 6)).logits.shape[1] == longest
    with pytest.raises((IndexError, RuntimeError)):
        model(input_ids=torch.full((1, longest + 1), 6))


def test_context_length_without_a_limit_or_a_padding_token():
    assert masked_context_length({"model_type": "xlm-roberta"}) is None
    assert masked_context_length({"model_type": "xlm-roberta", "max_position_embeddings": 514}) == 512


class FirstOfTwo:
    """A group whose other process computed the scores that are given, of which it sends what this one lacks."""

    rank, size = 0, 2

    def __init__(self, scores):
        self.scores = scores

    def gather(self, value, error=None):
        assert error is None
        self.own = value[0]
        others = np.setdiff1d(np.flatnonzero(~np.isnan(self.scores)), self.own)
        return [value, (others, self.scores[others])]

    def check(self):
        pass


def test_several_processes_share_the_sentences(setting, some_pairs):
    tokenizer, model = setting
    sentences, frame = encode(some_pairs, tokenizer), read_frame(tokenizer)
    alone = token_log_probabilities(model, sentences, frame, None, 64)
    group = FirstOfTwo(alone)
    with sharing(group):
        together = token_log_probabilities(model, sentences, frame, None, 64)
    np.testing.assert_array_equal(together, alone)
    assert 0 < len(group.own) < np.isfinite(alone).sum()
