"""The distinct sentences of a pair table, as token ids."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ucurve.errors import UserError

Ids = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Sentences:
    """Distinct sentences and where the pairs use them.

    Attributes:
        texts: the sentences.
        tokens: int64, the ids of all sentences one after the other, no special token added.
        starts: int64[sentences + 1], where each sentence begins in ``tokens``.
        good: int64[pairs], the sentence that is a pair's good member.
        bad: int64[pairs], likewise the bad member.
    """

    texts: list[str]
    tokens: Ids
    starts: Ids
    good: Ids
    bad: Ids

    @property
    def lengths(self) -> Ids:
        """Tokens of each sentence, int64[sentences]."""
        return np.diff(self.starts)

    def ids(self, sentence: int) -> Ids:
        """Return the token ids of one sentence."""
        return self.tokens[self.starts[sentence] : self.starts[sentence + 1]]

    def sums(self, per_token: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Sum a value of every token over each sentence; sentences have at least one token each."""
        return np.add.reduceat(per_token, self.starts[:-1])

    def pair_of(self, sentence: int) -> int:
        """Return the first pair (row of the pair table) that uses a sentence."""
        return int(np.flatnonzero((self.good == sentence) | (self.bad == sentence))[0])


def encode(pairs: pd.DataFrame, tokenizer: Any) -> Sentences:
    """Tokenise every distinct sentence once, as it stands, without special tokens, never cutting it.

    Args:
        pairs: the pair table.
        tokenizer: a Hugging Face tokenizer.

    Raises:
        UserError: when a sentence has no token.
    """
    codes, texts = pd.factorize(pd.concat([pairs["good"], pairs["bad"]], ignore_index=True))
    encoded = tokenizer(list(texts), add_special_tokens=False, return_attention_mask=False)["input_ids"]
    starts = np.concatenate([[0], np.cumsum([len(ids) for ids in encoded])]).astype(np.int64)
    tokens = np.fromiter((token for ids in encoded for token in ids), dtype=np.int64, count=int(starts[-1]))
    sentences = Sentences(list(texts), tokens, starts, codes[: len(pairs)], codes[len(pairs) :])
    empty = np.flatnonzero(sentences.lengths == 0)
    if len(empty):
        raise UserError(f"{describe(pairs, sentences, int(empty[0]))}: the tokenizer turns the sentence into no token")
    return sentences


def describe(pairs: pd.DataFrame, sentences: Sentences, sentence: int) -> str:
    """Name the item a sentence comes from: benchmark, paradigm, pair and the sentence itself."""
    row = pairs.iloc[sentences.pair_of(sentence)]
    place = f"benchmark {row['benchmark']}, paradigm {row['paradigm']}, pair {row['pair']}"
    return f"{place}, sentence {sentences.texts[sentence]!r}"


def check_length(pairs: pd.DataFrame, sentences: Sentences, context: int | None) -> None:
    """Refuse sentences that the model's context cannot hold; nothing is ever cut.

    A sentence of n tokens is read as the start token and its first n - 1 tokens, so n positions are needed.

    Args:
        pairs: the pair table.
        sentences: its sentences.
        context: the model's number of positions, or None when it has no limit.

    Raises:
        UserError: naming the longest sentence, its length and the limit.
    """
    lengths = sentences.lengths
    if context is None or lengths.max() <= context:
        return
    item = describe(pairs, sentences, int(lengths.argmax()))
    raise UserError(
        f"{item}: {lengths.max()} tokens, but the model's context holds {context} "
        f"({int((lengths > context).sum())} of {len(lengths)} sentences are too long)"
    )
