import itertools
import re

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from tests.eval.scoring.three_threads import share_in_three
from ucurve.errors import UserError
from ucurve.eval.scoring.causal import bow_correction as bow_module
from ucurve.eval.scoring.causal.bow_correction import (
    WordMarks,
    bow_correction,
    bow_corrections,
    bow_tokens,
    check_words,
    word_corrections,
    word_marks,
)
from ucurve.eval.scoring.causal.log_probabilities import token_log_probabilities
from ucurve.eval.scoring.text.layout import make_layout
from ucurve.eval.scoring.text.sentences import NotFiniteError, encode

TEXTS = [
    "the dog sees the doghouse, and the dogs bark.",
    "a dog (or cat) barks: the cat sees it!",
    "så över öl。",
] * 4
END, A, B, C, D, STOP = range(6)  # a small vocabulary: a and b begin words, c and d go on with them, a full stop
MARKS = WordMarks(np.isin(np.arange(6), [A, B]), np.arange(6) == STOP, (END,))


def wrap(tokenizer):
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<eos>")


@pytest.fixture(scope="module")
def byte_level():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    letters = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(
        TEXTS, trainers.BpeTrainer(vocab_size=330, initial_alphabet=letters, special_tokens=["<eos>"])
    )
    return wrap(tokenizer)


@pytest.fixture(scope="module")
def metaspace():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    tokenizer.train_from_iterator(TEXTS, trainers.BpeTrainer(vocab_size=80, special_tokens=["<eos>"]))
    return wrap(tokenizer)


@pytest.fixture(params=["byte_level", "metaspace"])
def marked(request):
    return request.getfixturevalue(request.param)


def regions(tokenizer, *triples):
    """Encode pairs of which both members are the same text, with a region given by its characters."""
    rows = [(text, text, region, region) for text, region in triples]
    pairs = pd.DataFrame(rows, columns=["good", "bad", "region_good", "region_bad"])
    return encode(pairs.assign(benchmark="b", paradigm="p", pair=range(len(rows))), tokenizer, "region")


def region(text, part):
    return text, f"{text.index(part)}:{text.index(part) + len(part)}"


# which tokens begin words


def test_marks_follow_the_text(marked):
    """A token bears the mark exactly where its part of the text begins with a space; some do where the text begins."""
    begins = bow_tokens(marked)
    for text in TEXTS:
        encoded = marked(text, return_offsets_mapping=True, add_special_tokens=False)
        seen = 0
        for token, (first, end) in zip(encoded["input_ids"], encoded["offset_mapping"], strict=True):
            opens = text[first] == " " or (first == 0 and begins[token])
            assert begins[token] == opens, (text, first, end)
            seen += opens
        assert seen >= 2


def test_byte_level_marks(byte_level):
    ids, marks = byte_level.get_vocab(), word_marks(byte_level)
    assert [bool(marks.begins[ids[piece]]) for piece in ("Ġ", "Ġdog", "d", ".", "Ċ")] == [1, 1, 0, 0, 0]
    assert [bool(marks.punctuation[ids[piece]]) for piece in ("Ġ", "Ġdog", "d", ".", "Ċ")] == [0, 0, 0, 1, 1]
    assert not marks.punctuation[ids["ã"]]  # a part of a character is not known to be punctuation
    assert marks.ends == (ids["<eos>"],)
    assert marks.borders[ids["<eos>"]]
    assert not marks.begins[ids["<eos>"]]


def test_metaspace_marks(metaspace):
    ids, marks = metaspace.get_vocab(), word_marks(metaspace)
    assert [bool(marks.begins[ids[piece]]) for piece in ("▁the", "t", "。", "å")] == [1, 0, 0, 0]
    assert [bool(marks.punctuation[ids[piece]]) for piece in ("▁the", "t", "。", "å")] == [0, 0, 1, 0]


def test_letters_that_look_like_marks_are_letters(make_tokenizer):
    """Ġ is a letter of Maltese; a tokenizer by characters has it as itself."""
    with pytest.raises(UserError, match="none of its tokens marks the beginning of a word"):
        bow_tokens(make_tokenizer(letters="Ġabc▁"))
    whole = Tokenizer(models.WordLevel({"<eos>": 0, "Ġurdan": 1, "dar": 2}, unk_token="<eos>"))
    with pytest.raises(UserError, match="none of its tokens marks"):
        bow_tokens(wrap(whole))


@pytest.mark.parametrize(
    ("pieces", "message"),
    [
        (["dog", "##s"], r"mark what goes on with a word \('##'\)"),
        (["dog</w>", "s"], r"mark the ends of words \('</w>'\)"),
        (["狗", "猫"], "none of its tokens marks"),
    ],
)
def test_other_tokenizers_are_refused(pieces, message):
    vocabulary = {piece: place for place, piece in enumerate(["<eos>", *pieces])}
    with pytest.raises(UserError, match=f"the correction for the ends of words does not fit: .*{message}"):
        word_marks(wrap(Tokenizer(models.WordLevel(vocabulary, unk_token="<eos>"))))


