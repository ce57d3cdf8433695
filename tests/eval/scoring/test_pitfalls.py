"""The row about masked models of docs/tables/pitfalls.csv; the others are in tests/eval/test_pitfalls.py."""

import numpy as np
import pandas as pd
import pytest

from ucurve.eval.scoring.masked.frame import number_words, read_frame
from ucurve.eval.scoring.masked.log_probabilities import token_log_probabilities
from ucurve.eval.scoring.text.sentences import encode


def both_ways(tokenizer, model, texts):
    """Score sentences with one token masked at a time, and within words from left to right."""
    pairs = pd.DataFrame(
        {"good": texts, "bad": texts, "benchmark": "b", "paradigm": "p", "pair": range(len(texts))}
    )
    sentences = encode(pairs, tokenizer)
    words = (None, number_words(tokenizer, sentences))
    scores = [token_log_probabilities(model, sentences, read_frame(tokenizer), way, 500) for way in words]
    return sentences, *scores


@pytest.mark.parametrize("text", ["ba de gi.", "我们爱吃饭"])
def test_pitfall_21_where_every_word_is_one_piece_both_ways_agree(masked_tokenizers, make_masked, text):
    """As in every Chinese sentence that BERT reads."""
    tokenizer = masked_tokenizers["wordpiece"]
    sentences, original, within = both_ways(tokenizer, make_masked(tokenizer), [text])
    assert sentences.lengths.tolist() == [4 if "." in text else 5]
    np.testing.assert_allclose(original, within, atol=1e-5)


def test_pitfall_21_within_a_word_the_later_pieces_are_masked_too(masked_tokenizers, make_masked):
    """The last piece of a word is scored alike by both ways, the pieces before it are not."""
    tokenizer = masked_tokenizers["wordpiece"]
    sentences, original, within = both_ways(tokenizer, make_masked(tokenizer), ["badegi dogu."])
    assert tokenizer.convert_ids_to_tokens(sentences.tokens) == ["ba", "##de", "##gi", "do", "##gu", "."]
    same = np.isclose(original, within, atol=1e-5)
    assert same.tolist() == [False, False, True, False, True, True]
