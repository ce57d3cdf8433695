"""How often words and n-grams stood in the text that a run was trained on, counted once and kept in its cache."""

import contextlib
import functools
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from ucurve.huggingface.pretrained import load_tokenizer
from ucurve.progress import ProgressBar
from ucurve.storage.files import read_json_or_empty, sha256_json, write_json
from ucurve.storage.run_folder import TOKENIZER
from ucurve.token_stream.order import Batches
from ucurve.token_stream.run import RunTokens

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_VERSION = 1  # of how text is cut into words
_BLOCK = 2**20  # tokens that are decoded at once


@dataclass(frozen=True)
class SeenCounts:
    """Counts of some n-grams in a text, and how many words it has."""

    words: int
    counts: dict[str, int]  # an n-gram is its words with a space between


def split_words(text: str, spaced: bool) -> list[str]:
    """Cut a text, in lower case, into words and punctuation marks; where no spaces are written, into characters.

    Apostrophes and hyphens inside a word belong to it.
    """
    if spaced:
        return _word_pattern().findall(text.lower())
    return [letter for letter in text.lower() if not letter.isspace()]


def count_ngrams(sequences: Iterable[list[str]], wanted: AbstractSet[str]) -> SeenCounts:
    """Count the wanted n-grams in sequences of words; no n-gram goes over the end of a sequence."""
    words, counts = 0, Counter[str]()
    sizes = range(2, 2 + max((ngram.count(" ") for ngram in wanted), default=0))
    for sequence in sequences:
        words += len(sequence)
        longer = (
            map(" ".join, zip(*(sequence[start:] for start in range(size)), strict=False)) for size in sizes
        )
        counts.update(filter(wanted.__contains__, chain(sequence, *longer)))
    return SeenCounts(words, dict(counts))


def read_seen_counts(run: Path, step: int, wanted: AbstractSet[str], spaced: bool) -> SeenCounts:
    """Return the counts in what a run had seen at a step, from its cache where they were counted before."""
    training = RunTokens.of(run)
    seen = {**training.key(), "step": step, "spaced": spaced, "wanted": sorted(wanted), "version": _VERSION}
    key = sha256_json(seen)
    path = training.cache / f"frequencies-{key[:16]}.json"
    kept = read_json_or_empty(path)
    if kept.get("key") == key:
        return SeenCounts(kept["words"], kept["counts"])
    batches = training.batches(training.open_stream("word frequencies"))
    found = count_seen(batches, load_tokenizer(run / TOKENIZER), step, wanted, spaced)
    with contextlib.suppress(OSError):  # a cache that may not be written to: they are counted again next time
        write_json(path, {"key": key, "words": found.words, "counts": found.counts})
    return found


def count_seen(
    batches: Batches, tokenizer: "PreTrainedTokenizerBase", step: int, wanted: AbstractSet[str], spaced: bool
) -> SeenCounts:
    """Count in the training sequences of the steps up to one, each as often as it was seen."""
    words, counts = 0, Counter[str]()
    for part, after, to in batches.stages(0, step):
        # A sequence that was seen several times is decoded and counted once.
        starts, times = np.unique(part.starts_between(after, to), return_counts=True)
        with ProgressBar("counting words of the training text", len(starts), transient=True) as bar:
            for often in np.unique(times).tolist():
                texts = read_texts(part, tokenizer, starts[times == often], bar)
                found = count_ngrams(chain.from_iterable(whole_words(one, spaced) for one in texts), wanted)
                words += often * found.words
                counts.update({ngram: often * count for ngram, count in found.counts.items()})
    return SeenCounts(words, dict(counts))


def read_texts(
    batches: Batches,
    tokenizer: "PreTrainedTokenizerBase",
    starts: npt.NDArray[np.int64],
    bar: ProgressBar | None = None,
) -> Iterator[list[str]]:
    """Yield the texts of the documents of each training sequence that begins at one of ``starts`` in the stream.

    The first and the last document may lie in other sequences too.
    """
    is_special = batches.store.token_bytes == 0  # bool[vocabulary], the unknown token too
    at_once = max(1, _BLOCK // batches.order.length)
    for first in range(0, len(starts), at_once):
        windows = batches.store.windows(starts[first : first + at_once], batches.order.length + 1)
        parts = []
        for window in windows:
            borders = [-1, *np.flatnonzero(is_special[window]).tolist(), len(window)]
            # What stands before the first special token and after the last one may be empty.
            parts.append([window[border + 1 : following].tolist() for border, following in pairwise(borders)])
        cut = list(chain(*parts))
        # The tokenizers library decodes many short texts in half the time that transformers takes.
        if isinstance(backend := getattr(tokenizer, "backend_tokenizer", None), Tokenizer):
            texts = iter(backend.decode_batch(cut, skip_special_tokens=False))
        else:
            texts = iter(tokenizer.batch_decode(cut, clean_up_tokenization_spaces=False))
        for documents in parts:
            yield [next(texts) for _ in documents]
        if bar is not None:
            bar.advance(len(windows))


def whole_words(texts: Iterable[str], spaced: bool) -> list[list[str]]:
    """Cut the documents of a training sequence into words, those that are whole.

    A sequence may begin and end within a word, so the first and the last word are left out unless a document begins or
    ends there. The first token is also the last one of another sequence, so the first character is left out too.
    """
    words = [split_words(text, spaced) for text in texts]
    words[0] = words[0][1:]
    if spaced:
        words[-1] = words[-1][:-1]
    return words


@functools.cache
def _word_pattern() -> re.Pattern[str]:
    letters = map(chr, range(0x10000))
    marks = re.escape("".join(letter for letter in letters if unicodedata.category(letter)[0] in "PS"))
    return re.compile(rf"[^\s{marks}]+(?:['’-][^\s{marks}]+)*|[{marks}]")
