"""Chinese characters, and a survey of the characters of a corpus."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from train.corpus.readers import Continuation
from ucurve.huggingface.tokenizer_files import CODE_POINTS, code_points

# The characters whose Unicode script is Han, as the inside of a bracket expression: radicals, 々, 〇, numerals,
# the unified ideographs with all extensions, and the compatibility ideographs.
HAN = "\u2e80-\u2fd5\u3005\u3007\u3021-\u3029\u3038-\u303b\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_CONTAINS_HAN = re.compile(f"[{HAN}]")
_CHARACTERS_AT_ONCE = 1_000_000


def contains_han(text: str) -> bool:
    """Tell whether a text contains a Chinese character."""
    return _CONTAINS_HAN.search(text) is not None


@dataclass(frozen=True)
class Survey:
    """What one pass over a corpus found.

    Attributes:
        counts: how often each character occurs, the commonest first, equally common ones by code point.
        sample: documents spread evenly over the corpus, in order.
    """

    documents: int
    characters: int
    counts: dict[str, int]
    sample: tuple[str, ...]


def survey(documents: Iterable[str], sample_characters: int) -> Survey:
    """Count the characters of a corpus and keep a sample, in memory that does not grow with the corpus.

    Args:
        documents: the documents, or parts of long ones, read once.
        sample_characters: size of the sample at most (a document of any size is kept). The sample is all of them when
            they fit, else every second, every fourth and so on.
    """
    counts = np.zeros(CODE_POINTS, dtype=np.int64)
    kept: list[str] = []
    pending: list[str] = []
    begun, stride, kept_characters, pending_characters = 0, 1, 0, 0
    for number, document in enumerate(documents):
        begun += not isinstance(document, Continuation)
        pending.append(document)
        pending_characters += len(document)
        if pending_characters >= _CHARACTERS_AT_ONCE:
            counts += _count_code_points(pending)
            pending, pending_characters = [], 0
        if number % stride == 0:
            kept.append(document)
            kept_characters += len(document)
        while kept_characters > sample_characters and len(kept) > 1:
            stride *= 2
            kept = kept[::2]
            kept_characters = sum(map(len, kept))
    counts += _count_code_points(pending)
    return Survey(begun, int(counts.sum()), _by_frequency(counts), tuple(kept))


def _count_code_points(texts: list[str]) -> NDArray[np.int64]:
    return np.bincount(code_points("".join(texts)), minlength=CODE_POINTS).astype(np.int64)


def _by_frequency(counts: NDArray[np.int64]) -> dict[str, int]:
    codes = np.flatnonzero(counts)
    order = np.lexsort((codes, -counts[codes]))
    return {chr(code): int(counts[code]) for code in codes[order]}
