"""What a sweep has to do: which jobs there are, and which of them are due. Nothing is written, no model is loaded."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from ucurve.errors import UserError
from ucurve.eval.models.targets import Target
from ucurve.eval.settings import ScoreSettings
from ucurve.eval.store.keys import check_places, order_of, score_fault, scores_below
from ucurve.eval.store.scores import has_scores
from ucurve.eval.store.views import check_no_foreign_table
from ucurve.eval.sweep.cache import SweepCache
from ucurve.eval.sweep.checks import check_asked, check_fit
from ucurve.eval.sweep.dtype import dtype_of
from ucurve.eval.sweep.prepare import Job, prepare
from ucurve.eval.sweep.tokens import TokenStore, check_tokens
from ucurve.fields import format_names
from ucurve.progress import log_line


@dataclass(frozen=True)
class Plan:
    """The jobs of a sweep."""

    jobs: Sequence[Job]
    due: Sequence[Job]  # those whose scores are not stored, or are of other inputs
    lacking: Sequence[Job]  # those with scores, but without the log probabilities of tokens that are asked for
    faults: Sequence[str]  # what is wrong with stored scores that are due

    @property
    def last(self) -> set[tuple[int, str, str]]:
        """``Job.identity`` of the last model by benchmark and scorer, whose numbers are shown in any case."""
        return {job.identity for job in {(job.benchmark, job.scorer.name): job for job in self.jobs}.values()}


def make_jobs(
    targets: Sequence[Target], benchmarks: Sequence[pd.DataFrame], settings: ScoreSettings, cache: SweepCache
) -> list[Job]:
    """Check everything that can be checked before anything is written, and make the jobs."""
    check_asked(targets, benchmarks, settings)
    for pairs in benchmarks:  # a mistake in the judgments of people shows now
        cache.ratings(pairs, settings.benchmark_root, settings.benchmark_unpacked)
    jobs = [job for target in targets for job in prepare(target, benchmarks, settings, cache)]
    check_fit(jobs, settings, cache)
    check_tokens(jobs, settings)
    return jobs


def make_plan(folder: Path, jobs: Sequence[Job], tokens: TokenStore) -> Plan:
    """Find out which jobs are due in a folder."""
    check_no_foreign_table(folder)
    check_places(folder, {job.path(folder) for job in jobs})
    _check_one_dtype(folder, jobs)
    due = [job for job in jobs if not has_scores(job.path(folder), job.inputs)]
    computed = {job.identity for job in due}
    lacking = [job for job in jobs if job.identity not in computed and tokens.lacks(job)]
    if gone := [job for job in (*due, *lacking) if not job.target.has_weights]:
        left_out = {job.identity for job in gone}
        _say_what_is_left_out(folder, gone, [job for job in gone if job.identity in computed])
        jobs, due, lacking = ([job for job in some if job.identity not in left_out] for some in (jobs, due, lacking))
    faults = [problem for job in due if (problem := score_fault(folder, job.path(folder)))]
    return Plan(jobs, due, lacking, faults)


def _say_what_is_left_out(folder: Path, gone: Sequence[Job], replaced: Sequence[Job]) -> None:
    """Say which steps cannot be scored any more; refuse to replace scores that cannot be computed again."""
    steps = format_names([str(step) for step in sorted({job.target.step for job in gone})])
    removed = f"{folder}: the weights of steps {steps} were removed by prune"
    there = [path for job in replaced if (path := job.path(folder)).exists()]
    if there:
        raise UserError(
            f"{removed}, and the scores at {there[0]} are of other pairs or settings than those asked "
            "for; they would be lost. Score the new pairs as a benchmark of another name, or ask for the old ones"
        )
    log_line(f"{removed}, so nothing new is scored there")


def _check_one_dtype(folder: Path, jobs: Sequence[Job]) -> None:
    """Refuse scores that would lie beside others of the same benchmark and scorer by another type."""
    asked = {(job.benchmark, job.scorer.name): job.scorer.settings.dtype for job in jobs}
    replaced = {job.path(folder) for job in jobs}
    for scores in scores_below(folder):
        step, benchmark, scorer = order_of(folder, scores)
        wanted = asked.get((benchmark, scorer))
        stored = None if wanted is None or scores in replaced else dtype_of(scores)
        if stored not in (None, wanted):
            raise UserError(
                f"{folder}: step {step} of {benchmark} is scored in {stored}, and these would be in {wanted}; a curve "
                f"has scores of one type: set dtype={stored}, score all steps again, or take another folder"
            )
