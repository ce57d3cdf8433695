"""What the table shows of a score, taken from its rows, and the details below it."""

import csv
import hashlib
import math
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from ucurve.eval.linking import parse_linking
from ucurve.eval.metrics.accuracy import TiesRule, winner_by_length
from ucurve.eval.metrics.bootstrap import LENGTH_BIASES
from ucurve.eval.metrics.sampling import FEWEST_CLUSTERS
from ucurve.eval.pairs import TOO_LONG
from ucurve.eval.settings import ScoreSettings
from ucurve.eval.store.rows import ScoreRows
from ucurve.eval.store.tables import ACCURACY, STATISTICS, as_lines
from ucurve.eval.sweep.jobs import Job
from ucurve.eval.sweep.table import Layout, Measure, ShownAccuracy, ShownScore
from ucurve.progress import standard_output
from ucurve.storage.run_folder import HELD_OUT

_WIDEST = 120  # characters of a line
_MEANS = {
    "all": "over all pairs",
    "macro": "as the mean over paradigms",
    "macro_phenomena": "as the mean over phenomena",
}
_TIES: Mapping[TiesRule, str] = {"half": "ties count half", "wrong": "ties are wrong", "right": "ties are right"}
_SPLITS = {"equal": "equal length", "good_longer": "good longer", "bad_longer": "bad longer"}


def table_layout(jobs: Sequence[Job], settings: ScoreSettings) -> Layout:
    """Choose the columns of the table of some models of one folder, and say what its numbers are."""
    target = jobs[0].target
    place = "step" if target.run is not None else "model" if target.revision is None else "revision"
    measures = {(job.benchmark, job.scorer.name): shown_measures(job, settings) for job in jobs}
    return Layout(
        target.name,
        _title(jobs, settings),
        place,
        measures,
        places=max(len(_place(job)) for job in jobs),
        with_tokens=any(job.target.tokens is not None for job in jobs),
        with_bits=any(job.target.run is not None and (job.target.run / HELD_OUT).is_file() for job in jobs),
        width=min(_WIDEST, shutil.get_terminal_size().columns) if standard_output().isatty() else _WIDEST,
    )


def shown_measures(job: Job, settings: ScoreSettings) -> tuple[Measure, ...]:
    """Return the linking functions that are shown: those asked for or the preset's, else that of the benchmark."""
    reported = settings.reported(job.benchmark)
    there = [
        name
        for name in settings.linkings(type(job.scorer), job.benchmark)
        if job.columns.issuperset(parse_linking(name).reads)
    ]
    if settings.linking is None and settings.chosen is None and there:  # all are computed, and one is shown
        there = [reported.choose_linking(there)]
    rules = settings.ties_rules or (reported.choose_rule(settings.rules(job.benchmark)),)
    return tuple((name, rule) for name in there for rule in rules)


def _title(jobs: Sequence[Job], settings: ScoreSettings) -> str:
    """Name the run and its benchmarks, and say what accuracy is the mean over and what a tie counts."""
    kinds: dict[str, list[str]] = {}
    for job in {job.benchmark: job for job in jobs}.values():
        fitting = f" ({len(job.pairs):,} pairs that fit the context)" if TOO_LONG in job.pairs.attrs else ""
        rules = dict.fromkeys(rule for _, rule in shown_measures(job, settings))
        how = f"{_MEANS[settings.reported(job.benchmark).overall]}, {' or '.join(_TIES[rule] for rule in rules)}"
        kinds.setdefault(how, []).append(f"{job.benchmark}{fitting}")
    named = {
        how: ", ".join(names) if len(names) <= 3 else f"{names[0]} and {len(names) - 1} more"
        for how, names in kinds.items()
    }
    first, *others = (f"{names}: {how}" for how, names in named.items())
    about = "; ".join([first.replace(": ", ": accuracy (%) ", 1), *others])
    change = "; change from the step before" if jobs[0].target.run is not None else ""
    return f"{jobs[0].target.name}, {about}{change}"


def _place(job: Job) -> str:
    target = job.target
    return str(target.step) if target.run is not None else target.revision or target.name


