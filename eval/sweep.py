"""Many checkpoints on several benchmarks: a text is tokenised once, a model loaded once, no score computed twice."""

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
    keep_pairs,
    read_scores,
    refresh_accuracy,
    score_path,
    write_scores,
)
from eval.scoring.model import (
    StartToken,
    check_vocabulary,
    context_length,
    load_model,
    load_tokenizer,
    read_config,
    start_token,
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
_encoded: dict[tuple[str, str], Sentences] = {}  # by hash of tokenizer and of pairs, for the next checkpoint


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

    def score(self, targets: Sequence[Target]) -> None:
        """Score every target on every benchmark, skipping scores whose key matches, and refresh ``accuracy.csv``.

        Raises:
            UserError: when a target does not fit a benchmark; then nothing has been scored.
            RunError: when a score is not finite.
        """
        jobs = [prepare(target, self.benchmarks) for target in targets]
        for pairs in self.benchmarks:
            keep_pairs(self.folder, pairs)
        total = sum(len(job.sentences.texts) for of_target in jobs for job in of_target)
        try:
            with ProgressBar(f"scoring {self.folder.name}", total) as bar:
                for of_target in jobs:
                    self._score_target(of_target, bar)
        finally:
            refresh_accuracy(self.folder, self._accuracies)
        for pairs in self.benchmarks:
            _say_identical(pairs)

    def _score_target(self, jobs: Sequence[Job], bar: ProgressBar) -> None:
        model: Any = None
        for job in jobs:
            path = score_path(self.folder, job.benchmark, SCORER, job.target.step)
            scores = read_scores(path, job.key)
            if scores is None:
                model = model or load_model(job.target.folder)
                scores = score_job(job, model, self.batch_tokens, bar)
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
    counts = read_counts(target.counts, len(tokenizer))
    excluded = {*tokenizer.all_special_ids} - {tokenizer.unk_token_id} | {start.id}
    unigrams = None if counts is None else log_unigrams(counts, excluded)
    settings = {
        "scorer": SCORER,
        "revision": _REVISION,
        "dtype": "float32",
        "start_id": start.id,
        "start_rule": start.rule,
        "unigram_counts_sha256": None if counts is None else sha256_file(target.counts),
    }
    weights, words = target.weights_sha256(), target.tokenizer_sha256()
    jobs = []
    for pairs in benchmarks:
        data = data_hash(pairs)
        sentences = _encode(pairs, tokenizer, words, data)
        check_vocabulary(target.folder, config, tokenizer, sentences)
        check_length(pairs, sentences, context_length(config))
        key = Key(weights, words, data, settings)
        jobs.append(Job(target, pairs, sentences, tokenizer.unk_token_id, start, unigrams, key))
    return jobs


def _encode(pairs: pd.DataFrame, tokenizer: Any, tokenizer_sha256: str, data_sha256: str) -> Sentences:
    key = (tokenizer_sha256, data_sha256)
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
