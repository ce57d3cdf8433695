"""One model on one benchmark by one scorer: gathered and checked before weights are loaded, then scored."""

import functools
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from eval.benchmarks import REGISTRY
from eval.pairs import data_hash, identical
from eval.ratings import rating_pairs
from eval.results import Key, score_path
from eval.scoring.mink import min_k
from eval.scoring.model import (
    Kind,
    StartToken,
    check_vocabulary,
    context_length,
    load_tokenizer,
    model_kind,
    read_config,
    start_token,
    tokenizer_files_hash,
)
from eval.scoring.parts import Part
from eval.scoring.prompt_chats import Prompts, chat_prompts, check_prompt_length
from eval.scoring.prompt_texts import questions_for
from eval.scoring.scorers import MIN_K, Scorer, check_kind, find_scorer, token_scores, without_first_tokens
from eval.scoring.sentences import (
    Advance,
    Ids,
    NotFiniteError,
    Scores,
    Sentences,
    check_length,
    check_scored,
    describe,
    encode,
)
from eval.settings import PromptSettings, ScoreSettings, full_name
from eval.targets import Target
from eval.unigram import log_unigrams, published_probabilities, read_counts, smooth, unseen
from ucurve.errors import RunError
from ucurve.files import sha256_file

_CACHED = 8
_DEFAULT: dict[Kind, str] = {"causal": "sentence", "masked": "pll_l2r"}
_ORDER_SEED = 0  # of the two sentences in a prompt
Columns = dict[str, np.ndarray[Any, Any]]
_encoded: dict[tuple[str, str, Part, bool], Sentences] = {}  # for the next checkpoint
_words: dict[int, tuple[Sentences, Ids]] = {}


@dataclass(frozen=True)
class Unigrams:
    """What is known of single tokens.

    Attributes:
        logs: log probabilities by token id, float64[V]; None without counts.
        seen: counts or published probabilities, 0 for a token that was never seen; None without counts.
        sha256: of the file.
    """

    logs: Scores | None = None
    seen: np.ndarray[Any, Any] | None = None
    sha256: str | None = None


@dataclass(frozen=True)
class Job:
    """One model on one benchmark by one scorer, ready to be scored.

    Attributes:
        target: the model.
        scorer: the way to score.
        pairs: the pair table.
        tokenizer: of the model.
        sentences: what is read, with the tokens that count.
        start: what sentences are read after.
        unigrams: of the training tokens, or published.
        corrected: whether regions are corrected for the beginning of the word after them.
        prompts: the chats of a scorer that asks, else None.
        key: what the scores depend on.
    """

    target: Target
    scorer: Scorer
    pairs: pd.DataFrame
    tokenizer: Any
    sentences: Sentences
    start: StartToken
    unigrams: Unigrams
    corrected: bool
    prompts: Prompts | None
    key: Key

    @property
    def benchmark(self) -> str:
        """Name of the benchmark."""
        return str(self.pairs["benchmark"].iloc[0])

    @property
    def identity(self) -> tuple[int, str, str]:
        """Step, benchmark and scorer: where the scores go within a run folder."""
        return self.target.step, self.benchmark, self.scorer.name

    @property
    def size(self) -> int:
        """How many sentences or chats there are to score."""
        return len(self.sentences.texts) if self.prompts is None else len(self.prompts.ids)

    @property
    def columns(self) -> set[str]:
        """What the scores have of each member."""
        own = {f"mink{percent}" for percent in MIN_K} if self.scorer.name == "mink" else set()
        own |= {*self.scorer.linking} if self.scorer.chat else set()
        own |= {"unigram"} if self.unigrams.logs is not None and not self.scorer.chat else set()
        return {"lp", "n", "unk", "chars", "bytes"} | own

    def path(self, folder: Path) -> Path:
        """Return where the scores go below a run folder."""
        return score_path(folder, self.benchmark, self.scorer.name, self.target.step)


