"""Many checkpoints on several benchmarks: a text is tokenised once, a model loaded once, no score computed twice."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from eval.linking import Linking
from eval.metrics import TiesRule, accuracy_table
from eval.pairs import data_hash, identical
from eval.results import (
    ACCURACY_COLUMNS,
    Key,
    drop_accuracy,
    has_scores,
    keep_pairs,
    read_scores,
    refresh_accuracy,
    score_path,
    scores_shown,
    write_scores,
    writing,
)
from eval.scoring.model import (
    StartToken,
    check_vocabulary,
    context_length,
    load_model,
    load_tokenizer,
    read_config,
    start_token,
    tokenizer_files_hash,
)
from eval.scoring.sentences import Sentences, check_length, describe, encode
from eval.targets import Target
from eval.unigram import log_unigrams, read_counts
from ucurve.errors import RunError
from ucurve.files import sha256_file
from ucurve.progress import ProgressBar, say

SCORER = "sentence"
_REVISION = 1  # of the way this scorer scores; part of every key
_ENCODED_TABLES = 8
_encoded: dict[tuple[str, str], Sentences] = {}  # by hash of tokenizer files and pairs, for the next checkpoint


@dataclass(frozen=True)
class Job:
    """One model on one benchmark, ready to be scored."""

    target: Target
    pairs: pd.DataFrame
    sentences: Sentences
    unk: int | None
    start: StartToken
    unigrams: npt.NDArray[np.float64] | None
    key: Key

    @property
    def benchmark(self) -> str:
        """Name of the benchmark."""
        return str(self.pairs["benchmark"].iloc[0])


@dataclass
class Sweep:
    """Scores models into one run folder.

    Attributes:
        folder: the run folder, or the folder given for a model alone.
        benchmarks: pair tables.
        linkings: linking functions of ``accuracy.csv``.
        ties_rules: what a tie counts; one set of rows for each.
        batch_tokens: most tokens of one forward pass.
    """

    folder: Path
    benchmarks: Sequence[pd.DataFrame]
    linkings: Sequence[Linking]
    ties_rules: Sequence[TiesRule]
    batch_tokens: int
    _accuracies: list[pd.DataFrame] = field(default_factory=list)
    _loaded: tuple[Path, Any] | None = None

    def score(self, targets: Sequence[Target]) -> None:
        """Score every target on every benchmark, skipping scores whose key matches, and refresh ``accuracy.csv``.

        Raises:
            UserError: when a target does not fit a benchmark, the first model to score does not load, or
                ``accuracy.csv`` is broken; then nothing has been written.
            RunError: when a score is not finite.
        """
        jobs = [job for target in targets for job in prepare(target, self.benchmarks)]
        shown = scores_shown(self.folder)
        due = [job for job in jobs if not has_scores(self._path(job), job.key)]
        if due:
            self._model(due[0].target)
        with writing(self.folder):
            for pairs in self.benchmarks:
                keep_pairs(self.folder, pairs)
            drop_accuracy(self.folder, shown & {(job.target.step, job.benchmark, SCORER) for job in due})
            self._score_all(jobs)
        for pairs in self.benchmarks:
            _say_identical(pairs)

    def _path(self, job: Job) -> Path:
        return score_path(self.folder, job.benchmark, SCORER, job.target.step)

    def _model(self, target: Target) -> Any:
        """Load a model, or give the one that was loaded last."""
        if self._loaded is None or self._loaded[0] != target.folder:
            self._loaded = None  # one model at a time in memory
            self._loaded = (target.folder, load_model(target.folder))
        return self._loaded[1]

    def _score_all(self, jobs: Sequence[Job]) -> None:
        try:
            with ProgressBar(f"scoring {self.folder.name}", sum(len(job.sentences.texts) for job in jobs)) as bar:
                for job in jobs:
                    self._score_one(job, bar)
        finally:
            refresh_accuracy(self.folder, self._accuracies)

    def _score_one(self, job: Job, bar: ProgressBar) -> None:
        path = self._path(job)
        scores = read_scores(path, job.key)
        if scores is None:
            scores = score_job(job, self._model(job.target), self.batch_tokens, bar)
            notes = {"start_token": job.start.text, "pairs": len(job.pairs)}
            write_scores(path, scores, job.key, notes | {"identical_pairs": int(identical(job.pairs).sum())})
        else:
            bar.advance(len(job.sentences.texts))
        self._accuracies.append(self._accuracy(job, scores))

    def _accuracy(self, job: Job, scores: pd.DataFrame) -> pd.DataFrame:
        table = accuracy_table(job.pairs, scores, self.linkings, self.ties_rules)
        manifest = job.target.manifest
        table["run"], table["step"] = job.target.name, job.target.step
        table["tokens"], table["flops"] = manifest.get("tokens"), manifest.get("flops")
        table["benchmark"], table["scorer"] = job.benchmark, SCORER
        return table[list(ACCURACY_COLUMNS)]


def prepare(target: Target, benchmarks: Sequence[pd.DataFrame]) -> list[Job]:
    """Check that a model fits every benchmark and gather what scoring needs, without loading weights.

    Raises:
        UserError: when a tokenizer does not fit the model, or a sentence not the context.
    """
    config = read_config(target.folder)
    tokenizer = load_tokenizer(target.folder)
    start = start_token(tokenizer, target.ours)
    counts = read_counts(target.counts, len(tokenizer), 1 + max(tokenizer.get_vocab().values()))
    excluded = {*tokenizer.all_special_ids} - {tokenizer.unk_token_id} | {start.id}
    unigrams = None if counts is None else log_unigrams(counts, excluded)
    settings = {
        "scorer": SCORER,
        "revision": _REVISION,
        "dtype": "float32",
        "start_id": start.id,
        "start_rule": start.rule,
        "unk_id": tokenizer.unk_token_id,
        "ids_without_unigram": sorted(excluded),
        "unigram_counts_sha256": None if counts is None else sha256_file(target.counts),
    }
    model = (target.weights_sha256(), sha256_file(target.folder / "config.json"), target.tokenizer_sha256())
    files = tokenizer_files_hash(target.folder)
    jobs = []
    for pairs in benchmarks:
        data = data_hash(pairs)
        sentences = _encode(pairs, tokenizer, files, data)
        check_vocabulary(target.folder, config, tokenizer, sentences)
        check_length(pairs, sentences, context_length(config))
        key = Key(*model, _tokens_hash(sentences), data, settings)
        jobs.append(Job(target, pairs, sentences, tokenizer.unk_token_id, start, unigrams, key))
    return jobs


def _tokens_hash(sentences: Sentences) -> str:
    digest = hashlib.sha256()
    for ids in (sentences.tokens, sentences.starts, sentences.good, sentences.bad):
        digest.update(np.ascontiguousarray(ids, dtype="<i8").tobytes())
    return digest.hexdigest()


def _encode(pairs: pd.DataFrame, tokenizer: Any, files_sha256: str, data_sha256: str) -> Sentences:
    key = (files_sha256, data_sha256)
    if key not in _encoded:
        if len(_encoded) >= _ENCODED_TABLES:
            _encoded.clear()
        _encoded[key] = encode(pairs, tokenizer)
    return _encoded[key]


def score_job(job: Job, model: Any, batch_tokens: int, bar: ProgressBar | None = None) -> pd.DataFrame:
    """Score one benchmark with one model.

    Returns:
        ``pair, lp_good, lp_bad, n_good, n_bad, unigram_good, unigram_bad, unk_good, unk_bad``, one row per pair. ``lp``
        is a natural log summed in float64, ``n`` counts scored tokens, ``unigram`` is NaN without counts.

    Raises:
        RunError: when a score is not finite, naming the item and the model.
    """
    from eval.scoring.sentence import NotFiniteError, score_sentences

    def advance(done: int) -> None:
        if bar is not None:
            bar.advance(done, f"step {job.target.step} {job.benchmark}")

    try:
        lp = score_sentences(model, job.sentences, job.start.id, batch_tokens, advance)
    except NotFiniteError as error:
        item = describe(job.pairs, job.sentences, error.sentence)
        raise RunError(f"{job.target.folder}: the score is not finite; {item}") from error
    return _score_table(job, lp)


def _score_table(job: Job, lp: npt.NDArray[np.float64]) -> pd.DataFrame:
    sentences = job.sentences
    unigrams = np.full(len(lp), np.nan) if job.unigrams is None else sentences.sums(job.unigrams[sentences.tokens])
    unknown = sentences.tokens == (-1 if job.unk is None else job.unk)
    columns = {"lp": lp, "n": sentences.lengths, "unigram": unigrams, "unk": sentences.sums(unknown.astype(np.int64))}
    sides = {"good": sentences.good, "bad": sentences.bad}
    taken = {f"{name}_{side}": values[index] for name, values in columns.items() for side, index in sides.items()}
    return pd.DataFrame({"pair": job.pairs["pair"].to_numpy(), **taken})


def _say_identical(pairs: pd.DataFrame) -> None:
    left_out = int(identical(pairs).sum())
    if left_out:
        say(f"{pairs['benchmark'].iloc[0]}: {left_out} pairs of identical sentences are left out of every accuracy")
