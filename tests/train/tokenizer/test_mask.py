"""Tokenizers with a mask token: the same tokens and one more, in a folder of their own; and where words begin."""

import pytest

from tests.settings import tokenizer_settings
from tests.train.tokenizer.test_build import BOS, TEXT, corpus_file, save_bert, save_sentence_piece
from ucurve.huggingface.pretrained import load_tokenizer
from ucurve.training.tokenizer.build import build_tokenizer, find_tokenizer
from ucurve.training.tokenizer.folder import tokenizer_files
from ucurve.training.tokenizer.vocabulary import begins_word, vocabulary_size

SIZES = {"char": None, "word": 60, "bpe": 300}


def build(folder, kind, with_mask, text=TEXT * 20, **keys):
    settings = tokenizer_settings(kind=kind, name=keys.pop("name", kind), vocab_size=SIZES.get(kind), **keys)
    return build_tokenizer(settings, corpus_file(folder, text), folder / "out", with_mask)


@pytest.mark.parametrize("kind", SIZES)
def test_a_mask_comes_after_all_other_tokens(tmp_path, kind):
    plain, with_mask = build(tmp_path, kind, False), build(tmp_path, kind, True)
    assert plain.name.startswith(f"{kind}-mini-")
    assert with_mask.name.startswith(f"{kind}_mask-mini-")
    one, other = load_tokenizer(plain), load_tokenizer(with_mask)
    assert one.mask_token is None
    assert (other.mask_token, other.mask_token_id) == ("<mask>", vocabulary_size(one))
    assert vocabulary_size(other) == vocabulary_size(one) + 1
    text = "天地 an <mask> <eos>"
    assert other(text, add_special_tokens=False).input_ids == one(text, add_special_tokens=False).input_ids
    inner = other("天地", add_special_tokens=False).input_ids
    assert other("天地").input_ids == [other.eos_token_id, *inner, other.eos_token_id]
    assert other("<mask>", split_special_tokens=False, add_special_tokens=False).input_ids == [
        other.mask_token_id
    ]


def test_a_tokenizer_of_the_hub_keeps_the_mask_it_has(tmp_path):
    source = save_bert(tmp_path / "source")
    plain, with_mask = (
        build(tmp_path, "hub", one, "中 a", name="mine", path=str(source)) for one in (False, True)
    )
    assert tokenizer_files(plain) == tokenizer_files(with_mask)
    assert load_tokenizer(with_mask).mask_token_id == 4


def test_a_tokenizer_of_the_hub_without_a_mask_gets_one(tmp_path):
    source = save_sentence_piece(tmp_path / "source", **BOS)
    folder = build(tmp_path, "hub", True, "中 a", name="mine", path=str(source))
    tokenizer = load_tokenizer(folder)
    assert tokenizer.mask_token_id == vocabulary_size(load_tokenizer(source))
    assert tokenizer("中 a").input_ids == load_tokenizer(source)("中 a").input_ids
    settings = tokenizer_settings(kind="hub", name="mine", path=str(source))
    assert find_tokenizer(settings, corpus_file(tmp_path, "中 a"), tmp_path / "out", with_mask=True) == folder
    assert find_tokenizer(settings, corpus_file(tmp_path, "中 a"), tmp_path / "out") is None


def starts(tokenizer):
    begins = begins_word(tokenizer)
    return {token: bool(begins[number]) for token, number in tokenizer.get_vocab().items()}


def test_words_begin_where_the_tokenizer_splits_a_text(tmp_path):
    text = "the singer sings, singing singers 天地天地 " * 200
    found = starts(load_tokenizer(build(tmp_path, "bpe", True, text)))
    assert {"Ġsing": True, "ing": False, ",": True, "s": False}.items() <= found.items()
    assert found["å"] is False, "the first byte of a character"
    assert all(starts(load_tokenizer(build(tmp_path, "char", True, text))).values())


def test_words_begin_without_the_mark_of_wordpiece_and_with_a_space_of_sentencepiece(tmp_path):
    pieces = starts(load_tokenizer(save_bert(tmp_path / "bert")))
    assert {"play": True, "##ing": False, "中": True}.items() <= pieces.items()
    marks = starts(load_tokenizer(save_sentence_piece(tmp_path / "spm", **BOS)))
    assert {"▁a": True, "a": False, "<0xE4>": False}.items() <= marks.items()
