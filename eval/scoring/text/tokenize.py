"""Texts as token ids without special tokens, and the characters that each token stands for."""

import itertools
import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ucurve.huggingface.tokenizer_files import character_table, code_points

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Ids = npt.NDArray[np.int64]
WORD_MARKS = ("\u0120", "\u2581")  # how byte-level BPE and SentencePiece write the space before a word


def token_spans(texts: list[str], offsets: list[list[tuple[int, int]]]) -> Ids:
    """Find the characters of each token in its text, without the white space around them, int64[tokens, 2].

    ``offsets`` are first character and end of each token as the tokenizer gives them. A token of white space alone
    keeps it; one without characters has the white space before it, or the first character of the text.
    """
    owner = np.repeat(np.arange(len(texts)), [len(row) for row in offsets])
    sizes = np.array([len(text) for text in texts], dtype=np.int64)
    base = (np.cumsum(sizes) - sizes)[owner][:, None]
    given = np.array([pair for row in offsets for pair in row], dtype=np.int64).reshape(-1, 2)
    solid = ~np.array([character.isspace() for text in texts for character in text], dtype=bool)
    first, end = given.T
    empty = first >= end
    behind_space = (first > 0) & ((first >= sizes[owner]) | ~solid[base[:, 0] + np.maximum(first - 1, 0)])
    first = np.where(empty & behind_space, first - 1, first)
    places = np.stack([first, np.where(empty, first + 1, end)], axis=1) + base
    # White space at both ends of spans that hold something else is removed.
    size = len(solid)
    numbers = np.arange(size)
    following = np.minimum.accumulate(np.append(np.where(solid, numbers, size), size)[::-1])[::-1]
    preceding = np.maximum.accumulate(np.insert(np.where(solid, numbers + 1, 0), 0, 0))
    trimmed = np.stack([following[places[:, 0]], preceding[places[:, 1]]], axis=1)
    spans: Ids = np.where(trimmed[:, :1] < trimmed[:, 1:], trimmed, places)
    return spans - base


_TEXTS = 1024  # tokenized at once; what a tokenizer returns is many times larger than the tokens
_BARE = {"add_special_tokens": False, "return_attention_mask": False}


def with_space(texts: Sequence[str]) -> list[str]:
    """Put a space before every text."""
    return [f" {text}" for text in texts]


def tokenize(
    texts: list[str], tokenizer: "PreTrainedTokenizerBase", placed: bool, leading_space: bool = False
) -> tuple[Ids, Ids, Ids | None]:
    """Return the tokens of all texts one after the other, int64[tokens], and how many each has, int64[texts].

    With ``placed``, a fast tokenizer also gives the characters of each token in its text, int64[tokens, 2]; of a
    leading space alone, the first character.
    """
    if leading_space:
        tokens, lengths, places = tokenize(with_space(texts), tokenizer, placed)
        return tokens, lengths, None if places is None else np.maximum(places - 1, [0, 1])
    if _calls_library(tokenizer):
        looked_up = _looked_up(texts, tokenizer)
        if looked_up is not None:
            tokens, lengths = looked_up
            first = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
            return tokens, lengths, np.stack([first, first + 1], axis=1) if placed else None
    return _tokenize(texts, tokenizer, placed)


def _tokenize(
    texts: list[str], tokenizer: "PreTrainedTokenizerBase", placed: bool
) -> tuple[Ids, Ids, Ids | None]:
    """Return what ``tokenize`` does of texts as they are, by the tokenizer."""
    ask = _choose_call(texts, tokenizer)
    tokens, lengths, places = [], [], []
    for first in range(0, len(texts), _TEXTS):
        some = texts[first : first + _TEXTS]
        if placed:
            encoded = tokenizer(some, **_BARE, return_offsets_mapping=True)
            ids = encoded["input_ids"]
            places.append(token_spans(some, encoded["offset_mapping"]))
        else:
            ids = ask(some)
        lengths.append(np.array([len(row) for row in ids], dtype=np.int64))
        tokens.append(
            np.fromiter(itertools.chain.from_iterable(ids), dtype=np.int64, count=int(lengths[-1].sum()))
        )
    return np.concatenate(tokens), np.concatenate(lengths), np.concatenate(places) if placed else None


def _looked_up(texts: list[str], tokenizer: "PreTrainedTokenizerBase") -> tuple[Ids, Ids] | None:
    """Look characters up in a table, if every token is a single character; else return None."""
    pipeline = json.loads(tokenizer.backend_tokenizer.to_str())
    table, whole = character_table(pipeline), "".join(texts)
    if table is None or any(token["content"] in whole for token in pipeline["added_tokens"]):
        return None
    return table[code_points(whole)], np.array([len(text) for text in texts], dtype=np.int64)


def _choose_call(
    texts: list[str], tokenizer: "PreTrainedTokenizerBase"
) -> Callable[[list[str]], Sequence[Sequence[int]]]:
    """Return the fastest call that gives the token ids of some texts."""
    if not _calls_library(tokenizer):
        return lambda some: tokenizer(some, **_BARE)["input_ids"]
    tokenizer(texts[:1], **_BARE)  # switches off truncation and padding set in its file
    # What the library's call makes of each result takes as long as the tokenizing.
    ask = tokenizer.backend_tokenizer.encode_batch_fast
    return lambda some: [one.ids for one in ask(some, add_special_tokens=False)]


def _calls_library(tokenizer: "PreTrainedTokenizerBase") -> bool:
    """Say whether a tokenizer's call is the library's own for fast tokenizers, not that of a subclass."""
    from transformers import PreTrainedTokenizerFast

    ways = ("__call__", "_encode_plus")
    return all(getattr(type(tokenizer), way, None) is getattr(PreTrainedTokenizerFast, way) for way in ways)
