"""One model on one benchmark by one scorer: gathered and checked before weights are loaded, then scored."""

import hashlib
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np
import pandas as pd

from eval.benchmarks import REGISTRY
from eval.pairs import data_hash, identical
from eval.results import Key, score_path
from eval.scoring.mink import min_k
from eval.scoring.model import (
    Kind,
    StartToken,
    check_vocabulary,
    context_length,
    int8_method,
    start_token,
)
from eval.scoring.parts import Part
from eval.scoring.prompt_chats import Prompts, chat_prompts, check_prompt_length
from eval.scoring.prompt_texts import questions_for
from eval.scoring.scorers import MIN_K, Scorer, check_kind, find_scorer, token_scores
from eval.scoring.sentences import (
    Advance,
    Ids,
    NotFiniteError,
    Sentences,
    check_length,
    describe,
    encode,
)
from eval.settings import PromptSettings, ScoreSettings, full_name
from eval.subject import Subject, Unigrams, subject_of
from eval.targets import Target
from eval.unigram import unseen
from ucurve.errors import RunError
from ucurve.files import sha256_file

_CACHED = 8
_ORDER_SEED = 0  # of the two sentences in a prompt
_MARKS = ("\u0120", "\u2581")  # how tokens write the space before a word
Columns = dict[str, np.ndarray[Any, Any]]
_encoded: WeakValueDictionary[tuple[str, str, Part, bool], Sentences] = WeakValueDictionary()  # while a job has them
_recent: deque[Sentences] = deque(maxlen=_CACHED)  # held for the next checkpoint, without a job
_words: WeakKeyDictionary[Sentences, Ids] = WeakKeyDictionary()


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
        return score_columns(self.scorer, self.unigrams.logs is not None)

    def path(self, folder: Path) -> Path:
        """Return where the scores go below a run folder."""
        return score_path(folder, self.benchmark, self.scorer.name, self.target.step)


def score_columns(scorer: Scorer, unigrams: bool) -> set[str]:
    """Return what scores have of each member, by the scorer and whether there are unigram probabilities."""
    own = {f"mink{percent}" for percent in MIN_K} if scorer.name == "mink" else set()
    own |= {*scorer.linking} if scorer.chat else set()
    own |= {"unigram"} if unigrams and not scorer.chat else set()
    return {"lp", "n", "unk", "chars", "bytes"} | own


def scorers_of(pairs: pd.DataFrame, kind: Kind, settings: ScoreSettings) -> list[Scorer]:
    """Return the ways in which a benchmark is scored with a model of a kind."""
    return [find_scorer(name) for name in settings.scorers(kind) or (_usual(pairs, kind),)]


def prepare(target: Target, benchmarks: Sequence[pd.DataFrame], settings: ScoreSettings) -> list[Job]:
    """Check that a model fits every benchmark and gather what scoring needs, without loading weights.

    Raises:
        UserError: when a scorer does not fit the model or the pairs, a tokenizer not the model, or a sentence not the
            context.
    """
    subject = subject_of(target, settings)
    jobs: list[Job] = []
    for pairs in benchmarks:
        data_sha256 = data_hash(pairs)
        scorers = scorers_of(pairs, subject.kind, settings)
        jobs += [_job(subject, scorer, pairs, data_sha256, settings) for scorer in scorers]
    return jobs


def _job(subject: Subject, scorer: Scorer, pairs: pd.DataFrame, data_sha256: str, settings: ScoreSettings) -> Job:
    target, tokenizer = subject.target, subject.tokenizer
    check_kind(scorer, subject.kind, target.folder)
    start = _start(scorer, target, tokenizer, settings)
    sentences = _sentences(subject, scorer, pairs, data_sha256, start.rule == "none")
    corrected = settings.bow_correction and scorer.part == "region"
    if corrected:
        from eval.scoring.words import check_words

        whole = _encode((subject.tokenizer_files, data_sha256, scorer.part, False), pairs, tokenizer)
        check_words(tokenizer, whole, start.id, context_length(subject.config))
    if scorer.within_word:
        from eval.scoring.masked import check_knows_words

        check_knows_words(tokenizer)
    prompts = _prompts(subject, pairs, settings.prompt) if scorer.chat else None
    unigrams = Unigrams() if scorer.chat else subject.unigrams
    facts = _facts(subject, scorer, settings, start, prompts)
    facts |= {"unigrams_sha256": unigrams.sha256, "add_k": unigrams.add_k}
    key = Key(*subject.hashes, _tokens_hash(sentences), data_sha256, facts)
    return Job(target, scorer, pairs, tokenizer, sentences, start, unigrams, corrected, prompts, key)


