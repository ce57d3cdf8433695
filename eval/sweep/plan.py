"""What a sweep has to do: its jobs, checked, and which of them are due. Nothing is written, no model is loaded."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from ucurve.errors import UserError
from ucurve.eval.linking import Linking, parse_linking
from ucurve.eval.metrics.fitting import fit_paradigms
from ucurve.eval.models.folder import model_kind, read_config
from ucurve.eval.models.same_weights import describe_equal, find_equal, find_shared_parts
from ucurve.eval.models.targets import Target
from ucurve.eval.models.unigram import read_probabilities
from ucurve.eval.pairs import TOO_LONG, counted, identical, in_accuracies
from ucurve.eval.scoring.base import Scorer, TokenScorer
from ucurve.eval.scoring.scorers import SCORERS, check_kind
from ucurve.eval.scoring.text.spans import find_spans
from ucurve.eval.settings import ScoreSettings
from ucurve.eval.store.keys import check_places, order_of, score_faults, scores_below
from ucurve.eval.store.views import check_no_foreign_table
from ucurve.eval.sweep.jobs import Job, choose_scorers, dtype_of, prepare, rated_job, rated_pairs
from ucurve.eval.sweep.load import SweepCache
from ucurve.eval.sweep.store import ScoreStore
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
    """Check everything that can be checked before anything is written, and make the jobs.

    Raises:
        UserError: Something that was asked for does not fit the models, the pairs or the rest of what was asked for.
    """
    _check_asked(targets, benchmarks, settings)
    for pairs in benchmarks:  # a mistake in the judgments of people shows now
        cache.ratings(pairs, settings.benchmark_root, settings.benchmark_unpacked)
    jobs = [job for target in targets for job in prepare(target, benchmarks, settings, cache)]
    _check_fit(jobs, settings, cache)
    _check_tokens(jobs, settings)
    return jobs


def _check_asked(targets: Sequence[Target], benchmarks: Sequence[pd.DataFrame], settings: ScoreSettings) -> None:
    """Check configurations, pair tables and the files of settings, before a tokenizer or a model is loaded."""
    needing = [name for name in settings.linking or () if "unigram" in parse_linking(name).reads]
    without = [target for target in targets if not target.counts.exists()]
    if needing and without and settings.unigrams is None:
        raise UserError(
            f"linking: {', '.join(needing)} needs unigram counts, and there is no {without[0].counts}; "
            "a published table can be given by unigrams.path"
        )
    if settings.unigrams is not None:
        read_probabilities(settings.unigrams.path)
    if settings.fit is not None and settings.fit.ratings is not None:
        rated_pairs(settings.fit.ratings)
    kinds = {target.folder: model_kind(read_config(target.folder)) for target in targets}
    used: dict[type[Scorer], None] = {}  # in the order in which they are asked for
    for pairs in benchmarks:
        asked = [
            (scorer, folder) for folder, kind in kinds.items() for scorer in choose_scorers(pairs, kind, settings)
        ]
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


def _check_fit(jobs: Sequence[Job], settings: ScoreSettings, cache: SweepCache) -> None:
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


def _check_tokens(jobs: Sequence[Job], settings: ScoreSettings) -> None:
    """Check that the tokens of all jobs can be stored, and summed to words where that is asked for."""
    for job in {(job.benchmark, job.scorer.name, job.inputs.tokenizer_sha256): job for job in jobs}.values():
        if settings.keeps_tokens and not isinstance(job.scorer, TokenScorer):
            fitting = ", ".join(name for name, scorer in SCORERS.items() if issubclass(scorer, TokenScorer))
            key = "words" if settings.words else "tokens"
            raise UserError(
                f"{key}=true: the scorer {job.scorer.name!r} adds up no log probabilities of tokens; it goes with "
                f"{fitting}"
            )
        if not settings.words or not isinstance(job.scorer, TokenScorer):
            continue
        layout = job.scorer.token_layout()
        if layout.places is None:
            raise UserError(
                f"words=true: {job.target.folder}: the tokenizer does not say which characters a token stands for; "
                "one with tokenizer.json does"
            )
        if layout.words is None:
            raise UserError(
                f"words=true: {job.benchmark}: white space does not delimit the words of its sentences, such as "
                f"{job.scorer.sentences.texts[0]!r}; columns words_good and words_bad that have the sentences with "
                "spaces between the words do, and tokens=true stores the log probabilities of tokens"
            )
        if settings.bow_correction:
            job.scorer.check_word_corrections()


def make_plan(store: ScoreStore, jobs: Sequence[Job]) -> Plan:
    """Find out which jobs are due in a folder.

    Raises:
        UserError: The folder has a table of accuracies of somebody else, scores of another dtype that would stay, or
            scores that would be replaced and whose weights are gone.
        DamagedError: A score there is of another run or place.
    """
    folder = store.folder
    check_no_foreign_table(folder)
    check_places(folder, {job.path(folder) for job in jobs})
    _check_one_dtype(folder, jobs)
    due = [job for job in jobs if not store.has(job)]
    computed = {job.identity for job in due}
    lacking = [job for job in jobs if job.identity not in computed and store.lacks_tokens(job)]
    if gone := [job for job in (*due, *lacking) if not job.target.has_weights]:
        left_out = {job.identity for job in gone}
        steps = format_names([str(step) for step in sorted({job.target.step for job in gone})])
        removed = f"{folder}: the weights of steps {steps} were removed by prune"
        replaced = [job.path(folder) for job in gone if job.identity in computed]
        if there := [path for path in replaced if path.exists()]:
            raise UserError(
                f"{removed}, and the scores at {there[0]} are of other pairs or settings than those asked "
                "for; they would be lost. Score the new pairs as a benchmark of another name, or ask for the old ones"
            )
        log_line(f"{removed}, so nothing new is scored there")
        jobs, due, lacking = (
            [job for job in some if job.identity not in left_out] for some in (jobs, due, lacking)
        )
    faults = [problem for job in due for problem in score_faults(folder, job.path(folder))]
    return Plan(jobs, due, lacking, faults)


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


def log_plan(plan: Plan, settings: ScoreSettings, shown: bool) -> None:
    """Log what is left out of a sweep, what is stored already unless it is ``shown``, and what is scored again."""
    jobs = plan.jobs
    wanted = [
        (job, parse_linking(name)) for job in jobs for name in settings.linkings(type(job.scorer), job.benchmark)
    ]
    missing = {linking.name for job, linking in wanted if not job.columns.issuperset(linking.reads)}
    if missing and settings.linking is None:
        log_line(f"no {jobs[0].target.counts}: {', '.join(sorted(missing))} is left out")
    _log_equal_revisions(jobs)
    if settings.dtype != "float32":
        log_line(f"dtype={settings.dtype}: scores are coarser than float32, and more pairs may tie")
    several = len({job.target.step for job in jobs}) > 1  # training scores one checkpoint at a time
    if (stored := len(jobs) - len(plan.due)) and several and not shown:
        log_line(f"{jobs[0].target.name}: {stored} of {len(jobs)} scores are stored already")
    for problem in plan.faults:
        log_line(f"{problem}; it is scored again")


def _log_equal_revisions(jobs: Sequence[Job]) -> None:
    """Warn about revisions that have the same weights, or a file of them: at most one is the checkpoint of its name."""
    infos = {job.target.revision: job.scorer.info for job in jobs if job.target.revision is not None}
    # With a learning rate of 0 equal too.
    ours = {revision for revision, info in infos.items() if info.target.ours}
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


def log_new(lines: Iterable[str], said: set[str]) -> None:
    """Log lines unless they were ``said``, and add them there."""
    for line in lines:
        if line not in said:
            log_line(line)
        said.add(line)


def describe_benchmarks(jobs: Sequence[Job]) -> Iterator[str]:
    """Yield what pairs no accuracy counts, and what is odd about the tokens of the sentences."""
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
        facts = [*job.scorer.token_messages()]
        if same := job.scorer.same_tokens if isinstance(job.scorer, TokenScorer) else 0:
            of = int(in_accuracies(job.pairs).sum())
            facts.append(f"{same:,} of {of:,} pairs have the same tokens, so that no model can decide them")
        for fact in facts:
            scorers.setdefault((job.benchmark, fact), []).append(job.scorer.name)
    for (benchmark, fact), names in scorers.items():
        yield f"{benchmark} {', '.join(dict.fromkeys(names))}: {fact}"
