"""Many checkpoints, benchmarks and scorers: each score computed once, and rows gathered into the tables."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from eval.linking import parse_linking
from eval.metrics.accuracy import accuracy_table
from eval.metrics.fitting import fit
from eval.metrics.ratings import read_ratings
from eval.metrics.significance import statistics_table
from eval.models.targets import Target
from eval.scoring.base import Loaded
from eval.scoring.batching import within_memory
from eval.scoring.sharing import Crew, agreeing, sharing
from eval.scoring.text.sentences import Scores, Sentences
from eval.settings import ScoreSettings
from eval.store.checksums import is_summed
from eval.store.keys import is_current, score_fault
from eval.store.ratings import keep_ratings
from eval.store.repair import mended_tables, store_mended
from eval.store.reported import keep_reported
from eval.store.scores import StoredScores, has_scores, read_scores, share_pairs, write_scores
from eval.store.tables import (
    ACCURACY,
    FITS,
    SCORE,
    STATISTICS,
    TABLES,
    TableFile,
    add_rows,
    drop_scores,
    labels,
    list_scores,
    read_table,
    without_scores,
)
from eval.store.tokens import token_path
from eval.sweep.cache import SweepCache
from eval.sweep.checks import check_asked, check_fit, log_equal_revisions, log_left_out
from eval.sweep.messages import log_benchmarks, log_score
from eval.sweep.prepare import Job, prepare, rated_job, rated_pairs
from eval.sweep.tokens import TokenStore, check_tokens
from ucurve.progress import ProgressBar, say
from ucurve.storage.locks import Claims, holding_tables, score_claims, scoring_into

_SECONDS = 30.0  # between two times of writing, at least
_SHARE = 0.05  # of the time that goes into writing, at most


class RowBuffer:
    """Rows that wait to be written. If the process is killed, the next sweep computes them from the stored scores."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held: dict[str, list[tuple[Job, pd.DataFrame]]] = {kind.name: [] for kind in TABLES}
        self._due = time.monotonic() + _SECONDS

    def add(self, kind: TableFile, job: Job, rows: pd.DataFrame) -> None:
        """Add the rows of a score to a table, and write all rows when some time has passed."""
        _, benchmark, scorer = job.identity
        self._held[kind.name].append((job, rows.assign(**labels(job.target, benchmark, scorer))))
        if time.monotonic() > self._due:
            self.write()

    def write(self) -> None:
        """Write the rows to the tables, except those of a score that another process has replaced."""
        begun = time.monotonic()
        with holding_tables(self._folder):
            for kind in TABLES:
                held = self._held[kind.name]
                fresh = [rows for job, rows in held if is_current(job.path(self._folder), job.inputs)]
                add_rows(kind, self._folder, fresh)
                held.clear()
        ended = time.monotonic()
        self._due = ended + max(_SECONDS, (ended - begun) / _SHARE)


