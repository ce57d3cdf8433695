"""Many checkpoints, benchmarks and scorers: planned, each score computed once, and stored with rows and tables."""

from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import pandas as pd

from ucurve.eval.models.hub_weights import HubWeights
from ucurve.eval.models.targets import Target
from ucurve.eval.scoring.sharing import ProcessGroup, agreeing
from ucurve.eval.settings import ScoreSettings
from ucurve.eval.store.rows import ScoreRows
from ucurve.eval.store.scores import StoredScores, has_scores, share_pairs
from ucurve.eval.store.views import drop_other_versions, has_tables, write_tables
from ucurve.eval.sweep.cache import SweepCache
from ucurve.eval.sweep.compute import Computer
from ucurve.eval.sweep.dtype import choose_dtype
from ucurve.eval.sweep.fetching import WeightFetcher
from ucurve.eval.sweep.messages import log_benchmarks, log_new, log_plan
from ucurve.eval.sweep.plan import Plan, make_jobs, make_plan
from ucurve.eval.sweep.prepare import Job, rated_job, rated_pairs
from ucurve.eval.sweep.results import Results
from ucurve.eval.sweep.rows import Rated, read_rated
from ucurve.eval.sweep.shown import describe_details, make_layout, read_score
from ucurve.eval.sweep.tokens import TokenStore
from ucurve.progress import ProgressBar, log_line
from ucurve.storage.locks import Claims, score_claims, scoring_into


@dataclass
class Sweep:
    """Scores models into one run folder."""

    folder: Path  # the run folder, or the folder given for a model alone
    benchmarks: Sequence[pd.DataFrame]
    settings: ScoreSettings
    cache: SweepCache = field(default_factory=SweepCache)  # what is kept for the next sweep of the process
    group: ProcessGroup | None = None  # the processes that score together; None for this one alone
    keep: bool = True  # weights that are fetched from the hub

    def score(self, targets: Sequence[Target]) -> list[StoredScores]:
        """Score every target on every benchmark, skipping scores whose key matches, and write the tables.

        Another process may score the same targets into the same folder at the same time: each score is computed by one
        of them, and both end when all are there. The processes of a group share the work on each score. After a
        ``UserError`` nothing has been written.
        """
        with agreeing(self.group):
            self.settings = choose_dtype(self.settings, targets, self.folder)
            jobs = make_jobs(targets, self.benchmarks, self.settings, self.cache)
        weights = WeightFetcher(self.folder, self.keep)
        with closing(Computer(jobs, self.settings, self.cache, self.group, weights)) as computer:
            if self.group is not None and self.group.rank > 0:
                computer.assist()
            else:
                plan = make_plan(self.folder, jobs, self._tokens)
                table = self.cache.table(self.folder, lambda: make_layout(jobs, self.settings))
                log_plan(plan, self.settings, shown=all(table.has(job.identity) for job in jobs))
                log_benchmarks(jobs, self.cache.logged)
                weights.prepare(*split_weights(plan))
                computer.load_first([*plan.due, *plan.lacking])
                with scoring_into(self.folder), score_claims(self.folder) as claims:
                    computer.find_next = lambda job: next_weights(job, plan, self.folder, claims)
                    self._score_all(plan, computer, claims)
                weights.finish()
        return [StoredScores(self.folder, job.target.name, *job.identity) for job in jobs]

    @property
    def _tokens(self) -> TokenStore:
        return TokenStore(self.folder, self.settings)

    def _score_all(self, plan: Plan, computer: Computer, claims: Claims) -> None:
        scored = {job.benchmark: job.pairs for job in plan.jobs}
        for pairs in (*scored.values(), *self._rated_pairs):
            share_pairs(self.folder, pairs, claims)
        results = Results(self.folder, self.settings, claims)
        results.keep_what_cards_say(self.benchmarks, self.cache)
        drop_other_versions(self.folder, claims)
        results.drop_outdated(plan.due)
        units, step = sum(job.scorer.size for job in plan.jobs), None
        try:
            with ProgressBar(f"scoring {self.folder.name}", units, transient=True) as bar:
                for job in claimed_in_order(plan.jobs, claims):
                    computer.check()
                    if step not in (None, job.target.step) and not has_tables(self.folder):
                        write_tables(self.folder, claims)
                    step = job.target.step
                    self._have_score(job, computer, results, bar)
                    rows, new = results.complete_rows(job, self._rate(job, computer, results))
                    self._show(job, rows, new or job.identity in plan.last)
        except BaseException:
            with suppress(Exception):  # the error that ends the sweep is the one to report
                write_tables(self.folder, claims)
            raise
        write_tables(self.folder, claims)

    def _show(self, job: Job, rows: ScoreRows, with_warnings: bool) -> None:
        """Show a score in the table of the folder, unless this process has done so."""
        table = self.cache.tables[self.folder]
        if not table.has(job.identity):
            details = describe_details(job, rows, self.settings) if self.settings.verbose else ()
            table.add(read_score(job, rows, self.settings), [*details])
        if with_warnings:
            log_new(job.scorer.score_messages(pd.read_parquet(job.path(self.folder))), self.cache.logged)

    def _have_score(self, job: Job, computer: Computer, results: Results, bar: ProgressBar | None) -> None:
        """Compute and store the scores of a job, or their log probabilities of tokens, unless they are there."""
        path = job.path(self.folder)
        if not has_scores(path, job.inputs):
            results.store(job, computer.compute(job, self._tokens.wanted(job), bar))
            return
        self._tokens.mend(job)
        if self._tokens.lacks(job):
            computed = computer.compute(job, True, bar)
            self._tokens.add(job, computed, pd.read_parquet(path))
        elif bar is not None:
            bar.advance(job.scorer.size)

    @cached_property
    def _rated_pairs(self) -> list[pd.DataFrame]:
        """The sentences that people rated, when parameters are fitted to ratings."""
        fitted = self.settings.fit
        return [] if fitted is None or fitted.ratings is None else [rated_pairs(fitted.ratings)]

    def _rate(self, job: Job, computer: Computer, results: Results) -> Rated | None:
        """Read or make the scores of the rated sentences, by the model and the scorer of a job."""
        file = None if self.settings.fit is None else self.settings.fit.ratings
        if file is None or not job.scorer.fits_parameters:
            return None
        rated = rated_job(job, self._rated_pairs[0], self.settings, self.cache)
        with results.claims.holding(str(rated.identity)):
            self._have_score(rated, computer, results, None)
        return read_rated(rated.path(self.folder), file)


