"""Sentences that nobody can find acceptable, made from good ones for catch trials and controls."""

import random
import re
from itertools import pairwise

_FEWEST_WORDS = 3  # of a sentence whose words are scrambled; below, as in Chinese, its characters are
_TRIES = 50
_END = re.compile(r"[\s.!?。！？।…]*$")


def scramble(sentence: str, seed: int) -> str:
    """Reorder the words of a sentence, or its characters where it has no spaces, so that few neighbors stay."""
    end = _END.search(sentence)
    start = end.start() if end else len(sentence)
    words, mark = sentence[:start].split(), sentence[start:]
    if len(words) >= _FEWEST_WORDS:
        return " ".join(_reorder(words, f"{seed}/{sentence}")) + mark
    return "".join(_reorder(list(sentence[:start]), f"{seed}/{sentence}")) + mark


def misspell(sentence: str, seed: int) -> str:
    """Scramble the letters of the longest word of a sentence, so that one of its words does not exist."""
    longest = max(re.finditer(r"\w+", sentence), key=lambda found: len(found[0]), default=None)
    if longest is None:
        return sentence
    letters = _reorder(list(longest[0]), f"{seed}/{sentence}")
    return sentence[: longest.start()] + "".join(letters) + sentence[longest.end() :]


def _reorder(parts: list[str], seed: str) -> list[str]:
    """Return the order with the fewest old neighbors of some random ones, which is not the old order."""
    chance = random.Random(seed)  # noqa: S311 - a sample, no secret
    neighbors = set(pairwise(parts))
    orders = [chance.sample(parts, len(parts)) for _ in range(_TRIES)]
    new = [order for order in orders if order != parts] or [parts]
    return min(new, key=lambda order: sum(pair in neighbors for pair in pairwise(order)))
