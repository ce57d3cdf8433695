from unicodedata import normalize

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from ucurve.eval.pairs import pair_table
from ucurve.eval.scoring.text.sentences import describe_unknown, encode

WORDS = ["Họ", "đang", "đọc", "sách", "ở", "nhà", "Mẹ", "nấu", "cơm", "rất", "ngon"]


@pytest.fixture(scope="module")
def characters():
    """A tokenizer of the composed characters of the words."""
    vocabulary = {
        letter: place for place, letter in enumerate(["<unk>", "<eos>", " ", *sorted({*"".join(WORDS)})])
    }
    backend = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    return PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="<unk>", eos_token="<eos>")


@pytest.fixture(scope="module")
def byte_level():
    """A tokenizer of bytes whose merges come from composed text."""
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer, backend.decoder = (
        pre_tokenizers.ByteLevel(add_prefix_space=False),
        decoders.ByteLevel(),
    )
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=400, initial_alphabet=alphabet, special_tokens=["<eos>"])
    backend.train_from_iterator([" ".join(WORDS)] * 50, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<eos>")


def said(tokenizer, form: str, good: str = "Mẹ nấu cơm", bad: str = "Mẹ cơm nấu") -> list[str]:
    record = {
        "UID": "p",
        "phenomenon": "x",
        "sentence_good": normalize(form, good),
        "sentence_bad": normalize(form, bad),
    }
    pairs = pair_table([("a:1", record)], "own", "vie")
    return list(describe_unknown(encode(pairs, tokenizer), tokenizer))


def test_decomposed_pairs_of_a_composed_text_are_told(characters, byte_level):
    (line,) = said(characters, "NFD")
    assert line == (
        "10 of 28 tokens (35.7%) are unknown to the tokenizer; the text of 2 sentences is decomposed (NFD), and the "
        "tokenizer was made of the other form: in NFC they have 0 unknown of 20 tokens, not 10 of 28; write the pairs "
        "in NFC"
    )
    (line,) = said(byte_level, "NFD")
    assert "write the pairs in NFC" in line
    assert "unknown to the tokenizer" not in line


def test_nothing_is_said_of_text_that_is_known(characters, byte_level):
    assert said(characters, "NFC") == said(byte_level, "NFC") == []


def test_letters_that_no_form_helps_are_counted(characters):
    assert said(characters, "NFC", "Mẹ 做 cơm", "Mẹ cơm 做") == [
        "2 of 16 tokens (12.5%) are unknown to the tokenizer"
    ]