def split_weights(plan: Plan) -> tuple[list[HubWeights], list[HubWeights]]:
    """Return the weights of the hub that jobs need, and those that are not needed any more, each once."""
    computed = [job.weights_to_have for job in (*plan.due, *plan.lacking)]
    due = dict.fromkeys(weights for weights in computed if weights is not None)
    every = dict.fromkeys(job.target.hub for job in plan.jobs if job.target.hub is not None)
    return list(due), [weights for weights in every if weights not in due]


def next_weights(job: Job, plan: Plan, folder: Path, claims: Claims) -> HubWeights | None:
    """Claim the next job of another model that is still to be computed, so that one process fetches its weights."""
    lacking = {other.identity for other in plan.lacking}
    to_compute = lacking | {other.identity for other in plan.due}
    names = [other.identity for other in plan.jobs]
    behind = names.index(job.identity) + 1 if job.identity in names else len(names)  # rated sentences are not in it
    for other in plan.jobs[behind:]:
        weights = other.weights_to_have
        if weights in (None, job.target.hub) or other.identity not in to_compute:
            continue
        if claims.acquire(str(other.identity)):
            if other.identity in lacking or not has_scores(other.path(folder), other.inputs):
                return weights
            claims.release(str(other.identity))
    return None


def claimed_in_order(jobs: Sequence[Job], claims: Claims) -> Iterator[Job]:
    """Yield every job while this process has claimed it; jobs claimed by other processes come last."""
    pending, wait = list(jobs), False
    while pending:
        left = []
        if wait:
            log_line(f"waiting for another process, which scores {len(pending)} of {len(jobs)}")
        for job in pending:
            if claims.acquire(str(job.identity), wait):
                wait = False
                yield job
                claims.release(str(job.identity))
            else:
                left.append(job)
        wait = len(left) == len(pending)
        pending = left
