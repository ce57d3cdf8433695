"""One model on one benchmark by one scorer: gathered and checked before weights are loaded."""

import hashlib
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
import pandas as pd

from eval.benchmarks import REGISTRY
from eval.metrics.ratings import rating_pairs, read_ratings
from eval.models.folder import Kind, StartToken, context_length, start_token
from eval.models.targets import Target
from eval.pairs import data_hash
from eval.scoring.loading import check_vocabulary, int8_method
from eval.scoring.prompt.chats import Prompts, chat_prompts, check_prompt_length
from eval.scoring.prompt.questions import questions_for
from eval.scoring.scorers import MIN_K, Scorer, check_kind, find_scorer
from eval.scoring.text.sentences import Sentences, check_length, encode
from eval.scoring.text.spans import Part
from eval.settings import PromptSettings, ScoreSettings, full_name
from eval.store.scores import Key, score_path
from eval.sweep.subject import Subject, Unigrams, subject_of
from ucurve.storage.files import sha256_file

_CACHED = 8
_ORDER_SEED = 0  # of the two sentences in a prompt
_encoded: WeakValueDictionary[tuple[str, str, Part, bool], Sentences] = WeakValueDictionary()  # while a job has them
_recent: deque[Sentences] = deque(maxlen=_CACHED)  # held for the next checkpoint, without a job


@dataclass(frozen=True)
class Job:
    """One model on one benchmark by one scorer, ready to be scored.

    Attributes:
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
        from eval.scoring.causal.bow_correction import check_words

        whole = _encode((subject.tokenizer_files, data_sha256, scorer.part, False), pairs, tokenizer)
        check_words(tokenizer, whole, start.id, context_length(subject.config))
    if scorer.within_word:
        from eval.scoring.masked.masked import check_knows_words

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
    from eval.scoring.masked.masked import frame_of, masked_context_length

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
        from eval.scoring.masked.masked import frame_of

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


def rated_pairs(file: Path) -> pd.DataFrame:
    """Read rated sentences as the pair table of a benchmark whose name tells them from those of other files.

    Raises:
        UserError: when the file is missing or broken.
    """
    pairs = rating_pairs(read_ratings(file))
    return pairs.assign(benchmark=f"ratings-{data_hash(pairs)[:8]}")


def rated_job(job: Job, pairs: pd.DataFrame, settings: ScoreSettings) -> Job:
    """Gather what scoring rated sentences needs, by the model and the scorer of another job.

    Args:
        pairs: of ``rated_pairs``.

    Raises:
        UserError: as ``prepare``.
    """
    alike = replace(settings, scorer=(job.scorer.name,), bow_correction=job.corrected)
    return prepare(job.target, [pairs], alike)[0]
