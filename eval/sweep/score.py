"""Scores one job: the log probabilities of its sentences, added up to a table with one row for each pair."""

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd

from eval.models.unigram import unseen
from eval.pairs import identical
from eval.scoring.causal.mink import min_k
from eval.scoring.scorers import MIN_K, token_scores
from eval.scoring.text.sentences import Advance, Ids, NotFiniteError, Sentences, describe
from eval.sweep.prepare import Job
from ucurve.errors import RunError

_MARKS = ("\u0120", "\u2581")  # how tokens write the space before a word
Columns = dict[str, np.ndarray[Any, Any]]
_words: WeakKeyDictionary[Sentences, Ids] = WeakKeyDictionary()


def score_job(
    job: Job, model: Any, batch_tokens: int, advance: Advance | None = None
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Score one benchmark with one model.

    Returns:
        The score table: ``pair``, then ``lp, n, unigram, unk, chars, bytes`` and the scorer's own columns, each as
        ``_good`` and ``_bad``; one row per pair. ``lp`` is a natural log summed in float64, ``n`` counts scored tokens,
        ``unigram`` is NaN without counts, ``chars`` and ``bytes`` (UTF-8) measure what is scored. And facts about the
        scores for the reader of their key file.

    Raises:
        RunError: when a score is not finite, naming the item and the model.
    """
    if job.prompts is not None:
        from eval.scoring.prompt.prompt import ask_pairs, prompt_notes, prompt_table

        asked = ask_pairs(model, job.tokenizer, job.prompts, batch_tokens, advance)
        return prompt_table(asked), notes_of(job) | prompt_notes(asked)
    try:
        columns = _columns(job, model, batch_tokens, advance)
    except NotFiniteError as error:
        item = describe(job.pairs, job.sentences, error.sentence)
        raise RunError(f"{job.target.folder}: the score is not finite; {item}") from error
    sides = {"good": job.sentences.good, "bad": job.sentences.bad}
    taken = {f"{name}_{side}": values[index] for name, values in columns.items() for side, index in sides.items()}
    return pd.DataFrame({"pair": job.pairs["pair"].to_numpy(), **taken}), notes_of(job)


def _columns(job: Job, model: Any, batch_tokens: int, advance: Advance | None) -> Columns:
    """Compute what is stored of every sentence."""
    sentences, logs = job.sentences, job.unigrams.logs
    words = _words_of(job) if job.scorer.within_word else None
    values = token_scores(job.scorer, model, job.tokenizer, sentences, words, job.start, batch_tokens, advance)
    texts = sentences.scored_texts()
    unknown = sentences.tokens == (-1 if job.tokenizer.unk_token_id is None else job.tokenizer.unk_token_id)
    columns: Columns = {
        "lp": sentences.sums(values),
        "n": sentences.counts(),
        "unigram": np.full(len(texts), np.nan) if logs is None else sentences.sums(logs[sentences.tokens]),
        "unk": sentences.sums(unknown.astype(np.int64)),
        "chars": np.array([len(text) for text in texts]),
        "bytes": np.array([len(text.encode()) for text in texts]),
    }
    if job.scorer.name == "mink":
        for percent in MIN_K:
            columns[f"mink{percent}"] = min_k(values, sentences.starts, sentences.scored, percent)
    if job.corrected:
        from eval.scoring.causal.bow_correction import bow_corrections

        columns["bow"] = bow_corrections(model, job.tokenizer, sentences, job.start.id, batch_tokens)
        columns["lp"] = columns["lp"] + columns["bow"]
    return columns


def _words_of(job: Job) -> Ids:
    """Number the words of the tokens, once for all checkpoints."""
    from eval.scoring.masked.masked import words_of

    words = _words.get(job.sentences)
    if words is None:
        _words[job.sentences] = words = words_of(job.tokenizer, job.sentences)
    return words


def notes_of(job: Job) -> dict[str, Any]:
    """Return facts about the sentences of a job for the reader of its key file."""
    sentences = job.sentences
    first = sentences.tokens[sentences.starts[:-1]]
    notes = {
        "model": job.target.name,
        "start_token": job.start.text,
        "leading_space": _leading_space(job),
        "pairs": len(job.pairs),
        "identical_pairs": int(identical(job.pairs).sum()),
        "pairs_with_other_first_tokens": float((first[sentences.good] != first[sentences.bad]).mean()),
        "sentences_with_a_token_across_a_border": sentences.straddling,
    }
    if job.unigrams.seen is not None:
        scored = sentences.tokens[sentences.scored]
        notes["unseen_tokens"], notes["unseen_types"] = unseen(job.unigrams.seen, scored)
    return notes


def _leading_space(job: Job) -> bool:
    """Say whether the tokenizer puts the mark of a space at the beginning of a sentence that has none there."""
    first = job.sentences.tokens[job.sentences.starts[:-1]]
    kinds, places = np.unique(first, return_inverse=True)
    pieces = job.tokenizer.convert_ids_to_tokens(kinds.tolist())
    marked = np.array([piece.startswith(_MARKS) for piece in pieces])[places]
    texts = ((job.sentences.texts[place], pieces[places[place]]) for place in np.flatnonzero(marked))
    return any(not text.startswith((" ", piece[0])) for text, piece in texts)