def prepare(target: Target, benchmarks: Sequence[pd.DataFrame], settings: ScoreSettings) -> list[Job]:
    """Check that a model fits every benchmark and gather what scoring needs, without loading weights.

    Raises:
        UserError: when a scorer does not fit the model or the pairs, a tokenizer not the model, or a sentence not the
            context.
    """
    kind = model_kind(read_config(target.folder))
    tokenizer = _tokenizer(tokenizer_files_hash(target.folder), target.folder)
    start = start_token(tokenizer, target.ours, settings.start())
    special = {*tokenizer.all_special_ids} - {tokenizer.unk_token_id}
    excluded: set[int] = special if start.id is None else special | {start.id}
    unigrams = _unigrams(target, tokenizer, excluded, settings)
    hashes = (target.weights_sha256(), sha256_file(target.folder / "config.json"), target.tokenizer_sha256())
    jobs = []
    for pairs in benchmarks:
        for name in settings.scorers(kind) or (_usual(pairs, kind),):
            scorer = find_scorer(name)
            check_kind(scorer, kind, target.folder)
            sentences = _checked_sentences(target, scorer, pairs, tokenizer, start)
            prompts = _prompts(target, tokenizer, pairs, settings.prompt) if scorer.chat else None
            facts = _facts(scorer, settings, start, tokenizer, prompts)
            facts |= {"ids_without_unigram": sorted(excluded), "unigrams_sha256": unigrams.sha256}
            key = Key(*hashes, _tokens_hash(sentences), data_hash(pairs), facts)
            corrected = settings.bow_correction and scorer.part == "region"
            jobs.append(Job(target, scorer, pairs, tokenizer, sentences, start, unigrams, corrected, prompts, key))
    return jobs


def rated_job(job: Job, ratings: pd.DataFrame, settings: ScoreSettings) -> Job:
    """Gather what scoring rated sentences needs, by the model and the scorer of another job.

    Args:
        job: the other job.
        ratings: of ``read_ratings``.
        settings: those of the sweep.

    Raises:
        UserError: as ``prepare``.
    """
    alike = replace(settings, scorer=(job.scorer.name,), bow_correction=job.corrected)
    return prepare(job.target, [rating_pairs(ratings)], alike)[0]


def _usual(pairs: pd.DataFrame, kind: Kind) -> str:
    """Name the scorer that a benchmark is scored by when nothing else is asked for."""
    card = REGISTRY.get(full_name(str(pairs["benchmark"].iloc[0])))
    if card is None:
        return _DEFAULT[kind]
    return card.scorer if kind == "causal" else card.masked_scorer


def _checked_sentences(
    target: Target, scorer: Scorer, pairs: pd.DataFrame, tokenizer: Any, start: StartToken
) -> Sentences:
    config = read_config(target.folder)
    bare = start.id is None and scorer.kind == "causal"
    key = (tokenizer_files_hash(target.folder), data_hash(pairs), scorer.part, bare)
    sentences = _encode(key, pairs, tokenizer)
    check_vocabulary(target.folder, config, tokenizer, sentences)
    check_length(pairs, sentences, _longest(scorer, config, tokenizer, bare))
    return sentences


def _longest(scorer: Scorer, config: dict[str, Any], tokenizer: Any, bare: bool) -> int | None:
    """Return the most tokens of a sentence that a model can read."""
    if scorer.kind == "causal":
        positions = context_length(config)
        return positions if positions is None or not bare else positions + 1
    from eval.scoring.masked import frame_of, masked_context_length

    positions, frame = masked_context_length(config), frame_of(tokenizer)
    return None if positions is None else positions - len(frame.before) - len(frame.after)


def _prompts(target: Target, tokenizer: Any, pairs: pd.DataFrame, settings: PromptSettings) -> Prompts:
    language = settings.language or str(pairs["language"].iloc[0])
    prompts = chat_prompts(tokenizer, pairs, questions_for(language, settings.own), _ORDER_SEED)
    check_prompt_length(prompts, context_length(read_config(target.folder)))
    return prompts


