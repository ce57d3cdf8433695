"""The bytes of each token of a vocabulary, and the counts of ZhoBLiMP's Table 4."""

import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ucurve.training.tokenizer.characters import contains_han

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_BYTE_TOKEN = re.compile(r"<0x([0-9A-Fa-f]{2})>")
_NOT_A_CHARACTER = "\ufffd"  # in place of a part of one
_SPACE_MARK = "\u2581"


def vocabulary_size(tokenizer: "PreTrainedTokenizerBase") -> int:
    """Return how many rows an embedding needs: one more than the largest token id."""
    ids: list[int] = list(tokenizer.get_vocab().values())
    return max(len(tokenizer), max(ids) + 1)  # ids may have gaps


def token_bytes(tokenizer: "PreTrainedTokenizerBase") -> NDArray[np.int32]:
    """Return how many UTF-8 bytes of text each token is, shape [vocabulary]; 0 for special, unknown and unused ids."""
    return np.array([len(content or b"") for content in token_contents(tokenizer)], dtype=np.int32)


def count_unknown_bytes(tokenizer: "PreTrainedTokenizerBase", texts: list[str]) -> int:
    """Return how many UTF-8 bytes of texts become the tokenizer's unknown token or, white space apart, no token at all.

    A tokenizer of Python's own does not tell which text a token is of; each of its tokens counts as many bytes.
    """
    unknown = tokenizer.unk_token_id
    if not texts:
        return 0
    encoded = tokenizer(texts, add_special_tokens=False, return_offsets_mapping=tokenizer.is_fast)
    if not tokenizer.is_fast:
        ids = [number for one in encoded["input_ids"] for number in one]
        return round(sum(len(text.encode()) for text in texts) * ids.count(unknown) / max(1, len(ids)))
    found = 0
    for text, ids, places in zip(texts, encoded["input_ids"], encoded["offset_mapping"], strict=True):
        # BPE without an unknown token leaves out what it does not know. The library places what it keeps of a word at
        # its beginning, so that the last characters stand for those that are left out.
        left = set(range(len(text)))
        for number, (start, end) in zip(ids, places, strict=True):
            left.difference_update(range(start, end))
            found += len(text[start:end].encode()) if number == unknown else 0
        found += sum(len(text[place].encode()) for place in left if not text[place].isspace())
    return found


def count_tokens(tokenizer: "PreTrainedTokenizerBase") -> dict[str, int]:
    """Count the tokens as Table 4 of ZhoBLiMP does: those that are one Chinese character, and those with more."""
    lengths = [_han_length(content) for content in token_contents(tokenizer)]
    single, multi = sum(n == 1 for n in lengths), sum(n > 1 for n in lengths)
    return {"all": len(lengths), "single_character": single, "multi_character": multi}


def token_contents(tokenizer: "PreTrainedTokenizerBase") -> list[bytes | None]:
    """Return the bytes of text of each token, by id; None for special and unknown tokens and for unused ids."""
    contents: list[bytes | None] = [None] * vocabulary_size(tokenizer)
    decode = _choose_decoder(tokenizer)
    added = dict(tokenizer.added_tokens_decoder)
    nothing = {*tokenizer.all_special_ids, tokenizer.unk_token_id}
    for token, number in tokenizer.get_vocab().items():
        if number in nothing or (number in added and added[number].special):
            continue
        contents[number] = token.encode() if number in added else decode(token)
    return contents


def begins_word(tokenizer: "PreTrainedTokenizerBase") -> NDArray[np.bool_]:
    """Tell which tokens begin a word, shape [vocabulary], by the tokenizer's own rules for splitting a text.

    A token of WordPiece begins one unless it has the mark ``##``. Any other begins one where the tokenizer's
    pre-tokenizer would split a text between a letter and the token, or, without a pre-tokenizer, with a space. A token
    that does not begin with a whole character continues a word.
    """
    contents, begins = token_contents(tokenizer), np.ones(vocabulary_size(tokenizer), dtype=bool)
    is_word_piece = "WordPiece" in _decoder_kinds(tokenizer)
    splitter = tokenizer.backend_tokenizer.pre_tokenizer if tokenizer.is_fast else None
    for token, number in tokenizer.get_vocab().items():
        text = (contents[number] or b"").decode(errors="replace")
        if is_word_piece:
            begins[number] = not token.startswith("##")
        elif text.startswith(_NOT_A_CHARACTER):
            begins[number] = False
        elif splitter is None:
            begins[number] = text[:1].isspace()
        else:
            begins[number] = not any(low < 1 < high for _, (low, high) in splitter.pre_tokenize_str(f"a{text}"))
    return begins


def _han_length(content: bytes | None) -> int:
    """Return the characters of a token with a Chinese one among them; 0 for others and for parts of characters."""
    try:
        text = (content or b"").decode().strip()
    except UnicodeDecodeError:
        return 0
    return len(text) if contains_han(text) else 0


def _choose_decoder(tokenizer: "PreTrainedTokenizerBase") -> Callable[[str], bytes]:
    """Return what turns a token of a vocabulary into the bytes of text that it stands for."""
    kinds = _decoder_kinds(tokenizer)
    if "ByteLevel" in kinds:
        # Printable Latin-1 stands for its bytes, and the characters from U+0100 on for the other bytes in their order.
        printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
        others = [byte for byte in range(256) if byte not in printable]
        marks = {chr(byte): byte for byte in printable} | {chr(256 + at): byte for at, byte in enumerate(others)}
        # One that has another character, and so was not made of bytes, stands for itself.
        return lambda token: bytes(marks[m] for m in token) if marks.keys() >= {*token} else token.encode()
    if "WordPiece" in kinds:
        return lambda token: token.removeprefix("##").encode()
    if "Bytes" in kinds:
        # ByT5 has a token for each byte, named by the character of its number.
        return lambda token: token.encode("latin-1")
    if kinds & {"Metaspace", "ByteFallback", "Replace"}:
        return _sentence_piece
    return str.encode


def _sentence_piece(token: str) -> bytes:
    byte = _BYTE_TOKEN.fullmatch(token)
    return bytes([int(byte[1], 16)]) if byte else token.replace(_SPACE_MARK, " ").encode()


def _decoder_kinds(tokenizer: "PreTrainedTokenizerBase") -> set[str]:
    """Return the kinds of the steps that turn tokens into text, by their names in ``tokenizer.json``."""
    if tokenizer.is_fast:
        decoder = json.loads(tokenizer.backend_tokenizer.to_str())["decoder"] or {}
        return {part["type"] for part in decoder.get("decoders", [decoder]) if part}
    # Tokenizers of Python's own have no decoder and are known by what their classes keep.
    attributes = {
        "byte_decoder": "ByteLevel",
        "sp_model": "Metaspace",
        "wordpiece_tokenizer": "WordPiece",
        "_utf_vocab_size": "Bytes",
    }
    return {kind for attribute, kind in attributes.items() if hasattr(tokenizer, attribute)}
