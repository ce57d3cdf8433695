"""Run folders to tidy frames."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow.compute
import pyarrow.dataset
from pandas.api.types import union_categoricals

from ucurve.analysis.data.files import Kind, read_records, read_table
from ucurve.analysis.data.runs import Run
from ucurve.errors import DamagedError, UserError
from ucurve.eval.metrics.accuracy import TiesRule
from ucurve.eval.metrics.levels import MEANS
from ucurve.eval.store.keys import check_owner
from ucurve.eval.store.tables import ACCURACY
from ucurve.eval.store.views import open_table
from ucurve.storage.facts import own_faults, read_run_facts
from ucurve.storage.faults import lasting, refuse_faults
from ucurve.storage.files import sha256_file
from ucurve.storage.run_folder import HELD_OUT, METRICS

_READ = (
    *(
        "step",
        "tokens",
        "flops",
        "benchmark",
        "scorer",
        "linking",
        "phenomenon",
        "paradigm",
        "split",
        "ties_rule",
    ),
    *("n", "ties", "accuracy", "ci_low", "ci_high", "clusters"),
)
SCORE_COLUMNS: dict[str, Kind] = {  # of the numbers the step alone is needed as an integer
    name: "integer" if name == "step" else "name" if ACCURACY.types[name] == "str" else "number" for name in _READ
}
METRIC_COLUMNS: dict[str, Kind] = {
    "step": "integer",
    "tokens": "number",
    "loss": "number",
    "bits_per_byte": "number",
}
HELD_OUT_COLUMNS: dict[str, Kind] = METRIC_COLUMNS | {"flops": "number"}
AGGREGATES = pyarrow.compute.field("paradigm") == "all"  # the overall row over pairs and one row per phenomenon
# the overall rows over paradigms and over phenomena
OVERALL_MEANS = pyarrow.compute.field("paradigm").isin(MEANS)
OF_MASKED = {  # the ways to score masked models that go with those of causal ones, the first found first
    "sentence": ("pll_l2r", "pll"),
    "conditional": ("pll_conditional",),
    "mink": ("pll_mink",),
}
NGRAM = "ngram-"  # scorers of n-gram models are named by it and the order
# The loss of a single step is noisy, so it is averaged. Curves are drawn on a log axis, so the bins are even there.
BINS_PER_DECADE = 30  # what a point of smoothed loss is the mean of: a 1/30 of a decade of tokens
# ``half`` comes first, because it puts a model that ties on every pair at chance.
_TIES_RULES = ("half", "wrong", "right")  # the first that all runs share is used


def score_frame(runs: Iterable[Run], where: pyarrow.dataset.Expression | None = None) -> pd.DataFrame:
    """Read the accuracies of many runs, under every rule for ties (see ``one_ties_rule``).

    The columns are ``run``, ``line``, ``step``, ``tokens``, ``flops``, ``benchmark``, ``scorer``, ``linking``,
    ``phenomenon``, ``paradigm``, ``split``, ``ties_rule``, ``n`` (pairs), ``ties``, ``accuracy``, ``ci_low``,
    ``ci_high`` and ``clusters`` (different edits); names are categorical, accuracies fractions of 1.
    ``where`` keeps rows, such as ``AGGREGATES``; the others never take memory.

    Raises:
        UserError: with file and line, when a file is broken.
        DamagedError: when one is not what was written.
    """
    frames = []
    for run in runs:
        check_owner(run.folder)
        with open_table(ACCURACY, run.folder) as path:
            if path is not None:
                frames.append(_with_run_names(run, read_table(path, SCORE_COLUMNS, where)))
    return _concatenate(frames, ["run", "line", *SCORE_COLUMNS])


def metric_frame(runs: Iterable[Run]) -> pd.DataFrame:
    """Read the training metrics of many runs, one row per step.

    The columns are ``run``, ``line``, ``step``, ``tokens``, ``loss`` (nats per token) and ``bits_per_byte``. Losses of
    masked tokens are left out, as they are of other predictions than those of the next token.

    Raises:
        UserError: with file and line, when a file is broken.
        DamagedError: when that of a finished run is missing or not what was written.
    """
    frames = []
    for run in runs:
        path, digest = run.folder / METRICS, run.facts.metrics_sha256 if run.facts else None
        is_told = run.facts is None or run.facts.objective == "causal"
        if not is_told or (digest is None and not path.is_file()):
            continue
        if not path.is_file():
            raise DamagedError(f"{path}: missing; restore it from a copy")
        records = read_records(path, METRIC_COLUMNS)  # says of a broken line which it is
        if digest not in (None, sha256_file(path)):
            raise DamagedError(f"{path}: not what was written; restore it from a copy")
        # Of a step that was taken twice, the last line is of the run that went on.
        frames.append(_with_run_names(run, records.drop_duplicates("step", keep="last")))
    return _concatenate(frames, ["run", "line", *METRIC_COLUMNS])


def held_out_frame(runs: Iterable[Run]) -> pd.DataFrame:
    """Read the held-out losses of runs that have some: ``run``, ``line``, ``HELD_OUT_COLUMNS``, one row per step.

    Losses of masked tokens are left out (see ``metric_frame``).

    Raises:
        UserError: with file and line, when a file is broken.
        DamagedError: when one is missing or not what was written.
    """
    frames = []
    for run in runs:
        if run.facts and HELD_OUT in run.facts.files and run.facts.objective in ("causal", "hybrid"):
            lasting(partial(_check_held_out, run))
            frames.append(_with_run_names(run, read_table(run.folder / HELD_OUT, HELD_OUT_COLUMNS)))
    return _concatenate(frames, ["run", "line", *HELD_OUT_COLUMNS])


def with_gaps(frame: pd.DataFrame, runs: Iterable[Run]) -> pd.DataFrame:
    """Add an empty row for every checkpoint that a run planned or saved but that has no score.

    ``frame`` has rows of ``score_frame`` for one benchmark, scorer, linking function and split, aggregates only. In an
    added row the accuracies are NaN, so that a line drawn through it breaks; tokens and FLOPs follow those per step.
    """
    rows_of = dict(iter(frame.groupby(frame["run"].astype(str), sort=False)))
    scored = [run for run in runs if run.label in rows_of]
    points = [_checkpoints(rows_of[run.label], run) for run in scored]
    steps, places = (np.concatenate(parts) for parts in zip(*points, strict=True))
    grid = pd.DataFrame({"step": steps, "tokens": places[:, 0], "flops": places[:, 1]})
    lengths = [len(own) for own, _ in points]
    for name, of_runs in (("run", [run.label for run in scored]), ("line", [run.line for run in scored])):
        grid[name] = np.repeat(np.array(of_runs, dtype=object), lengths)
    phenomena = frame[["run", "phenomenon"]].drop_duplicates().astype(str)
    rows = grid.merge(phenomena, on="run")
    values = frame[["run", "phenomenon", "step", "accuracy", "ci_low", "ci_high"]]
    values = values.astype({"run": str, "phenomenon": str})
    merged = rows.merge(values, on=["run", "phenomenon", "step"], how="left")
    return merged.sort_values(["run", "phenomenon", "step"], ignore_index=True)


def last_scored(frame: pd.DataFrame) -> pd.DataFrame:
    """Keep the rows of the last scored step of each run, benchmark and linking function."""
    last = frame.groupby(["run", "benchmark", "scorer", "linking"], observed=True)["step"].transform("max")
    return frame[frame["step"] == last]


def overall(frame: pd.DataFrame) -> pd.DataFrame:
    """Keep the overall rows, of all lengths."""
    return frame[(frame["phenomenon"] == "all") & (frame["paradigm"] == "all") & (frame["split"] == "all")]


def pool_pairs(rows: pd.DataFrame, keys: Sequence[str], values: Sequence[str] = ("accuracy",)) -> pd.DataFrame:
    """Average accuracies, or other means, over pairs: ``keys``, ``n`` (pairs) and ``values``, in the order of rows."""
    summed = rows.assign(**{name: rows[name] * rows["n"] for name in values})
    table = summed.groupby(list(keys), as_index=False, sort=False, observed=True)[["n", *values]].sum()
    return table.assign(**{name: table[name] / table["n"] for name in values})


def one_ties_rule(frame: pd.DataFrame, first: Mapping[str, TiesRule | None] | None = None) -> pd.DataFrame:
    """Keep of each benchmark and scorer the rows of one rule for ties that all runs were scored under.

    That in ``first`` (by benchmark) is preferred, then ``half``, ``wrong`` and ``right``.

    Raises:
        UserError: naming runs and rules, when the runs of a benchmark share no rule.
    """
    parts = []
    for benchmark, scorers in targets(frame):
        rows = frame[(frame["benchmark"] == benchmark) & frame["scorer"].isin(scorers)]
        rules = rows[["run", "ties_rule"]].drop_duplicates().astype(str)
        rules_of = {str(run): set(part["ties_rule"]) for run, part in rules.groupby("run", sort=False)}
        shared: set[str] = set.intersection(*rules_of.values())
        if not shared:
            found = "; ".join(f"{run}: {', '.join(sorted(rules))}" for run, rules in rules_of.items())
            raise UserError(
                f"{benchmark} was scored under different rules for ties, so its accuracies do not compare ({found}); "
                "give the runs a rule in common with python score.py run=... 'ties_rules=[half]', or leave some of "
                "them out of runs="
            )
        order = [(first or {}).get(benchmark), *_TIES_RULES]
        rule = min(shared, key=lambda rule: (order.index(rule) if rule in order else len(order), rule))
        parts.append(rows.index[rows["ties_rule"] == rule])
    return frame[frame.index.isin([place for part in parts for place in part])]


def stack(tables: Iterable[pd.DataFrame], columns: Sequence[str] = ()) -> pd.DataFrame:
    """Put tables below each other; where there are none, the table has these columns and no rows."""
    every = list(tables)
    return pd.concat(every, ignore_index=True) if every else pd.DataFrame(columns=list(columns))


def targets(frame: pd.DataFrame) -> list[tuple[str, tuple[str, ...]]]:
    """Return every benchmark with the ways it was scored, in order: a way has the names of its scorers.

    Masked models have scorers of their own. These join the one of causal models that is nearest to them, where no run
    was scored by both and some linking function is known of both, so that a benchmark is one for all models.
    """
    named = frame[["benchmark", "scorer", "run", "linking"]].drop_duplicates().astype(str)
    return sorted(
        (str(benchmark), way) for benchmark, rows in named.groupby("benchmark") for way in _ways_of_scoring(rows)
    )


def _ways_of_scoring(rows: pd.DataFrame) -> list[tuple[str, ...]]:
    """Return the ways in which one benchmark was scored (``targets``), the scorer of causal models first."""
    runs, linkings = (rows.groupby("scorer")[name].agg(set) for name in ("run", "linking"))
    left, ways = sorted(runs.index, key=lambda name: (name not in OF_MASKED, name)), []
    while left:
        way = [left.pop(0)]
        for other in OF_MASKED.get(way[0], ()):
            taken, known = (set.union(*of[way]) for of in (runs, linkings))
            if other in left and not runs[other] & taken and linkings[other] & known:
                way.append(other)
                left.remove(other)
        ways.append(tuple(way))
    return ways


def _check_held_out(run: Run) -> None:
    """Compare the held-out losses with what ``run.json`` says now, as training may have added some since."""
    refuse_faults(own_faults(run.folder, read_run_facts(run.folder), [HELD_OUT]), "restore it from a copy")


def _with_run_names(run: Run, frame: pd.DataFrame) -> pd.DataFrame:
    named = frame.assign(run=run.label, line=run.line).astype({"run": "category", "line": "category"})
    return named[["run", "line", *frame.columns]]


def _concatenate(frames: Sequence[pd.DataFrame], columns: Sequence[str]) -> pd.DataFrame:
    """Concatenate frames whose categories differ, keeping the columns categorical."""
    if not frames:
        return pd.DataFrame(columns=list(columns))
    stacked = {}
    for name in columns:
        parts = [frame[name] for frame in frames]
        # pandas would turn columns with different categories into texts, which take many times the memory.
        categorical = isinstance(parts[0].dtype, pd.CategoricalDtype)
        stacked[name] = union_categoricals(parts) if categorical else pd.concat(parts, ignore_index=True)
    return pd.DataFrame(stacked)


def _checkpoints(rows: pd.DataFrame, run: Run) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Return every step of a run, scored or not, with its tokens and FLOPs, [steps, 2]; both grow evenly."""
    scored, first = np.unique(rows["step"].to_numpy(np.int64), return_index=True)
    known = rows[["tokens", "flops"]].to_numpy(np.float64)[first]  # [scored steps, 2]
    per_step = known[-1] / scored[-1] if scored[-1] > 0 else np.full(2, np.nan)
    steps = np.array(sorted({*run.planned, *run.saved, *scored.tolist()}), dtype=np.int64)
    whole = steps[:, None] * per_step
    places = np.searchsorted(steps, scored)
    whole[places] = np.where(np.isnan(known), whole[places], known)
    return steps, whole