# the correction


def log_probabilities(table, ids):
    logs = torch.as_tensor(table).log_softmax(-1).numpy()
    return sum(logs[one, other] for one, other in itertools.pairwise(ids))


def words_up_to(length):
    tails = [tail for size in range(length) for tail in itertools.product((C, D), repeat=size)]
    return [(first, *tail) for first in (A, B) for tail in tails]


def corrected(model, table, context, word):
    """Return log p(word | context) with and without the correction; the context begins with the start token."""
    plain = log_probabilities(table, [context[-1], *word])
    ids = np.array([*context[1:], *word])
    span = np.array([[len(context) - 1, len(ids)]])
    return plain + bow_correction(model, [ids], span, MARKS, context[0], 100)[0], plain


def test_by_hand(bigram_model):
    table = np.full((6, 6), 1 / 6)
    table[A] = [0.1, 0.2, 0.1, 0.3, 0.1, 0.2]
    table[C] = [0.25, 0.05, 0.1, 0.2, 0.3, 0.1]
    ids, span = np.array([B, D, A, C]), np.array([[2, 4]])
    correction = bow_correction(bigram_model(np.log(table)), [ids], span, MARKS, END, 100)
    assert correction[0] == pytest.approx(np.log(0.25 + 0.05 + 0.1 + 0.1) - np.log(4 / 6), abs=1e-6)


def test_first_word_without_mark(bigram_model):
    table = np.full((6, 6), 1 / 6)
    table[END] = [0.1, 0.2, 0.1, 0.3, 0.1, 0.2]
    table[C] = [0.25, 0.05, 0.1, 0.2, 0.3, 0.1]
    correction = bow_correction(bigram_model(np.log(table)), [np.array([C])], np.array([[0, 1]]), MARKS, END, 100)
    assert correction[0] == pytest.approx(np.log(0.5) - np.log(1 - 0.2 - 0.1), abs=1e-6)


@pytest.mark.parametrize("context", [(END,), (END, A), (END, B, D)])
def test_words_do_not_sum_to_more_than_one(bigram_model, context):
    probabilities = np.tile([0.02, 0.3, 0.2, 0.25, 0.2, 0.03], (6, 1))
    probabilities[END] = [0.02, 0.5, 0.4, 0.02, 0.02, 0.04]
    table = np.log(probabilities) + np.random.default_rng(3).normal(size=(6, 6)) * 0.1
    model = bigram_model(table)
    values = np.exp([corrected(model, table, context, word) for word in words_up_to(6)])
    rest = torch.as_tensor(table).softmax(-1).numpy()[context[-1], [END, STOP]].sum()
    with_correction, without = values.sum(axis=0)
    share = torch.as_tensor(table).softmax(-1).numpy()[context[-1], [END, STOP, A, B]].sum()
    assert without > 1 or len(context) > 1  # so it is where words go on more often than they did before
    assert 0.97 < with_correction + rest / share <= 1 + 1e-6  # the words, and the signs that are none


@given(st.integers(0, 10**6), st.sampled_from(words_up_to(3)), st.sampled_from(words_up_to(3)))
def test_a_region_of_two_words_is_the_product_of_both(bigram_model, seed, one, other):
    table = np.random.default_rng(seed).normal(size=(6, 6))
    model = bigram_model(table)
    both, _ = corrected(model, table, (END, A), one + other)
    first, _ = corrected(model, table, (END, A), one)
    second, _ = corrected(model, table, (END, A, *one), other)
    assert both == pytest.approx(first + second, abs=1e-5)


# regions of sentences


SENTENCES = [
    region("the dog sees it.", "dog"),
    region("the dog sees it.", "sees it"),
    region("the dog sees it.", "the"),
    region("a cat (or doghouse) barks", "doghouse"),
    region("a cat (or doghouse) barks", "barks"),
    region("the cat and the dogs", "cat and"),
]


@pytest.mark.parametrize("batch_tokens", [1, 20, 1000])
def test_of_sentences_equals_full_distributions(make_model, marked, batch_tokens):
    sentences = regions(marked, *SENTENCES)
    model = make_model(vocabulary=len(marked) + 7).train()  # with dropout, and more logits than tokens
    found = bow_corrections(model, marked, sentences, 0, batch_tokens)
    assert model.training
    marks, model = word_marks(marked), model.eval()
    for place, value in enumerate(found):
        ids = sentences.ids(place)
        scored = np.flatnonzero(sentences.scored[sentences.starts[place] : sentences.starts[place + 1]])
        with torch.inference_mode():
            shares = model(input_ids=torch.tensor([[0, *ids]])).logits[0].double().softmax(-1).numpy()
        bare = scored[0] == 0 and not marks.begins[ids[0]]
        members = np.append(~marks.begins if bare else marks.borders, np.zeros(7, dtype=bool))
        borders = np.append(marks.borders, np.zeros(7, dtype=bool))
        assert value == pytest.approx(
            np.log(shares[scored[-1] + 1, borders].sum()) - np.log(shares[scored[0], members].sum()), abs=1e-5
        )


