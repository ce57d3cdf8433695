"""What is checked of a whole sweep before anything is scored or written."""

from collections.abc import Collection, Sequence

import pandas as pd

from ucurve.errors import UserError
from ucurve.eval.linking import Linking, parse_linking
from ucurve.eval.metrics.fitting import fit_paradigms
from ucurve.eval.models.folder import model_kind, read_config
from ucurve.eval.models.same_weights import describe_equal, find_equal, find_shared_parts
from ucurve.eval.models.targets import Target
from ucurve.eval.models.unigram import read_table
from ucurve.eval.scoring.base import Scorer
from ucurve.eval.scoring.scorers import check_kind
from ucurve.eval.scoring.text.spans import find_spans
from ucurve.eval.settings import ScoreSettings
from ucurve.eval.sweep.cache import SweepCache
from ucurve.eval.sweep.prepare import Job, choose_scorers, rated_job, rated_pairs
from ucurve.progress import log_line


def check_asked(targets: Sequence[Target], benchmarks: Sequence[pd.DataFrame], settings: ScoreSettings) -> None:
    """Check configurations, pair tables and the files of settings, before a tokenizer or a model is loaded."""
    _check_counts(targets, settings)
    if settings.unigrams is not None:
        read_table(settings.unigrams.path)
    if settings.fit is not None and settings.fit.ratings is not None:
        rated_pairs(settings.fit.ratings)
    kinds = {target.folder: model_kind(read_config(target.folder)) for target in targets}
    used: dict[type[Scorer], None] = {}
    for pairs in benchmarks:
        asked = [(scorer, folder) for folder, kind in kinds.items() for scorer in choose_scorers(pairs, kind, settings)]
        for scorer, folder in asked:
            check_kind(scorer, kinds[folder], folder)
        for part in {scorer.part for scorer, _ in asked}:
            for side in ("good", "bad"):
                find_spans(pairs, side, part)
        used |= dict.fromkeys(scorer for scorer, _ in asked)
    unigrams = settings.unigrams is not None or any(target.counts.exists() for target in targets)
    columns = {scorer.name: scorer.columns(unigrams) for scorer in used}
    for linking in map(parse_linking, settings.linking or ()):
        if not any(found.issuperset(linking.reads) for found in columns.values()):
            raise UserError(f"linking: {_why_not(*next(iter(columns.items())), linking)}")


def _check_counts(targets: Sequence[Target], settings: ScoreSettings) -> None:
    """Check that there are unigram counts for a linking function that was asked for and needs them."""
    needing = [name for name in settings.linking or () if "unigram" in parse_linking(name).reads]
    without = [target for target in targets if not target.counts.exists()]
    if needing and without and settings.unigrams is None:
        raise UserError(
            f"linking: {', '.join(needing)} needs unigram counts, and there is no {without[0].counts}; "
            "a published table can be given by unigrams.path"
        )


def log_equal_revisions(jobs: Sequence[Job]) -> None:
    """Warn about revisions that have the same weights, or a file of them: at most one is the checkpoint of its name."""
    infos = {job.target.revision: job.scorer.info for job in jobs if job.target.revision is not None}
    ours = {revision for revision, info in infos.items() if info.target.ours}  # with a learning rate of 0 equal too
    equal = find_equal({revision: info.hashes[0] for revision, info in infos.items()})
    shared = find_shared_parts({revision: info.weight_parts for revision, info in infos.items()})
    for groups, same, verdict in (
        (equal, "the same weights", "they are one model and not several checkpoints, and the report says so"),
        (shared, "the same file of weights", "at most one of them can own that file; the others are of no step"),
    ):
        doubtful = [group for group in groups if not ours.issuperset(group)]
        if doubtful:
            log_line(
                f"warning: {jobs[0].target.name}: of {len(infos)} revisions, these have {same}: "
                f"{describe_equal(doubtful)}; {verdict}"
            )


def log_left_out(jobs: Sequence[Job], settings: ScoreSettings) -> None:
    """Log which of the usual linking functions are left out."""
    wanted = [(job, parse_linking(name)) for job in jobs for name in settings.linkings(type(job.scorer), job.benchmark)]
    missing = {linking.name for job, linking in wanted if not job.columns.issuperset(linking.reads)}
    if missing and settings.linking is None:
        log_line(f"no {jobs[0].target.counts}: {', '.join(sorted(missing))} is left out")


def check_fit(jobs: Sequence[Job], settings: ScoreSettings, cache: SweepCache) -> None:
    """Check that the parameters which are to be fitted can be."""
    fit = settings.fit
    if fit is None:
        return
    fitted = [job for job in jobs if job.scorer.fits_parameters]
    for job in fitted:
        for linking in map(parse_linking, fit.families):
            if not job.columns.issuperset(linking.reads):
                raise UserError(f"fit.families: {_why_not(job.scorer.name, job.columns, linking)}")
        if fit.on == "paradigms":
            fit_paradigms(job.pairs["paradigm"], fit)
    if fit.ratings is not None:
        pairs = rated_pairs(fit.ratings)
        for job in {(job.target.folder, job.scorer.name): job for job in fitted}.values():
            rated_job(job, pairs, settings, cache)


def _why_not(scorer: str, columns: Collection[str], linking: Linking) -> str:
    lacking = ", ".join(column for column in linking.reads if column not in columns)
    return f"{linking.name} reads {lacking}, which the scorer {scorer!r} does not give"