def _start(scorer: Scorer, target: Target, tokenizer: Any, settings: ScoreSettings) -> StartToken:
    """Choose what sentences are read after: a masked model and a chat have their own frame, whatever the policy."""
    if scorer.kind == "masked" or scorer.chat:
        return StartToken(None, None, "frame" if scorer.kind == "masked" else "chat template")
    return start_token(tokenizer, target.ours, settings.start())


def _usual(pairs: pd.DataFrame, kind: Kind) -> str:
    """Name the scorer that a benchmark is scored by when nothing else is asked for."""
    card = REGISTRY.get(full_name(str(pairs["benchmark"].iloc[0])), REGISTRY["custom"])
    return card.scorer if kind == "causal" else card.masked_scorer


def _sentences(subject: Subject, scorer: Scorer, pairs: pd.DataFrame, data_sha256: str, bare: bool) -> Sentences:
    sentences = _encode((subject.tokenizer_files, data_sha256, scorer.part, bare), pairs, subject.tokenizer)
    check_vocabulary(subject.target.folder, subject.config, subject.tokenizer, sentences)
    check_length(pairs, sentences, _longest(scorer, subject.config, subject.tokenizer, bare))
    return sentences


def _longest(scorer: Scorer, config: dict[str, Any], tokenizer: Any, bare: bool) -> int | None:
    """Return the most tokens of a sentence that a model can read."""
    if scorer.kind == "causal":
        positions = context_length(config)
        return positions if positions is None or not bare else positions + 1
    from eval.scoring.masked import frame_of, masked_context_length

    positions, frame = masked_context_length(config), frame_of(tokenizer)
    return None if positions is None else positions - len(frame.before) - len(frame.after)


def _prompts(subject: Subject, pairs: pd.DataFrame, settings: PromptSettings) -> Prompts:
    language = settings.language or str(pairs["language"].iloc[0])
    prompts = chat_prompts(subject.tokenizer, pairs, questions_for(language, settings.own), _ORDER_SEED)
    check_prompt_length(prompts, context_length(subject.config))
    return prompts


def _facts(
    subject: Subject, scorer: Scorer, settings: ScoreSettings, start: StartToken, prompts: Prompts | None
) -> dict[str, Any]:
    """Gather the settings that scores depend on."""
    facts: dict[str, Any] = {
        "scorer": scorer.name,
        "revision": scorer.revision,
        "dtype": settings.dtype,
        "start_id": start.id,
        "start_rule": start.rule,
        "unk_id": subject.tokenizer.unk_token_id,
        "ids_without_unigram": sorted(subject.special),
    }
    if settings.dtype == "int8":
        facts["int8"] = int8_method(settings.device)
    if scorer.kind == "masked":
        from eval.scoring.masked import frame_of

        frame = frame_of(subject.tokenizer)
        facts["frame"] = [list(frame.before), list(frame.after), frame.mask]
    if scorer.name == "mink":
        facts["min_k"] = list(MIN_K)
    if scorer.part == "region":
        facts["bow_correction"] = settings.bow_correction
    if prompts is not None:
        ends = subject.target.folder / "generation_config.json"  # names further tokens that end an answer
        facts |= {"prompts_sha256": prompts.sha256, "order_seed": prompts.seed}
        facts["generation_config_sha256"] = sha256_file(ends) if ends.is_file() else None
    return facts


def _encode(key: tuple[str, str, Part, bool], pairs: pd.DataFrame, tokenizer: Any) -> Sentences:
    """Tokenise a benchmark, once for all checkpoints of one key: tokenizer, pairs, what counts, no start token."""
    sentences = _encoded.get(key)
    if sentences is None:
        _encoded[key] = sentences = encode(pairs, tokenizer, *key[2:])
        _recent.append(sentences)
    return sentences


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