def read_score(job: Job, rows: ScoreRows, settings: ScoreSettings) -> ShownScore:
    """Return what is shown of a score, from its rows."""
    target, overall = job.target, settings.reported(job.benchmark).overall
    values, measures = {}, shown_measures(job, settings)
    for measure in measures:
        splits = _overall(rows.table(ACCURACY, measure), overall).set_index("split")
        if "all" in splits.index:
            values[measure] = _shown_accuracy(splits)
    bits = None if target.run is None else read_bits(target.run).get(target.step)
    phenomena: dict[str, float] = {}
    digest = ""
    if measures and measures[0] in values:
        table = rows.table(ACCURACY, measures[0])
        of = table[(table["paradigm"] == "all") & ~table["phenomenon"].isin(("all", ""))]
        if values[measures[0]].winner is not None:
            # Where length alone decides, a phenomenon tells something only if all of its pairs are of equal length.
            unequal = of.loc[of["split"].isin(("good_longer", "bad_longer")), "phenomenon"]
            of = of[~of["phenomenon"].isin({*unequal})]
        whole = of[of["split"] == "all"]
        phenomena = dict(zip(whole["phenomenon"], 100 * whole["accuracy"], strict=True))
        # The first columns are left out, as they name the checkpoint: equal digests are equal accuracies. Rounded, as
        # older versions of pandas read the last digit of a stored number otherwise than it was computed.
        digest = hashlib.sha256(as_lines(table.loc[:, "phenomenon":].round(12))).hexdigest()
    scorer = job.scorer.name
    return ShownScore(
        _place(job), target.step, target.tokens, bits, job.benchmark, scorer, values, phenomena, digest
    )


def _overall(table: pd.DataFrame, overall: str) -> pd.DataFrame:
    """Return the rows over all phenomena, of an accuracy table one for each split by length."""
    return table[(table["phenomenon"] == "all") & (table["paradigm"] == overall)]


def _shown_accuracy(splits: pd.DataFrame) -> ShownAccuracy:
    """Return what is shown of the overall rows of a score, one for each split by length."""
    accuracies = splits["accuracy"]
    winner = None
    if {"good_longer", "bad_longer"} <= {*splits.index}:
        winner = winner_by_length(float(accuracies["good_longer"]), float(accuracies["bad_longer"]))
    accuracy, low, high = (100 * float(splits[name]["all"]) for name in ("accuracy", "ci_low", "ci_high"))
    return ShownAccuracy(accuracy, low, high, int(splits["n"]["all"]), winner)


def read_bits(run: Path) -> dict[int, float]:
    """Read the held-out bits per byte of the checkpoints of a run, as far as they are there."""
    try:
        with (run / HELD_OUT).open(encoding="utf-8", newline="") as file:
            return {int(row["step"]): float(row["bits_per_byte"]) for row in csv.DictReader(file)}
    except (OSError, ValueError, KeyError, TypeError):  # missing, or damaged, which verify.py says
        return {}


def describe_details(job: Job, rows: ScoreRows, settings: ScoreSettings) -> Iterator[str]:
    """Yield accuracies by length, length bias, ties and unknown tokens of every linking function that is shown."""
    overall = settings.reported(job.benchmark).overall
    for measure in shown_measures(job, settings):
        splits = _overall(rows.table(ACCURACY, measure), overall).set_index("split")
        if "all" in splits.index:
            accuracies = splits["accuracy"]
            parts = [
                f"{text} {_percent(accuracies[name])}" for name, text in _SPLITS.items() if name in splits.index
            ]
            statistics = _overall(rows.table(STATISTICS, measure), overall).iloc[0]
            parts += _bias(statistics)
            parts.append(f"{int(splits['n']['all']):,} pairs, {int(splits['ties']['all']):,} ties")
            parts.append(f"{int(statistics['unk']):,} unknown tokens")
            yield f"{measure[0]}, ties {measure[1]}: {', '.join(parts)}"


def _bias(statistics: "pd.Series[Any]") -> list[str]:
    """Write Delta_acc and its two differences with intervals, or why there are none."""
    if math.isnan(statistics["delta_acc"]):
        return ["no Delta_acc, which needs pairs of all three lengths"]
    parts = []
    for name, bias in zip(
        ("Delta_acc", "good longer less equal", "bad longer less equal"), LENGTH_BIASES, strict=True
    ):
        low, high = statistics[f"{bias}_low"], statistics[f"{bias}_high"]
        bounds = f"{_percent(low)} to {_percent(high)}"
        if math.isnan(low):
            bounds = f"no interval: a length with fewer than {FEWEST_CLUSTERS} different edits"
        parts.append(f"{name} {_percent(statistics[bias])} ({bounds})")
    return parts


def _percent(share: float) -> str:
    return f"{100 * share:.2f}"
