"""What scoring logs: a line for each score, and once for each benchmark what its numbers leave out."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product

import pandas as pd

from eval.metrics.accuracy import winner_by_length
from eval.metrics.bootstrap import LENGTH_BIASES
from eval.pairs import counted, identical
from eval.scoring.base import TokenScorer
from eval.settings import ScoreSettings
from eval.sweep.checks import log_equal_revisions, log_left_out
from eval.sweep.plan import Plan
from eval.sweep.prepare import Job
from eval.sweep.rows import Summary
from ucurve.progress import log_line

_SPLITS = {"equal": "equal", "good_longer": "good longer", "bad_longer": "bad longer"}


def log_plan(plan: Plan, settings: ScoreSettings) -> None:
    """Log what is left out of a sweep, what is stored already, and what of that is scored again."""
    log_left_out(plan.jobs, settings)
    log_equal_revisions(plan.jobs)
    if settings.dtype != "float32":
        log_line(f"dtype={settings.dtype}: scores are coarser than float32, and more pairs may tie")
    if stored := len(plan.jobs) - len(plan.due):
        log_line(f"{stored} of {len(plan.jobs)} scores are stored already")
    for problem in plan.faults:
        log_line(f"{problem}; it is scored again")


def log_benchmarks(jobs: Sequence[Job], said: set[str]) -> None:
    """Log what pairs no accuracy counts and what is odd about tokens, unless it was ``said``, and add it there."""
    _log_new(_describe_benchmarks(jobs), said)


def _log_new(lines: Iterable[str], said: set[str], about: str = "") -> None:
    for line in lines:
        if about + line not in said:
            log_line(line)
        said.add(about + line)


def _describe_benchmarks(jobs: Sequence[Job]) -> Iterator[str]:
    for name, job in {job.benchmark: job for job in jobs}.items():
        left_out = int(identical(job.pairs).sum())
        if left_out:
            yield f"{name}: {left_out} pairs of identical sentences are left out of every accuracy"
        if uncounted := int((~counted(job.pairs)).sum()):
            yield f"{name}: {uncounted} pairs that the paper does not count are only in the rows of the split published"
    scorers: dict[tuple[str, str], list[str]] = {}
    for job in {(job.benchmark, job.scorer, job.inputs.tokens_sha256): job for job in jobs}.values():
        for fact in job.scorer.token_messages():
            scorers.setdefault((job.benchmark, fact), []).append(job.scorer.name)
    for (benchmark, fact), names in scorers.items():
        yield f"{benchmark} {', '.join(dict.fromkeys(names))}: {fact}"


def log_score(job: Job, summary: Summary, settings: ScoreSettings, said: set[str]) -> None:
    """Log the overall accuracies of one score, as card or preset report them, unless they were ``said``."""
    _log_new(_describe_score(job, summary, settings), said, f"{job.target.folder}: ")  # equal lines of two runs are two


def _describe_score(job: Job, summary: Summary, settings: ScoreSettings) -> Iterator[str]:
    scores, accuracies = summary.scores, summary.accuracies
    reported = settings.reported(job.benchmark)
    aggregate = reported.overall
    names = list(dict.fromkeys(accuracies["linking"]))
    shown = names if settings.chosen else [reported.choose_linking(names)] if names else []
    rules = settings.ties_rules or (reported.choose_rule(settings.rules(job.benchmark)),)
    overall = accuracies[(accuracies[["phenomenon", "paradigm"]] == ["all", aggregate]).all(axis=1)]
    unknown = int((scores["unk_good"] + scores["unk_bad"]).sum()) if "unk_good" in scores else 0
    for name, rule in product(shown, rules):
        rows = overall[(overall["linking"] == name) & (overall["ties_rule"] == rule)]
        if rows.empty:  # stored before
            continue
        splits = {str(row["split"]): row for _, row in rows.iterrows()}
        row = splits["all"]
        yield (
            f"step {job.target.step} {job.benchmark} {job.scorer.name} {name}: {_percent(row, 'accuracy')} % "
            f"({_percent(row, 'ci_low')} to {_percent(row, 'ci_high')}; {aggregate}, ties {rule})"
            f"{_lengths(splits)}{_bias(summary.statistics, name, rule, aggregate)}, "
            f"{row['n']:,} pairs, {row['ties']:,} ties, {unknown:,} unknown tokens{_same_tokens(job, row)}"
            f"{_length_alone(splits)}"
        )
    yield from job.scorer.score_messages(scores)


def _percent(row: pd.Series, column: str) -> str:
    return f"{100 * row[column]:.2f}"


def _lengths(splits: Mapping[str, pd.Series]) -> str:
    """Write the accuracies by length split, of those that have pairs."""
    return "".join(f", {text} {_percent(splits[name], 'accuracy')}" for name, text in _SPLITS.items() if name in splits)


def _bias(statistics: pd.DataFrame, linking: str, rule: str, aggregate: str) -> str:
    """Write Delta_acc and its two differences with intervals; nothing where a length split has no pairs."""
    identity = ["linking", "ties_rule", "phenomenon", "paradigm"]
    rows = statistics[(statistics[identity] == [linking, rule, "all", aggregate]).all(axis=1)]
    if not len(rows) or math.isnan(rows["delta_acc"].iloc[0]):
        return ""
    delta, longer, shorter = (
        [100 * float(rows[f"{name}{end}"].iloc[0]) for end in ("", "_low", "_high")] for name in LENGTH_BIASES
    )
    return (
        f", Delta_acc {delta[0]:.2f} ({delta[1]:.2f} to {delta[2]:.2f}): "
        f"good longer {longer[0]:+.2f} ({longer[1]:+.2f} to {longer[2]:+.2f}), "
        f"bad longer {shorter[0]:+.2f} ({shorter[1]:+.2f} to {shorter[2]:+.2f})"
    )


def _same_tokens(job: Job, row: pd.Series) -> str:
    """Write how many pairs have the same tokens, where there are any: chance or length decides them."""
    same = job.scorer.same_tokens if isinstance(job.scorer, TokenScorer) else 0
    return f", {same:,} of {row['n']:,} pairs have the same tokens" if same else ""


def _length_alone(splits: Mapping[str, pd.Series]) -> str:
    """Write that length decides every pair of unequal length, where it does."""
    if not {"good_longer", "bad_longer"} <= set(splits):
        return ""
    winner = winner_by_length(splits["good_longer"]["accuracy"], splits["bad_longer"]["accuracy"])
    if winner is None:
        return ""
    end = ", as it may for a model that has learned nothing" if winner == "shorter" else ""
    return f"; length alone decides where lengths differ, the {winner} sentence wins{end}"
