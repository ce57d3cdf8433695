"""What scoring logs beside its table: what is left out, stored or scored again, and what is odd about pairs."""

from collections.abc import Iterable, Iterator, Sequence

from ucurve.eval.pairs import TOO_LONG, counted, identical, in_accuracies
from ucurve.eval.scoring.base import TokenScorer
from ucurve.eval.settings import ScoreSettings
from ucurve.eval.sweep.checks import log_equal_revisions, log_left_out
from ucurve.eval.sweep.plan import Plan
from ucurve.eval.sweep.prepare import Job
from ucurve.progress import log_line


def log_plan(plan: Plan, settings: ScoreSettings, shown: bool) -> None:
    """Log what is left out of a sweep, what is stored already unless it is ``shown``, and what is scored again."""
    log_left_out(plan.jobs, settings)
    log_equal_revisions(plan.jobs)
    if settings.dtype != "float32":
        log_line(f"dtype={settings.dtype}: scores are coarser than float32, and more pairs may tie")
    several = len({job.target.step for job in plan.jobs}) > 1  # training scores one checkpoint at a time
    if (stored := len(plan.jobs) - len(plan.due)) and several and not shown:
        log_line(f"{plan.jobs[0].target.name}: {stored} of {len(plan.jobs)} scores are stored already")
    for problem in plan.faults:
        log_line(f"{problem}; it is scored again")


def log_benchmarks(jobs: Sequence[Job], said: set[str]) -> None:
    """Log what pairs no accuracy counts and what is odd about tokens, unless it was ``said``, and add it there."""
    log_new(_describe_benchmarks(jobs), said)


def log_new(lines: Iterable[str], said: set[str]) -> None:
    """Log lines unless they were ``said``, and add them there."""
    for line in lines:
        if line not in said:
            log_line(line)
        said.add(line)


def _describe_benchmarks(jobs: Sequence[Job]) -> Iterator[str]:
    for name, job in {job.benchmark: job for job in jobs}.items():
        if too_long := job.pairs.attrs.get(TOO_LONG):
            yield (
                f"{name}: {too_long:,} of {len(job.pairs) + too_long:,} pairs have a sentence that is longer than the "
                "model's context; they are not scored, and no accuracy counts them"
            )
        left_out = int(identical(job.pairs).sum())
        if left_out:
            yield f"{name}: {left_out} pairs of identical sentences are left out of every accuracy"
        if uncounted := int((~counted(job.pairs)).sum()):
            yield f"{name}: {uncounted} pairs that the paper does not count are only in the rows of the split published"
    scorers: dict[tuple[str, str], list[str]] = {}
    for job in {(job.benchmark, job.scorer, job.inputs.tokens_sha256): job for job in jobs}.values():
        for fact in (*job.scorer.token_messages(), *_describe_same_tokens(job)):
            scorers.setdefault((job.benchmark, fact), []).append(job.scorer.name)
    for (benchmark, fact), names in scorers.items():
        yield f"{benchmark} {', '.join(dict.fromkeys(names))}: {fact}"


def _describe_same_tokens(job: Job) -> Iterator[str]:
    same = job.scorer.same_tokens if isinstance(job.scorer, TokenScorer) else 0
    if same:
        pairs = int(in_accuracies(job.pairs).sum())
        yield f"{same:,} of {pairs:,} pairs have the same tokens, so that no model can decide them"