def _facts(
    scorer: Scorer, settings: ScoreSettings, start: StartToken, tokenizer: Any, prompts: Prompts | None
) -> dict[str, Any]:
    """Gather the settings that scores depend on."""
    causal = scorer.kind == "causal"
    facts: dict[str, Any] = {
        "scorer": scorer.name,
        "revision": scorer.revision,
        "dtype": settings.dtype,
        "start_id": start.id if causal else None,
        "start_rule": start.rule if causal else "frame",
        "unk_id": tokenizer.unk_token_id,
    }
    if scorer.name == "mink":
        facts["min_k"] = list(MIN_K)
    if scorer.part == "region":
        facts["bow_correction"] = settings.bow_correction
    if prompts is not None:
        facts |= {"prompts_sha256": prompts.sha256, "order_seed": prompts.seed}
    return facts


def _unigrams(target: Target, tokenizer: Any, excluded: set[int], settings: ScoreSettings) -> Unigrams:
    size = 1 + max(tokenizer.get_vocab().values())
    if settings.unigrams is not None:
        path = settings.unigrams.path
        published = published_probabilities(settings.unigrams, size, target.tokenizer_sha256())
        return Unigrams(smooth(published, excluded, path), published, sha256_file(path))
    counts = read_counts(target.counts, len(tokenizer), size)
    if counts is None:
        return Unigrams()
    return Unigrams(log_unigrams(counts, excluded), counts, sha256_file(target.counts))


@functools.lru_cache(maxsize=_CACHED)  # a sweep meets the same tokenizer checkpoint after checkpoint
def _tokenizer(files_sha256: str, folder: Path) -> Any:  # noqa: ARG001
    return load_tokenizer(folder)


def _encode(key: tuple[str, str, Part, bool], pairs: pd.DataFrame, tokenizer: Any) -> Sentences:
    """Tokenise a benchmark, once for all checkpoints of one key: tokenizer, pairs, what counts, no start token."""
    if key not in _encoded:
        if len(_encoded) >= _CACHED:
            _encoded.clear()
        sentences = encode(pairs, tokenizer, key[2])
        if key[3]:
            sentences = without_first_tokens(sentences)
            check_scored(pairs, sentences, "bos=none leaves no token to score")
        _encoded[key] = sentences
    return _encoded[key]


def _tokens_hash(sentences: Sentences) -> str:
    digest = hashlib.sha256()
    for numbers in (sentences.tokens, sentences.starts, sentences.good, sentences.bad, sentences.scored):
        digest.update(np.ascontiguousarray(numbers, dtype="<i8").tobytes())
    return digest.hexdigest()


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
        from eval.scoring.prompt import ask_pairs, prompt_notes, prompt_table

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
        from eval.scoring.words import bow_corrections

        columns["bow"] = bow_corrections(model, job.tokenizer, sentences, job.start.id, batch_tokens)
        columns["lp"] = columns["lp"] + columns["bow"]
    return columns


def _words_of(job: Job) -> Ids:
    """Number the words of the tokens, once for all checkpoints."""
    from eval.scoring.masked import words_of

    held = _words.get(id(job.sentences))
    if held is None or held[0] is not job.sentences:
        _words.clear()
        _words[id(job.sentences)] = held = (job.sentences, words_of(job.tokenizer, job.sentences))
    return held[1]


def notes_of(job: Job) -> dict[str, Any]:
    """Return facts about the sentences of a job for the reader of its key file."""
    sentences = job.sentences
    first = sentences.tokens[sentences.starts[:-1]]
    notes = {
        "model": job.target.name,
        "start_token": job.start.text,
        "pairs": len(job.pairs),
        "identical_pairs": int(identical(job.pairs).sum()),
        "pairs_with_other_first_tokens": float((first[sentences.good] != first[sentences.bad]).mean()),
        "sentences_with_a_token_across_a_border": sentences.straddling,
    }
    if job.unigrams.seen is not None:
        notes["unseen_tokens"], notes["unseen_types"] = unseen(job.unigrams.seen, sentences.tokens)
    return notes
