"""What is checked of a whole sweep before anything is scored or written."""

from collections.abc import Sequence

from eval.fitting import fit_paradigms
from eval.jobs import Job
from eval.linking import Linking, parse_linking
from eval.rated import rated_job, rated_pairs
from eval.settings import ScoreSettings
from eval.targets import Target
from ucurve.errors import UserError
from ucurve.progress import say


def check_counts(targets: Sequence[Target], settings: ScoreSettings) -> None:
    """Check that there are unigram counts for a linking function that was asked for and needs them.

    Raises:
        UserError: naming the linking function and the file that is not there.
    """
    needing = [name for name in settings.linking or () if parse_linking(name).needs_unigrams]
    without = [target for target in targets if not target.counts.exists()]
    if needing and without and settings.unigrams is None:
        raise UserError(
            f"linking: {', '.join(needing)} needs unigram counts, and there is no {without[0].counts}; "
            "a published table can be given by unigrams.path"
        )


def check_revisions(jobs: Sequence[Job]) -> None:
    """Check that no two revisions hold the same weights, of which one must then have the wrong name.

    Checkpoints of this suite may be equal, after steps with a learning rate of 0: their manifests vouch for the steps.

    Raises:
        UserError: naming both revisions.
    """
    first: dict[str, Target] = {}
    for job in jobs:
        one, other = first.setdefault(job.key.weights_sha256, job.target), job.target
        named = None not in (one.revision, other.revision) and one.revision != other.revision
        if named and not (one.ours and other.ours):
            raise UserError(
                f"revisions: {one.revision!r} and {other.revision!r} hold the same weights, so that at least one of "
                "them is not the step of its name; leave the wrong one out of revisions="
            )


def check_linkings(jobs: Sequence[Job], settings: ScoreSettings) -> None:
    """Check that a linking function that was asked for can be had from some scores; say what is left out by default.

    Raises:
        UserError: naming the linking function and what it lacks.
    """
    for linking in (parse_linking(name) for name in settings.linking or ()):
        if not any(_can_have(job, linking) for job in jobs):
            raise UserError(f"linking: {_why_not(jobs[0], linking)}")
    wanted = [(job, parse_linking(name)) for job in jobs for name in settings.linkings(job.scorer)]
    missing = {linking.name for job, linking in wanted if not _can_have(job, linking)}
    if missing and settings.linking is None:
        say(f"no {jobs[0].target.counts}: {', '.join(sorted(missing))} is left out")


def check_fit(jobs: Sequence[Job], settings: ScoreSettings) -> None:
    """Check that the parameters which are to be fitted can be.

    Raises:
        UserError: when ratings are missing or broken, do not fit a model or a scorer, a benchmark has one paradigm and
            none to judge by, or scores lack what a family reads.
    """
    fit = settings.fit
    if fit is None:
        return
    fitted = [job for job in jobs if not job.scorer.chat]
    for job in fitted:
        for linking in map(parse_linking, fit.families):
            if not _can_have(job, linking):
                raise UserError(f"fit.families: {_why_not(job, linking)}")
        if fit.on == "paradigms":
            fit_paradigms(job.pairs["paradigm"], fit)
    if fit.ratings is not None:
        pairs = rated_pairs(fit.ratings)
        for job in {(job.target.folder, job.scorer.name): job for job in fitted}.values():
            rated_job(job, pairs, settings)


def _can_have(job: Job, linking: Linking) -> bool:
    """Say whether the scores of a job have the columns that a linking function reads."""
    return job.columns.issuperset(linking.reads)


def _why_not(job: Job, linking: Linking) -> str:
    lacking = ", ".join(column for column in linking.reads if column not in job.columns)
    return f"{linking.name} reads {lacking}, which the scorer {job.scorer.name!r} does not give"
