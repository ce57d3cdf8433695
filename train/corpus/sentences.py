"""Sentences by a simple rule, for interventions: docs/corpora.md states it."""

import re
from collections.abc import Callable

_CLOSING = "\"'”’»」』）》)\\]"
_FULL_WIDTH_END = f"[。！？]+[{_CLOSING}]*"
_SENTENCE = re.compile(rf".+?(?:{_FULL_WIDTH_END}|[.!?…]+[{_CLOSING}]*(?=\s)|$)\s*")
_NO_SPACE_AFTER = re.compile(rf".*{_FULL_WIDTH_END}", re.DOTALL)


def split_sentences(line: str) -> list[str]:
    """Return the sentences of one line, each with the spaces after it, so that together they are the line.

    A sentence ends with ``.``, ``!``, ``?`` or ``…`` before a space, with ``。``, ``！`` or ``？`` anywhere, closing
    quotation marks and brackets included, and with the line.
    """
    return _SENTENCE.findall(line)


def count_sentences(text: str) -> int:
    """Return how many sentences a text has; blank lines have none."""
    return sum(len(split_sentences(line)) for line in text.split("\n") if line.strip())


def select_sentences(text: str, wanted: Callable[[str], bool]) -> str:
    """Return a text with the sentences that are wanted; ``wanted`` sees each without the spaces around it."""
    lines = []
    for line in text.split("\n"):
        sentences = split_sentences(line)
        kept = [sentence for sentence in sentences if not sentence.strip() or wanted(sentence.strip())]
        if len(kept) == len(sentences):
            lines.append(line)
        elif kept:  # a line of which nothing is left goes with its sentences
            lines.append("".join(kept).rstrip())
    return "\n".join(lines)


def repeat_sentences(text: str, times: int, wanted: Callable[[str], bool]) -> str:
    """Return a text in which every wanted sentence comes several times, one after the other."""

    def repeat(sentence: str) -> str:
        bare = sentence.rstrip()
        if not bare or not wanted(bare.strip()):
            return sentence
        space = sentence[len(bare) :]
        between = space or ("" if _NO_SPACE_AFTER.fullmatch(bare) else " ")
        return between.join([bare] * times) + space

    return "\n".join("".join(map(repeat, split_sentences(line))) for line in text.split("\n"))
