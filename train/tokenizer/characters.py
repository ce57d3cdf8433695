"""Chinese characters, and a survey of the characters of a corpus."""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ucurve.huggingface.tokenizer_files import CODE_POINTS, code_points
from ucurve.training.corpus.readers import Continuation

# The characters whose Unicode script is Han, as the inside of a bracket expression: radicals, 々, 〇, numerals,
# the unified ideographs with all extensions, and the compatibility ideographs.
HAN = "\u2e80-\u2fd5\u3005\u3007\u3021-\u3029\u3038-\u303b\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_CONTAINS_HAN = re.compile(f"[{HAN}]")
_CHARACTERS_AT_ONCE = 1_000_000  # which are joined and counted together
_LEAST_COUNT = (
    2  # a character seen once has no context to be learned from, and in web text such ones are thousands
)


def contains_han(text: str) -> bool:
    """Tell whether a text contains a Chinese character."""
    return _CONTAINS_HAN.search(text) is not None


@dataclass(frozen=True)
class Survey:
    """What one pass over a corpus found."""

    documents: int
    characters: int
    counts: dict[str, int]  # of each character, the commonest first, equally common ones by code point
    sample: tuple[str, ...]  # documents spread evenly over the corpus, in order

    def choose_characters(self, coverage: float | None) -> list[str]:
        """Return the characters that become tokens, the commonest first.

        They are the fewest that make the share ``coverage`` of the text; without a coverage, all seen at least twice.
        """
        if coverage is None:
            return [character for character, count in self.counts.items() if count >= _LEAST_COUNT]
        before = 0
        chosen = []
        for character, count in self.counts.items():
            if before >= coverage * self.characters:
                break
            chosen.append(character)
            before += count
        return chosen

    def count_unknown(self, known: Collection[str]) -> "UnknownCharacters":
        """Count the characters that are not among those known."""
        counts = [count for character, count in self.counts.items() if character not in known]
        return UnknownCharacters(len(counts), sum(counts), sum(counts) / max(1, self.characters))


@dataclass(frozen=True)
class UnknownCharacters:
    """Characters of a corpus that a tokenizer does not know: different ones, and how often they occur together."""

    kinds: int
    characters: int
    share: float  # of all characters of the corpus


def survey(documents: Iterable[str], sample_characters: int) -> Survey:
    """Count the characters of a corpus and keep an even sample of its documents, in memory that stays small.

    The sample has at most ``sample_characters``, or one document: every document, every second, every fourth and so on.
    """
    counts = np.zeros(CODE_POINTS, dtype=np.int64)  # its places are code points
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
            # Every second document stays, so that the sample is even at any time.
            kept = kept[::2]
            kept_characters = sum(map(len, kept))
    counts += _count_code_points(pending)
    codes = np.flatnonzero(counts)
    # ``lexsort`` sorts by its last key first: by frequency, then by code point.
    by_frequency = codes[np.lexsort((codes, -counts[codes]))]
    found = {chr(code): int(counts[code]) for code in by_frequency}
    return Survey(begun, int(counts.sum()), found, tuple(kept))


def _count_code_points(texts: list[str]) -> NDArray[np.int64]:
    return np.bincount(code_points("".join(texts)), minlength=CODE_POINTS).astype(np.int64)
