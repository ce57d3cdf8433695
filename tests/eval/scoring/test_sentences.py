import numpy as np
import pytest

from eval.pairs import pair_table
from eval.scoring.sentences import check_length, describe, encode
from ucurve.errors import UserError


def table(*sentences):
    records = [
        {"UID": f"u{place}", "phenomenon": "p", "sentence_good": good, "sentence_bad": bad}
        for place, (good, bad) in enumerate(sentences)
    ]
    return pair_table(((str(place), record) for place, record in enumerate(records)), "b", "zho")


def test_every_sentence_once_and_pairs_point_to_it(tokenizer):
    sentences = encode(table(("一丁", "丁"), ("丁", "一")), tokenizer)
    assert sentences.texts == ["一丁", "丁", "一"]
    assert sentences.good.tolist() == [0, 1]
    assert sentences.bad.tolist() == [1, 2]
    assert sentences.lengths.tolist() == [2, 1, 1]
    assert tokenizer.convert_ids_to_tokens(sentences.ids(0).tolist()) == ["一", "丁"]
    assert sentences.sums(np.arange(4)).tolist() == [1, 2, 3]


def test_ids_are_those_of_the_text_alone(pairs, tokenizer):
    sentences = encode(pairs, tokenizer)
    for place, text in enumerate(sentences.texts):
        assert len(sentences.ids(place)) == len(text)
        assert tokenizer.eos_token_id not in sentences.ids(place)


def test_nothing_is_cut_even_by_a_tokenizer_that_would(tokenizer, make_tokenizer):
    cutting = make_tokenizer()
    cutting.backend_tokenizer.enable_truncation(2)
    cutting.backend_tokenizer.enable_padding(length=9)
    pairs = table(("一丁一丁", "丁"))
    assert encode(pairs, cutting).lengths.tolist() == encode(pairs, tokenizer).lengths.tolist() == [4, 1]


def test_no_token_is_added_by_a_tokenizer_that_would(make_tokenizer):
    from tokenizers.processors import TemplateProcessing

    adding = make_tokenizer()
    adding.backend_tokenizer.post_processor = TemplateProcessing(single="<eos> $A <eos>", special_tokens=[("<eos>", 0)])
    assert adding("一丁")["input_ids"] == [0, 2, 3, 0]
    assert encode(table(("一丁", "丁")), adding).ids(0).tolist() == [2, 3]


def test_spelled_special_token_is_a_token_of_the_sentence(tokenizer):
    assert encode(table(("一<eos>丁", "丁")), tokenizer).ids(0).tolist() == [2, 0, 3]


def test_a_sentence_of_no_token_is_refused(make_tokenizer):
    from tokenizers import normalizers

    deaf = make_tokenizer()
    deaf.backend_tokenizer.normalizer = normalizers.Replace("丁", "")
    with pytest.raises(UserError, match=r"benchmark b, paradigm u0, pair 0, sentence '丁': .* into no token"):
        encode(table(("一", "丁")), deaf)


def test_longest_sentence_is_named(tokenizer):
    pairs = table(("一", "丁"), ("一丁一丁一", "一丁一丁"))
    sentences = encode(pairs, tokenizer)
    check_length(pairs, sentences, 5)
    check_length(pairs, sentences, None)
    message = r"pair 1, sentence '一丁一丁一': 5 tokens, but the model's context holds 3 \(2 of 4 sentences"
    with pytest.raises(UserError, match=message):
        check_length(pairs, sentences, 3)


def test_describe(tokenizer):
    pairs = table(("一", "丁"), ("丁", "一一"))
    sentences = encode(pairs, tokenizer)
    assert describe(pairs, sentences, 2) == "benchmark b, paradigm u1, pair 1, sentence '一一'"
