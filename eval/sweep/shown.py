"""What the table shows of a score, read from its rows, and the details below it."""

import csv
import math
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ucurve.eval.linking import parse_linking
from ucurve.eval.metrics.accuracy import TiesRule, winner_by_length
from ucurve.eval.metrics.bootstrap import LENGTH_BIASES
from ucurve.eval.metrics.sampling import FEWEST_CLUSTERS
from ucurve.eval.pairs import TOO_LONG
from ucurve.eval.settings import ScoreSettings
from ucurve.eval.store.rows import ScoreRows
from ucurve.eval.store.tables import ACCURACY, STATISTICS, TableFile
from ucurve.eval.sweep.prepare import Job
from ucurve.eval.sweep.table import Column, Layout, Score, Value
from ucurve.progress import standard_output
from ucurve.storage.files import sha256_json
from ucurve.storage.run_folder import HELD_OUT

_WIDEST = 120  # characters of a line
_MEANS = {
    "all": "over all pairs",
    "macro": "as the mean over paradigms",
    "macro_phenomena": "as the mean over phenomena",
}
_TIES: Mapping[TiesRule, str] = {"half": "ties count half", "wrong": "ties are wrong", "right": "ties are right"}
_SPLITS = {"equal": "equal length", "good_longer": "good longer", "bad_longer": "bad longer"}
Record = Mapping[str, str]


def make_layout(jobs: Sequence[Job], settings: ScoreSettings) -> Layout:
    """Choose the columns of the table of some models of one folder, and say what its numbers are."""
    target = jobs[0].target
    place = "step" if target.run is not None else "model" if target.revision is None else "revision"
    columns = {(job.benchmark, job.scorer.name): shown_columns(job, settings) for job in jobs}
    return Layout(
        target.name,
        _title(jobs, settings),
        place,
        columns,
        places=max(len(_place(job)) for job in jobs),
        with_tokens=any(job.target.tokens is not None for job in jobs),
        with_bits=any(job.target.run is not None and (job.target.run / HELD_OUT).is_file() for job in jobs),
        width=min(_WIDEST, shutil.get_terminal_size().columns) if standard_output().isatty() else _WIDEST,
    )


def shown_columns(job: Job, settings: ScoreSettings) -> tuple[Column, ...]:
    """Return the linking functions that are shown: those asked for or the preset's, else that of the benchmark."""
    reported = settings.reported(job.benchmark)
    there = [
        name
        for name in settings.linkings(type(job.scorer), job.benchmark)
        if job.columns.issuperset(parse_linking(name).reads)
    ]
    if settings.linking is None and settings.chosen is None and there:
        there = [reported.choose_linking(there)]
    rules = settings.ties_rules or (reported.choose_rule(settings.rules(job.benchmark)),)
    return tuple((name, rule) for name in there for rule in rules)


def _title(jobs: Sequence[Job], settings: ScoreSettings) -> str:
    """Name the run and its benchmarks, and say what accuracy is the mean over and what a tie counts."""
    kinds: dict[str, list[str]] = {}
    for job in {job.benchmark: job for job in jobs}.values():
        fitting = f" ({len(job.pairs):,} pairs that fit the context)" if TOO_LONG in job.pairs.attrs else ""
        rules = dict.fromkeys(rule for _, rule in shown_columns(job, settings))
        how = f"{_MEANS[settings.reported(job.benchmark).overall]}, {' or '.join(_TIES[rule] for rule in rules)}"
        kinds.setdefault(how, []).append(f"{job.benchmark}{fitting}")
    first, *others = (f"{_shorten(names)}: {how}" for how, names in kinds.items())
    about = "; ".join([first.replace(": ", ": accuracy (%) ", 1), *others])
    change = "; change from the step before" if jobs[0].target.run is not None else ""
    return f"{jobs[0].target.name}, {about}{change}"