@dataclass
class Sweep:
    """Scores models into one run folder.

    Attributes:
        folder: the run folder, or the folder given for a model alone.
        cache: what is kept for the next sweep of the process.
        crew: the processes that score together; None for this one alone.
    """

    folder: Path
    benchmarks: Sequence[pd.DataFrame]
    settings: ScoreSettings
    cache: SweepCache = field(default_factory=SweepCache)
    crew: Crew | None = None
    _sentences: dict[str, set[Sentences]] = field(default_factory=dict)  # all that are scored with what is loaded
    _known: pd.DataFrame = field(default_factory=pd.DataFrame)  # rows of statistics.csv that need not be computed

    def score(self, targets: Sequence[Target]) -> list[StoredScores]:
        """Score every target on every benchmark, skipping scores whose key matches, and refresh ``accuracy.csv``.

        Another process may score the same targets into the same folder at the same time: each score is computed by one
        of them, and both end when all are there. The processes of a crew share the work on each score.

        Returns:
            Where every score is, in the order of the targets.

        Raises:
            UserError: when a target does not fit a benchmark, the first model to score does not load, or
                ``accuracy.csv`` is broken; then nothing has been written.
            RunError: when a score is not finite.
        """
        with agreeing(self.crew):
            jobs = self._prepare(targets)
        try:
            if self.crew is not None and self.crew.rank > 0:
                self._assist(self.crew, jobs)
                return self._stored(jobs)
            return self._score_jobs(targets, jobs)
        finally:
            self.cache.workspace.drop("model")  # its memory is for the training until the next checkpoint
            if self.crew is not None and self.crew.rank == 0:
                self.crew.broadcast(None)

    @property
    def _tokens(self) -> TokenStore:
        return TokenStore(self.folder, self.settings)

    def _prepare(self, targets: Sequence[Target]) -> list[Job]:
        """Check everything that can be checked before anything is written, and make the jobs."""
        check_asked(targets, self.benchmarks, self.settings)
        for pairs in self.benchmarks:
            self._ratings(pairs)  # a mistake in them shows now
        jobs = [job for target in targets for job in prepare(target, self.benchmarks, self.settings, self.cache)]
        check_fit(jobs, self.settings, self.cache)
        check_tokens(jobs, self.settings)
        for job in jobs:
            self._sentences.setdefault(job.scorer.loads, set()).add(job.scorer.sentences)
        return jobs

    def _score_jobs(self, targets: Sequence[Target], jobs: Sequence[Job]) -> list[StoredScores]:
        log_left_out(jobs, self.settings)
        log_equal_revisions(jobs)
        mended = mended_tables(self.folder, targets)
        tables = {kind: mended[kind] if kind in mended else read_table(kind, kind.path(self.folder)) for kind in TABLES}
        due = [job for job in jobs if not has_scores(job.path(self.folder), job.inputs)]
        outdated = {job.identity for job in due}
        lacking = [job for job in jobs if job.identity not in outdated and self._tokens.lacks(job)]
        self._load_first([*due, *lacking])
        if self.settings.dtype != "float32":
            say(f"dtype={self.settings.dtype}: scores are coarser than float32, and more pairs may tie")
        for job in due:
            if problem := score_fault(self.folder, job.path(self.folder)):
                say(f"{problem}; it is scored again")
        with scoring_into(self.folder), score_claims(self.folder) as claims:
            store_mended(self.folder, mended)
            for pairs in (*self.benchmarks, *self._rated_pairs()):
                share_pairs(self.folder, pairs, claims)
            self._keep_what_cards_say()
            has_rows = {score for table in tables.values() for score in list_scores(table)}
            self._invalidate([job for job in due if job.identity in has_rows or self._key_file(job).exists()], claims)
            self._known = without_scores(self._current(tables[STATISTICS]), outdated)
            self._score_all(jobs, claims)
        log_benchmarks(jobs, self.cache.logged)
        return self._stored(jobs)

    def _stored(self, jobs: Sequence[Job]) -> list[StoredScores]:
        return [StoredScores(self.folder, job.target.name, *job.identity) for job in jobs]

    def _assist(self, crew: Crew, jobs: Sequence[Job]) -> None:
        """Compute this process's share of every score that rank 0 asks for, until it asks for no more."""
        by_identity = {job.identity: job for job in jobs}
        while (order := crew.broadcast(None)) is not None:
            identity, size = order
            with suppress(BaseException), sharing(crew):  # rank 0 raises the errors of all processes
                job = by_identity[identity]
                job.score(self._load(job), size, lambda _: crew.check())

    def _current(self, statistics: pd.DataFrame) -> pd.DataFrame:
        """Return the stored statistics that this version has computed; those of an older one lack columns."""
        vouched = is_summed(self.folder, STATISTICS.path(self.folder))
        lacks = statistics["delta_acc"].notna() & statistics[list(STATISTICS.added)].isna().any(axis=1)
        return statistics[~lacks & vouched]

    def _key_file(self, job: Job) -> Path:
        return job.path(self.folder).with_suffix(".json")

    def _invalidate(self, jobs: Sequence[Job], claims: Claims) -> None:
        """Delete outdated scores and the table rows computed from them."""
        held = [job for job in jobs if claims.take(str(job.identity))]  # another process sees to what it holds
        self._delete([job for job in held if not has_scores(job.path(self.folder), job.inputs)])
        for job in held:
            claims.give(str(job.identity))

    def _delete(self, jobs: Sequence[Job]) -> None:
        for job in jobs:
            self._key_file(job).unlink(missing_ok=True)
            token_path(job.path(self.folder)).unlink(missing_ok=True)
        for kind in TABLES:
            drop_scores(kind, self.folder, {job.identity for job in jobs})

    def _load_first(self, due: Sequence[Job]) -> None:
        """Load the first of each kind that is due, such as a model, so that a mistake shows now."""
        for job in {job.scorer.loads: job for job in reversed(due)}.values():
            self._load(job)

    def _load(self, job: Job) -> Loaded:
        return job.scorer.load(self.cache.workspace, self._sentences[job.scorer.loads])

    def _score_all(self, jobs: Sequence[Job], claims: Claims) -> None:
        rows = RowBuffer(self.folder)
        try:
            with ProgressBar(f"scoring {self.folder.name}", sum(job.scorer.size for job in jobs)) as bar:
                for job in claimed_in_order(jobs, claims):
                    if self.crew is not None:
                        self.crew.check()
                    self._summarise(job, self._scores(job, bar), self._rated(job, claims), rows)
        finally:
            rows.write()

    def _scores(self, job: Job, bar: ProgressBar | None = None) -> pd.DataFrame:
        """Read the scores of a job, or make and store them."""
        path = job.path(self.folder)
        stored = read_scores(path, job.inputs)
        if stored is not None:
            self._tokens.mend(job)
            if self._tokens.lacks(job):
                scores, _, values = self._compute(job, bar)
                assert values is not None
                self._tokens.add(job, values, scores, stored)
            elif bar is not None:
                bar.advance(job.scorer.size)
            return stored
        self._known = without_scores(self._known, {job.identity})
        scores, notes, values = self._compute(job, bar)
        if self._key_file(job).exists():  # another process has stored scores of other settings in the meantime
            self._delete([job])
        target, tokens = job.target, self._tokens.write(job, values)
        write_scores(path, scores, job.inputs, target.name, notes, tokens, target.revision)
        return scores

    def _summarise(self, job: Job, scores: pd.DataFrame, rated: pd.DataFrame | None, rows: RowBuffer) -> None:
        rules = self.settings.rules(job.benchmark)
        names = self.settings.linkings(type(job.scorer), job.benchmark)
        linkings = [parse_linking(name) for name in names]
        accuracies = accuracy_table(job.pairs, scores, linkings, rules)
        rows.add(ACCURACY, job, accuracies)
        known = self._known[(self._known[list(SCORE)] == list(job.identity)).all(axis=1)]
        statistics = [known]
        for rule in rules:
            there = set(known[known["ties_rule"] == rule]["linking"])
            unknown = [linking for linking in linkings if linking.name not in there]
            statistics.append(statistics_table(job.pairs, scores, unknown, rule))
            rows.add(STATISTICS, job, statistics[-1])
            if self.settings.fit is not None and job.scorer.fits_parameters:
                rows.add(FITS, job, fit(job.pairs, scores, self.settings.fit, rated, rule))
        log_score(
            job, scores, accuracies, pd.concat([table for table in statistics if len(table)] or [known]), self.settings
        )

    def _ratings(self, pairs: pd.DataFrame) -> pd.DataFrame | None:
        return self.cache.ratings(pairs, self.settings.benchmark_root, self.settings.benchmark_unpacked)

    def _keep_what_cards_say(self) -> None:
        """Store the judgments of people that the cards of the benchmarks name, and what is shown first of each."""
        for pairs in self.benchmarks:
            name = str(pairs["benchmark"].iloc[0])
            keep_reported(self.folder, name, self.settings.reported(name))
            ratings = self._ratings(pairs)
            if ratings is not None:
                keep_ratings(self.folder, name, ratings)

    def _rated_pairs(self) -> list[pd.DataFrame]:
        """Read the sentences that people rated, when parameters are fitted to ratings."""
        fitted = self.settings.fit
        return [] if fitted is None or fitted.ratings is None else [rated_pairs(fitted.ratings)]

    def _rated(self, job: Job, claims: Claims) -> pd.DataFrame | None:
        """Read or make the scores of the rated sentences, by the model and the scorer of a job."""
        if self.settings.fit is None or self.settings.fit.ratings is None or not job.scorer.fits_parameters:
            return None
        (pairs,) = self._rated_pairs()
        rated = rated_job(job, pairs, self.settings, self.cache)
        claims.take(str(rated.identity), wait=True)
        scores = self._scores(rated)
        claims.give(str(rated.identity))
        return scores.assign(rating=read_ratings(self.settings.fit.ratings)["rating"])

    def _compute(self, job: Job, bar: ProgressBar | None = None) -> tuple[pd.DataFrame, dict[str, Any], Scores | None]:
        loaded = self._load(job)

        def attempt(size: int) -> tuple[pd.DataFrame, dict[str, Any], Scores | None]:
            with self._together(job, size), _counting(job, bar, self.crew) as advance:
                if self._tokens.wanted(job):
                    return job.score_tokens(loaded, size, advance)
                return (*job.score(loaded, size, advance), None)

        if job.scorer.loads != "model":
            return attempt(0)
        return within_memory(self.settings.batch_tokens, loaded, attempt)

    @contextmanager
    def _together(self, job: Job, size: int) -> Iterator[None]:
        """Let the other processes compute their shares of a score; they have no job for rated sentences."""
        names = {str(pairs["benchmark"].iloc[0]) for pairs in self.benchmarks}
        if self.crew is None or not job.scorer.shared or job.benchmark not in names:
            yield
            return
        self.crew.broadcast((job.identity, size))
        with sharing(self.crew):
            yield


def claimed_in_order(jobs: Sequence[Job], claims: Claims) -> Iterator[Job]:
    """Yield every job while this process has claimed it; jobs claimed by other processes come last."""
    pending, wait = list(jobs), False
    while pending:
        left = []
        if wait:
            say(f"waiting for another process, which scores {len(pending)} of {len(jobs)}")
        for job in pending:
            if claims.take(str(job.identity), wait):
                wait = False
                yield job
                claims.give(str(job.identity))
            else:
                left.append(job)
        wait = len(left) == len(pending)
        pending = left


@contextmanager
def _counting(job: Job, bar: ProgressBar | None, crew: Crew | None) -> Iterator[Callable[[int], None]]:
    """Count finished sentences on the bar, and subtract them again if the batch fails and is repeated."""
    done = 0

    def advance(units: int) -> None:
        nonlocal done
        done += units
        if bar is not None:
            bar.advance(units, f"step {job.target.step} {job.benchmark} {job.scorer.name}")
        if crew is not None:
            crew.check()

    try:
        yield advance
        if crew is not None and done < job.scorer.size:
            advance(job.scorer.size - done)  # what the other processes have done
    except Exception:
        if bar is not None:
            bar.advance(-done)
        raise
