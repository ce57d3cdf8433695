"""Storing what a sweep computes: scores with their keys and tokens, and the rows of each score."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from ucurve.eval.settings import ScoreSettings
from ucurve.eval.store.ratings import keep_ratings
from ucurve.eval.store.reported import keep_reported
from ucurve.eval.store.rows import ScoreRows
from ucurve.eval.store.scores import has_scores, write_scores
from ucurve.eval.store.tokens import token_path
from ucurve.eval.store.views import drop_rows, store_rows
from ucurve.eval.sweep.cache import SweepCache
from ucurve.eval.sweep.compute import Computed
from ucurve.eval.sweep.prepare import Job
from ucurve.eval.sweep.rows import Rated, add_rows, known_rows
from ucurve.eval.sweep.tokens import TokenStore
from ucurve.storage.locks import Claims
from ucurve.storage.score_key import key_path


@dataclass(frozen=True)
class Results:
    """The results of a sweep in a run folder."""

    folder: Path
    settings: ScoreSettings
    claims: Claims  # every job that is stored is claimed

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
                if not has_scores(job.path(self.folder), job.inputs):  # another process may have stored it
                    self._drop(job)
                self.claims.release(str(job.identity))

    def _drop(self, job: Job) -> None:
        scores = job.path(self.folder)
        drop_rows(self.folder, scores, self.claims)
        key_path(scores).unlink(missing_ok=True)
        token_path(scores).unlink(missing_ok=True)

    def store(self, job: Job, computed: Computed) -> None:
        """Store a score that was just computed, with the log probabilities of its tokens."""
        scores = job.path(self.folder)
        if key_path(scores).exists():  # another process has stored scores of other settings in the meantime
            self._drop(job)
        tokens = TokenStore(self.folder, self.settings).write(job, computed.tokens, computed.corrections)
        target = job.target
        write_scores(scores, computed.scores, job.inputs, target.name, computed.notes, tokens, target.revision)

    def complete_rows(self, job: Job, rated: Rated | None) -> tuple[ScoreRows, bool]:
        """Compute and store the rows of a score that are asked for and not there; return all, and if any are new."""
        path = job.path(self.folder)
        rows = known_rows(path)
        added = add_rows(rows, job, path, self.settings, rated)
        if added:
            store_rows(self.folder, path, rows, self.claims)
        return rows, added
