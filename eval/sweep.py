"""Many checkpoints on several benchmarks: a text is tokenised once, a model loaded once, no score computed twice."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from eval.claims import Claims
from eval.fitting import fit
from eval.jobs import Job, prepare, score_job
from eval.linking import Linking, parse_linking
from eval.metrics import accuracy_table
from eval.ratings import rating_pairs, read_ratings
from eval.results import has_scores, keep_pairs, read_scores, write_scores, writing
from eval.scoring.batches import within_memory
from eval.scoring.model import load_model
from eval.settings import ScoreSettings
from eval.statistics import statistics_table
from eval.summary import say_pairs, say_score
from eval.tables import ACCURACY, FITS, STATISTICS, TABLES, TableFile, add_rows, drop_scores, scores_shown
from eval.targets import Target
from ucurve.errors import UserError
from ucurve.progress import ProgressBar, say


@dataclass
class Sweep:
    """Scores models into one run folder.

    Attributes:
        folder: the run folder, or the folder given for a model alone.
        benchmarks: pair tables.
        settings: how to score.
    """

    folder: Path
    benchmarks: Sequence[pd.DataFrame]
    settings: ScoreSettings
    _rows: dict[str, list[pd.DataFrame]] = field(default_factory=lambda: {kind.name: [] for kind in TABLES})
    _loaded: tuple[Path, Any] | None = None
    _ratings: dict[tuple[Path, str], pd.DataFrame] = field(default_factory=dict)

    def score(self, targets: Sequence[Target]) -> None:
        """Score every target on every benchmark, skipping scores whose key matches, and refresh ``accuracy.csv``.

        Another process may score the same targets into the same folder at the same time: each score is computed by one
        of them, and both end when all are there.

        Raises:
            UserError: when a target does not fit a benchmark, the first model to score does not load, or
                ``accuracy.csv`` is broken; then nothing has been written.
            RunError: when a score is not finite.
        """
        self._check_counts(targets)
        jobs = [job for target in targets for job in prepare(target, self.benchmarks, self.settings)]
        self._check_linkings(jobs)
        shown = {kind: scores_shown(kind, self.folder) for kind in TABLES}
        due = [job for job in jobs if not has_scores(job.path(self.folder), job.key)]
        if due:
            self._model(due[0])
        if self.settings.dtype != "float32":
            say(f"dtype={self.settings.dtype}: scores are coarser than float32, and more pairs may tie")
        with writing(self.folder):
            for pairs in self.benchmarks:
                keep_pairs(self.folder, pairs)
            for kind in TABLES:
                drop_scores(kind, self.folder, shown[kind] & {job.identity for job in due})
            self._score_all(jobs)
        for pairs in self.benchmarks:
            say_pairs(pairs)

    def _check_counts(self, targets: Sequence[Target]) -> None:
        """Check that there are unigram counts for a linking function that was asked for and needs them."""
        needing = [name for name in self.settings.linking or () if "unigram" in parse_linking(name).columns]
        without = [target for target in targets if not target.counts.exists()]
        if needing and without and self.settings.unigrams is None:
            raise UserError(
                f"linking: {', '.join(needing)} needs unigram counts, and there is no {without[0].counts}; "
                "a published table can be given by unigrams.path"
            )

    def _check_linkings(self, jobs: Sequence[Job]) -> None:
        """Check that a linking function that was asked for can be had from the scores of some scorer."""
        for linking in (parse_linking(name) for name in self.settings.linking or ()):
            if not any(_can_have(job, linking) for job in jobs):
                raise UserError(_why_not(jobs[0], linking))
        missing = {linking.name for job in jobs for linking in self._linkings(job) if not _can_have(job, linking)}
        if missing and self.settings.linking is None:
            say(f"no {jobs[0].target.counts}: {', '.join(sorted(missing))} is left out")

    def _linkings(self, job: Job) -> list[Linking]:
        return [parse_linking(name) for name in self.settings.linkings(job.scorer)]

    def _model(self, job: Job) -> Any:
        """Load a model, or give the one that was loaded last."""
        target = job.target
        if self._loaded is None or self._loaded[0] != target.folder:
            self._loaded = None  # one model at a time in memory
            model = load_model(target.folder, job.scorer.kind, self.settings.dtype, self.settings.device)
            self._loaded = (target.folder, model)
        return self._loaded[1]

    def _score_all(self, jobs: Sequence[Job]) -> None:
        try:
            total = sum(job.size for job in jobs)
            with (
                ProgressBar(f"scoring {self.folder.name}", total) as bar,
                Claims(self.folder / "eval" / ".claims") as claims,
            ):
                for job in _in_turn(jobs, claims):
                    self._score_one(job, bar)
        finally:
            for kind in TABLES:
                add_rows(kind, self.folder, self._rows[kind.name])

    def _score_one(self, job: Job, bar: ProgressBar) -> None:
        path = job.path(self.folder)
        scores = read_scores(path, job.key)
        if scores is None:
            scores, notes = self._compute(job, bar)
            write_scores(path, scores, job.key, notes)
        else:
            bar.advance(job.size)
        rules, linkings = self.settings.rules(), self._linkings(job)
        accuracies = accuracy_table(job.pairs, scores, linkings, rules)
        self._keep(ACCURACY, job, accuracies)
        for rule in rules:
            self._keep(STATISTICS, job, statistics_table(job.pairs, scores, linkings, rule))
            if self.settings.fit is not None and not job.scorer.chat:
                self._keep(FITS, job, fit(job.pairs, scores, self.settings.fit, self._rated(job), rule))
        say_score(job, scores, accuracies, self.settings)

    def _rated(self, job: Job) -> pd.DataFrame | None:
        """Score the sentences that people rated, when parameters are fitted to ratings."""
        if self.settings.fit is None or self.settings.fit.ratings is None:
            return None
        ratings = read_ratings(self.settings.fit.ratings)
        key = (job.target.folder, job.scorer.name)
        if key not in self._ratings:
            jobs = prepare(job.target, [rating_pairs(ratings)], self.settings)
            rated = next(other for other in jobs if other.scorer == job.scorer)
            self._ratings[key] = self._compute(rated)[0].assign(rating=ratings["rating"])
        return self._ratings[key]

    def _compute(self, job: Job, bar: ProgressBar | None = None) -> tuple[pd.DataFrame, dict[str, Any]]:
        model = self._model(job)
        report = None if bar is None else _reporter(bar, job)
        return within_memory(self.settings.batch_tokens, model, lambda size: score_job(job, model, size, report))

    def _keep(self, kind: TableFile, job: Job, rows: pd.DataFrame) -> None:
        step, benchmark, scorer = job.identity
        facts = {name: job.target.manifest.get(name) for name in ("tokens", "flops")}
        labels = {"run": job.target.name, "step": step, **facts, "benchmark": benchmark, "scorer": scorer}
        self._rows[kind.name].append(rows.assign(**labels))


def _in_turn(jobs: Sequence[Job], claims: Claims) -> Iterator[Job]:
    """Yield every job while it is claimed: first those that no other process is at, then the others."""
    later = []
    for job in jobs:
        if claims.take(str(job.identity)):
            yield job
            claims.give(str(job.identity))
        else:
            later.append(job)
    for job in later:
        claims.take(str(job.identity), wait=True)
        yield job
        claims.give(str(job.identity))


def _can_have(job: Job, linking: Linking) -> bool:
    """Say whether the scores of a job have the columns that a linking function reads."""
    return job.columns.issuperset(linking.reads)


def _why_not(job: Job, linking: Linking) -> str:
    lacking = ", ".join(column for column in linking.reads if column not in job.columns)
    return f"linking: {linking.name} reads {lacking}, which the scorer {job.scorer.name!r} does not give"


def _reporter(bar: ProgressBar, job: Job) -> Callable[[int], None]:
    return lambda done: bar.advance(done, f"step {job.target.step} {job.benchmark} {job.scorer.name}")
