"""Many checkpoints, benchmarks and scorers: planned, each score computed once, and stored with rows and tables.

Work is shared in two ways. Processes that know nothing of each other claim whole scores in the folder
(``claimed_in_order``), and who claims a score fetches its weights too (``next_weights``). The processes of one training
run share the batches of each score (``Computer``): there only rank 0 plans, claims, and reads and writes files.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd

from ucurve.eval.models.hub_weights import HubWeights
from ucurve.eval.models.targets import Target
from ucurve.eval.scoring.sharing import ProcessGroup, agreeing
from ucurve.eval.settings import ScoreSettings
from ucurve.eval.store.scores import StoredScores, share_pairs
from ucurve.eval.store.views import drop_other_versions, has_tables, write_tables
from ucurve.eval.sweep.compute import Computed, Computer
from ucurve.eval.sweep.display import ScoreTable
from ucurve.eval.sweep.jobs import Job, choose_dtype, rated_job, rated_pairs
from ucurve.eval.sweep.load import SweepCache, WeightFetcher
from ucurve.eval.sweep.plan import Plan, describe_benchmarks, log_new, log_plan, make_jobs, make_plan
from ucurve.eval.sweep.show import describe_details, read_score, table_layout
from ucurve.eval.sweep.store import Rated, ScoreStore, read_rated
from ucurve.progress import ProgressBar, log_line
from ucurve.storage.locks import Claims, score_claims, scoring_into


def score_targets(
    folder: Path,
    targets: Sequence[Target],
    benchmarks: Sequence[pd.DataFrame],
    settings: ScoreSettings,
    cache: SweepCache,
    group: ProcessGroup | None = None,
    keep: bool = True,
) -> list[StoredScores]:
    """Score every target on every benchmark, skipping scores whose key matches, and write the tables.

    Another process may score the same targets into the same folder at the same time: each score is computed by one of
    them, and both end when all are there. The processes of a group share the work on each score.

    Args:
        folder: the run folder, or the folder given for a model alone.
        cache: what is kept for the next sweep of the process.
        group: the processes that score together; None for this one alone.
        keep: whether weights that are fetched from the hub stay in its cache.

    Raises:
        UserError: Something does not fit; nothing has been written then.
        RunError: A score is not finite; scores before it are kept.
    """
    with agreeing(group):
        settings = choose_dtype(settings, targets, folder)
        jobs = make_jobs(targets, benchmarks, settings, cache)
    with closing(Computer(jobs, settings, cache.workspace, group)) as computer:
        if group is not None and group.rank > 0:
            computer.assist()
        else:
            with closing(WeightFetcher(folder, keep)) as weights:
                store = ScoreStore(folder, settings, score_claims(folder))
                plan = make_plan(store, jobs)
                table = cache.table(folder, lambda: table_layout(jobs, settings))
                log_plan(plan, settings, shown=all(table.has(job.identity) for job in jobs))
                log_new(describe_benchmarks(jobs), cache.logged)
                _Sweep(plan, store, cache, table, computer, weights).score_all(benchmarks)
    return [StoredScores(folder, job.target.name, *job.identity) for job in jobs]


@dataclass(frozen=True, eq=False)
class _Sweep:
    """A planned sweep, and what it is done with."""

    plan: Plan
    store: ScoreStore
    cache: SweepCache
    table: ScoreTable
    computer: Computer
    weights: WeightFetcher

    @property
    def folder(self) -> Path:
        return self.store.folder

    def score_all(self, benchmarks: Sequence[pd.DataFrame]) -> None:
        """Have and show every score of the plan."""
        due = [*self.plan.due, *self.plan.lacking]
        needed = dict.fromkeys(job.weights_to_have for job in due if job.weights_to_have is not None)
        every = dict.fromkeys(job.target.hub for job in self.plan.jobs if job.target.hub is not None)
        # What a kill left of those that are not needed any more goes first, since it takes room.
        self.weights.prepare(list(needed), [weights for weights in every if weights not in needed])
        for job in {job.scorer.loads: job for job in reversed(due)}.values():
            # The first model, and what else is needed, is loaded before anything is written: a mistake shows now.
            if job.weights_to_have is not None:
                self.weights.have(job.weights_to_have)
            self.computer.load(job)
        claims = self.store.claims
        with scoring_into(self.folder), claims:
            # Those of the jobs, and not those asked for: pairs that are too long for a model may be left out.
            scored = {job.benchmark: job.pairs for job in self.plan.jobs}
            for pairs in (*scored.values(), *self._rated_pairs):
                share_pairs(self.folder, pairs, claims)
            self.store.keep_what_cards_say(benchmarks, self.cache)
            drop_other_versions(self.folder, claims)
            self.store.drop_outdated(self.plan.due)
            try:
                self._score_claimed()
            except BaseException:
                with suppress(Exception):  # the error that ends the sweep is the one to report
                    write_tables(self.folder, claims)
                raise
            write_tables(self.folder, claims)
        self.weights.finish()

    def _score_claimed(self) -> None:
        """Have and show the scores, one after the other; tables are written whenever a model has all of its scores."""
        settings = self.store.settings
        step = None
        units = sum(job.scorer.size for job in self.plan.jobs)
        with ProgressBar(f"scoring {self.folder.name}", units, transient=True) as bar:
            for job in claimed_in_order(self.plan.jobs, self.store.claims):
                self.computer.check()
                if step not in (None, job.target.step) and not has_tables(self.folder):
                    # Somebody may look at the curves while the next models are scored.
                    write_tables(self.folder, self.store.claims)
                step = job.target.step
                self._have_score(job, bar)
                rows, new = self.store.complete_rows(job, self._rate(job))
                if not self.table.has(job.identity):  # this process may have shown it in an earlier sweep
                    details = describe_details(job, rows, settings) if settings.verbose else ()
                    self.table.add(read_score(job, rows, settings), [*details])
                if new or job.identity in self.plan.last:
                    stored = pd.read_parquet(job.path(self.folder))
                    log_new(job.scorer.score_messages(stored), self.cache.logged)

    def _have_score(self, job: Job, bar: ProgressBar | None) -> None:
        """Compute and store the scores of a job, or their log probabilities of tokens, unless they are there."""
        if not self.store.has(job):
            self.store.write(job, self._compute(job, self.store.wants_tokens(job), bar))
            return
        self.store.mend_tokens(job)
        if self.store.lacks_tokens(job):
            self.store.add_tokens(job, self._compute(job, True, bar))
        elif bar is not None:
            bar.advance(job.scorer.size)

    def _compute(self, job: Job, with_tokens: bool, bar: ProgressBar | None) -> Computed:
        """Compute a score while the weights of the next model are fetched."""
        if job.weights_to_have is not None:
            self.weights.have(job.weights_to_have)
            self.weights.fetch_ahead(lambda: next_weights(job, self.plan, self.store))
        return self.computer.compute(job, with_tokens, bar)

    @cached_property
    def _rated_pairs(self) -> list[pd.DataFrame]:
        """The sentences that people rated, when parameters are fitted to ratings."""
        fitted = self.store.settings.fit
        return [] if fitted is None or fitted.ratings is None else [rated_pairs(fitted.ratings)]

    def _rate(self, job: Job) -> Rated | None:
        """Read or make the scores of the rated sentences, by the model and the scorer of a job."""
        settings = self.store.settings
        file = None if settings.fit is None else settings.fit.ratings
        if file is None or not job.scorer.fits_parameters:
            return None
        rated = rated_job(job, self._rated_pairs[0], settings, self.cache)
        with self.store.claims.holding(str(rated.identity)):  # it is no job of the plan, which others would claim
            self._have_score(rated, None)
        return read_rated(rated.path(self.folder), file)


def next_weights(job: Job, plan: Plan, store: ScoreStore) -> HubWeights | None:
    """Claim the next job of another model that is still to be computed, so that one process fetches its weights."""
    lacking = {other.identity for other in plan.lacking}
    to_compute = lacking | {other.identity for other in plan.due}
    names = [other.identity for other in plan.jobs]
    # Rated sentences are not in it.
    behind = names.index(job.identity) + 1 if job.identity in names else len(names)
    for other in plan.jobs[behind:]:
        weights = other.weights_to_have
        if weights in (None, job.target.hub) or other.identity not in to_compute:
            continue
        # The claim is kept until the job's turn comes: another process would fetch the same weights at the same time.
        if store.claims.acquire(str(other.identity)):
            if other.identity in lacking or not store.has(other):
                return weights
            store.claims.release(str(other.identity))
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
                wait = False  # the others may have ended too: they are tried without waiting first
                yield job
                claims.release(str(job.identity))
            else:
                left.append(job)
        wait = len(left) == len(pending)
        pending = left