def score_and_correct(model, tokenizer, sentences, batch_tokens=20):
    values = token_log_probabilities(model, sentences, 0, batch_tokens)
    return values, bow_corrections(model, tokenizer, sentences, 0, batch_tokens)


def test_several_processes_share_scores_and_corrections(make_model, marked):
    sentences = regions(marked, *SENTENCES)
    alone = score_and_correct(make_model(vocabulary=len(marked)), marked, sentences)
    models = [make_model(vocabulary=len(marked)) for _ in range(3)]
    for both in share_in_three(lambda rank: score_and_correct(models[rank], marked, sentences)):
        np.testing.assert_array_equal(both[0], alone[0])
        np.testing.assert_array_equal(both[1], alone[1])


def test_an_error_of_one_process_that_corrects_is_one_of_all(make_model, marked, monkeypatch):
    sentences = regions(marked, *SENTENCES)
    models = [make_model(vocabulary=len(marked)) for _ in range(3)]
    compute = bow_module.compute_logits

    def failing(model, ids):
        if model is models[1]:
            raise ValueError("odd")
        return compute(model, ids)

    monkeypatch.setattr(bow_module, "compute_logits", failing)
    errors = share_in_three(lambda rank: score_and_correct(models[rank], marked, sentences))
    assert all("odd" in str(error) for error in errors)


def test_regions_inside_words_are_refused(marked):
    sentences = regions(marked, region("the dog sees it.", "dog"), region("the dogbarks.", "dogb"))
    message = r"the region 'dogb' of 'the dogbarks\.' begins or ends inside a word, as 1 of 2"
    with pytest.raises(UserError, match=message):
        check_words(marked, sentences, 0)


def test_first_word_needs_a_start_token(marked):
    sentences = regions(marked, region("the dog sees it.", "the"))
    check_words(marked, sentences, 0)
    with pytest.raises(
        UserError, match=r"first word of 'the dog sees it\.' has no probability without a start token"
    ):
        check_words(marked, sentences, None)


def test_later_words_need_none(make_model, byte_level):
    sentences = regions(byte_level, region("the dog sees it.", "sees"))
    model = make_model(vocabulary=len(byte_level))
    with_first, without = (
        bow_corrections(model, byte_level, sentences, start, 100) for start in (int(sentences.ids(0)[0]), None)
    )
    assert np.isfinite(without).all()
    assert with_first != pytest.approx(without)


def test_needs_a_position_for_what_follows(make_model, byte_level):
    sentences = regions(byte_level, region("the dog sees it", "it"))
    length = int(sentences.lengths[0])
    model = make_model(vocabulary=len(byte_level), positions=length)
    token_log_probabilities(model, sentences, 0, 100)  # fits without the correction
    with pytest.raises(UserError, match=f"reads {length + 1} tokens, but the model's context holds {length}"):
        bow_corrections(model, byte_level, sentences, 0, 100)
    model = make_model(vocabulary=len(byte_level), positions=length + 1)
    assert np.isfinite(bow_corrections(model, byte_level, sentences, 0, 100)).all()


def test_what_is_not_finite_is_an_error(make_model, byte_level):
    sentences = regions(byte_level, region("the dog sees it", "dog"))
    model = make_model(vocabulary=len(byte_level))
    model.get_output_embeddings().weight.data[3] = torch.nan
    with pytest.raises(NotFiniteError) as caught:
        bow_corrections(model, byte_level, sentences, 0, 100)
    assert caught.value.sentence == 0


def test_each_word_of_a_sentence_is_corrected_as_a_region_of_its_own(marked, make_model):
    model = make_model(vocabulary=len(marked))
    sentences = regions(
        marked, *((text, f"0:{len(text)}") for text in ("the dog sees it", "a cat barks", "dogs bark"))
    )
    words = make_layout(sentences, marked).words
    found = word_corrections(model, marked, sentences, words, 0)
    for text, first in zip(sentences.texts, words.starts, strict=False):
        spans = [hit.span() for hit in re.finditer(r"\S+", text)]
        for number, (begin, end) in enumerate(spans):
            alone = regions(marked, (text, f"{begin}:{end}"))
            assert found[first + number] == pytest.approx(bow_corrections(model, marked, alone, 0)[0], abs=1e-5)
