"""Which characters of a text a token stands for, whatever its tokenizer counts to it.

The space before a word belongs to the word's token for some tokenizers (GPT-2) and to none for others (GPT-NeoX,
RoBERTa), which give a token of that space alone no character at all. Neither may decide what a region holds.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.int64]


def token_spans(texts: list[str], offsets: list[list[tuple[int, int]]]) -> Ids:
    """Find the characters each token stands for, without the white space around them.

    A token of white space alone keeps it. A token without character has the white space before it, and at the
    beginning of a text, where it marks a beginning, the first character.

    Args:
        texts: the texts, none of them empty.
        offsets: for each text and token, first character and end, as the tokenizer gives them.

    Returns:
        int64[tokens, 2], first character and end within the text, of all texts one after the other.
    """
    owner = np.repeat(np.arange(len(texts)), [len(row) for row in offsets])
    sizes = np.array([len(text) for text in texts], dtype=np.int64)
    base = (np.cumsum(sizes) - sizes)[owner][:, None]
    given = np.array([pair for row in offsets for pair in row], dtype=np.int64).reshape(-1, 2)
    solid = ~np.array([character.isspace() for text in texts for character in text], dtype=bool)
    places = _filled(given, sizes[owner], solid, base[:, 0]) + base
    return _trimmed(places, solid) - base


def _filled(given: Ids, sizes: Ids, solid: npt.NDArray[Any], base: Ids) -> Ids:
    """Give a token without character one that it stands for."""
    first, end = given.T
    empty = first >= end
    behind_space = (first > 0) & ((first >= sizes) | ~solid[base + np.maximum(first - 1, 0)])
    first = np.where(empty & behind_space, first - 1, first)
    return np.stack([first, np.where(empty, first + 1, end)], axis=1)


def _trimmed(places: Ids, solid: npt.NDArray[Any]) -> Ids:
    """Take white space from both ends of spans that hold something else."""
    numbers = np.arange(len(solid))
    none = np.full(1, len(solid))
    following = np.minimum.accumulate(np.append(np.where(solid, numbers, len(solid)), none)[::-1])[::-1]
    preceding = np.maximum.accumulate(np.insert(np.where(solid, numbers + 1, 0), 0, 0))
    first, end = following[places[:, 0]], preceding[places[:, 1]]
    return np.where((first < end)[:, None], np.stack([first, end], axis=1), places)
