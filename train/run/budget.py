"""Turns a budget of N words into tokens: N T / W, for a corpus of W words with T tokens in whole sequences."""

import math
from collections.abc import Iterable
from pathlib import Path

from ucurve.errors import UserError
from ucurve.fields import format_words
from ucurve.progress import log_line
from ucurve.storage.facts import WordBudget
from ucurve.token_stream.store import StreamSize, TokenStore
from ucurve.training.config import RunRequest, RunSettings
from ucurve.training.corpus.corpus import Corpus
from ucurve.training.corpus.settings import CorpusSettings
from ucurve.training.corpus.words import CountedWords, count_words, find_word_count, most_tokens_per_word
from ucurve.training.data.store import epoch_tokens
from ucurve.training.run_folder.config_file import recall_settings
from ucurve.training.tokenizer.beginning import survey_beginning

_FEW_STEPS = 200  # below it a model has hardly left its first weights, and a warm-up of 1 % is a step or two


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
    # Rounded down, a run never sees more words than were asked for.
    return request.with_tokens(words * epoch // counted.words), facts


def expect_budget(request: RunRequest, stream: StreamSize | None) -> tuple[RunSettings, str]:
    """Find or estimate the tokens of a budget in words without writing or fetching anything, with a note on them.

    Args:
        request: with the commits of what comes from the hub, as far as they are known.
        stream: the size of the token stream, where the cache has it.

    Returns:
        The settings with a number of tokens, and a note on it: empty for a budget in tokens.

    Raises:
        UserError: when the words are more passes through the corpus than ``data.max_epochs`` allows.
    """
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
    # Rounded up, it stays an upper limit.
    return request.with_tokens(math.ceil(words * most)), note


def say_budget_warnings(requests: Iterable[RunRequest]) -> None:
    """Log once each what is doubtful of the budgets of a grid, before anything is built."""
    for warning in dict.fromkeys(warning for request in requests for warning in list_budget_warnings(request)):
        log_line(warning)


def list_budget_warnings(request: RunRequest, stream: StreamSize | None = None) -> list[str]:
    """Say that a budget in tokens has few steps, and that the text, whose tokens may be known, is too short for it.

    Before a text is tokenized, it has at most a token for each of its characters, whose number may be estimated.
    """
    if not isinstance(request, RunSettings):
        return []
    length, warnings = request.batch.length, list[str]()
    if request.steps < _FEW_STEPS:
        fewer = max(1, request.tokens // (_FEW_STEPS * length))
        more = f"batch.sequences={fewer} makes them {request.tokens // (fewer * length):,}"
        remedy = more if fewer < request.batch.sequences else "give more tokens, or a smaller batch.length"
        warnings.append(
            f"warning: tokens={request.budget} are {request.steps} steps, which is little to learn from; {remedy}"
        )
    for data, known, tokens in _shares(request.data, stream, request.steps * request.batch.tokens, length):
        if known is not None:
            most, has = known.length, f"{known.length:,} tokens"
        elif (beginning := survey_beginning(data)) is not None:
            most, has = beginning.most_tokens, beginning.describe()
        else:
            continue  # as for a text of the hub, of which nothing is read
        # An epoch has whole sequences and a last target, as ``epoch_tokens`` counts.
        times = tokens / max((most - 1) // length * length, 1)
        if most and times > data.max_epochs:
            # Only ``char`` has a token for each character; with fewer tokens a text is repeated more often.
            least = "" if known is not None or request.tokenizer.kind == "char" else "at least "
            key = "data.max_epochs" if data == request.data else f"max_epochs of the part {data.run_name}"
            warnings.append(
                f"warning: data={data.run_name} has {has}; {tokens:,} tokens need {least}{times:,.2f} times it, and "
                f"{key} is {data.max_epochs}. Lower tokens, or set it to {math.ceil(times)}"
            )
    return warnings


def _shares(
    data: CorpusSettings, stream: StreamSize | None, tokens: int, length: int
) -> list[tuple[CorpusSettings, StreamSize | None, int]]:
    """Return the corpora that a corpus consists of, each with its stream and the tokens that a budget takes of it."""
    if data.joining is None:
        return [(data, stream, tokens)]
    counts = data.joining.count(tokens // length, length)
    streams = [None] * len(counts) if stream is None else stream.parts
    return [
        share
        for part, of_part, count in zip(data.parts, streams, counts, strict=True)
        for share in _shares(part.data, of_part, count * length, length)
    ]


def _check_passes(settings: RunRequest, words: int, counted: CountedWords) -> None:
    """Refuse a budget in words that goes through the corpus more often than allowed."""
    most = counted.words * settings.data.max_epochs
    if words <= most:
        return
    passes = words / counted.words
    raise UserError(
        f"tokens={settings.budget} means {passes:.2f} passes through data={settings.data.run_name}, which has "
        f"{counted.words:,} words ({counted.by}); data.max_epochs={settings.data.max_epochs} allows tokens="
        f"{format_words(most)}. Lower tokens, or set data.max_epochs={math.ceil(passes)}"
    )
