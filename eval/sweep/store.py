"""Storing what a sweep computes: scores with their keys and tokens, and the rows of each score.

The rows of a score are computed here too, from the stored score: accuracies, statistics and fits that are asked for and
not there. They stay frames until their file is written.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import pandas as pd

from ucurve.errors import DamagedError, RunError
from ucurve.eval.linking import Linking, parse_linking
from ucurve.eval.metrics.accuracy import TiesRule
from ucurve.eval.metrics.fitting import FitSettings, fit
from ucurve.eval.metrics.ratings import read_ratings
from ucurve.eval.scoring.base import TokenScorer
from ucurve.eval.scoring.text.sentences import Scores
from ucurve.eval.settings import ScoreSettings
from ucurve.eval.store.ratings import keep_ratings
from ucurve.eval.store.reported import keep_reported
from ucurve.eval.store.rows import ScoreRows, add_linkings, read_score_rows
from ucurve.eval.store.scores import has_scores, write_scores
from ucurve.eval.store.tables import ACCURACY, FITS, STATISTICS, Labels, make_blocks
from ucurve.eval.store.tokens import (
    has_tokens,
    keep_sentences,
    read_tokens,
    record_tokens,
    token_faults,
    token_path,
    write_tokens,
)
from ucurve.eval.store.views import drop_rows, store_rows
from ucurve.eval.sweep.compute import Computed
from ucurve.eval.sweep.jobs import Job
from ucurve.eval.sweep.load import SweepCache
from ucurve.progress import log_line
from ucurve.storage.files import sha256_file
from ucurve.storage.locks import Claims
from ucurve.storage.score_key import TokenFacts, key_path, read_key

_SAME = 1e-3  # nats between two computations of a sentence's log probability in float32, at most


@dataclass(frozen=True, eq=False)
class Rated:
    """The scores of rated sentences by one model and scorer, with the column ``rating``."""

    scores: pd.DataFrame
    sources: dict[str, str]  # hashes of the ratings and of the scores


def read_rated(scores: Path, ratings: Path) -> Rated:
    """Read the stored scores of rated sentences, with the ratings of a file."""
    sources = {"ratings_sha256": sha256_file(ratings), "rated_scores_sha256": read_key(scores).scores_sha256}
    return Rated(pd.read_parquet(scores).assign(rating=read_ratings(ratings)["rating"]), sources)


@dataclass(frozen=True)
class ScoreStore:
    """The scores of a sweep in a run folder."""

    folder: Path
    settings: ScoreSettings
    claims: Claims  # of the folder; held while anything is written, with the job that it is of

    def has(self, job: Job) -> bool:
        """Tell whether undamaged scores of these inputs are stored."""
        return has_scores(job.path(self.folder), job.inputs)

    def keep_what_cards_say(self, benchmarks: Sequence[pd.DataFrame], cache: SweepCache) -> None:
        """Store the judgments of people that the cards of the benchmarks name, and what is shown first of each."""
        for pairs in benchmarks:
            name = str(pairs["benchmark"].iloc[0])
            keep_reported(self.folder, name, self.settings.reported(name))
            ratings = cache.ratings(pairs, self.settings.benchmark_root, self.settings.benchmark_unpacked)
            if ratings is not None:
                keep_ratings(self.folder, name, ratings)

    def drop_outdated(self, jobs: Sequence[Job]) -> None:
        """Delete outdated scores with their rows, before the first is computed again."""
        for job in jobs:
            if key_path(job.path(self.folder)).exists() and self.claims.acquire(str(job.identity)):
                if not self.has(job):  # another process may have stored it
                    self._drop(job)
                self.claims.release(str(job.identity))

    def _drop(self, job: Job) -> None:
        scores = job.path(self.folder)
        drop_rows(self.folder, scores, self.claims)
        key_path(scores).unlink(missing_ok=True)
        token_path(scores).unlink(missing_ok=True)

    def write(self, job: Job, computed: Computed) -> None:
        """Store a score that was just computed, with the log probabilities of its tokens."""
        scores = job.path(self.folder)
        if key_path(scores).exists():  # another process has stored scores of other settings in the meantime
            self._drop(job)
        tokens = self.write_tokens(job, computed.tokens, computed.corrections)
        target = job.target  # the key comes last: it says that scores and tokens are whole
        write_scores(scores, computed.scores, job.inputs, target.name, computed.notes, tokens, target.revision)

    def wants_tokens(self, job: Job) -> bool:
        """Tell whether the log probabilities of a job's tokens are to be stored."""
        return self.settings.keeps_tokens and isinstance(job.scorer, TokenScorer)

    def lacks_tokens(self, job: Job) -> bool:
        """Tell whether a job with stored scores has to be scored again for its tokens."""
        corrected = self.settings.words and self.settings.bow_correction
        return self.wants_tokens(job) and not has_tokens(
            job.path(self.folder), words=corrected, corrected=corrected
        )

    def write_tokens(
        self, job: Job, values: Scores | None, corrections: Scores | None = None
    ) -> TokenFacts | None:
        """Store the values of a job's tokens before its scores, and return what its key says of them; None for none.

        ``values``, float64[tokens], are natural logs; ``corrections``, float64[words], are added to sums over words.
        """
        path = job.path(self.folder)
        if values is None:
            token_path(path).unlink(missing_ok=True)  # those of scores that are replaced
            return None
        assert isinstance(job.scorer, TokenScorer)
        name = keep_sentences(self.folder, job.benchmark, job.inputs, job.scorer.token_layout, job.pairs)
        words = job.scorer.token_layout().words if self.settings.words else None  # rated sentences may have none
        return write_tokens(path, name, job.scorer.sentences.starts, values, words, corrections)

    def add_tokens(self, job: Job, computed: Computed) -> None:
        """Store the values of a job's tokens beside its stored scores.

        Raises:
            RunError: The scores that were computed with them are not the stored ones.
        """
        path, sums = job.path(self.folder), ["lp_good", "lp_bad"]
        stored = pd.read_parquet(path)
        gaps = (computed.scores[sums] - stored[sums]).abs().max(axis=1)
        if not (gaps <= _SAME).all():
            pair = stored["pair"].iloc[int(gaps.fillna(float("inf")).argmax())]
            raise RunError(
                f"{path}: the scores of pair {pair} differ from what is computed now by {gaps.max():.3g} nats, perhaps "
                "because of other hardware or another version; delete the file and its key, and all is scored again"
            )
        record_tokens(path, None)  # a kill between the two files must not leave a key that names the older one
        record_tokens(path, self.write_tokens(job, computed.tokens, computed.corrections))

    def mend_tokens(self, job: Job) -> None:
        """Drop damaged values of a job's tokens, and add the sums over words if these are wanted."""
        path = job.path(self.folder)
        if problems := token_faults(path):
            again = "it is scored again" if self.wants_tokens(job) else "it is deleted"
            log_line(f"{problems[0].partition(';')[0]}; {again}")
            record_tokens(path, None)
            token_path(path).unlink(missing_ok=True)
        elif self.settings.words and not has_tokens(path, words=True) and not self.lacks_tokens(job):
            there = read_tokens(self.folder, job.benchmark, job.scorer.name, job.target.step)
            assert there is not None
            record_tokens(path, self.write_tokens(job, there.values))

    def complete_rows(self, job: Job, rated: Rated | None) -> tuple[ScoreRows, bool]:
        """Compute and store the rows of a score that are asked for and not there; return all, and if any are new."""
        path = job.path(self.folder)
        try:
            rows = read_score_rows(path)
        except DamagedError as error:
            log_line(f"{error}; they are made again from the scores")
            rows = None
        rows = rows or ScoreRows(read_key(path).score_sha256)
        missing, fits = self._missing_linkings(job, rows), self._missing_fits(job, rows, rated)
        if missing or fits:
            scores = pd.read_parquet(path)
            for rule, linkings in missing.items():
                add_linkings(rows, job.pairs, scores, linkings, rule, _labels(job))
            for request, fitted, rule in fits:
                table = fit(job.pairs, scores, fitted, None if rated is None else rated.scores, rule)
                for of, block in make_blocks(FITS, table, _labels(job)).items():
                    rows.add(FITS, of, block, request)
            store_rows(self.folder, path, rows, self.claims)
        return rows, bool(missing or fits)

    def _missing_linkings(self, job: Job, rows: ScoreRows) -> dict[TiesRule, list[Linking]]:
        """Return the linking functions whose rows are asked for and not there, by rule for ties."""
        linkings = [parse_linking(name) for name in self.settings.linkings(type(job.scorer), job.benchmark)]
        there = {*rows.names(ACCURACY)} & {*rows.names(STATISTICS)}
        missing = {
            rule: [linking for linking in linkings if (linking.name, rule) not in there]
            for rule in self.settings.rules(job.benchmark)
        }
        return {rule: linkings for rule, linkings in missing.items() if linkings}

    def _missing_fits(
        self, job: Job, rows: ScoreRows, rated: Rated | None
    ) -> list[tuple[dict[str, object], FitSettings, TiesRule]]:
        """Return what parameters are to be fitted and are not there, as it is stored with the rows and as settings."""
        asked = self.settings.fit
        if asked is None or not job.scorer.fits_parameters:
            return []
        of: dict[str, object] = {"on": asked.on, "share": asked.share, "seed": asked.seed}
        of |= {} if rated is None else rated.sources
        found = []
        for rule, family in product(self.settings.rules(job.benchmark), asked.families):
            request = {"family": family, "ties_rule": rule, **of}
            if request not in rows.requests.values():
                found.append((request, replace(asked, families=(family,)), rule))
        return found


def _labels(job: Job) -> Labels:
    target = job.target
    flops = None if target.manifest is None else target.manifest.flops
    return Labels(target.name, target.step, target.tokens, flops, job.benchmark, job.scorer.name)
