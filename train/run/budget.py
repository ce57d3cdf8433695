"""Turns a budget of N words into tokens: N T / W, for a corpus of W words with T tokens in whole sequences."""

import math
from pathlib import Path

from ucurve.errors import UserError
from ucurve.fields import format_words
from ucurve.storage.facts import WordBudget
from ucurve.token_stream.store import StreamSize, TokenStore
from ucurve.training.config import RunRequest, RunSettings
from ucurve.training.corpus.corpus import Corpus
from ucurve.training.corpus.words import CountedWords, count_words, find_word_count, most_tokens_per_word
from ucurve.training.data.store import epoch_tokens
from ucurve.training.run_folder.config_file import recall_settings


def resolve_budget(request: RunRequest, store: TokenStore) -> tuple[RunSettings, WordBudget | None]:
    """Count the words of the corpus and find the tokens of a budget in words; a budget in tokens stays as it is."""
    if isinstance(request, RunSettings):
        return request, None
    words, counter = request.counted_words
    counted = count_words(Corpus(request.data), counter, Path(request.paths.cache))
    _check_passes(request, words, counted)
    epoch = epoch_tokens(store.length, request.batch.length, f"data={request.data.run_name}")
    facts = WordBudget(
        asked=words,
        in_corpus=counted.words,
        tokens_per_word=epoch / counted.words,
        counter=counted.counter,
        version=counted.version,
    )
    return request.with_tokens(words * epoch // counted.words), facts


def expect_budget(request: RunRequest, stream: StreamSize | None) -> tuple[RunSettings, str]:
    """Find or estimate the tokens of a budget in words without writing or fetching anything, with a note on them."""
    if isinstance(request, RunSettings):
        return request, ""
    words, counter = request.counted_words
    known = recall_settings(request)
    if known is not None:
        return known, f"for {words:,} words ({counter}), as recorded in {request.folder}"
    corpus = Corpus(request.data)
    counted = find_word_count(corpus, counter, Path(request.paths.cache))
    if counted is not None:
        _check_passes(request, words, counted)
    if counted is not None and stream is not None:
        epoch = epoch_tokens(stream.length, request.batch.length, f"data={request.data.run_name}")
        note = f"for {words:,} words, {epoch / counted.words:.4g} a word ({counted.by}, of the whole corpus)"
        return request.with_tokens(words * epoch // counted.words), note
    most, source = most_tokens_per_word(corpus, counter)
    note = (
        f"at most, for {words:,} words ({counter}) at {most:.3g} a word, one for each character "
        f"({source}); known when the corpus is counted and tokenized"
    )
    return request.with_tokens(math.ceil(words * most)), note


def _check_passes(settings: RunRequest, words: int, counted: CountedWords) -> None:
    most = counted.words * settings.data.max_epochs
    if words <= most:
        return
    passes = words / counted.words
    raise UserError(
        f"tokens={settings.budget} means {passes:.2f} passes through data={settings.data.run_name}, which has "
        f"{counted.words:,} words ({counted.by}); data.max_epochs={settings.data.max_epochs} allows tokens="
        f"{format_words(most)}. Lower tokens, or set data.max_epochs={math.ceil(passes)}"
    )
