"""Counts the words of a corpus, the unit of budgets such as ``tokens=102Mw``."""

import functools
import importlib.metadata
import importlib.util
import logging
import tempfile
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from ucurve.errors import UserError
from ucurve.progress import log_line
from ucurve.storage.files import read_json_or_empty, sha256_json, write_json
from ucurve.storage.locks import build_once
from ucurve.training.corpus.corpus import Corpus
from ucurve.training.corpus.files import keep_hashes
from ucurve.training.corpus.parallel import count_processes, map_batches, text_batches
from ucurve.training.corpus.settings import CorpusSettings, WordCounter

_FORMAT = 1  # raised when the same text would have another number of words
_COUNT = "count.json"
_WORDS_BETWEEN_LINES = 20_000_000  # one line of progress is logged for so many

# Characters of a word where no text is at hand, for the estimate of a dry run: more than words have on average.
_LONG_WORD: dict[WordCounter, float] = {"jieba": 2.0, "whitespace": 6.0}


@dataclass(frozen=True)
class CountedWords:
    """The words of a corpus.

    Attributes:
        words: in all records of the training files, those that are held out included.
    """

    words: int
    counter: WordCounter
    version: str | None  # of the package that counts; None for ``whitespace``, which is Python's ``str.split``

    @property
    def by(self) -> str:
        """The counter with its version, for messages."""
        return self.counter if self.version is None else f"{self.counter} {self.version}"


def check_counter(counter: WordCounter) -> None:
    """Check that the package that counts words is installed.

    Raises:
        UserError: naming the extra to install.
    """
    if counter == "jieba" and importlib.util.find_spec("jieba") is None:
        raise UserError(
            "data.words=jieba: the package jieba is not installed; install ucurve with the extra [words]"
        )


def count_words(corpus: Corpus, counter: WordCounter, cache: Path, processes: int | None = None) -> CountedWords:
    """Count the words of a corpus unless the cache holds their number already.

    Each record is counted whole, held-out ones included, as the 2026 Chinese BabyLM challenge counts (``jieba.cut``).

    Raises:
        UserError: when the counter is not installed, or a file cannot be read.
    """
    check_counter(counter)
    records = _records(corpus)
    key = _key(records, counter)

    def build(temporary: Path) -> None:
        log_line(f"counting the words of {corpus.settings.run_name} with {counter}")
        found = {"key": key, "words": _count(records, counter, processes or count_processes())}
        write_json(temporary / _COUNT, found | {"count_sha256": sha256_json(found)})
        log_line(f"{found['words']:,} words")

    folder = build_once(_folder(cache, key), lambda there: _read(there, key) is not None, build)
    keep_hashes(cache)
    words = _read(folder, key)
    assert words is not None, "it was just built or found complete"
    return CountedWords(words, counter, _version(counter))


def find_word_count(corpus: Corpus, counter: WordCounter, cache: Path) -> CountedWords | None:
    """Return the words of a corpus as the cache records them, without reading the text; else None."""
    check_counter(counter)
    key = _key(_records(corpus), counter)
    words = _read(_folder(cache, key), key)
    return None if words is None else CountedWords(words, counter, _version(counter))


def most_tokens_per_word(corpus: Corpus, counter: WordCounter) -> tuple[float, str]:
    """Return how many tokens a word is at most, one for each character and document, and where that is from."""
    if corpus.settings.kind == "hub":  # of which nothing is fetched: more than the average of usual text
        return _LONG_WORD[counter], "assumed, as nothing is fetched"
    check_counter(counter)
    return _measure_beginning(corpus.settings, counter), "measured in its first records"


@functools.cache
def _measure_beginning(settings: CorpusSettings, counter: WordCounter) -> float:
    """Measure one corpus once, for all cells of a grid."""
    batch = next(text_batches(_records(Corpus(settings)).documents()))
    # A token for each character, and one before each document.
    return (sum(map(len, batch)) + len(batch)) / max(_count_batch(counter, batch), 1)


def _records(corpus: Corpus) -> Corpus:
    """Return the same text with whole records as documents, unless interventions need others, none set apart."""
    unit = corpus.settings.unit if corpus.settings.interventions else "record"
    # Text that is held out counts too, because it is part of the corpus that was chosen.
    return Corpus(replace(corpus.settings, unit=unit, holdout=0.0))


def _count(records: Corpus, counter: WordCounter, processes: int) -> int:
    """Count the words of all records, with a line of progress now and then."""
    total, next_line = 0, _WORDS_BETWEEN_LINES
    work = functools.partial(_count_batch, counter)
    for words in map_batches(work, records.documents(), processes, "counts words"):
        total += words
        if total >= next_line:
            log_line(f"{total:,} words so far")
            next_line += _WORDS_BETWEEN_LINES
    return total


def _count_batch(counter: WordCounter, texts: list[str]) -> int:
    """Count the words of some texts, or of parts of them that were cut between two lines, where no word goes on."""
    if counter == "whitespace":
        return sum(len(text.split()) for text in texts)
    cut = _jieba_cut()
    return sum(1 for text in texts for _ in cut(text))


@functools.cache
def _jieba_cut() -> Callable[[str], Iterable[str]]:
    """Return the function of jieba that cuts a text, with its own dictionary and nothing kept on disk."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of newer Pythons about the syntax of its files
        import jieba
    jieba.setLogLevel(logging.WARNING)  # jieba would log how it loads its dictionary
    segmenter = jieba.Tokenizer()
    with tempfile.TemporaryDirectory() as own:  # in the system's folder, another user could replace jieba's cache
        segmenter.tmp_dir = own
        segmenter.initialize()
    cut: Callable[[str], Iterable[str]] = segmenter.cut
    return cut


def _version(counter: WordCounter) -> str | None:
    return importlib.metadata.version("jieba") if counter == "jieba" else None


def _key(records: Corpus, counter: WordCounter) -> str:
    return sha256_json([_FORMAT, records.fingerprint(), counter, _version(counter)])


def _folder(cache: Path, key: str) -> Path:
    return cache / f"words-{key[:16]}"


def _read(folder: Path, key: str) -> int | None:
    """Return the number of words that a folder of the cache records under a key; None for a damaged record."""
    record = read_json_or_empty(folder / _COUNT)
    intact = record.pop("count_sha256", None) == sha256_json(record) and record.get("key") == key
    return int(record["words"]) if intact else None