def _shorten(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 3 else f"{names[0]} and {len(names) - 1} more"


def _place(job: Job) -> str:
    target = job.target
    return str(target.step) if target.run is not None else target.revision or target.name


def read_score(job: Job, rows: ScoreRows, settings: ScoreSettings) -> Score:
    """Read what is shown of a score from its rows."""
    target, overall = job.target, settings.reported(job.benchmark).overall
    values, columns = {}, shown_columns(job, settings)
    for column in columns:
        splits = {record["split"]: record for record in _overall(rows, ACCURACY, column, overall)}
        if "all" in splits:
            values[column] = _value(splits)
    bits = None if target.run is None else read_bits(target.run).get(target.step)
    first = values.get(columns[0]) if columns else None
    phenomena = {} if first is None else _phenomena(rows, columns[0], by_length=first.winner is not None)
    digest = "" if first is None else _digest(rows, columns[0])
    scorer = job.scorer.name
    return Score(_place(job), target.step, target.tokens, bits, job.benchmark, scorer, values, phenomena, digest)


def _overall(rows: ScoreRows, kind: TableFile, column: Column, overall: str) -> Iterator[Record]:
    lines = rows.lines.get((kind.name, column), b"").decode().splitlines()
    mark = f",all,{overall},"
    for record in csv.DictReader([line for line in lines if mark in line], kind.columns):
        if (record["phenomenon"], record["paradigm"]) == ("all", overall):
            yield record


def _phenomena(rows: ScoreRows, column: Column, by_length: bool) -> dict[str, float]:
    """Read the accuracies of phenomena in percent; where length alone decides, only where all lengths are equal."""
    splits: dict[str, set[str]] = {}
    found = {}
    for record in csv.DictReader(rows.lines[ACCURACY.name, column].decode().splitlines(), ACCURACY.columns):
        name = record["phenomenon"]
        if record["paradigm"] == "all" and name not in ("all", ""):
            splits.setdefault(name, set()).add(record["split"])
            if record["split"] == "all":
                found[name] = 100 * float(record["accuracy"])
    unequal = {"good_longer", "bad_longer"}
    return {name: percent for name, percent in found.items() if not (by_length and unequal & splits[name])}


def _digest(rows: ScoreRows, column: Column) -> str:
    """Digest what the rows of a linking function say, without the checkpoint that they are of."""
    ours = ACCURACY.columns.index("phenomenon")
    records = csv.reader(rows.lines[ACCURACY.name, column].decode().splitlines())
    return sha256_json([record[ours:] for record in records])


def _value(splits: Mapping[str, Record]) -> Value:
    row = splits["all"]
    winner = None
    if {"good_longer", "bad_longer"} <= splits.keys():
        winner = winner_by_length(*(float(splits[name]["accuracy"]) for name in ("good_longer", "bad_longer")))
    accuracy, low, high = (100 * _number(row, name) for name in ("accuracy", "ci_low", "ci_high"))
    return Value(accuracy, low, high, int(row["n"]), winner)


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
    for column in shown_columns(job, settings):
        splits = {record["split"]: record for record in _overall(rows, ACCURACY, column, overall)}
        if "all" in splits:
            parts = [f"{text} {_percent(splits[name], 'accuracy')}" for name, text in _SPLITS.items() if name in splits]
            (statistics,) = _overall(rows, STATISTICS, column, overall)
            parts += _bias(statistics)
            parts.append(f"{int(splits['all']['n']):,} pairs, {int(splits['all']['ties']):,} ties")
            parts.append(f"{int(statistics['unk']):,} unknown tokens")
            yield f"{column[0]}, ties {column[1]}: {', '.join(parts)}"


def _bias(statistics: Record) -> list[str]:
    """Write Delta_acc and its two differences with intervals, or why there are none."""
    if math.isnan(_number(statistics, "delta_acc")):
        return ["no Delta_acc, which needs pairs of all three lengths"]
    names = ("Delta_acc", "good longer less equal", "bad longer less equal")
    return [
        f"{name} {_percent(statistics, bias)} ({_describe_bounds(statistics, bias)})"
        for name, bias in zip(names, LENGTH_BIASES, strict=True)
    ]


def _describe_bounds(statistics: Record, bias: str) -> str:
    if math.isnan(_number(statistics, f"{bias}_low")):
        return f"no interval: a length with fewer than {FEWEST_CLUSTERS} different edits"
    return f"{_percent(statistics, f'{bias}_low')} to {_percent(statistics, f'{bias}_high')}"


def _number(row: Record, column: str) -> float:
    return float(row[column] or "nan")


def _percent(row: Record, column: str) -> str:
    return f"{100 * _number(row, column):.2f}"
