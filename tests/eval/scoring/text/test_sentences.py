import numpy as np
import pandas as pd
import pytest
from tokenizers import Regex, Tokenizer, models
from tokenizers.pre_tokenizers import Split
from transformers import PreTrainedTokenizerFast

from ucurve.errors import UserError
from ucurve.eval.pairs import pair_table
from ucurve.eval.scoring.text.sentences import check_length, describe, encode
from ucurve.huggingface.tokenizer_files import ANY_CHARACTER


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
    adding.backend_tokenizer.post_processor = TemplateProcessing(
        single="<eos> $A <eos>", special_tokens=[("<eos>", 0)]
    )
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
    message = (
        r"pair 1, sentence '一丁一丁一': 5 tokens, but the model's context holds 3 "
        r"\(2 of 4 sentences are too long; 1 of 2 pairs fit, "
        r"and too_long=skip scores these alone\)$"
    )
    with pytest.raises(UserError, match=message):
        check_length(pairs, sentences, 3)


def test_of_a_model_of_ours_the_remedy_is_named(tokenizer):
    pairs = table(("一", "丁"), ("一丁一丁一", "一丁一丁"))
    message = r"1 of 2 pairs fit, .* alone\)\. A run that is trained with batch\.length=5 or more holds all; .* longest=3 tokenizer="
    with pytest.raises(UserError, match=message):
        check_length(pairs, encode(pairs, tokenizer), 3, trainable=True)


def test_what_is_read_around_a_sentence_counts(tokenizer):
    pairs = table(("一", "丁"), ("一丁一丁一", "一丁一丁"))
    check_length(pairs, encode(pairs, tokenizer), 7, around=2)
    message = (
        r": 5 tokens, but the model's context holds 4 \(6 less 2 around a sentence; 1 of 4 .*; 1 of 2 pairs fit, .*"
        r"batch\.length=7 or more .* longest=4 "
    )
    with pytest.raises(UserError, match=message):
        check_length(pairs, encode(pairs, tokenizer), 6, trainable=True, around=2)


def test_describe(tokenizer):
    pairs = table(("一", "丁"), ("丁", "一一"))
    sentences = encode(pairs, tokenizer)
    assert describe(pairs, sentences, 2) == "benchmark b, paradigm u1, pair 1, sentence '一一'"


# parts of sentences


def regions(*rows):
    columns = ["good", "bad", "region_good", "region_bad"]
    return pd.DataFrame(rows, columns=columns).assign(benchmark="b", paradigm="p", pair=range(len(rows)))


def test_one_text_with_two_regions_stands_twice(tokenizer):
    pairs = regions(("一丁七", "一丁七", "0:1", "1:3"), ("一丁七", "丁", "1:3", "0:1"))
    sentences = encode(pairs, tokenizer, "region")
    assert sentences.texts == ["一丁七", "一丁七", "丁"]
    assert (sentences.good.tolist(), sentences.bad.tolist()) == ([0, 1], [1, 2])
    assert sentences.scored.tolist() == [True, False, False, False, True, True, True]
    assert sentences.scored_texts() == ["一", "丁七", "丁"]
    assert sentences.counts().tolist() == [1, 2, 1]
    assert sentences.straddling == 0


def merging():
    """A tokenizer with 一丁 as one token."""
    pieces = {"<eos>": 0, "一": 1, "丁": 2, "一丁": 3, "七": 4}
    return PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.BPE(pieces, [("一", "丁")])))


@pytest.mark.parametrize(
    ("region", "scored", "straddling"),
    [("0:2", [1, 0], 0), ("0:1", [1, 0], 1), ("1:2", [1, 0], 1), ("1:3", [1, 1], 1), ("2:3", [0, 1], 0)],
)
def test_a_token_across_a_border_counts_and_is_noted(region, scored, straddling):
    sentences = encode(regions(("一丁七", "一丁七", region, region)), merging(), "region")
    assert sentences.scored.tolist() == scored
    assert sentences.straddling == straddling


def test_target_may_share_a_token_with_its_condition():
    pairs = regions(("一丁七", "一七", "0:1", "0:1")).assign(condition="一")
    sentences = encode(pairs, merging(), "target")
    assert sentences.scored.tolist() == [True, True, False, True]
    assert sentences.straddling == 1


def test_without_the_first_token_its_characters_are_left_out(tokenizer):
    sentences = encode(table(("一丁七", "丁一")), tokenizer, "whole", True)
    assert sentences.scored.tolist() == [False, True, True, False, True]
    assert sentences.scored_texts() == ["丁七", "一"]
    merged = encode(table(("一丁七", "丁七")), merging(), "whole", True)
    assert merged.scored_texts() == ["七", "七"]


def test_without_the_first_token_a_part_behind_it_is_whole(tokenizer):
    pairs = regions(("一丁七", "一丁七", "1:3", "0:2"))
    sentences = encode(pairs, tokenizer, "region", True)
    assert sentences.scored_texts() == ["丁七", "丁"]


def test_a_sentence_of_one_token_needs_a_start_token(tokenizer):
    with pytest.raises(UserError, match=r"pair 0, sentence '丁': bos=none leaves no token to score"):
        encode(table(("一丁", "丁")), tokenizer, "whole", True)


def by_the_library(tokenizer, texts):
    return tokenizer(list(texts), add_special_tokens=False)["input_ids"]


def rows_of(sentences):
    return [sentences.ids(place).tolist() for place in range(len(sentences.texts))]


class TestTokenisingWithoutTheLibrarysConversion:
    TEXTS = ("一丁七", "丁 一\n七", "龘一", "一<eos>七", "七")

    @pytest.fixture(params=[ANY_CHARACTER, ".", None])
    def any_tokenizer(self, request, make_tokenizer):
        if request.param is None:
            return merging()
        tokenizer = make_tokenizer()
        tokenizer.backend_tokenizer.pre_tokenizer = Split(Regex(request.param), "isolated")
        return tokenizer

    @pytest.mark.parametrize("count", [3, 5])  # without and with a special token in a text
    def test_ids_are_those_of_the_librarys_call(self, any_tokenizer, count):
        texts = self.TEXTS[:count]
        sentences = encode(table(*((text, texts[0]) for text in texts)), any_tokenizer)
        assert rows_of(sentences) == by_the_library(any_tokenizer, sentences.texts)

    def test_a_class_with_its_own_call_is_called(self, make_tokenizer):
        tokenizer = make_tokenizer()

        class Reversing(type(tokenizer)):
            def __call__(self, texts, **options):
                return super().__call__([text[::-1] for text in texts], **options)

        before = by_the_library(tokenizer, ["七丁一"])
        tokenizer.__class__ = Reversing
        assert rows_of(encode(table(("一丁七", "丁")), tokenizer))[:1] == before


def test_which_pairs_have_the_same_tokens(tokenizer):
    """Two characters that the tokenizer does not know are the same to a model."""
    sentences = encode(table(("一。", "一！"), ("一丁", "丁一"), ("一", "一"), ("一。", "一。！")), tokenizer)
    assert sentences.same_tokens().tolist() == [True, False, True, False]


def test_the_same_tokens_of_which_others_count_are_not_the_same(tokenizer):
    record = {"UID": "u", "phenomenon": "p", "sentence_good": "一一一", "sentence_bad": "一一一"}
    pairs = pair_table([("0", record | {"region_good": "0:1", "region_bad": "0:2"})], "b", "zho")
    assert encode(pairs, tokenizer, "region").same_tokens().tolist() == [False]
    assert encode(pairs, tokenizer).same_tokens().tolist() == [True]
