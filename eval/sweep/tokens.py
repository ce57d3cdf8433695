"""The log probabilities of tokens that a sweep stores beside the scores of its jobs."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from ucurve.errors import RunError, UserError
from ucurve.eval.scoring.base import TokenScorer
from ucurve.eval.scoring.scorers import SCORERS
from ucurve.eval.scoring.text.sentences import Scores
from ucurve.eval.settings import ScoreSettings
from ucurve.eval.store.tokens import (
    drop_tokens,
    has_tokens,
    keep_sentences,
    read_tokens,
    record_tokens,
    token_fault,
    token_path,
    write_tokens,
)
from ucurve.eval.sweep.compute import Computed
from ucurve.eval.sweep.prepare import Job
from ucurve.progress import log_line
from ucurve.storage.score_key import TokenFacts

_SAME = 1e-3  # nats between two computations of a sentence's log probability in float32, at most


def check_tokens(jobs: Iterable[Job], settings: ScoreSettings) -> None:
    """Check that the tokens of all jobs can be stored, and summed to words where that is asked for."""
    for job in {(job.benchmark, job.scorer.name, job.inputs.tokenizer_sha256): job for job in jobs}.values():
        if settings.keeps_tokens and not isinstance(job.scorer, TokenScorer):
            fitting = ", ".join(name for name, scorer in SCORERS.items() if issubclass(scorer, TokenScorer))
            key = "words" if settings.words else "tokens"
            raise UserError(
                f"{key}=true: the scorer {job.scorer.name!r} adds up no log probabilities of tokens; it goes with "
                f"{fitting}"
            )
        if settings.words and isinstance(job.scorer, TokenScorer):
            _check_words(job, job.scorer)
            if settings.bow_correction:
                job.scorer.check_word_corrections()


def _check_words(job: Job, scorer: TokenScorer) -> None:
    layout = scorer.token_layout()
    if layout.places is None:
        raise UserError(
            f"words=true: {job.target.folder}: the tokenizer does not say which characters a token stands for; one "
            "with tokenizer.json does"
        )
    if layout.words is None:
        raise UserError(
            f"words=true: {job.benchmark}: white space does not delimit the words of its sentences, such as "
            f"{scorer.sentences.texts[0]!r}; columns words_good and words_bad that have the sentences with spaces "
            "between the words do, and tokens=true stores the log probabilities of tokens"
        )


@dataclass(frozen=True)
class TokenStore:
    """Stores the log probabilities of tokens in a run folder, if the settings ask for them."""

    folder: Path
    settings: ScoreSettings

    def wanted(self, job: Job) -> bool:
        """Tell whether the tokens of a job are to be stored."""
        return self.settings.keeps_tokens and isinstance(job.scorer, TokenScorer)

    def lacks(self, job: Job) -> bool:
        """Tell whether a job with stored scores has to be scored again for its tokens."""
        corrected = self.settings.words and self.settings.bow_correction
        return self.wanted(job) and not has_tokens(job.path(self.folder), words=corrected, corrected=corrected)

    def write(self, job: Job, values: Scores | None, corrections: Scores | None = None) -> TokenFacts | None:
        """Store the values of a job's tokens before its scores, and return what its key says of them; None for none.

        ``corrections`` are added to the sums over words.
        """
        path = job.path(self.folder)
        if values is None:
            token_path(path).unlink(missing_ok=True)  # those of scores that are replaced
            return None
        assert isinstance(job.scorer, TokenScorer)
        name = keep_sentences(self.folder, job.benchmark, job.inputs, job.scorer.token_layout, job.pairs)
        words = job.scorer.token_layout().words if self.settings.words else None  # rated sentences may have none
        return write_tokens(path, name, job.scorer.sentences.starts, values, words, corrections)

    def add(self, job: Job, computed: Computed, stored: pd.DataFrame) -> None:
        """Store the values of a job's tokens beside ``stored`` scores, which those computed with them must equal."""
        path = job.path(self.folder)
        sums = ["lp_good", "lp_bad"]
        gaps = (computed.scores[sums] - stored[sums]).abs().max(axis=1)
        if not (gaps <= _SAME).all():
            pair = stored["pair"].iloc[int(gaps.fillna(float("inf")).argmax())]
            raise RunError(
                f"{path}: the scores of pair {pair} differ from what is computed now by {gaps.max():.3g} nats, perhaps "
                "because of other hardware or another version; delete the file and its key, and all is scored again"
            )
        record_tokens(path, None)
        record_tokens(path, self.write(job, computed.tokens, computed.corrections))

    def mend(self, job: Job) -> None:
        """Drop damaged values of a job's tokens, and add the sums over words if these are wanted."""
        path = job.path(self.folder)
        if problem := token_fault(path):
            log_line(f"{problem.partition(';')[0]}; {'it is scored again' if self.wanted(job) else 'it is deleted'}")
            drop_tokens(path)
        elif self.settings.words and not has_tokens(path, words=True) and not self.lacks(job):
            there = read_tokens(self.folder, job.benchmark, job.scorer.name, job.target.step)
            assert there is not None
            record_tokens(path, self.write(job, there.values))
