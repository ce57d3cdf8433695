import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from ucurve.eval.scoring.text.tokenize import token_spans, tokenize
from ucurve.huggingface.tokenizer_files import ANY_CHARACTER


@pytest.mark.parametrize(
    ("text", "given", "wanted"),
    [
        ("a dog", [(0, 1), (1, 5)], [(0, 1), (2, 5)]),  # GPT-2: the space belongs to the word
        ("a dog", [(0, 1), (2, 5)], [(0, 1), (2, 5)]),  # GPT-NeoX: it belongs to none
        ("a dog", [(0, 1), (1, 2), (2, 5)], [(0, 1), (1, 2), (2, 5)]),  # a token of the space alone
        ("a dog", [(0, 1), (2, 2), (2, 5)], [(0, 1), (1, 2), (2, 5)]),  # the same without a character
        ("dog", [(0, 0), (0, 3)], [(0, 1), (0, 3)]),  # the mark of a beginning
        ("dog ", [(0, 3), (4, 4)], [(0, 3), (3, 4)]),
        ("a\u3000b ", [(0, 4)], [(0, 3)]),
        ("饭", [(0, 1), (0, 1), (0, 1)], [(0, 1), (0, 1), (0, 1)]),  # bytes of one character
        ("e\u0301t", [(0, 2), (2, 3)], [(0, 2), (2, 3)]),
    ],
)
def test_by_hand(text, given, wanted):
    assert token_spans([text], [given]).tolist() == [list(span) for span in wanted]
    twice = token_spans([" x ", text], [[(0, 3)], given]).tolist()
    assert twice == [[1, 2], *(list(span) for span in wanted)]


def byte_level(trim):
    pieces = {piece: place for place, piece in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    tokenizer = Tokenizer(models.BPE({**pieces, "Ġd": 256, "ĠĠ": 257}, [("Ġ", "d"), ("Ġ", "Ġ")]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=trim)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer)


WITH, WITHOUT = byte_level(trim=False), byte_level(trim=True)


@given(st.text(alphabet="ad 饭\u0301.", min_size=1, max_size=12))
def test_whose_the_space_is_decides_nothing(text):
    """Two tokenizers that differ in their offsets alone give the same spans, but for a run of spaces in one token."""
    spans = [
        token_spans([text], [tokenizer(text, return_offsets_mapping=True)["offset_mapping"]])
        for tokenizer in (WITH, WITHOUT)
    ]
    solid = [[span for span in spans[place].tolist() if text[slice(*span)].strip()] for place in (0, 1)]
    assert solid[0] == solid[1]
    assert {place for span in solid[0] for place in range(*span)} == {
        place for place, character in enumerate(text) if not character.isspace()
    }
    assert ((spans[1][:, 0] >= 0) & (spans[1][:, 0] < spans[1][:, 1]) & (spans[1][:, 1] <= len(text))).all()


def test_characters_of_a_looked_up_text_are_those_of_the_library():
    """A tokenizer of single characters is not called; one that it does not know, a space and an astral one are one too."""
    vocabulary = {token: place for place, token in enumerate(["<eos>", "<unk>", *"ab c\U0001f600"])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(ANY_CHARACTER), "isolated")
    made = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<eos>", unk_token="<unk>")
    texts = [" ab  c ", "axx?b", "\U0001f600a\nb", "c"]
    ids, lengths, places = tokenize(texts, made, placed=True)
    asked = made(texts, add_special_tokens=False, return_offsets_mapping=True)
    assert places.tolist() == token_spans(texts, asked["offset_mapping"]).tolist()
    assert ids.tolist() == [one for row in asked["input_ids"] for one in row]
    assert lengths.tolist() == [len(text) for text in texts]
